//! What one run is given beside what its agent has, and what a story gives to the prompts of agents.

use musher::runner::spec::{RunSpec, SystemWords};
use musher_core::{EventKind, Rule, ToolPhase};
use serde_json::json;

use crate::rig::Project;

/// Workers whose prompt has blanks for a story's and a start's own variables.
const FILLED: &str = "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@WORKER@'\nprompt = '{{ story.text }} {{ set.ticket }} {{ set.who | default(\"nobody\") }}'\nsystem_prompt = 'Be brief.'\npermission_mode = 'default'\nrules = { ask = ['execute'], deny = ['fetch'] }\nenv = { WORKER_HOME = '@HOME@' }\n[[agent]]\nname = 'player'\nruntime = 'script'\n";

async fn refused(project: &Project, args: &[&str]) -> String {
    let state = project.state().display().to_string();
    let mut command = project.musher(&[args, &["--state", &state]].concat());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    said
}

fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[tokio::test]
async fn a_start_gives_one_run_more_than_its_agent_has_and_what_follows_it_keeps_that() {
    let project = Project::new(FILLED);
    let server = project.serve().await;
    let words = project.home().join("words.md");
    std::fs::write(&words, "Write tests first.").unwrap();
    let file = format!("@{}", words.display());
    project.cli(&["story", "add", "Work", "--text", "[[work lines=1]]"]).await;
    let start = ["start", "s1", "--system-prompt", &file, "--mode", "plan", "--set", "ticket=T-42"];
    let start = [&start[..], &["--effort", "high"]].concat();
    let more = ["--allow", "execute", "--ask", "edit", "--deny", "read(**/.env)", "--model", "big"];
    project.cli(&[&start[..], &more].concat()).await;
    server.until_over("r1").await;
    let spec = RunSpec::read(&project.run_folder("r1")).unwrap();
    assert_eq!(spec.prompt, "[[work lines=1]] T-42 nobody");
    let both = "Be brief.\n\nWrite tests first.".to_owned();
    assert_eq!(spec.system_prompt, Some(SystemWords::Append(both)));
    assert_eq!(
        (spec.permission_mode.as_deref(), spec.model.as_deref()),
        (Some("plan"), Some("big"))
    );
    assert_eq!(spec.model_options.effort.as_deref(), Some("high"));
    assert_eq!(spec.rules.allow, rules(&["execute"]));
    assert_eq!(spec.rules.ask, rules(&["edit"]), "what is allowed in the same words is not asked");
    assert_eq!(spec.rules.deny, rules(&["read(**/.env)", "fetch"]));

    project.cli(&["resume", "r1", "[[work lines=1]]"]).await;
    server.until_over("r2").await;
    project.cli(&["retry", "r2"]).await;
    server.until_over("r3").await;
    for run in ["r2", "r3"] {
        let later = RunSpec::read(&project.run_folder(run)).unwrap();
        assert_eq!(
            (&later.rules, &later.system_prompt),
            (&spec.rules, &spec.system_prompt),
            "{run}"
        );
        assert_eq!(later.permission_mode, spec.permission_mode, "{run}");
    }
    // The next start has nothing of it.
    project.cli(&["start", "s1", "--set", "ticket=T-43"]).await;
    server.until_over("r4").await;
    let fresh = RunSpec::read(&project.run_folder("r4")).unwrap();
    assert_eq!(fresh.system_prompt, Some(SystemWords::Append("Be brief.".into())));
    assert_eq!(fresh.rules.ask, rules(&["execute"]));
    assert_eq!((fresh.permission_mode.as_deref(), fresh.model), (Some("default"), None));
}

