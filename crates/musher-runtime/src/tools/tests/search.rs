//! Listing and searching.

use std::time::{Duration, Instant};

use musher_core::ToolRules;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::rig::{Rig, call};
use crate::tools::{FileTools, ReplyKind, ToolCall, ToolHost};

fn repository() -> Rig {
    let rig = Rig::new();
    rig.file(".git/config", "needle");
    rig.file(".gitignore", "target/\n*.log\n!keep.log\n");
    rig.file("src/main.rs", "fn main() {\n    needle();\n}\n");
    rig.file("src/deep/lib.rs", "// Needle\n");
    rig.file("src/.gitignore", "generated.rs\n");
    rig.file("src/generated.rs", "needle\n");
    rig.file("target/out.rs", "needle\n");
    rig.file("a.log", "needle\n");
    rig.file("keep.log", "needle\n");
    rig.file("data.bin", b"\0needle\n");
    rig
}

#[tokio::test]
async fn a_listing_is_in_order_and_marks_what_git_ignores() {
    let rig = repository();
    rig.link("out", &rig.outside);
    let text = rig.ok("list_files", json!({})).await;
    let expected = format!(
        ".gitignore (24 bytes)\na.log (7 bytes) (ignored)\ndata.bin (8 bytes)\nkeep.log (7 bytes)\nout -> {}\nsrc/\ntarget/ (ignored)",
        rig.outside.display()
    );
    assert_eq!(text, expected);
    let text = rig.ok("list_files", json!({"path": "src", "depth": 5})).await;
    assert_eq!(
        text,
        "src/.gitignore (13 bytes)\nsrc/deep/\nsrc/deep/lib.rs (10 bytes)\nsrc/generated.rs (7 bytes) (ignored)\nsrc/main.rs (28 bytes)"
    );
    assert!(rig.err("list_files", json!({"path": "a.log"})).await.contains("is not a folder"));
    assert_eq!(rig.ok("list_files", json!({"path": "target"})).await, "target/out.rs (7 bytes)");
}

#[tokio::test]
async fn files_are_found_by_pattern_past_what_git_ignores() {
    let rig = repository();
    assert_eq!(rig.ok("glob", json!({"pattern": "*.rs"})).await, "src/deep/lib.rs\nsrc/main.rs");
    assert_eq!(rig.ok("glob", json!({"pattern": "src/*.rs"})).await, "src/main.rs");
    assert_eq!(
        rig.ok("glob", json!({"pattern": "deep/*", "path": "src"})).await,
        "src/deep/lib.rs"
    );
    assert_eq!(rig.ok("glob", json!({"pattern": "*.{log,bin}"})).await, "data.bin\nkeep.log");
    assert_eq!(rig.ok("glob", json!({"pattern": "*.py"})).await, "no file fits `*.py` in .");
    assert!(rig.err("glob", json!({"pattern": "a{b"})).await.contains("is not a pattern"));
    assert!(
        rig.err("glob", json!({"pattern": "*".repeat(5000)})).await.contains("1 to 1000 bytes")
    );
}

#[tokio::test]
async fn lines_are_found_with_what_stands_around_them() {
    let rig = repository();
    let text = rig.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(text, "keep.log:1: needle\nsrc/main.rs:2:     needle();");
    let text =
        rig.ok("grep", json!({"pattern": "NEEDLE", "ignore_case": true, "path": "src"})).await;
    assert_eq!(text, "src/deep/lib.rs:1: // Needle\nsrc/main.rs:2:     needle();");
    let text = rig.ok("grep", json!({"pattern": "needle", "context": 1, "glob": "*.rs"})).await;
    assert_eq!(text, "src/main.rs-1- fn main() {\nsrc/main.rs:2:     needle();\nsrc/main.rs-3- }");
    let text =
        rig.ok("grep", json!({"pattern": "needle()", "literal": true, "show": "files"})).await;
    assert_eq!(text, "src/main.rs");
    let text = rig.ok("grep", json!({"pattern": ".", "show": "count", "path": "src"})).await;
    assert_eq!(text, "src/.gitignore: 1\nsrc/deep/lib.rs: 1\nsrc/main.rs: 3");
    let text = rig.ok("grep", json!({"pattern": "needle", "path": "target/out.rs"})).await;
    assert_eq!(text, "target/out.rs:1: needle");
    let reply = rig.call("grep", json!({"pattern": "n.*e", "limit": 1})).await;
    assert!(reply.text.ends_with("[there may be more; use a narrower pattern, path or glob]"));
    assert_eq!(reply.structured.unwrap()["matches"][0]["line"], 1);
    assert!(rig.ok("grep", json!({"pattern": "nothing"})).await.contains("was not found in ."));
}

#[tokio::test]
async fn a_bad_expression_is_told_and_a_monstrous_one_is_refused() {
    let rig = repository();
    for pattern in ["(", "[a", "", r"(\w{1000}){1000}", r"a\nb"] {
        let text = rig.err("grep", json!({"pattern": pattern})).await;
        assert!(text.contains("is not a regular expression"), "{text}");
        assert!(text.len() < 1000, "{}", text.len());
    }
    let text = rig.err("grep", json!({"pattern": "a", "show": "all"})).await;
    assert!(text.contains("grep: ") && text.contains("call it with"), "{text}");
}

#[tokio::test]
async fn what_is_told_has_a_bound_however_much_is_found() {
    let rig = Rig::new();
    for n in 0..1200 {
        rig.file(&format!("many/{n}"), "needle ".repeat(200));
    }
    rig.file("one-long-line", "needle ".repeat(1_000_000));
    for (tool, input) in [
        ("list_files", json!({"path": "many"})),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "needle", "limit": 2000})),
        ("grep", json!({"pattern": "needle", "show": "files"})),
        ("grep", json!({"pattern": "needle", "path": "one-long-line"})),
    ] {
        let reply = rig.call(tool, input.clone()).await;
        assert!(reply.text.len() < 128 * 1024, "{tool} {input}: {}", reply.text.len());
        assert!(reply.structured.unwrap().to_string().len() < 1024 * 1024);
    }
}

#[tokio::test]
async fn a_search_does_not_tell_what_the_rules_keep_from_being_read() {
    let rig = repository();
    rig.link("other", "src/main.rs");
    let rule = |text: &str| vec![text.parse().unwrap()];
    for rules in [
        ToolRules { deny: rule("read(src/**)"), ..ToolRules::default() },
        ToolRules { ask: rule("read_file(src/**)"), ..ToolRules::default() },
    ] {
        let tools = FileTools::obeying(&rig.inside, rules).unwrap();
        let reply = call(&tools, "grep", json!({"pattern": "needle"})).await;
        assert_eq!(reply.text, "keep.log:1: needle\n[files held back by the rules: 3]");
        for path in ["src/main.rs", "other"] {
            let reply = call(&tools, "grep", json!({"pattern": "needle", "path": path})).await;
            assert!(reply.text.contains("may not be read: the rule"), "{}", reply.text);
        }
    }
}

#[tokio::test]
async fn a_search_ends_when_it_is_cancelled() {
    let rig = Rig::new();
    for n in 0..200 {
        rig.file(&format!("{n}"), "x".repeat(10_000));
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    let began = Instant::now();
    for (tool, input) in [("grep", json!({"pattern": "a"})), ("list_files", json!({}))] {
        let reply = rig.tools.call(ToolCall::new("c", tool, input), &cancel).await;
        assert_eq!(reply.kind, ReplyKind::Cancelled);
    }
    assert!(began.elapsed() < Duration::from_secs(5));
}
