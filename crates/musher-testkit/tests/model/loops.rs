//! Tool calls and what follows them, in every wire format.

use musher_testkit::model::ModelServer;

use crate::dialect::Dialect;
use crate::talk::Talk;

#[tokio::test]
async fn a_call_uses_the_tool_that_is_offered_and_ends_with_its_result() {
    let server = ModelServer::start().await.unwrap();
    for think in ["", " think=Hm"] {
        for mut talk in Talk::all(&server, &format!("[[scn:bash cmd=ls first=Let_me_see{think}]]"))
        {
            let said = talk.go_on().await;
            assert_eq!(said.text, "Let me see");
            assert_eq!(said.calls.len(), 1, "{}", talk.name());
            assert_eq!(said.calls[0].name, "run_command");
            assert_eq!(said.calls[0].input(), serde_json::json!({"command": "ls"}));
            assert_eq!(talk.hear().await.text, "Done.", "{}", talk.name());
        }
    }
}

#[tokio::test]
async fn several_calls_come_at_once_and_one_after_the_other() {
    let server = ModelServer::start().await.unwrap();
    for mut talk in Talk::all(&server, "[[scn:par n=4 think=Hm]]") {
        let said = talk.go_on().await;
        let commands = said.calls.iter().map(|call| call.input()["command"].clone());
        let expected = (1..=4).map(|n| format!("echo parallel {n}")).collect::<Vec<_>>();
        assert_eq!(commands.collect::<Vec<_>>(), expected, "{}", talk.name());
        assert_eq!(talk.hear().await.text, "Done.", "{}", talk.name());
    }
    for mut talk in Talk::all(&server, "[[scn:seq n=3 think=Hm]]") {
        for n in 1..=3 {
            let said = talk.go_on().await;
            assert_eq!(said.calls[0].input()["command"], format!("echo step {n}"));
        }
        // The same request twice lands on the same step: the server keeps no account of steps.
        for _ in 0..2 {
            assert_eq!(talk.hear().await.text, "Done.", "{}", talk.name());
        }
    }
}

#[tokio::test]
async fn the_step_is_found_without_ids_too() {
    let server = ModelServer::start().await.unwrap();
    for dialect in [Dialect::Chat, Dialect::Gemini, Dialect::GeminiArray] {
        for stream in [true, false] {
            let prompt = "[[scn:seq n=2 quirk=no-id]]";
            let mut talk = Talk::new(&server, dialect, stream, prompt);
            for n in 1..=2 {
                let said = talk.go_on().await;
                assert_eq!(said.calls[0].input()["command"], format!("echo step {n}"));
            }
            assert_eq!(talk.hear().await.text, "Done.", "{}", talk.name());
            // Another marker begins anew.
            talk.dialect.prompt(&mut talk.body, "[[scn:seq n=1]]");
            assert_eq!(talk.hear().await.calls.len(), 1, "{}", talk.name());
        }
    }
}

#[tokio::test]
async fn any_tool_can_be_called_with_any_arguments() {
    let server = ModelServer::start().await.unwrap();
    let prompt = r#"[[scn:call tool=some_tool args="{\"a\": [1, \"ä\"]}" n=2]]"#;
    for mut talk in Talk::all(&server, prompt) {
        let said = talk.go_on().await;
        assert_eq!(said.calls.len(), 2);
        for call in &said.calls {
            assert_eq!(call.name, "some_tool");
            assert_eq!(call.input(), serde_json::json!({"a": [1, "ä"]}), "{}", talk.name());
        }
        assert_eq!(talk.hear().await.text, "Done.", "{}", talk.name());
    }
    for mut talk in Talk::all(&server, "[[scn:call tool=finish]]") {
        assert_eq!(talk.go_on().await.calls[0].arguments, "{}", "{}", talk.name());
        talk.hear().await;
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_come_as_they_are() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, r#"[[scn:call tool=finish args="{\"summary\": "]]"#) {
        let said = talk.hear().await;
        match talk.dialect {
            // This vendor keeps the call to itself.
            Dialect::Gemini | Dialect::GeminiArray => {
                assert_eq!(said.finish, "MALFORMED_FUNCTION_CALL");
                assert!(said.calls.is_empty());
            }
            // A whole message of this vendor has room for JSON only.
            Dialect::Messages if !talk.stream => assert_eq!(said.calls[0].arguments, "{}"),
            Dialect::Messages | Dialect::Responses | Dialect::Chat => {
                assert_eq!(said.calls[0].arguments, r#"{"summary": "#, "{}", talk.name());
            }
        }
    }
}

#[tokio::test]
async fn a_question_has_the_form_that_the_offered_tool_has() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, "[[scn:ask]]") {
        let said = talk.hear().await;
        assert_eq!(said.calls[0].name, "ask_person");
        let question = &said.calls[0].input()["questions"][0];
        assert_eq!(question["options"][1]["label"], "Blue", "{}", talk.name());
    }
}

#[tokio::test]
async fn a_window_that_is_full_is_free_again_when_the_history_is_short() {
    let server = ModelServer::start().await.unwrap();
    for mut talk in Talk::all(&server, "[[scn:endless window=5]]") {
        let mut rounds = 0;
        while talk.post().await.status == 200 {
            talk.go_on().await;
            rounds += 1;
            assert!(rounds < 9, "{}", talk.name());
        }
        assert!(rounds > 1, "{}", talk.name());
        assert_eq!(talk.post().await.status, 400);
        let fresh = talk.dialect.ask("[[scn:endless window=5]]", talk.stream);
        assert_eq!(talk.client.post(&fresh).await.status, 200);
    }
}
