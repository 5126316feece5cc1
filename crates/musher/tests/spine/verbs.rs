//! What people say to agents by the command line, and what becomes of it in the agent.

use std::process::Stdio;
use std::time::{Duration, Instant};

use musher_core::EventKind;
use serde_json::Value as Json;

use crate::rig::{PATIENCE, Project};

/// Runs a verb with `--json` and gives the document that it printed.
async fn json(project: &Project, args: &[&str]) -> Json {
    let mut all = args.to_vec();
    all.push("--json");
    let text = project.cli(&all).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
}

async fn until(what: &str, found: impl Fn() -> bool) {
    let began = Instant::now();
    while !found() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn texts(project: &Project, run: &str) -> String {
    serde_json::to_string(&project.events(run)).unwrap()
}

#[tokio::test]
async fn what_is_said_to_a_run_reaches_its_agent() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let added =
        json(&project, &["story", "add", "Talk", "--text", "[[work lines=100000 every_ms=20]]"])
            .await;
    assert_eq!(added["story"], "s1");
    assert_eq!(json(&project, &["start", "s1", "worker"]).await["run"], "r1");
    server.until_live("r1").await;
    until("the agent works", || texts(&project, "r1").contains("line 2")).await;
    assert_eq!(json(&project, &["steer", "s1", "more to the left"]).await["status"], "sent");
    until("it was steered", || texts(&project, "r1").contains("heard: more to the left")).await;
    // A prompt waits for the end of the turn, which an interrupt brings.
    let next = "[[work ask=\"make all\" lines=1]]";
    assert_eq!(json(&project, &["prompt", "s1/worker", next]).await["status"], "sent");
    assert_eq!(json(&project, &["interrupt", "r1"]).await["status"], "sent");
    project.cli(&["wait", "s1", "--until", "needs-you", "--timeout", "30s"]).await;
    let asks = json(&project, &["asks"]).await;
    assert_eq!(asks["asks"].as_array().unwrap().len(), 1, "{asks:#}");
    assert_eq!(json(&project, &["deny", "s1", "--reason", "not now"]).await["status"], "sent");
    let over = server.until_over("r1").await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    assert!(project.worker_file("effects").contains("deny"));
    let said: Vec<String> = project
        .events("r1")
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::UserMessage { text, origin, .. } => Some(format!("{origin:?}: {text}")),
            _ => None,
        })
        .collect();
    let own = said.iter().filter(|said| !said.starts_with("Synthetic"));
    assert_eq!(own.count(), 3, "the story, what was steered, and the prompt: {said:#?}");

    assert_eq!(json(&project, &["fork", "r1", "[[work lines=1]]"]).await["run"], "r2");
    assert_eq!(server.until_over("r2").await["kind"], "fork");
    assert_eq!(
        json(&project, &["resume", "r1", "[[work question=\"Which?\" options=A|B]]"]).await["run"],
        "r3"
    );
    server.until_ask("r3").await;
    assert_eq!(json(&project, &["answer", "r3", "--choose", "B"]).await["status"], "sent");
    server.until_over("r3").await;
    assert!(texts(&project, "r3").contains("allow: B"));
    assert_eq!(json(&project, &["retry", "r3"]).await["run"], "r4");
    server.until_ask("r4").await;
    json(&project, &["kill", "r4"]).await;
    assert_eq!(server.run("r4").await["outcome"], "stopped", "kill returns when it is true");
    for view in [
        &["ps"][..],
        &["show", "r1"],
        &["diff", "r1"],
        &["usage"],
        &["story", "list"],
        &["story", "show", "s1"],
        &["doctor"],
    ] {
        assert!(json(&project, view).await.is_object() || json(&project, view).await.is_array());
    }
    for change in [
        &["story", "edit", "s1", "--title", "Talked"][..],
        &["story", "done", "s1"],
        &["story", "reopen", "s1"],
        &["story", "archive", "s1"],
    ] {
        json(&project, change).await;
    }
}

