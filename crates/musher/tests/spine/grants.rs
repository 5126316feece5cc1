//! Grants that outlive a session, with real runners: given once, kept outside of the repository, taken back.

use musher_core::{ClosedBy, EventKind, Who};
use serde_json::json;

use crate::rig::{Project, Server};

const AGENTS: &str = "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = '.musher/work.toml'\n\
    rules = { ask = ['execute'], deny = ['execute(echo never *)'] }\n\
    [[agent]]\nname = 'other'\nruntime = 'script'\ncommand = '.musher/work.toml'\nrules = { ask = ['execute'] }\n";

const WORK: &str = "[[step]]\nrun = 'touch one'\nask_first = true\n\
    [[step]]\nrun = 'touch one'\nask_first = true\n\
    [[step]]\nrun = 'echo never again'\nask_first = true\n";

const RULE: &str = "execute(touch one)";

fn project() -> Project {
    let project = Project::new(AGENTS);
    std::fs::write(project.repo().join(".musher/work.toml"), WORK).unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "script"]);
    project
}

/// The asks of a run that waited for a person, and who closed each ask.
fn asked(project: &Project, run: &str) -> (usize, Vec<ClosedBy>) {
    let (mut waited, mut closed) = (0, Vec::new());
    for event in project.events(run) {
        match event.kind {
            EventKind::AskOpened { settled: false, .. } => waited += 1,
            EventKind::AskClosed { by, .. } => closed.push(by),
            _ => {}
        }
    }
    (waited, closed)
}

fn answer(run: &str, ask: &str) -> String {
    format!("/runs/{run}/asks/{ask}/answer")
}

async fn start(server: &Server, agent: &str) -> String {
    let story = server.post("/stories", &json!({ "title": "Work" })).await;
    let path = format!("/stories/{}/start", story["story"].as_str().unwrap());
    let run = server.post(&path, &json!({ "agent": agent })).await;
    run["run"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn always_is_granted_by_its_rule_holds_from_then_on_and_is_taken_back() {
    let project = project();
    let server = project.serve().await;
    let run = start(&server, "coder").await;
    let ask = server.until_ask(&run).await;
    let asks = server.get("/asks").await;
    assert_eq!(asks["asks"][0]["rule"], RULE, "{asks:#}");
    let shown = project.cli(&["asks", &run]).await;
    assert!(shown.contains("--always grants execute(touch one)"), "{shown}");

    for other in ["execute(touch two)", "execute(make *)", "edit", "*"] {
        let body = json!({ "answer": { "decision": "allow_always", "rule": other } });
        let (status, refused) = server.try_post(&answer(&run, &ask), &body).await.unwrap();
        assert_eq!((status, &refused["code"]), (422, &json!("rule_not_offered")), "{refused:#}");
    }
    let file = project.state().join("local.toml");
    assert!(!file.exists(), "nothing was granted yet");

    let said = project.cli(&["approve", &run, "--always"]).await;
    assert!(said.contains("coder may execute(touch one) from now on"), "{said}");
    server.until_over(&run).await;
    assert_eq!(asked(&project, &run), (1, vec![ClosedBy::Person]), "the same session asks once");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("rule = \"execute(touch one)\"") && kept.contains(&run), "{kept}");
    let listed = server.get("/local").await;
    assert_eq!(listed["grants"][0]["agent"], "coder", "{listed:#}");
    assert_eq!(listed["path"], file.display().to_string());

    let next = start(&server, "coder").await;
    server.until_over(&next).await;
    assert_eq!(asked(&project, &next), (0, vec![]), "the next run does not ask");
    let denied = project.events(&next).into_iter().any(|event| match event.kind {
        EventKind::Tool(update) => update.phase == musher_core::ToolPhase::Denied,
        _ => false,
    });
    assert!(denied, "what is denied stays denied");

    let other = start(&server, "other").await;
    server.until_ask(&other).await;
    server.post(&format!("/runs/{other}/stop"), &json!({})).await;

    let listed = project.cli(&["grants"]).await;
    assert!(listed.contains("coder") && listed.contains(RULE), "{listed}");
    project.cli(&["grants", "revoke", "coder", RULE]).await;
    let again = start(&server, "coder").await;
    server.until_ask(&again).await;
    server.post(&format!("/runs/{again}/stop"), &json!({})).await;
    for run in [&other, &again] {
        server.until_over(run).await;
    }
    assert_eq!(project.git(&["status", "--porcelain"]), "", "the repository is untouched");
}

#[tokio::test]
async fn a_rule_that_the_person_widens_is_kept_and_answers_the_asks_that_it_covers() {
    let project = project();
    let server = project.serve().await;
    let run = start(&server, "other").await;
    server.until_ask(&run).await;
    let shown = project.cli(&["asks", &run]).await;
    assert!(shown.contains("execute(touch *)") && shown.contains("--rule"), "{shown}");
    let words = ["approve", &run, "--always", "--rule", "execute(t*)"];
    let said = project.cli(&words).await;
    assert!(said.contains("other may execute(t*) from now on"), "{said}");
    server.until_ask(&run).await;
    let asks = server.get("/asks").await;
    assert_eq!(asks["asks"][0]["body"]["subject"], "echo never again", "{asks:#}");
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    server.until_over(&run).await;
    let kept = std::fs::read_to_string(project.state().join("local.toml")).unwrap();
    assert!(kept.contains("rule = \"execute(t*)\""), "{kept}");
}

#[tokio::test]
async fn an_allow_rule_that_newly_beats_a_wider_ask_is_told_once_at_start() {
    let project = Project::new(
        "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = '.musher/work.toml'\n\
         rules = { allow = ['execute(touch *)'], ask = ['execute'] }\n",
    );
    std::fs::write(project.repo().join(".musher/work.toml"), WORK).unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "script"]);
    let server = project.serve().await;
    let said = server.notices.join("\n");
    assert!(
        said.contains("allow `execute(touch *)` is more specific than ask `execute`"),
        "{said}"
    );
    let told = server.get("/notices").await;
    assert_eq!(told["notices"][0]["text"], said, "{told:#}");
    let run = start(&server, "coder").await;
    server.until_ask(&run).await;
    let asks = server.get("/asks").await;
    assert_eq!(asks["asks"][0]["body"]["subject"], "echo never again", "{asks:#}");
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    server.until_over(&run).await;
    drop(server);
    assert_eq!(project.serve().await.notices, Vec::<String>::new(), "it is told once");
}

