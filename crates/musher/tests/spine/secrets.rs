//! Secrets that an agent writes into files: hidden where these are shown, and named before they land.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value as Json, json};

use crate::rig::Project;

const SECRET: &str = "sk-live-0123456789abcdef";

/// A project whose agent writes the key that it was given into a file.
fn project() -> Project {
    let mut project = Project::new(
        "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = './work.toml'\nenv = { PLAIN = { from = 'DEPLOY' } }\n",
    );
    let steps = "[[step]]\nrun = \"printf 'a\\nkey: %s\\n' $PLAIN > leaked.txt\"\n";
    std::fs::write(project.repo().join("work.toml"), steps).unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "script"]);
    // Neither name says that it is a secret; the project file does, by where it takes it from.
    project.vars.push(("DEPLOY".into(), SECRET.into()));
    project
}

#[tokio::test]
async fn promise_19_a_secret_that_an_agent_wrote_into_a_file_is_masked_and_needs_a_word_to_be_merged()
 {
    let project = project();
    let server = project.serve().await;
    let (story, run) = server.begin("Leak it.").await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    assert!(over["commit"].is_string(), "{over:#}");
    let note = over["finish_error"].as_str().unwrap_or_default();
    assert!(note.contains("line 2 of leaked.txt holds PLAIN"), "{over:#}");
    let diff = server.get(&format!("/runs/{run}/diff")).await;
    assert_eq!(diff["secrets"], json!([{ "path": "leaked.txt", "line": 2, "name": "PLAIN" }]));
    assert!(diff.to_string().contains("key: [redacted PLAIN]"), "{diff:#}");
    let mut shown = vec![over.to_string(), diff.to_string()];
    for words in [&["diff", run.as_str()][..], &["show", &run], &["ps", "--all"], &["logs", &run]] {
        shown.push(project.cli(words).await);
    }
    assert!(shown.iter().any(|text| text.contains("warning")), "{shown:#?}");
    let merge = format!("/stories/{story}/merge");
    let (status, problem) = server.try_post(&merge, &json!({})).await.unwrap();
    assert_eq!((status, problem["code"].as_str()), (409, Some("secrets_found")), "{problem:#}");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("line 2 of leaked.txt holds PLAIN"), "{problem:#}");
    assert!(problem["hint"].as_str().unwrap_or_default().contains("--with-secrets"), "{problem:#}");
    shown.push(problem.to_string());
    for text in &shown {
        assert!(!text.contains(SECRET), "{text}");
    }
    let tip = |branch: &str| project.git(&["rev-parse", branch]);
    let before = tip("main");
    let story_shown: Json = server.get(&format!("/stories/{story}")).await;
    assert_eq!(tip("main"), before, "{story_shown:#}");
    project.cli(&["merge", &story, "--with-secrets"]).await;
    assert_ne!(tip("main"), before);
}

/// It says its key in other forms, cut by lines, and writes them into a file.
const ENCODING_AGENT: &str = r#"#!/bin/sh
read -r initialize
printf '{"type":"control_response","response":{"subtype":"success","request_id":"musher-0","response":{"hooks_applied":true}}}\n'
read -r prompt
printf '{"type":"system","subtype":"init","session_id":"s","model":"m"}\n'
basic=$(printf 'me:%s' "$PLAIN" | base64 -w 0)
wrapped=$(printf 'me:%s' "$PLAIN" | base64 -w 16)
inline=$(printf '%s\n' "$wrapped" | awk '{printf "%s\\n", $0}')
query=$(printf '%s' "$PLAIN" | sed 's,/,%2F,; s,+,%2B,; s,=,%3D,')
cut=$(printf '%s' "$PLAIN" | sed 's,0123,01\\n    23,')
printf '{"type":"assistant","session_id":"s","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"basic %s end\\ninline\\n%send\\nquery ?key=%s end\\ncut %s end"}]}}\n' "$basic" "$inline" "$query" "$cut"
printf 'basic %s end\n' "$basic" > leaked.txt
printf '%s\nend\nquery ?key=%s end\n' "$wrapped" "$query" >> leaked.txt
printf '{"type":"result","subtype":"success","is_error":false,"result":"done %s","session_id":"s"}\n' "$basic"
read -r end
"#;

