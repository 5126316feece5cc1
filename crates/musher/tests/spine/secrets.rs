//! Secrets that an agent writes into files: hidden where these are shown, and named before they land.

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
