//! Agents without a vendor's program: the whole way from a story to its commit, with a scripted model at its end.

use std::path::Path;
use std::time::{Duration, Instant};

use musher_core::{EventKind, ItemBody};
use musher_testkit::model::ModelServer;
use serde_json::{Value as Json, json};

use crate::rig::{PATIENCE, Project, kill_runner};

const KEY: &str = "dummy-key-4711-for-tests";

/// Every wire format with its runtime.
const WIRES: [(&str, &str); 4] = [
    ("openai", "responses"),
    ("openai", "chat"),
    ("anthropic", "messages"),
    ("gemini", "generate"),
];

fn base_url(runtime: &str, model: &ModelServer) -> String {
    if runtime == "openai" { model.openai_url() } else { model.url().to_owned() }
}

/// A small repository with a failing test, and one agent in this wire format.
fn project((runtime, wire): (&str, &str), model: &ModelServer) -> Project {
    let url = base_url(runtime, model);
    let mut project = Project::new(&format!(
        "[[agent]]\nname = 'coder'\nruntime = '{runtime}'\nwire = '{wire}'\nbase_url = '{url}'\nkey = {{ env = 'TEAM_KEY' }}\nprompt = '{{{{ story.text }}}}'\ncontinue_prompt = '[[scn:echo]] go on'\npermission_mode = 'free'\n"
    ));
    std::fs::write(project.repo().join("answer.txt"), "The answer is 41.\n").unwrap();
    std::fs::write(project.repo().join("test.sh"), "grep -q 42 answer.txt\n").unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "a failing test"]);
    project.vars.push(("TEAM_KEY".into(), KEY.into()));
    project
}

