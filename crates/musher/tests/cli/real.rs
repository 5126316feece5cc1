//! `musher run` with the real Claude Code on a scripted model.

use musher_testkit::model::ModelServer;
use musher_testkit::real::require_claude;

use crate::musher::{Place, Ran};

async fn run(server: &ModelServer, place: &Place, args: &[&str]) -> Ran {
    let program = require_claude();
    let mut all = vec!["run", "--program", program.to_str().unwrap()];
    all.extend(args);
    let mut command = place.musher(&all);
    command
        .env("CLAUDE_CONFIG_DIR", place.home.path().join(".claude"))
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_API_KEY", "dummy-key-for-tests")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "1")
        // A nested agent must not believe that it is inside another.
        .env("CLAUDECODE", "1")
        .env("CLAUDE_CODE_ENTRYPOINT", "cli");
    Ran::from(tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap())
}

#[tokio::test]
async fn a_real_run_shows_its_text_its_tools_and_its_bill() {
    let server = ModelServer::start().await.unwrap();
    let place = Place::new();
    let ran = run(&server, &place, &["--allow", "Bash", "[[scn:bash]] go"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("✓ Bash echo hi > out.txt"), "{}", ran.out);
    assert!(ran.out.contains("2300 in, 40 out · $0.0025"), "{}", ran.out);
    assert!(place.work.path().join("out.txt").exists());
}

#[tokio::test]
async fn the_vendors_variables_pass_and_those_of_an_outer_agent_do_not() {
    let server = ModelServer::start().await.unwrap();
    let place = Place::new();
    let prompt = "[[scn:bash cmd=\"env > seen.txt\"]] go";
    let ran = run(&server, &place, &["--allow", "*", prompt]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let seen = std::fs::read_to_string(place.work.path().join("seen.txt")).unwrap();
    assert!(seen.contains("ANTHROPIC_BASE_URL="), "{seen}");
    assert!(!seen.contains("CLAUDE_CODE_ENTRYPOINT=cli"), "{seen}");
}

#[tokio::test]
async fn an_unknown_model_is_the_persons_to_correct() {
    let server = ModelServer::start().await.unwrap();
    let ran = run(&server, &Place::new(), &["--model", "no-such-model", "go"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("no-such-model") && ran.err.contains("fix:"), "{}", ran.err);
}

#[tokio::test]
async fn an_unknown_permission_mode_is_the_persons_to_correct() {
    let server = ModelServer::start().await.unwrap();
    let ran = run(&server, &Place::new(), &["--permission-mode", "weird", "go"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("weird") && ran.err.contains("acceptEdits"), "{}", ran.err);
}

#[tokio::test]
async fn a_refused_key_fails_and_no_secret_is_shown() {
    let server = ModelServer::start().await.unwrap();
    let ran = run(&server, &Place::new(), &["--json", "[[scn:auth]] go"]).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let end = ran.lines().pop().unwrap();
    assert_eq!(end["error"]["class"], "auth");
    assert!(!ran.out.contains("dummy-key-for-tests") && !ran.err.contains("dummy-key-for-tests"));
}

#[tokio::test]
async fn what_the_folder_would_have_run_is_left_out_unless_the_person_trusts_it() {
    let server = ModelServer::start().await.unwrap();
    for (flags, runs) in [(&["--json"][..], false), (&["--json", "--trust-files"], true)] {
        let place = Place::new();
        let left = place.home.path().join("was-run");
        let command = format!("touch '{}'", left.display());
        let hook = serde_json::json!([{ "hooks": [{ "type": "command", "command": command }] }]);
        let settings = serde_json::json!({ "hooks": { "SessionStart": hook } });
        std::fs::create_dir(place.work.path().join(".claude")).unwrap();
        std::fs::write(place.work.path().join(".claude/settings.json"), settings.to_string())
            .unwrap();
        let ran = run(&server, &place, &[flags, &["[[scn:text]] go"]].concat()).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(left.exists(), runs, "{ran:?}");
        assert_eq!(ran.out.contains("project_files_left_out"), !runs, "{ran:?}");
    }
}
