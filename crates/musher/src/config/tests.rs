//! Project files: what is read out of good ones.

mod doc;
mod hostile;
mod mistakes;
mod templates;

use std::fs;
use std::path::Path;
use std::time::Duration;

use musher_core::{AskDecision, Usd, Variables};
use musher_runtime::acp::AcpUsage;
use musher_runtime::{AskPolicy, KeySource, SystemPrompt};

use super::*;

const RUNTIMES: &[KnownRuntime<'static>] = &[
    KnownRuntime { name: "script", wires: &[], effort: false },
    KnownRuntime { name: "terminal", wires: &[], effort: false },
    KnownRuntime { name: "fake-code", wires: &[], effort: true },
    KnownRuntime { name: "fake-model", wires: &["plain", "chat"], effort: true },
];

/// The least that a project needs.
const LEAST: &str = "[[agent]]\nname = \"coder\"\nruntime = \"script\"\n";

/// Every key, each with a value that is not its default.
const MOST: &str = r#"
base_branch = "release/2"
auto_commit = false

[[agent]]
name = "coder"
runtime = "fake-code"
model = "large"
role = "writes code"
prompt = "Do {{ story.title }} in {{ worktree }}."
system_prompt_file = "system.md"
system_prompt_mode = "replace"
continue_prompt = "Go on with {{ story.id }}."
command = "tools/agent"
args = ["--branch={{ branch }}", ""]
env = { MODE = "fast", KEY = { from = "TEAM_KEY" } }
rules = { allow = ["edit(./**)"], ask = ["execute"], deny = ["edit(.git/**)"] }
permission_mode = "careful"
max_turns = 0x10
budget_usd = 2.5
inactivity = "15m"
wall_clock = "1h30m"
ask_deadline = "30m"
ask_default = "allow"
linger = "5s"

[[agent]]
name = "reviewer_2"
runtime = "script"
prompt_file = "prompts/review.md"
system_prompt = "Be brief."
budget_usd = 3

[[agent]]
name = "talker"
runtime = "fake-model"
base_url = "http://127.0.0.1:11434/v1"
wire = "chat"
key = { file = "~/key" }
headers = { X-Team = "blue", Authorization = { from = "TEAM_AUTH" } }
temperature = 0
effort = "high"
max_output = 4096
window = 65536
prices = "prices.toml"

[worktree]
setup = ["npm ci"]
copy = [".env", "./config/local.toml"]
keep = ["target"]

[limits]
runs = 3
runs_per_agent = 2
runs_per_story = 1

[server]
listen = "[::1]:8080"
origins = ["http://127.0.0.1:8080", "https://musher.example", "http://[::1]:3000"]
"#;

const CONTEXT: TemplateContext<'static> = TemplateContext {
    story: TemplateStory { id: "s-1", title: "Fix <it> & \"more\"", text: "All of it." },
    worktree: "/w",
    branch: "musher/s-1/1",
    base_branch: "main",
    set: &Variables::new(),
};

/// A repository with this project file.
fn repo(text: impl AsRef<[u8]>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join(".musher");
    fs::create_dir_all(inside.join("prompts")).unwrap();
    fs::write(folder.path().join(PROJECT_FILE), text).unwrap();
    fs::write(inside.join("system.md"), "You are {{ agent.name }}.\n").unwrap();
    fs::write(inside.join("prompts/review.md"), "Review {{ branch }}.\n").unwrap();
    folder
}

fn load_text(text: impl AsRef<[u8]>) -> Result<ProjectConfig, ConfigErrors> {
    load(repo(text).path(), RUNTIMES)
}