#[tokio::test]
async fn a_file_of_grants_that_was_broken_by_hand_is_reported_with_its_line_and_grants_nothing() {
    let project = project();
    let file = project.state().join("local.toml");
    std::fs::create_dir_all(project.state()).unwrap();
    let granted = format!("[[grant]]\nagent = 'coder'\nrule = '{RULE}'\n");
    std::fs::write(&file, &granted).unwrap();
    let server = project.serve().await;
    let run = start(&server, "coder").await;
    server.until_over(&run).await;
    assert_eq!(asked(&project, &run).0, 0, "what was written by hand counts");

    let broken = format!("{granted}rul = 'execute'\n");
    std::fs::write(&file, &broken).unwrap();
    let (status, told) = server.try_get("/local").await.unwrap();
    assert_eq!((status, &told["code"]), (409, &json!("local_file_broken")), "{told:#}");
    assert!(told["detail"].as_str().unwrap().contains("local.toml:4:1:"), "{told:#}");
    let run = start(&server, "coder").await;
    let ask = server.until_ask(&run).await;
    let always = json!({ "answer": { "decision": "allow_always", "rule": RULE } });
    let (status, told) = server.try_post(&answer(&run, &ask), &always).await.unwrap();
    assert_eq!((status, &told["code"]), (409, &json!("local_file_broken")), "{told:#}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), broken, "it is never written over");
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    server.until_over(&run).await;
    server.kill();
    assert!(project.serve_with(&[]).await.is_none(), "no server begins with caps unread");
    let said = std::fs::read_to_string(project.server_log()).unwrap();
    assert!(said.contains("local.toml:4:1:"), "{said}");
}

#[tokio::test]
async fn an_answer_says_which_token_gave_it_in_the_log_and_to_its_readers() {
    let project = project();
    let server = project.serve().await;
    let made = server.post("/tokens", &json!({ "name": "phone", "scope": "full" })).await;
    let run = start(&server, "coder").await;
    let ask = server.until_ask(&run).await;
    let shown = server.digest(&run, &ask).await.unwrap();
    let body = json!({ "answer": { "decision": "deny", "reason": "later" }, "shown": shown });
    let url = format!("{}/api/v1{}", server.url, answer(&run, &ask));
    let request = reqwest::Client::new().post(url).bearer_auth(made["token"].as_str().unwrap());
    let reply = request.header("musher-door", "web").json(&body).send().await.unwrap();
    assert!(reply.status().is_success(), "{}", reply.text().await.unwrap());
    let second = server.until_ask(&run).await;
    server.post(&answer(&run, &second), &json!({ "answer": { "decision": "allow" } })).await;
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    server.until_over(&run).await;
    let who: Vec<Option<Who>> = project
        .events(&run)
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::AskClosed { by: ClosedBy::Person, who, .. } => Some(who),
            _ => None,
        })
        .collect();
    let token = made["id"].as_str().unwrap().into();
    assert_eq!(who, [Some(Who::Program { token }), Some(Who::Owner)]);
    let told = project.cli(&["logs", &run]).await;
    assert!(told.contains("no: later (by phone)"), "{told}");
    assert!(told.contains("› yes") && !told.contains("yes (by"), "{told}");
}
