//! Reading, writing and editing.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;

use super::rig::{Rig, call};
use crate::tools::{FileTools, Hosts, ToolHost};

#[tokio::test]
async fn a_range_of_a_file_is_read_with_its_line_numbers() {
    let rig = Rig::new();
    let text: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    rig.file("src/a.txt", text);
    let page = rig.ok("read_file", json!({"path": "src/a.txt", "offset": 10, "limit": 2})).await;
    assert!(page.starts_with("    10\tline 10\n    11\tline 11\n["), "{page}");
    assert!(page.contains("read on with offset 12"), "{page}");
    let first = rig.ok("read_file", json!({"path": "src/a.txt"})).await;
    assert!(first.contains("  2000\tline 2000\n") && !first.contains("line 2001"));
    let past = rig.err("read_file", json!({"path": "src/a.txt", "offset": 9000})).await;
    assert!(past.contains("has 5000 lines"), "{past}");
    rig.file("empty", "");
    assert_eq!(rig.ok("read_file", json!({"path": "empty"})).await, "empty is empty");
}

#[tokio::test]
async fn what_is_long_is_cut_and_what_is_binary_is_told() {
    let rig = Rig::new();
    rig.file("long", format!("{}\nnext\n", "ä".repeat(100_000)));
    let text = rig.ok("read_file", json!({"path": "long"})).await;
    assert!(text.len() < 5000 && text.contains("… [200000 bytes in this line]"), "{}", text.len());
    assert!(text.contains("     2\tnext\n") && !text.contains('\u{fffd}'));
    rig.file("wide", format!("{}\n", "x".repeat(1500)).repeat(1000));
    let text = rig.ok("read_file", json!({"path": "wide"})).await;
    assert!(text.len() < 140 * 1024 && text.contains("read on with offset"));
    rig.file("binary", b"\x7fELF\0\0\0");
    let text = rig.err("read_file", json!({"path": "binary"})).await;
    assert!(text.contains("binary file of 7 bytes"), "{text}");
    rig.file("latin", b"caf\xe9\r\n");
    let text = rig.ok("read_file", json!({"path": "latin"})).await;
    assert!(text.contains("not UTF-8") && text.contains("CR LF"), "{text}");
}

