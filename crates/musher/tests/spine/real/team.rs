//! Four agents of four runtimes at once: three real programs and a model over its API, one bill for all.

use std::time::{Duration, Instant};

use musher_testkit::model::ModelServer;
use musher_testkit::real::{RealProgram, require_claude};
use serde_json::Value as Json;

use super::strictly_confined;
use crate::rig::{PATIENCE, Project};

/// Each agent with its runtime and what it needs; the prompt is the story.
fn team(model: &ModelServer) -> Project {
    let provider = format!(
        r#"model_providers.scripted={{name="Scripted",base_url="{}",env_key="SCRIPTED_KEY",wire_api="responses"}}"#,
        model.openai_url()
    );
    let settings =
        ["model=\"gpt-5.5\"", "model_provider=\"scripted\"", &provider, "features.plugins=false"];
    let codex_args: Vec<String> =
        settings.iter().flat_map(|set| ["'-c'".to_owned(), format!("'{set}'")]).collect();
    let agent = |name: &str, runtime: &str, more: &str| {
        format!(
            "[[agent]]\nname = '{name}'\nruntime = '{runtime}'\nprompt = '{{{{ story.text }}}}'\nrules = {{ allow = ['execute'] }}\n{more}\n"
        )
    };
    let claude = format!("command = '{}'", require_claude().display());
    let codex = format!(
        "command = '{}'\nargs = [{}]\nenv = {{ SCRIPTED_KEY = {{ from = 'SCRIPTED_KEY' }} }}",
        RealProgram::Codex.require().display(),
        codex_args.join(", ")
    );
    let gemini = format!(
        "command = '{}'\nmodel = 'gemini-2.5-pro'",
        RealProgram::GeminiCli.require().display()
    );
    let api = format!(
        "model = 'gpt-5.5'\nwire = 'chat'\nbase_url = '{}'\nkey = {{ env = 'SCRIPTED_KEY' }}",
        model.openai_url()
    );
    let agents = [
        agent("one", "claude-code", &claude),
        agent("two", "codex", &codex),
        agent("three", "gemini-cli", &gemini),
        agent("four", "openai", &api),
    ];
    let mut project = Project::new(&(agents.concat() + "[limits]\nruns = 4\n"));
    let config = project.home().join(".claude").display().to_string();
    let vars = [
        ("CLAUDE_CONFIG_DIR", config.as_str()),
        ("ANTHROPIC_BASE_URL", model.url()),
        ("ANTHROPIC_API_KEY", "dummy-key-for-tests"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("IS_SANDBOX", "1"),
        ("SCRIPTED_KEY", "dummy-key-for-tests"),
        ("GEMINI_API_KEY", "dummy-key-for-tests"),
        ("GOOGLE_GEMINI_BASE_URL", model.url()),
    ];
    project.vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    project
}

#[tokio::test]
async fn four_agents_of_four_runtimes_outlive_their_server_and_share_one_exact_bill() {
    let model = ModelServer::start().await.unwrap();
    work_together(team(&model), &model).await;
}

#[tokio::test]
async fn four_agents_of_four_runtimes_do_all_that_behind_a_proxy_too() {
    let model = ModelServer::start_beside().await.unwrap();
    work_together(strictly_confined(team(&model), &model), &model).await;
}

async fn work_together(project: Project, model: &ModelServer) {
    let server = project.serve().await;
    let text = "[[scn:bash cmd=\"echo begun > begun.txt; while [ ! -e go ]; do sleep 0.05; done; echo hi > out.txt\"]] go";
    for (at, agent) in ["one", "two", "three", "four"].iter().enumerate() {
        let story = format!("s{}", at + 1);
        project.cli(&["story", "add", "Say hi", "--text", text]).await;
        project.cli(&["start", &story, agent]).await;
    }
    let worktrees: Vec<_> =
        (1..=4).map(|slot| project.state().join(format!("worktrees/{slot}"))).collect();
    let began = Instant::now();
    while !worktrees.iter().all(|worktree| worktree.join("begun.txt").exists()) {
        assert!(
            began.elapsed() < 2 * PATIENCE,
            "not all commands were run: {}",
            project.cli(&["ps"]).await
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.kill();
    let server = project.serve().await;
    for worktree in &worktrees {
        std::fs::write(worktree.join("go"), "").unwrap();
    }
    for run in ["r1", "r2", "r3", "r4"] {
        let ended = server.until_over(run).await;
        assert_eq!(ended["outcome"], "completed", "{run}: {ended:#}");
    }
    assert_eq!(project.left(), Vec::<i32>::new());
    let usage: Json =
        serde_json::from_str(&project.cli(&["usage", "--by", "run", "--json"]).await).unwrap();
    let rows = usage["rows"].as_array().unwrap();
    let sum = |names: &[&str]| -> u64 {
        let of =
            |row: &Json| names.iter().filter_map(|name| row["spent"][name].as_u64()).sum::<u64>();
        rows.iter().map(of).sum()
    };
    let books = model.ledger().total();
    let given = books.input + books.cache_read + books.cache_write_5m + books.cache_write_1h;
    let context = ["input", "cache_read", "cache_write_5m", "cache_write_1h", "cache_write_other"];
    assert_eq!((sum(&context), sum(&["output"])), (given, books.output), "{usage:#}");
}