#[tokio::test]
async fn promise_19_an_encoded_or_wrapped_secret_is_hidden_in_events_raw_output_diffs_and_logs() {
    let mut project = Project::new(
        "[[agent]]\nname = 'coder'\nruntime = 'claude-code'\ncommand = './agent.sh'\nenv = { PLAIN = { from = 'DEPLOY' } }\n",
    );
    let program = project.repo().join("agent.sh");
    std::fs::write(&program, ENCODING_AGENT).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "agent"]);
    project.vars.push(("DEPLOY".into(), "sk-live/0123+456789=abcdef".into()));
    let server = project.serve().await;
    let (story, run) = server.begin("Leak it.").await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    let note = over["finish_error"].as_str().unwrap_or_default();
    for place in ["line 1", "line 2", "line 6"] {
        assert!(note.contains(&format!("{place} of leaked.txt holds PLAIN")), "{note}");
    }
    let raw = reqwest::Client::new().get(format!("{}/api/v1/runs/{run}/raw", server.url));
    let raw = raw.bearer_auth(&server.token).send().await.unwrap().text().await.unwrap();
    assert!(raw.contains("basic ") && raw.contains("****"), "{raw}");
    let diff = server.get(&format!("/runs/{run}/diff")).await.to_string();
    assert!(diff.contains("?key=[redacted PLAIN] end"), "{diff}");
    let events = serde_json::to_string(&project.events(&run)).unwrap();
    assert!(events.contains("?key=[redacted PLAIN] end"), "{events}");
    let mut shown = vec![over.to_string(), raw, diff, events];
    for words in
        [&["logs", run.as_str()][..], &["logs", &run, "--json"], &["diff", &run], &["show", &run]]
    {
        shown.push(project.cli(words).await);
    }
    let (_, refused) =
        server.try_post(&format!("/stories/{story}/merge"), &json!({})).await.unwrap();
    assert_eq!(refused["code"], "secrets_found", "{refused:#}");
    // Of base64 the characters that the key shares with what stands before it are left.
    let leaks =
        ["stbGl2ZS8w", "MTIzKzQ1Njc4OT1h", "YmNkZW", "sk-live%2F", "0123%2B456789", "23+456789"];
    for text in &shown {
        for leak in leaks {
            assert!(!text.contains(leak), "{leak} is in {text}");
        }
    }
}

#[tokio::test]
async fn what_looks_like_a_key_is_named_at_the_runs_end_and_needs_a_word_to_be_merged() {
    let project =
        Project::new("[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = './work.toml'\n");
    // No text here looks like a key as a whole.
    let steps = "[[step]]\nrun = \"printf 'one\\nid = AKIA%s\\n' Z7QM2XPL4KD6RT3W > settings.ini\"\n[[step]]\nrun = \"printf 'AKIA%s # musher:allow-secret\\nAKIAIOSFODNN7%s\\n' Z7QM2XPL4KD6RT3W EXAMPLE > allowed.txt\"\n";
    std::fs::write(project.repo().join("work.toml"), steps).unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "script"]);
    let server = project.serve().await;
    let (story, run) = server.begin("Write settings.").await;
    let over = server.until_over(&run).await;
    let named = "line 2 of settings.ini holds what looks like an AWS access key id";
    let note = over["finish_error"].as_str().unwrap_or_default();
    assert!(note.contains(named) && !note.contains("allowed.txt"), "{over:#}");
    let merge = format!("/stories/{story}/merge");
    let (status, problem) = server.try_post(&merge, &json!({})).await.unwrap();
    assert_eq!((status, problem["code"].as_str()), (409, Some("secrets_found")), "{problem:#}");
    assert!(problem["detail"].as_str().unwrap_or_default().contains(named), "{problem:#}");
    let before = project.git(&["rev-parse", "main"]);
    project.cli(&["merge", &story, "--with-secrets"]).await;
    assert_ne!(project.git(&["rev-parse", "main"]), before);
}
