//! The first project file of a repository, and which agents this machine has.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::SandboxProfile;

/// What on this machine can play an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    pub runtime: String,
    pub means: Means,
}

/// By what an agent can be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    Program {
        path: PathBuf,
        /// Known only to who has asked the program.
        version: Option<String>,
    },
    /// A model whose key is in this variable.
    Key { variable: String },
    /// Nothing is needed.
    Nothing,
}

/// Looks for programs on `PATH` without running any. The table goes from runtimes to the names of their programs; what
/// is found keeps its order.
pub fn detect(path_var: &OsStr, table: &[(&str, &str)]) -> Vec<Detected> {
    let folders: Vec<&Path> = path_var
        .as_bytes()
        .split(|byte| *byte == b':')
        .map(|folder| Path::new(OsStr::from_bytes(folder)))
        // A folder that depends on where one stands is no place to find programs in.
        .filter(|folder| folder.is_absolute())
        .collect();
    let find = |name: &str| {
        let mut places = folders.iter().map(|folder| folder.join(name));
        places.find(|path| is_program(path))
    };
    table
        .iter()
        .filter_map(|(runtime, name)| {
            let means = Means::Program { path: find(name)?, version: None };
            Some(Detected { runtime: (*runtime).to_owned(), means })
        })
        .collect()
}

