//! The real Claude Code and the real Codex through the whole stack, by the command line alone.

mod team;

use std::time::{Duration, Instant};

use musher_testkit::model::ModelServer;
use musher_testkit::real::{RealProgram, require_claude};

use crate::rig::{PATIENCE, Project};

pub(crate) fn project(model: &ModelServer) -> Project {
    let program = require_claude();
    let mut project = Project::new(&format!(
        "[[agent]]\nname = 'coder'\nruntime = 'claude-code'\ncommand = '{}'\nprompt = '{{{{ story.text }}}}'\ncontinue_prompt = '[[scn:text]] go on'\nrules = {{ ask = ['execute'] }}\n",
        program.display()
    ));
    let config = project.home().join(".claude").display().to_string();
    let vars = [
        ("CLAUDE_CONFIG_DIR", config.as_str()),
        ("ANTHROPIC_BASE_URL", model.url()),
        ("ANTHROPIC_API_KEY", "dummy-key-for-tests"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("IS_SANDBOX", "1"),
    ];
    project.vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    project
}

/// A project whose agent is the real Codex.
pub(crate) fn codex_project(model: &ModelServer) -> Project {
    let program = RealProgram::Codex.require();
    let provider = format!(
        r#"model_providers.scripted={{name="Scripted",base_url="{}",env_key="SCRIPTED_KEY",wire_api="responses"}}"#,
        model.openai_url()
    );
    let settings =
        ["model=\"gpt-5.5\"", "model_provider=\"scripted\"", &provider, "features.plugins=false"];
    let args: Vec<String> =
        settings.iter().flat_map(|set| ["'-c'".to_owned(), format!("'{set}'")]).collect();
    let mut project = Project::new(&format!(
        "[[agent]]\nname = 'coder'\nruntime = 'codex'\ncommand = '{}'\nargs = [{}]\nprompt = '{{{{ story.text }}}}'\ncontinue_prompt = '[[scn:text]] go on'\nenv = {{ SCRIPTED_KEY = {{ from = 'SCRIPTED_KEY' }} }}\nrules = {{ ask = ['execute'] }}\n",
        program.display(),
        args.join(", ")
    ));
    project.vars = vec![("SCRIPTED_KEY".to_owned(), "dummy-key-for-tests".to_owned())];
    project
}

#[tokio::test]
async fn the_real_agent_is_approved_outlives_its_server_and_its_work_is_shown_and_merged() {
    let model = ModelServer::start().await.unwrap();
    goes_through(project(&model)).await;
}

#[tokio::test]
async fn the_real_codex_is_approved_outlives_its_server_and_its_work_is_shown_and_merged() {
    let model = ModelServer::start().await.unwrap();
    goes_through(codex_project(&model)).await;
}

async fn goes_through(project: Project) {
    let server = project.serve().await;
    // The command takes long enough for the server to die in the middle of the turn.
    let text = "[[scn:bash cmd=\"echo begun > begun.txt; while [ ! -e go ]; do sleep 0.05; done; echo hi > out.txt\"]] go";
    project.cli(&["story", "add", "Say hi", "--text", text]).await;
    project.cli(&["start", "s1"]).await;
    project.cli(&["wait", "s1", "--until", "needs-you", "--timeout", "60s"]).await;
    assert!(project.cli(&["asks"]).await.contains("echo begun"));
    project.cli(&["approve", "s1"]).await;
    let worktree = project.state().join("worktrees/1");
    let began = Instant::now();
    while !worktree.join("begun.txt").exists() {
        assert!(began.elapsed() < PATIENCE, "the command was never run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let agents = project.left();
    server.kill();
    let server = project.serve().await;
    std::fs::write(worktree.join("go"), "").unwrap();
    project.cli(&["wait", "s1", "--until", "done", "--timeout", "60s"]).await;
    let run = server.until_over("r1").await;
    assert_eq!((run["outcome"].as_str(), run["commit"].is_string()), (Some("completed"), true));
    assert!(!agents.is_empty(), "the agent was at work when the server died");
    assert_eq!(project.left(), Vec::<i32>::new());

    let whole = project.cli(&["logs", "r1", "--json"]).await;
    let later = project.cli(&["logs", "r1", "--json", "--after", "1.3"]).await;
    assert_eq!(whole.lines().skip(3).collect::<Vec<_>>(), later.lines().collect::<Vec<_>>());
    assert!(project.cli(&["diff", "r1"]).await.contains("+hi"));
    // Two calls, as the model server bills them.
    let usage: serde_json::Value =
        serde_json::from_str(&project.cli(&["usage", "--by", "run", "--json"]).await).unwrap();
    let spent = &usage["rows"][0]["spent"];
    assert_eq!(
        (spent["input"].as_u64(), spent["output"].as_u64()),
        (Some(200), Some(40)),
        "{usage:#}"
    );

    project.cli(&["resume", "r1"]).await;
    let again = server.until_over("r2").await;
    assert_eq!((&again["outcome"], &again["session"]), (&run["outcome"], &run["session"]));
    project.cli(&["merge", "s1"]).await;
    assert_eq!(std::fs::read_to_string(project.repo().join("out.txt")).unwrap(), "hi\n");
}

/// The same project with its agents in a sandbox.
pub(crate) fn confined(project: Project) -> Project {
    confined_by(project, "profile = 'workspace'")
}

/// The same project with its agents in a sandbox from which only the model can be reached.
fn strictly_confined(project: Project, model: &ModelServer) -> Project {
    let host = model.url().strip_prefix("http://").unwrap();
    confined_by(project, &format!("profile = 'strict'\nhosts = ['{host}']"))
}

fn confined_by(project: Project, sandbox: &str) -> Project {
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}[sandbox]\n{sandbox}\n")).unwrap();
    project.git(&["commit", "-qam", "confine"]);
    project
}

#[tokio::test]
async fn the_real_agent_does_all_that_in_a_sandbox_too() {
    let model = ModelServer::start().await.unwrap();
    goes_through(confined(project(&model))).await;
}

#[tokio::test]
async fn the_real_codex_does_all_that_in_a_sandbox_too() {
    let model = ModelServer::start().await.unwrap();
    goes_through(confined(codex_project(&model))).await;
}

#[tokio::test]
async fn the_real_agent_does_all_that_behind_a_proxy_too() {
    let model = ModelServer::start_beside().await.unwrap();
    goes_through(strictly_confined(project(&model), &model)).await;
}

#[tokio::test]
async fn the_real_codex_does_all_that_behind_a_proxy_too() {
    let model = ModelServer::start_beside().await.unwrap();
    goes_through(strictly_confined(codex_project(&model), &model)).await;
}