#[tokio::test]
async fn scripts_find_the_server_by_its_address_and_token() {
    let mut project = Project::of_workers();
    let server = project.serve().await;
    project.vars = vec![
        ("MUSHER_URL".into(), server.url.clone()),
        ("MUSHER_TOKEN".into(), server.token.clone()),
    ];
    let output = project.musher(&["story", "add", "From afar", "--text", "x"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(server.get("/stories/s1").await["title"], "From afar");
}

#[tokio::test]
async fn ctrl_c_on_the_server_says_how_many_agents_go_on_and_how_to_end_them() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=100000 every_ms=20]]").await;
    server.until_live(&run).await;
    server.kill();
    let state = project.state().display().to_string();
    let mut serve = project
        .musher(&["serve", "--state", &state])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(serve.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let code = line.trim().rsplit_once("/#").map(|(_, code)| code.len());
    assert_eq!((line.starts_with("Musher listens at http://127.0.0.1:"), code), (true, Some(64)));
    let pid = rustix::process::Pid::from_child(&serve);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = serve.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("1 run continues."), "{said}");
    assert!(
        said.contains("1 agent keeps working.") && said.contains("musher kill --all"),
        "{said}"
    );
    project.cli(&["kill", "--all"]).await;
    assert_eq!(project.left(), Vec::<i32>::new(), "kill works without a server");
}

#[tokio::test]
async fn who_follows_a_run_reads_what_its_log_says_in_the_same_order() {
    let project = Project::new(
        "[[agent]]\nname = 'talker'\nruntime = 'script'\ncommand = './.musher/talk.toml'\n",
    );
    let script = "pace_ms = 40\n[[step]]\nsay = 'One two three four five six.'\n[[step]]\nwrite = 'f.txt'\ncontent = 'x'\n[[step]]\nsay = 'Seven eight nine ten.'\n[[step]]\nrun = 'true'\n[[step]]\nsay = 'The script is at its end.'\n";
    std::fs::write(project.repo().join(".musher/talk.toml"), script).unwrap();
    let server = project.serve().await;
    project.cli(&["story", "add", "Talk", "--text", "Please."]).await;
    let followed = project.cli(&["start", "s1", "--follow"]).await;
    server.until_over("r1").await;
    let kept = project.cli(&["logs", "r1"]).await;
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("run r1")).map(str::trim_end);
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(&followed), lines(&kept));
}

#[tokio::test]
async fn the_id_of_an_ask_that_is_closed_is_no_answer_to_another() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) =
        server.begin("[[work question=\"A?\" options=X|Y question=\"B?\" options=X|Y]]").await;
    let first = server.until_ask(&run).await;
    project.cli(&["answer", &run, &first, "X"]).await;
    let began = Instant::now();
    while server.until_ask(&run).await == first {
        assert!(began.elapsed() < PATIENCE, "the second question never came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let state = project.state().display().to_string();
    let late = project.musher(&["answer", &run, &first, "X", "--state", &state]).output().unwrap();
    assert_eq!(late.status.code(), Some(2), "{late:?}");
    assert_eq!(project.worker_file("effects").lines().count(), 1, "only the first was answered");
    server.post(&format!("/runs/{run}/kill"), &serde_json::json!({})).await;
    server.until_over(&run).await;
}

#[tokio::test]
async fn what_changed_nothing_is_not_merged_and_a_story_is_not_called_like_a_run() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (story, run) = server.begin("[[work lines=1]]").await;
    server.until_over(&run).await;
    let (status, problem) =
        server.try_post(&format!("/stories/{story}/merge"), &serde_json::json!({})).await.unwrap();
    assert_eq!(status, 409, "{problem:#}");
    assert!(problem["detail"].as_str().unwrap().contains("no commit of its own"), "{problem:#}");
    assert_eq!(server.get(&format!("/stories/{story}")).await["state"], "open");
    let named = serde_json::json!({ "id": "r5", "title": "Confusing", "text": "" });
    assert_eq!(server.try_post("/stories", &named).await.unwrap().0, 422);
}
