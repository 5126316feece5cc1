//! The scripted coder mends a failing test in a real folder, in every wire format.
#![expect(
    clippy::disallowed_methods,
    reason = "the tools of this test are a shell and a few files"
)]

use std::path::Path;
use std::process::Command;

use musher_testkit::model::ModelServer;
use serde_json::Value;

use crate::dialect::Called;
use crate::talk::Talk;

/// Does what a call wants, and tells whether it went well.
fn act(folder: &Path, call: &Called) -> bool {
    let input = call.input();
    let text = |key: &str| input[key].as_str().unwrap().to_owned();
    match call.name.as_str() {
        "run_command" => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(text("command")).current_dir(folder);
            shell.status().unwrap().success()
        }
        "read_file" => folder.join(text("path")).is_file(),
        "edit_file" => {
            let path = folder.join(text("path"));
            let before = std::fs::read_to_string(&path).unwrap();
            assert_eq!(before.matches(&text("old")).count(), 1);
            std::fs::write(&path, before.replace(&text("old"), &text("new"))).is_ok()
        }
        "finish" => input == serde_json::json!({"summary": "The sum is right now."}),
        other => panic!("nobody offered {other}"),
    }
}

#[tokio::test]
async fn the_coder_mends_a_failing_test_on_every_wire() {
    let server = ModelServer::start().await.unwrap();
    let prompt = "[[scn:coder test=\"test $(sh sum.sh) = 3\" path=sum.sh old=\"1 - 2\" new=\"1 + 2\" think=Hm say=The_sum_is_right_now.]]";
    for mut talk in Talk::all(&server, prompt) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sum.sh"), "echo $((1 - 2))\n").unwrap();
        let mut done = Vec::new();
        let said = loop {
            let said = talk.go_on().await;
            let Some(call) = said.calls.first() else {
                break said;
            };
            done.push((call.name.clone(), act(folder.path(), call)));
        };
        let names = ["run_command", "read_file", "edit_file", "run_command", "finish"];
        let expected = names.map(str::to_owned).into_iter().zip([false, true, true, true, true]);
        assert_eq!(done, expected.collect::<Vec<_>>(), "{}", talk.name());
        assert_eq!(said.text, "The sum is right now.", "{}", talk.name());
    }
}

#[tokio::test]
async fn a_coder_without_a_tool_for_the_end_says_it_in_words() {
    let server = ModelServer::start().await.unwrap();
    for mut talk in Talk::all(&server, "[[scn:coder]]") {
        without_finish(&mut talk.body);
        for _ in 0..4 {
            assert_eq!(talk.go_on().await.calls.len(), 1);
        }
        assert_eq!(talk.hear().await.text, "The test passes now.", "{}", talk.name());
    }
}

fn without_finish(body: &mut Value) {
    let tools = if body["tools"][0]["functionDeclarations"].is_array() {
        &mut body["tools"][0]["functionDeclarations"]
    } else {
        &mut body["tools"]
    };
    let is_finish = |tool: &Value| tool["name"] == "finish" || tool["function"]["name"] == "finish";
    tools.as_array_mut().unwrap().retain(|tool| !is_finish(tool));
}