#[tokio::test]
async fn a_file_of_2_gb_is_told_without_being_read() {
    let rig = Rig::new();
    File::create(rig.inside.join("huge")).unwrap().set_len(2 << 30).unwrap();
    let began = Instant::now();
    for (tool, input) in [
        ("read_file", json!({"path": "huge"})),
        ("read_file", json!({"path": "huge", "offset": 1_000_000_000_u64})),
        ("edit_file", json!({"path": "huge", "old": "a", "new": "b"})),
        ("grep", json!({"path": "huge", "pattern": "a"})),
    ] {
        let text = rig.err(tool, input).await;
        assert!(text.contains("more than the") && text.contains("run_command"), "{text}");
    }
    let text = rig.ok("grep", json!({"pattern": "a"})).await;
    assert!(text.contains("too long to be searched here"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(1), "took {:?}", began.elapsed());
}

#[tokio::test]
async fn a_file_is_written_with_its_folders_and_keeps_its_mode() {
    let rig = Rig::new();
    let reply = rig.call("write_file", json!({"path": "a/b/c.sh", "content": "one\n"})).await;
    assert_eq!(rig.text("a/b/c.sh"), "one\n");
    let diff = reply.structured.unwrap();
    assert_eq!((&diff["created"], &diff["added"]), (&json!(true), &json!(1)));
    let path = rig.inside.join("a/b/c.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let reply = rig.call("write_file", json!({"path": path, "content": "two\n"})).await;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o750);
    let diff = reply.structured.unwrap();
    assert_eq!(diff["diff"], "--- a/a/b/c.sh\n+++ b/a/b/c.sh\n@@ -1 +1 @@\n-one\n+two\n");
    assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1, "nothing is left beside it");
    let text = rig.err("write_file", json!({"path": "a/b", "content": ""})).await;
    assert!(text.contains("is a folder"), "{text}");
    let text = rig.err("write_file", json!({"path": "a/b/c.sh/d", "content": ""})).await;
    assert!(text.contains("is not a folder"), "{text}");
    let long = "x".repeat(9 * 1024 * 1024);
    assert!(
        rig.err("write_file", json!({"path": "l", "content": long})).await.contains("in parts")
    );
}

#[tokio::test]
async fn an_edit_replaces_an_exact_text_or_says_why_it_did_not() {
    let rig = Rig::new();
    rig.file("a.rs", "fn a() {\n    one();\n}\nfn b() {\n    one();\n}\n");
    let edit = |old: &str, new: &str| json!({"path": "a.rs", "old": old, "new": new});
    let text = rig.err("edit_file", edit("one();", "two();")).await;
    assert!(text.contains("found 2 times") && text.contains("at lines 2, 5"), "{text}");
    let text = rig.err("edit_file", edit("fn a() {\none();", "x")).await;
    assert!(text.contains("not found") && text.contains("stands at line 1"), "{text}");
    let text = rig.err("edit_file", edit("fn z()", "x")).await;
    assert!(text.contains("not even its first line"), "{text}");
    assert!(rig.err("edit_file", edit("", "x")).await.contains("`old` is empty"));
    assert!(rig.err("edit_file", edit("a", "a")).await.contains("are the same"));
    let reply = rig.call("edit_file", edit("fn b() {\n    one();", "fn b() {\n    two();")).await;
    assert_eq!(reply.text, "edited a.rs: replaced the text at line 4");
    assert!(
        reply.structured.unwrap()["diff"].as_str().unwrap().contains("-    one();\n+    two();")
    );
    let all = json!({"path": "a.rs", "old": "fn ", "new": "pub fn ", "replace_all": true});
    assert!(rig.ok("edit_file", all).await.contains("2 occurrences, at lines 1, 4"));
    assert_eq!(rig.text("a.rs"), "pub fn a() {\n    one();\n}\npub fn b() {\n    two();\n}\n");
    let missing = rig.err("edit_file", json!({"path": "b.rs", "old": "a", "new": "b"})).await;
    assert!(missing.contains("does not exist; look with"), "{missing}");
}

#[tokio::test]
async fn an_edit_keeps_the_line_endings_of_the_file() {
    let rig = Rig::new();
    rig.file("w.txt", "one\r\ntwo\r\nthree\r\n");
    rig.ok("edit_file", json!({"path": "w.txt", "old": "one\ntwo", "new": "1\n2"})).await;
    assert_eq!(rig.text("w.txt"), "1\r\n2\r\nthree\r\n");
    rig.file("latin", b"caf\xe9 one");
    let text = rig.err("edit_file", json!({"path": "latin", "old": "one", "new": "two"})).await;
    assert!(text.contains("not UTF-8"), "{text}");
}

#[tokio::test]
async fn edits_at_the_same_time_are_not_lost() {
    let rig = Rig::new();
    rig.file("n.txt", (0..20).map(|n| format!("[{n}]\n")).collect::<String>());
    let edits = (0..20).map(|n| {
        let input = json!({"path": "n.txt", "old": format!("[{n}]"), "new": format!("<{n}>")});
        let tools = rig.tools.clone();
        crate::task::spawn(async move { call(&tools, "edit_file", input).await })
    });
    for edit in edits.collect::<Vec<_>>() {
        assert!(!edit.await.unwrap().is_failed());
    }
    assert_eq!(rig.text("n.txt"), (0..20).map(|n| format!("<{n}>\n")).collect::<String>());
}

#[tokio::test]
async fn a_wrong_call_is_told_what_is_wrong_and_how_it_is_made_right() {
    let rig = Rig::new();
    rig.file("a", "one\n");
    for (input, told) in [
        (json!({}), "the field `path` is missing"),
        (json!({"path": 7}), "`path` must be a string"),
        (json!({"path": "a", "offset": "x"}), "`offset` must be an integer"),
        (json!({"path": "a", "offset": -1}), "`offset` must be an integer"),
        (json!({"path": "a", "lines": 1}), "there is no field `lines`"),
        (json!("a"), "must be a JSON object"),
        (json!([1]), "must be a JSON object"),
        (json!(null), "the field `path` is missing"),
        (json!({"path": "a", "limit": 99_999_999_999_u64}), "read_file: "),
    ] {
        let text = rig.err("read_file", input.clone()).await;
        assert!(text.contains(told), "{input}: {text}");
        assert!(
            text.contains(
                r#"call it with {"limit"?: integer, "offset"?: integer, "path": string}"#
            ),
            "{text}"
        );
    }
    let text = rig.err("delete_everything", json!({})).await;
    assert!(
        text.contains("there is no tool `delete_everything`; call one of: read_file, write_file")
    );
    // Some models write whole numbers as fractions, and nothing as null.
    rig.ok("read_file", json!({"path": "a", "offset": 1.0, "limit": null})).await;
}

#[test]
fn names_and_schemas_are_what_every_vendor_takes_and_stay_the_same() {
    let rig = Rig::new();
    let again = FileTools::open(&rig.inside).unwrap();
    let hosts = Hosts::default().and(rig.tools).and(again);
    let tools = hosts.tools();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["read_file", "write_file", "edit_file", "list_files", "glob", "grep"]);
    assert_eq!(tools, hosts.tools());
    for tool in &tools {
        let schema = tool.input_schema.to_string();
        for word in ["$ref", "$schema", "null", "anyOf", "format", "title", "default\":"] {
            assert!(!schema.contains(word), "{}: {word} in {schema}", tool.name);
        }
        assert_eq!(tool.input_schema["type"], "object");
        assert_eq!(tool.input_schema["additionalProperties"], false);
        let subject = tool.subject_field().unwrap();
        assert!(tool.input_schema["properties"].get(subject).is_some());
    }
    insta::assert_json_snapshot!("file_tools", tools.iter().map(|tool| json!({
        "name": tool.name, "description": tool.description, "input_schema": tool.input_schema,
    })).collect::<Vec<_>>());
}