/// What an agent said in a run, all of it.
fn said(project: &Project, run: &str) -> String {
    let texts = project.events(run).into_iter().filter_map(|event| match event.kind {
        EventKind::ItemDone { body: ItemBody::Text { text }, .. } => Some(text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Every file below a folder that holds the key.
fn leaks(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        // The server lives: what it has put away since the folder was read is passed over.
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() {
            leaks(&path, found);
        // Nothing that a run writes is as large as the copy of the program.
        } else if about.is_file() && about.len() < 1 << 22 {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let unpacked = zstd::decode_all(&bytes[..]).unwrap_or_default();
            let holds = |bytes: &[u8]| bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
            if holds(&bytes) || holds(&unpacked) {
                found.push(path.display().to_string());
            }
        }
    }
}

#[tokio::test]
async fn the_same_story_is_solved_in_every_wire_format_committed_and_billed_to_the_token() {
    for wire in WIRES {
        let model = ModelServer::start().await.unwrap();
        let project = project(wire, &model);
        let server = project.serve().await;
        let (_, run) = server.begin("[[scn:coder think=I_look_first]] Make the test pass.").await;
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "completed", "{wire:?}: {over:#}");
        let branch = over["branch"].as_str().unwrap();
        let fixed = project.git(&["show", &format!("{branch}:answer.txt")]);
        assert_eq!(fixed, "The answer is 42.\n", "{wire:?}");
        let diff = server.get(&format!("/runs/{run}/diff")).await;
        assert!(diff.to_string().contains("answer.txt"), "{wire:?}: {diff:#}");
        let bill = model.ledger().total();
        let usage = server.get("/usage?by=story").await;
        let spent = &usage["rows"][0]["spent"];
        let count = |name: &str| spent[name].as_u64().unwrap();
        let written = count("cache_write_5m") + count("cache_write_other");
        let told = [count("input"), count("cache_read"), written, count("output")];
        let charged = [bill.input, bill.cache_read, bill.cache_write_5m, bill.output];
        assert_eq!(told, charged, "{wire:?}: {usage:#}");
        assert!(spent["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{wire:?}: {usage:#}");
        assert_eq!(model.ledger().requests(), 5, "{wire:?}");
        let mut leaked = Vec::new();
        leaks(&project.state(), &mut leaked);
        assert_eq!(leaked, Vec::<String>::new(), "{wire:?}");
        assert_eq!(project.left(), Vec::<i32>::new(), "{wire:?}");
    }
}

#[tokio::test]
async fn a_session_lives_in_its_runs_folder_and_is_gone_on_with_and_forked_from_any_turn() {
    let model = ModelServer::start().await.unwrap();
    let project = project(WIRES[1], &model);
    let server = project.serve().await;
    let (_, first) = server.begin("[[scn:text say=One.]] go").await;
    let session = server.until_over(&first).await["session"].clone();
    let name = format!("{}.jsonl", session.as_str().unwrap());
    let file = |run: &str| project.run_folder(run).join("sessions").join(&name);
    let before = std::fs::read(file(&first)).unwrap();
    let go_on = async |run: &str, verb: &str, body: Json| {
        let reply = server.post(&format!("/runs/{run}/{verb}"), &body).await;
        let run = reply["run"].as_str().unwrap().to_owned();
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "completed", "{over:#}");
        (over, said(&project, &run), run)
    };
    let (over, heard, second) = go_on(&first, "prompt", json!({ "text": "[[scn:echo]]" })).await;
    assert_eq!(over["session"], session);
    assert!(heard.contains("2 user text(s)"), "{heard}");
    assert_eq!(std::fs::read(file(&first)).unwrap(), before, "the earlier run's file is its own");
    assert!(file(&second).is_file());
    let (_, heard, third) = go_on(&second, "resume", json!({ "text": "[[scn:echo]]" })).await;
    assert!(heard.contains("3 user text(s)"), "{heard}");
    let (over, heard, fork) =
        go_on(&third, "fork", json!({ "text": "[[scn:echo]]", "turn": 1 })).await;
    assert!(heard.contains("2 user text(s)"), "it begins after the first turn: {heard}");
    assert_ne!(over["session"], session);
    let (_, heard, _) = go_on(&third, "fork", json!({ "text": "[[scn:echo]]" })).await;
    assert!(heard.contains("4 user text(s)"), "{heard}");
    // A turn that there is not is refused in words.
    let reply = server.post(&format!("/runs/{fork}/fork"), &json!({ "turn": 9 })).await;
    let over = server.until_over(reply["run"].as_str().unwrap()).await;
    assert_eq!(over["outcome"], "failed", "{over:#}");
    assert!(over.to_string().contains("has no turn 9"), "{over:#}");
}

#[tokio::test]
async fn the_loop_goes_on_while_the_server_is_dead() {
    let model = ModelServer::start().await.unwrap();
    let project = project(WIRES[0], &model);
    let server = project.serve().await;
    let (_, run) = server.begin("[[scn:slow n=40 ms=50]] talk").await;
    server.until_live(&run).await;
    let began = Instant::now();
    while model.ledger().requests() == 0 {
        assert!(began.elapsed() < PATIENCE, "the model was never asked");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.kill();
    while !project.run_folder(&run).join("outcome.json").exists() {
        assert!(began.elapsed() < PATIENCE, "the run never ended");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let server = project.serve().await;
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    assert_eq!(model.ledger().requests(), 1);
}

#[tokio::test]
async fn a_stop_in_the_middle_of_an_answer_or_of_a_command_leaves_nothing() {
    for story in ["[[scn:hang]] wait", "[[scn:bash_sleep s=600]] wait"] {
        let model = ModelServer::start().await.unwrap();
        let project = project(WIRES[2], &model);
        let server = project.serve().await;
        let (_, run) = server.begin(story).await;
        let began = Instant::now();
        while model.ledger().requests() == 0 {
            assert!(began.elapsed() < PATIENCE, "the model was never asked");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        server.post(&format!("/runs/{run}/stop"), &json!({})).await;
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "stopped", "{story}: {over:#}");
        assert_eq!(project.left(), Vec::<i32>::new(), "{story}");
    }
}

#[tokio::test]
async fn a_run_whose_runner_was_killed_while_the_model_answered_is_never_billed_as_free() {
    for wire in WIRES {
        for story in ["[[scn:hang]] wait", "[[scn:slow n=2000 ms=50]] talk"] {
            let model = ModelServer::start().await.unwrap();
            let project = project(wire, &model);
            let server = project.serve().await;
            let (_, run) = server.begin(story).await;
            let began = Instant::now();
            // Two formats tell their input at the start; then it is in the log before the runner dies.
            let tells = matches!(wire.1, "messages" | "generate") && story.contains("slow");
            while model.ledger().requests() == 0 || tells && !reported(&project, &run) {
                assert!(began.elapsed() < PATIENCE, "the model was never asked");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            kill_runner(&project.run_folder(&run)).unwrap();
            let over = server.until_over(&run).await;
            assert_eq!(over["outcome"], "lost", "{wire:?} {story}: {over:#}");
            // The model notices by itself that nobody listens any more.
            while model.ledger().charged().input == 0 {
                assert!(began.elapsed() < PATIENCE, "{wire:?} {story}: the model has worked");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let told = if tells { model.ledger().told().input } else { 0 };
            let end = project.events(&run).into_iter().find_map(|event| match event.kind {
                EventKind::SessionEnded(end) => Some(end),
                _ => None,
            });
            let end = end.expect("the log of a lost run is closed");
            assert_eq!(end.usage.input, told, "{wire:?} {story}: {end:?}");
            // Nobody knows what a runner had not written down yet when it was killed.
            assert_eq!(end.cost_usd, None, "{wire:?} {story}: {end:?}");
            assert_eq!(!end.known_cost_usd.is_zero(), tells, "{wire:?} {story}: {end:?}");
            let usage = server.get("/usage?by=story").await;
            let cost = &usage["rows"][0]["spent"]["cost_usd"];
            assert!(cost.is_null(), "{wire:?} {story}: {usage:#}");
        }
    }
}

/// Whether the log of a run has tokens of a call.
fn reported(project: &Project, run: &str) -> bool {
    project.events(run).iter().any(
        |event| matches!(&event.kind, EventKind::Usage(report) if report.spend.tokens.total() > 0),
    )
}

/// Begins a run whose model has had a command started that takes for ever.
async fn in_a_call(project: &Project, server: &crate::rig::Server) -> String {
    let (_, run) = server.begin("[[scn:bash_sleep s=600 think=Hm.]] wait").await;
    let started = project.state().join("worktrees/1/started.txt");
    let began = Instant::now();
    while !started.exists() {
        assert!(began.elapsed() < PATIENCE, "the command was never run");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    run
}

#[tokio::test]
async fn a_run_whose_runner_was_killed_in_a_call_goes_on_with_a_conversation_that_is_whole() {
    for wire in WIRES {
        let model = ModelServer::start().await.unwrap();
        let project = project(wire, &model);
        let server = project.serve().await;
        let run = in_a_call(&project, &server).await;
        let session = server.until(&run, |run| run["session"].is_string()).await["session"].clone();
        kill_runner(&project.run_folder(&run)).unwrap();
        assert_eq!(server.until_over(&run).await["outcome"], "lost", "{wire:?}");
        // The model refuses a call without its result and a thought that was changed, so that an end is the proof.
        let over = server.until_over("r2").await;
        assert_eq!(over["outcome"], "completed", "{wire:?}: {over:#}");
        assert_eq!(over["session"], session, "{wire:?}");
        assert!(said(&project, "r2").contains("2 user text(s)"), "{wire:?}");
        let request = model.requests().last().unwrap().json().to_string();
        assert!(
            request.contains("sleep 600") && request.contains("cancelled"),
            "{wire:?}: {request}"
        );
        assert_eq!(project.left(), Vec::<i32>::new(), "{wire:?}");
    }
}

#[tokio::test]
async fn an_interrupt_leaves_a_conversation_with_which_the_next_prompt_goes_on() {
    for wire in WIRES {
        let model = ModelServer::start().await.unwrap();
        let project = project(wire, &model);
        let server = project.serve().await;
        let run = in_a_call(&project, &server).await;
        server.post(&format!("/runs/{run}/interrupt"), &json!({})).await;
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "interrupted", "{wire:?}: {over:#}");
        assert_eq!(project.left(), Vec::<i32>::new(), "{wire:?}");
        let body = json!({ "text": "[[scn:echo]]" });
        let reply = server.post(&format!("/runs/{run}/prompt"), &body).await;
        let next = reply["run"].as_str().unwrap().to_owned();
        let over = server.until_over(&next).await;
        assert_eq!(over["outcome"], "completed", "{wire:?}: {over:#}");
        assert!(said(&project, &next).contains("2 user text(s)"), "{wire:?}");
    }
}

#[tokio::test]
async fn an_agent_whose_program_keeps_its_sessions_cannot_be_forked_from_a_turn() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=1]]").await;
    server.until_over(&run).await;
    let (status, problem) =
        server.try_post(&format!("/runs/{run}/fork"), &json!({ "turn": 1 })).await.unwrap();
    assert_eq!((status, &problem["code"]), (409, &json!("no_turns")), "{problem:#}");
    let told = problem.to_string();
    assert!(
        told.contains("cannot continue from an earlier turn")
            && told.contains("leave the turn out"),
        "{told}"
    );
    assert_eq!(project.runs().len(), 1, "nothing was begun");
}

#[tokio::test]
async fn without_a_server_the_tools_are_there_and_what_is_wrong_is_said_with_its_fix() {
    let model = ModelServer::start().await.unwrap();
    let project = project(WIRES[0], &model);
    let run = |url: String, key: &'static str, prompt: &'static str| {
        let args = ["run", "--runtime", "openai", "--json", "--permission-mode", "free", prompt];
        let mut command = project.musher(&args);
        command.env("OPENAI_BASE_URL", url).env("OPENAI_API_KEY", key);
        async move {
            let output =
                tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let last = serde_json::from_str::<Json>(text.lines().last().unwrap()).unwrap();
            assert!(!text.contains(KEY), "{text}");
            (output.status.code(), last)
        }
    };
    let good = model.openai_url();
    let (code, end) = run(good.clone(), KEY, "[[scn:coder]] Make the test pass.").await;
    assert_eq!(code, Some(0), "{end:#}");
    let fixed = std::fs::read_to_string(project.repo().join("answer.txt")).unwrap();
    assert_eq!(fixed, "The answer is 42.\n");
    let tls = good.replace("http://", "https://");
    for (url, key, prompt, class) in [
        (good.clone(), "wrong-key-for-tests", "[[scn:text]] go", "auth"),
        (format!("{}/elsewhere", model.url()), KEY, "[[scn:text]] go", ""),
        (tls, KEY, "[[scn:text]] go", "network"),
        (good, KEY, "[[scn:html]] go", "protocol"),
    ] {
        let (code, end) = run(url.clone(), key, prompt).await;
        assert_ne!(code, Some(0), "{url} {end:#}");
        assert_eq!(end["outcome"], "failed", "{url} {end:#}");
        let error = &end["error"];
        assert!(error["class"].as_str().unwrap().starts_with(class), "{url} {end:#}");
        assert!(error["hint"].is_string(), "{url} has no word on what to do: {end:#}");
    }
}

#[tokio::test]
async fn the_doctor_and_the_checks_tell_which_keys_are_found_and_never_what_they_are() {
    let model = ModelServer::start().await.unwrap();
    let mut project = project(WIRES[3], &model);
    project.vars.push(("OPENAI_API_KEY".into(), KEY.into()));
    let server = project.serve().await;
    let checks = server.get("/checks").await;
    let runtimes = checks["runtimes"].as_array().unwrap().iter();
    let states: Vec<_> = runtimes.map(|it| (&it["runtime"], &it["state"])).collect();
    for (runtime, state) in [("gemini", "ok"), ("openai", "ok"), ("anthropic", "missing")] {
        let expected = (&json!(runtime), &json!(state));
        let found: Vec<_> = states.iter().filter(|it| *it.0 == runtime).collect();
        assert_eq!(found, [&expected], "{checks:#}");
    }
    let told = checks.to_string();
    assert!(told.contains("TEAM_KEY is set") && told.contains("OPENAI_API_KEY is set"), "{told}");
    assert!(!told.contains(KEY), "{told}");
    let state = project.state().display().to_string();
    let output = project.musher(&["doctor", "--state", &state]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("gemini: TEAM_KEY is set") && !text.contains(KEY), "{text}");
}