fn good(text: impl AsRef<[u8]>) -> ProjectConfig {
    load_text(text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A project whose agent is played by a runtime that the project brings.
const OWN: &str = r#"
[[runtime]]
name = "ours"
program = "tools/ours"
args = ["acp"]
env = { QUIET = "1" }
variables = ["OURS_KEY", "OURS_*"]
trusted = { args = ["--trust"] }
leaves_out = { env = { BARE = "1" } }
install = "npm install -g ours"
login = "ours login"
login_file = ".ours/login"
executes = [".ours/**"]
obeys = ["**/OURS.md"]
usage = "quota"
powers = { resume = true, effort = true }

[[agent]]
name = "coder"
runtime = "ours"
effort = "high"
"#;

#[test]
fn a_project_brings_an_agent_that_speaks_acp_under_a_name_of_its_own() {
    let project = good(OWN);
    let [preset] = &project.runtimes[..] else { panic!("{:?}", project.runtimes) };
    assert_eq!((preset.name.as_str(), preset.program.as_str()), ("ours", "tools/ours"));
    assert_eq!((&preset.args[..], &preset.env["QUIET"]), (&["acp".to_owned()][..], &"1".into()));
    assert_eq!(preset.trusted.args, ["--trust"]);
    assert_eq!(preset.leaves_out.as_ref().unwrap().env["BARE"], "1");
    assert_eq!((preset.usage, preset.tested.as_ref()), (AcpUsage::Quota, None));
    assert!(preset.powers.resume && preset.powers.effort && !preset.powers.fork);
    let agent = &project.agents[0];
    assert_eq!(agent.preset.as_ref(), Some(preset));
    assert_eq!(agent.program(Path::new("/repo")), Some("/repo/tools/ours".into()));
    assert_eq!(agent.model_choice.effort.as_deref(), Some("high"));
}

#[test]
fn what_is_left_out_has_its_default() {
    let project = good(LEAST);
    assert_eq!((&project.base_branch, project.auto_commit), (&None, true));
    assert_eq!(project.limits, LimitsConfig { runs: 8, runs_per_agent: 4, runs_per_story: 2 });
    assert_eq!(project.server.listen.to_string(), "127.0.0.1:0");
    assert_eq!(project.worktree, WorktreeConfig::default());
    let agent = &project.agents[0];
    assert_eq!(agent.asks, AskPolicy::Wait { deadline: None, default: AskDecision::Deny });
    assert_eq!(agent.limits, musher_runtime::RunLimits::default());
    assert_eq!(agent.limits.inactivity, Some(Duration::from_secs(15 * 60)));
    assert_eq!((agent.linger, &agent.command), (Duration::ZERO, &None));
    assert_eq!(agent.prompt.as_str(), DEFAULT_PROMPT);
}

#[test]
fn promise_6_the_limit_on_silence_is_off_only_where_somebody_has_said_so() {
    let project = good(format!("{LEAST}inactivity = \"off\"\n"));
    assert_eq!(project.agents[0].limits.inactivity, None);
}

#[test]
fn what_is_given_is_meant() {
    let project = good(MOST);
    assert_eq!(project.base_branch.as_deref(), Some("release/2"));
    assert!(!project.auto_commit);
    let worktree = &project.worktree;
    assert_eq!(worktree.setup, ["npm ci"]);
    assert_eq!(worktree.copy, [Path::new(".env"), Path::new("config/local.toml")]);
    assert_eq!(worktree.keep, [Path::new("target")]);
    assert_eq!(project.limits, LimitsConfig { runs: 3, runs_per_agent: 2, runs_per_story: 1 });
    assert_eq!(project.server.listen.to_string(), "[::1]:8080");
    assert_eq!(project.server.origins.len(), 3);
    assert_eq!(project.agent("reviewer_2"), Some(&project.agents[1]));
    assert_eq!(project.agent("nobody"), None);
}

#[test]
fn an_agent_is_read_with_all_its_words_and_bounds() {
    let project = good(MOST);
    let agent = &project.agents[0];
    let rendered = agent.render(&CONTEXT).unwrap();
    assert_eq!(rendered.args, ["--branch=musher/s-1/1", ""]);
    assert_eq!(rendered.continue_prompt, "Go on with s-1.");
    assert_eq!(rendered.prompt, "Do Fix <it> & \"more\" in /w.");
    assert_eq!(rendered.system_prompt, Some(SystemPrompt::Replace("You are coder.".into())));
    assert_eq!(agent.model.as_deref(), Some("large"));
    assert_eq!(agent.permission_mode.as_deref(), Some("careful"));
    assert_eq!(agent.program(Path::new("/repo")), Some("/repo/tools/agent".into()));
    assert_eq!(agent.linger, Duration::from_secs(5));
    assert_eq!(agent.limits.max_turns, Some(16));
    assert_eq!(agent.limits.budget, Some(Usd::from_dollars(2.5)));
    assert_eq!(agent.limits.inactivity, Some(Duration::from_secs(900)));
    assert_eq!(agent.limits.wall_clock, Some(Duration::from_secs(5400)));
    let deadline = Some(Duration::from_secs(1800));
    assert_eq!(agent.asks, AskPolicy::Wait { deadline, default: AskDecision::Allow });
    assert_eq!(agent.rules.allow[0].to_string(), "edit(./**)");
    assert_eq!(agent.rules.ask[0].to_string(), "execute");
    assert_eq!(agent.rules.deny[0].to_string(), "edit(.git/**)");
    assert_eq!(agent.env["MODE"], EnvSource::Text("fast".into()));
    assert_eq!(agent.env["KEY"], EnvSource::From("TEAM_KEY".into()));
}

#[test]
fn an_agent_says_how_its_model_is_reached_and_asked() {
    let project = good(MOST);
    let choice = &project.agents[2].model_choice;
    assert_eq!(choice.base_url.as_deref(), Some("http://127.0.0.1:11434/v1"));
    assert_eq!(choice.wire.as_deref(), Some("chat"));
    assert_eq!(choice.key, Some(KeySource::File("~/key".into())));
    assert_eq!(choice.headers["X-Team"], EnvSource::Text("blue".into()));
    assert_eq!(choice.headers["Authorization"], EnvSource::From("TEAM_AUTH".into()));
    assert_eq!((choice.temperature, choice.effort.as_deref()), (Some(0.0), Some("high")));
    assert_eq!((choice.max_output, choice.window), (Some(4096), Some(65536)));
    assert_eq!(choice.prices.as_deref(), Some(Path::new(".musher/prices.toml")));
    assert_eq!(project.agents[0].model_choice, ModelChoice::default());
}

#[test]
fn a_bare_command_is_left_to_the_path() {
    let project = good(format!("{LEAST}command = \"agent\"\n"));
    assert_eq!(project.agents[0].program(Path::new("/repo")), Some("agent".into()));
}

#[test]
fn an_agent_can_be_written_in_tables_of_its_own() {
    let project = good(format!(
        "{LEAST}[agent.rules]\nallow = [\"read\"]\n[agent.env]\nA = \"b\"\n\
         [[agent]]\nname = \"b\"\nruntime = \"script\"\n[agent.env.K]\nfrom = \"L\"\n"
    ));
    assert_eq!(project.agents[0].rules.allow.len(), 1);
    assert_eq!(project.agents[0].env["A"], EnvSource::Text("b".into()));
    assert_eq!(project.agents[1].env["K"], EnvSource::From("L".into()));
}

#[test]
fn the_hash_changes_with_the_file_and_with_its_prompt_files() {
    let folder = repo(MOST);
    let hash = || load(folder.path(), RUNTIMES).unwrap().hash;
    let first = hash();
    assert_eq!(first.len(), 64);
    assert_eq!(first, hash());
    fs::write(folder.path().join(".musher/system.md"), "You are new.").unwrap();
    let second = hash();
    assert_ne!(first, second);
    fs::write(folder.path().join(PROJECT_FILE), format!("{MOST}\n# More.\n")).unwrap();
    assert_ne!(second, hash());
}

#[test]
fn line_ends_of_windows_and_a_byte_order_mark_are_read_over() {
    let project = good(format!("\u{feff}{}", MOST.replace('\n', "\r\n")));
    assert_eq!(project.agents.len(), 3);
    let errors = load_text("\u{feff}base = 1\r\n").unwrap_err();
    let place = errors.problems[0].place.clone().unwrap();
    assert_eq!((place.line, place.column, place.excerpt.as_str()), (1, 1, "base = 1"));
}
