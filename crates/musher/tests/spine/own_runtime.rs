//! An agent that only the project file knows: its runtime is a table of that file, and its program speaks ACP.

use musher::runner::spec::RunSpec;
use serde_json::Value as Json;

use crate::rig::Project;

/// A program that speaks as much ACP as one prompt needs. It answers each request by its number, and says what it was given.
const PROGRAM: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{}}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s-1"}}\n' "$id" ;;
    *'"session/prompt"'*)
      printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s %s"}}}}\n' "$1" "$QUIET"
      printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":5,"totalTokens":12}}}\n' "$id" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

const FILE: &str = "[[runtime]]\nname = 'ours'\nprogram = 'tools/ours'\nargs = ['--acp']\nenv = { QUIET = 'quiet' }\nexecutes = ['.ours/**']\nusage = 'turn'\n[[agent]]\nname = 'coder'\nruntime = 'ours'\n";

fn project() -> Project {
    let project = Project::new(FILE);
    let program = project.repo().join("tools/ours");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, PROGRAM).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    project
}

#[tokio::test]
async fn an_agent_of_a_runtime_that_the_project_brings_is_run_counted_and_listed() {
    let project = project();
    let server = project.serve().await;
    project.cli(&["story", "add", "Say hi"]).await;
    project.cli(&["start", "s1", "coder"]).await;
    let ended = server.until_over("r1").await;
    assert_eq!(ended["outcome"], "completed", "{ended:#}");
    assert!(project.cli(&["logs", "r1"]).await.contains("--acp quiet"));
    let usage: Json =
        serde_json::from_str(&project.cli(&["usage", "--by", "run", "--json"]).await).unwrap();
    let spent = &usage["rows"][0]["spent"];
    assert_eq!((&spent["input"], &spent["output"]), (&7.into(), &5.into()), "{usage:#}");
    let spec = RunSpec::read(&project.run_folder("r1")).unwrap();
    assert_eq!(spec.preset.unwrap().name, "ours");
    let protected = spec.protected.unwrap();
    assert!(protected.iter().any(|pattern| pattern.contains(".ours/**")), "{protected:?}");
    assert_eq!(project.left(), Vec::<i32>::new());
    let agents: Json = serde_json::from_str(&project.cli(&["agents", "--json"]).await).unwrap();
    let listed = agents["agents"].as_array().unwrap().iter();
    assert_eq!(listed.filter(|agent| agent["runtime"] == "ours").count(), 1, "{agents:#}");
}

#[tokio::test]
async fn what_a_runtime_of_the_project_would_run_is_shown_before_it_is_trusted() {
    let project = project();
    let shown = project.cli(&["trust", "--show"]).await;
    for line in ["runtime ours: program \"tools/ours\"", "runtime ours: argument 1 \"--acp\""] {
        assert!(shown.contains(line), "no {line} in:\n{shown}");
    }
}