fn is_program(path: &Path) -> bool {
    let about = std::fs::metadata(path);
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// A project file for the agents of this machine: valid, commented, careful. `profile` is how far they are confined.
pub fn draft(detected: &[Detected], base_branch: Option<&str>, profile: SandboxProfile) -> String {
    let mut text = HEAD.to_owned();
    text += &match base_branch {
        Some(branch) => format!("base_branch = {}\n", quoted(branch)),
        None => "# base_branch = \"main\"\n".to_owned(),
    };
    text += TOP;
    let mut found = detected.iter();
    match found.next() {
        Some(first) => text += &first_agent("coder", first),
        None => {
            let script = Detected { runtime: "script".into(), means: Means::Nothing };
            text += NOTHING_FOUND;
            text += &first_agent("rehearsal", &script);
            text += EXAMPLE;
        }
    }
    let mut names: Vec<String> = Vec::new();
    for agent in found {
        let name = name_for(&agent.runtime);
        if !names.contains(&name) {
            text += &next_agent(&name, agent);
            names.push(name);
        }
    }
    let sandbox = match profile {
        SandboxProfile::Off => "# profile = \"workspace\"".to_owned(),
        profile @ (SandboxProfile::Landlock
        | SandboxProfile::Workspace
        | SandboxProfile::Strict) => {
            format!("profile = {}", quoted(profile.name()))
        }
    };
    text + WORKTREE + &sandbox + TABLES
}

fn first_agent(name: &str, agent: &Detected) -> String {
    format!("[[agent]]\nname = {}\n{}{FIRST_AGENT}", quoted(name), runtime_line(agent))
}

fn next_agent(name: &str, agent: &Detected) -> String {
    format!("[[agent]]\nname = {}\n{}{NEXT_AGENT}", quoted(name), runtime_line(agent))
}

fn name_for(runtime: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    "coder-".chars().chain(runtime.chars().map(plain)).take(64).collect()
}

fn runtime_line(agent: &Detected) -> String {
    let found = match &agent.means {
        Means::Program { version: Some(version), .. } => {
            let version: String = version.chars().filter(|c| !c.is_control()).take(40).collect();
            format!(" # found here in version {version}")
        }
        Means::Key { variable } => format!(" # its key is in {variable}"),
        Means::Program { version: None, .. } | Means::Nothing => String::new(),
    };
    format!("runtime = {}{found}\n", quoted(&agent.runtime))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

const HEAD: &str = r#"# The project file of Musher: who works here, and within which bounds. Commit it.
# A line that begins with `#` shows what else there is. A change of what may be run or done here counts only after
# `musher trust`.

# The branch that stories start from. Default: the repository's own default branch.
"#;

const TOP: &str = r#"
# Commit at the end of a run what the agent left uncommitted. Default: true.
# auto_commit = true

# The agents. The first one gets the stories that ask for no other.
"#;

const NOTHING_FOUND: &str = r#"# No program that can play an agent was found on this machine. This one only plays a script: it shows how a run goes,
# and changes nothing.
"#;

const EXAMPLE: &str = r#"# Once a program is installed, give it a seat:
# [[agent]]
# name = "coder"
# runtime = "NAME"

"#;

const FIRST_AGENT: &str = r#"# The model, in the runtime's own words. Default: the runtime's choice.
# model = "NAME"
# What it is for, in a word or two; prompts can use it as {{ agent.role }}.
# role = "coder"

# What it is asked to do, with blanks such as {{ story.title }}. Default: the story, and how to work on it.
# prompt = "{{ story.title }}\n\n{{ story.text }}"
# The same in a file of its own, as seen from .musher/.
# prompt_file = "prompt.md"
# Instructions beside the prompt, in the same two ways. Default: none.
# system_prompt = "Answer briefly."
# system_prompt_file = "system.md"
# Add them to the agent's own ("append", the default) or put them in their place ("replace").
# system_prompt_mode = "append"
# What it is told when it goes on with an earlier session.
# continue_prompt = "Continue where you left off."

# The program instead of the one on PATH, more arguments for it, and its own variables. A secret is taken from a
# variable of the server.
# command = "./tools/agent"
# args = ["--verbose"]
# env = { MODE = "fast", API_KEY = { from = "TEAM_API_KEY" } }

# For a runtime that speaks to a model itself: where that is served, the wire format, where the key is found, and what
# else is sent. Default: the vendor's own service, and the key in its usual variable.
# base_url = "http://127.0.0.1:11434/v1"
# wire = "chat"
# key = { env = "TEAM_API_KEY" }
# headers = { X-Team = "blue" }
# How that model is asked, how much it can look at, and a table of prices, as seen from .musher/.
# temperature = 0.2
# effort = "high"
# max_output = 8192
# window = 131072
# prices = "prices.toml"

# What it may do by itself, what it must ask about, what it may not do. Deny always wins; between ask and allow the more
# specific rule does: `execute(cargo test *)` among allow beats `execute` among ask. Try it with `musher rules test`. Edits of what an agent's program would run, such
# as its settings with hooks, are denied unless a rule here names that place.
rules = { allow = ["read(./**)", "search(./**)", "edit(./**)"], ask = ["execute", "fetch", "mcp"], deny = ["edit(.musher/**)", "edit(.git/**)"] }
# Its own permission mode, in its own words. Default: its own default.
# permission_mode = "NAME"
# An ask waits until you answer; after this long you are reminded of it. Default: "10m"; "off" for never.
# ask_reminder = "10m"
# For agents that nobody attends: how long an ask waits, and what it gets then. Default: it waits; "deny".
# ask_deadline = "30m"
# ask_default = "deny"

# What ends a run: model calls, dollars, silence, time. Default: nothing does.
# max_turns = 200
# budget_usd = 10.0
inactivity = "15m"
# wall_clock = "4h"
# How long an idle session waits for another prompt. Default: "0s".
# linger = "0s"
# Its sandbox, where it differs from that of the project; the keys are those of [sandbox].
# sandbox = { profile = "off" }

"#;

const NEXT_AGENT: &str = r#"rules = { allow = ["read(./**)", "search(./**)", "edit(./**)"], ask = ["execute", "fetch", "mcp"], deny = ["edit(.musher/**)", "edit(.git/**)"] }
inactivity = "15m"

"#;

const WORKTREE: &str = r#"[worktree]
# Commands for a fresh worktree, each run by `sh -c`. Default: none.
# setup = ["npm ci"]
# Files that git does not know, copied into a fresh worktree. Default: none.
# copy = [".env"]
# What stays when a worktree is used for another story, such as build caches. Default: nothing that git ignores.
# keep = ["target"]

[sandbox]
# How far agents are confined: "off" (the rights of their user, the default), "workspace" (a worktree, a home of their own, and
# the programs of the machine; needs bubblewrap) or "strict" (the same, and only hosts that are allowed). "landlock" is a weaker
# one for machines on which bubblewrap cannot make namespaces.
"#;

const TABLES: &str = r#"
# More places that may be read or written: whole paths, or below `~/`. Default: none.
# read = ["~/.config/tool"]
# write = ["/srv/data"]
# Hosts that "strict" lets them reach; a person is asked about any other. Default: none.
# hosts = ["registry.example.com", "*.example.com", "db.example.com:5432"]
# Caches of package managers that the sandboxes share: cargo, go, gradle, maven, npm, pip, pnpm, uv, yarn. Default: none.
# caches = ["npm"]
# Sandboxes and browsers inside may make namespaces of their own. Default: false.
# nested = true
# How many processes and threads there may be at once. Default: no limit.
# processes = 4000
# How much memory and how many processors a run may take; needs control groups. Default: no limit.
# memory = "8 GiB"
# cpu = 2.5
# Agents run in a container of this image, made by podman or docker; their programs are those of the image. Default: no container.
# image = "localhost/agents:1"

[limits]
# How many runs at the same time: in all, for each agent, for each story.
# runs = 8
# runs_per_agent = 4
# runs_per_story = 2

[server]
# Where it listens, on this machine only; port 0 is any free one. Default: "127.0.0.1:0".
# listen = "127.0.0.1:0"
# Web pages that may speak to it besides its own, exactly as browsers name them. Default: none.
# origins = ["http://127.0.0.1:8080"]
"#;

#[cfg(test)]
mod tests;
