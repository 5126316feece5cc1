//! A request of 64 MiB in a served run: shown in short, answered, and found whole in the raw output.

use std::os::unix::fs::PermissionsExt;

use musher_core::RawRef;
use musher_log::raw;
use serde_json::{Value as Json, json};

use crate::rig::{Project, runner_pid};

const AGENT: &str = "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = './agent.sh'\nprompt = '{{ story.text }}'\n";

/// It keeps what it is answered, and tells its bill in a last word that is as long.
const LONG: &str = r#"#!/bin/sh
big() { head -c 67108864 /dev/zero | tr '\0' x; }
read -r initialize
printf '{"type":"control_response","response":{"subtype":"success","request_id":"musher-0","response":{"hooks_applied":true}}}\n'
read -r prompt
printf '{"type":"system","subtype":"init","session_id":"s","model":"m"}\n'
printf '{"request":{"input":{"content":"'; big
printf '","file_path":"a.txt"},"subtype":"can_use_tool","tool_name":"Write","tool_use_id":"t1"},"type":"control_request","request_id":"q1"}\n'
read -r answer
printf '%s\n' "$answer" > answer.json
printf '{"result":"'; big
printf '","type":"result","subtype":"success","is_error":false,"model_usage_since_last_result":{"m":{"inputTokens":7,"outputTokens":3,"costUSD":0.25}}}\n'
read -r end
"#;

/// The most memory that a process ever had, without the pages of the program file, in KiB.
fn high_water(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    field("VmHWM:").saturating_sub(field("RssFile:"))
}

#[tokio::test]
async fn promise_10_a_request_of_64_mib_is_shown_in_short_answered_and_found_whole() {
    let project = Project::new(AGENT);
    let program = project.repo().join("agent.sh");
    std::fs::write(&program, LONG).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let ask = server.until_ask(&run).await;
    let asks = server.get("/asks").await;
    let asked = asks["asks"].as_array().unwrap().iter().find(|it| it["ask"] == ask).unwrap();
    assert_eq!(asked["body"]["subject"], "a.txt", "{asked}");
    let whole: RawRef = serde_json::from_value(asked["body"]["shortened"].clone()).unwrap();
    assert!(whole.shortened && whole.len > 64 << 20, "{whole:?}");
    let peak = high_water(runner_pid(&project.run_folder(&run)).unwrap());
    assert!(peak < 32 * 1024, "the runner took {peak} KiB");
    let path = format!("/runs/{run}/asks/{ask}/answer");
    let changed = json!({ "decision": "allow", "input": { "file_path": "b.txt" } });
    let (status, refused) = server.try_post(&path, &json!({ "answer": changed })).await.unwrap();
    assert!((400..500).contains(&status), "{status} {refused}");
    server.post(&path, &json!({ "answer": { "decision": "allow" } })).await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    assert_eq!(over["spent"]["cost_usd"], 0.25, "{over:#}");
    let worktree = std::path::PathBuf::from(over["worktree"].as_str().unwrap());
    let answer = std::fs::read_to_string(worktree.join("answer.json")).unwrap();
    let answer: Json = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["response"]["response"], json!({ "behavior": "allow" }));
    let frame = raw::read(&project.run_folder(&run), whole).unwrap();
    assert_eq!(frame.len() as u64, whole.len);
    assert!(frame.starts_with(br#"{"request":{"input":{"content":"xxx"#) && frame.ends_with(b"}"));
    assert_eq!(project.left(), Vec::<i32>::new());
}