#[tokio::test]
async fn a_story_fills_the_prompts_of_agents_and_a_start_goes_before_it() {
    let project = Project::new(FILLED);
    let server = project.serve().await;
    let add = ["story", "add", "Work", "--text", "[[work lines=1]]"];
    project.cli(&[&add[..], &["--context", "ticket=T-1", "--context", "who=me"]].concat()).await;
    let story = server.get("/stories/s1").await;
    assert_eq!(story["context"], json!({ "ticket": "T-1", "who": "me" }));
    assert!(project.cli(&["story", "show", "s1"]).await.contains("ticket = T-1"));
    project.cli(&["start", "s1"]).await;
    server.until_over("r1").await;
    let prompt = |run: &str| RunSpec::read(&project.run_folder(run)).unwrap().prompt;
    assert_eq!(prompt("r1"), "[[work lines=1]] T-1 me");
    project.cli(&["start", "s1", "--set", "ticket=T-2"]).await;
    server.until_over("r2").await;
    assert_eq!(prompt("r2"), "[[work lines=1]] T-2 me");
    project.cli(&["story", "edit", "s1", "--context", "ticket=T-3"]).await;
    project.cli(&["start", "s1"]).await;
    server.until_over("r3").await;
    assert_eq!(prompt("r3"), "[[work lines=1]] T-3 nobody");
}

#[tokio::test]
async fn a_variable_without_a_value_is_refused_by_name_with_the_nearest_before_anything_starts() {
    let project = Project::new(FILLED);
    let server = project.serve().await;
    project.cli(&["story", "add", "Work", "--text", "[[work lines=1]]"]).await;
    let said = refused(&project, &["start", "s1"]).await;
    assert!(said.contains("there is no variable `set.ticket`"), "{said}");
    assert!(said.contains("--set ticket=VALUE"), "{said}");
    let said = refused(&project, &["start", "s1", "--set", "tikcet=1"]).await;
    assert!(said.contains("did you mean `set.tikcet`?"), "{said}");
    let long = format!("ticket={}", "x".repeat(16 * 1024 + 1));
    for (args, part) in [
        (&["--set", "ticket=1", "--set", "no-dash=1"][..], "the variable `no-dash` must be"),
        (&["--set", "ticket"], "write KEY=VALUE"),
        (&["--set", "ticket=1", "--set", "ticket=2"], "given twice"),
        (&["--set", &long], "at most 16384 bytes"),
        (&["--set", "ticket=1", "--mode", "two words"], "the mode must be"),
        (&["--set", "ticket=1", "--system-prompt", " "], "the system prompt is empty"),
        (&["--set", "ticket=1", "--system-prompt", "@/no/such"], "/no/such"),
        (&["--set", "ticket=1", "--deny", "execute("], "no closing parenthesis"),
        (&["player", "--set", "ticket=1", "--effort", "high"], "takes no effort"),
    ] {
        let said = refused(&project, &[&["start", "s1"], args].concat()).await;
        assert!(said.contains(part), "{args:?}: {said}");
    }
    let body = json!({ "rules": { "deny": ["execute("] } });
    let (status, problem) = server.try_post("/stories/s1/start", &body).await.unwrap();
    assert_eq!((status, problem["code"].as_str()), (422, Some("wrong_body")), "{problem:#}");
    assert_eq!(server.get("/runs").await["runs"], json!([]), "nothing was started");
}

#[tokio::test]
async fn what_a_start_denies_is_denied_though_the_agent_may() {
    let project = Project::new(
        "[[agent]]\nname = 'player'\nruntime = 'script'\ncommand = './.musher/work.toml'\nrules = { allow = ['execute'] }\n",
    );
    let script = "[[step]]\nrun = 'touch made'\n";
    std::fs::write(project.repo().join(".musher/work.toml"), script).unwrap();
    let server = project.serve().await;
    project.cli(&["story", "add", "Work", "--text", "Go."]).await;
    project
        .cli(&["start", "s1", "--deny", "execute(touch *)", "--allow", "execute(touch *)"])
        .await;
    server.until_over("r1").await;
    let phases = project.events("r1").into_iter().filter_map(|event| match event.kind {
        EventKind::Tool(update) => Some(update.phase),
        _ => None,
    });
    assert!(phases.into_iter().any(|phase| phase == ToolPhase::Denied));
}
