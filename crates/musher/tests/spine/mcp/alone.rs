//! A run without a server has the tools of its run all the same.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use musher_testkit::model::ModelServer;
use serde_json::{Value as Json, json};

use super::agent::{Endpoint, Generation, project, said};
use crate::rig::{PATIENCE, Project};

/// A command that is killed when its test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended by itself where the test went well.
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// `musher run` with an agent that gives away how its tools are reached.
fn run(project: &Project, prompt: &str) -> Running {
    let agent = project.worker_home().join("agent.sh").display().to_string();
    let home = format!("WORKER_HOME={}", project.worker_home().display());
    let args = ["run", "--json", "--runtime", "claude-code", "--program", &agent, "-e", &home];
    let mut command = project.musher(&args);
    Running(command.arg(prompt).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
}

/// Ends the run and gives what it printed.
fn stop(mut running: Running) -> Vec<Json> {
    let child = &mut running.0;
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn notices(events: &[Json]) -> Vec<(&str, &str)> {
    let told = events.iter().filter(|event| event["type"] == "notice");
    told.filter_map(|event| Some((event["code"].as_str()?, event["text"].as_str()?))).collect()
}

async fn until_gone(path: &Path) {
    let began = Instant::now();
    while path.exists() {
        assert!(began.elapsed() < PATIENCE, "{} is still there", path.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn promise_18_without_a_server_an_agent_has_the_tools_of_its_run_and_only_while_it_runs() {
    use std::os::unix::fs::PermissionsExt;
    let project = project();
    let child = run(&project, "[[work hang=1]] the words of the person");
    let endpoint = Endpoint::in_folder(&project, "musher-run").await;
    let folder = Path::new(endpoint.args.last().unwrap()).to_owned();
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "the folder is its owner's alone");
    for generation in [Generation::Initialize, Generation::Stateless] {
        let tools = endpoint.connect(generation).await;
        let names = ["story", "plan", "ask_person", "report_progress", "finish"];
        assert_eq!(tools.names().await, names);
        let (story, failed) = said(&tools.call("story", json!({})).await);
        assert!(!failed && story.contains("the words of the person"), "{story}");
    }
    for env in [[("MUSHER_RUN_SECRET".into(), "0".repeat(64))].into(), [].into()] {
        let why = Endpoint { env, ..endpoint.clone() }.refusal().await;
        assert!(why.contains("refuses its tools"), "{why}");
    }
    let secret = &endpoint.env["MUSHER_RUN_SECRET"];
    assert!(!project.worker_file("arguments").contains(secret.as_str()));
    let tools = endpoint.connect(Generation::Stateless).await;
    tools.call("report_progress", json!({ "text": "half way" })).await;
    let steps = json!([{ "text": "look", "status": "in_progress" }]);
    tools.call("plan", json!({ "steps": steps })).await;
    // Nobody is at this terminal, and the agent is told so.
    let question = json!({ "questions": [{ "text": "Which colour?" }] });
    let (_, failed) = said(&tools.call("ask_person", question).await);
    assert!(failed, "nobody can have answered");
    tools.call("finish", json!({ "summary": "all is well" })).await;
    let events = tokio::task::spawn_blocking(move || stop(child)).await.unwrap();
    let told = notices(&events);
    for said in [("progress", "half way"), ("summary", "all is well")] {
        assert!(told.contains(&said), "{told:?}");
    }
    assert!(events.iter().any(|event| event["type"] == "plan"), "{events:?}");
    let record = serde_json::to_string(&events).unwrap();
    assert!(!record.contains(secret.as_str()), "the secret was told");
    tools.until_gone().await;
    until_gone(&folder).await;
    let why = endpoint.refusal().await;
    assert!(why.contains("is over or not under way"), "{why}");
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn without_a_server_a_model_has_the_tools_of_its_run_in_process() {
    for (runtime, wire, variable, key) in [
        ("openai", "responses", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        ("openai", "chat", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        ("anthropic", "messages", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        ("gemini", "generate", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    ] {
        let model = ModelServer::start().await.unwrap();
        let url = if runtime == "openai" { model.openai_url() } else { model.url().to_owned() };
        let project = project();
        let script = project.home().join("script.json");
        let call = |name: &str, input| json!({ "tools": [{ "name": name, "input": input }] });
        let steps = json!([
            call("story", json!({})),
            call("plan", json!({ "steps": [{ "text": "look", "status": "completed" }] })),
            call("report_progress", json!({ "text": "half way" })),
            call("ask_person", json!({ "questions": [{ "text": "Which colour?" }] })),
            call("finish", json!({ "summary": "all done" })),
        ]);
        std::fs::write(&script, steps.to_string()).unwrap();
        let prompt = format!("[[scn:script file={}]] the words of the person", script.display());
        let mut command = project.musher(&["run", "--json", "--runtime", runtime]);
        command.args(["--wire", wire, "--permission-mode", "free", &prompt]);
        command.env(variable, url).env(key, "dummy-key-for-tests");
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{wire}: {text}");
        let events: Vec<Json> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let outputs: Vec<&str> =
            events.iter().filter_map(|event| event["output"]["text"].as_str()).collect();
        assert!(outputs.first().is_some_and(|said| said.contains("words of the person")), "{text}");
        assert!(events.iter().any(|event| event["type"] == "plan"), "{wire}: {text}");
        let told = notices(&events);
        assert!(told.contains(&("progress", "half way")), "{wire}: {told:?}");
        let ended = events.last().unwrap();
        assert_eq!(ended["outcome"], "completed", "{wire}: {ended}");
        assert!(text.contains("all done"), "{wire}: {text}");
        assert!(!told.iter().any(|(code, _)| *code == "no_tool_servers"), "{wire}: {told:?}");
    }
}
