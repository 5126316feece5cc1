//! Whether agents are confined, whether this machine can do that, and what each of them sees of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use musher_runtime::Environment;
use musher_sandbox::{ContainerBackend, SandboxBackend, SandboxProbe, SandboxUnavailable, probe};

use super::diagnostic::Diagnostic;
use crate::config::{AgentConfig, EnvSource, ProjectConfig, SandboxConfig, SandboxProfile};
use crate::home::login_home;
use crate::runner::Upstreams;

const NAME: &str = "sandbox";
/// What a person can do where no control group holds a limit.
pub const UNLIMITED_HINT: &str = "let a service manager give Musher control groups (docs/security.md says how), or leave out `memory` and `cpu` of [sandbox]";

/// It starts a program and waits for it, so it belongs on a thread that may block.
pub(super) fn diagnose(
    project: Option<&ProjectConfig>,
    environment: &Environment,
    state: Option<&Path>,
) -> Vec<Diagnostic> {
    let tried = match try_out() {
        Ok(tried) => tried,
        Err(error) => {
            let says = format!("it cannot be tried out: {error}");
            return vec![Diagnostic::warn(NAME, says, "see that temporary files can be written")];
        }
    };
    let agents: &[AgentConfig] = project.map_or(&[], |project| &project.agents);
    let images = agents.iter().filter_map(|agent| agent.sandbox.image.clone());
    let images: BTreeSet<String> = images.collect();
    let contained =
        images.into_iter().map(|image| (image.clone(), try_container(&image, environment)));
    judge(agents, &tried, &contained.collect(), environment, state)
}

/// What containers of each image are made by, or why they cannot be.
type Containers = BTreeMap<String, Result<ContainerBackend, SandboxUnavailable>>;

fn try_container(
    image: &str,
    environment: &Environment,
) -> Result<ContainerBackend, SandboxUnavailable> {
    let container = ContainerBackend::of(image, |name| environment.get(name))?;
    let scratch = tempfile::tempdir()?;
    let backend = SandboxBackend::Container(container.clone());
    musher_sandbox::try_out(&backend, &std::env::current_exe()?, scratch.path())?;
    Ok(container)
}

fn try_out() -> std::io::Result<SandboxProbe> {
    let scratch = tempfile::tempdir()?;
    Ok(probe(&std::env::current_exe()?, scratch.path()))
}

fn judge(
    agents: &[AgentConfig],
    tried: &SandboxProbe,
    containers: &Containers,
    environment: &Environment,
    state: Option<&Path>,
) -> Vec<Diagnostic> {
    let (free, confined): (Vec<&AgentConfig>, Vec<&AgentConfig>) =
        agents.iter().partition(|agent| agent.sandbox.profile == SandboxProfile::Off);
    let mut diagnostics = Vec::new();
    if !free.is_empty() || agents.is_empty() {
        diagnostics.push(unconfined(&free, tried));
    }
    for agent in confined {
        match missing(&agent.sandbox, tried, containers) {
            Some(missing) => diagnostics.push(missing),
            None => {
                diagnostics.push(Diagnostic::ok(NAME, sight(agent)));
                diagnostics.extend(engine(&agent.sandbox, containers));
                diagnostics.extend(weaker(agent));
                diagnostics.extend(limits(agent));
                diagnostics.extend(login(agent, environment, state));
                diagnostics.extend(degraded(tried));
                diagnostics.extend(upstream(agent, environment));
            }
        }
    }
    diagnostics.dedup();
    diagnostics
}

/// Why a run of an agent with this sandbox does not start.
fn missing(
    sandbox: &SandboxConfig,
    tried: &SandboxProbe,
    containers: &Containers,
) -> Option<Diagnostic> {
    if let Some(key) = sandbox.misplaced() {
        let says = format!("`{key}` means nothing with profile = \"{}\"", sandbox.profile.name());
        return Some(Diagnostic::bad(NAME, says, "leave it out, or set another profile"));
    }
    let why = match sandbox.profile {
        SandboxProfile::Off => None,
        SandboxProfile::Landlock => tried.alone.as_ref().err(),
        SandboxProfile::Workspace | SandboxProfile::Strict => match &sandbox.image {
            None => tried.bubblewrap.as_ref().err(),
            Some(image) => containers.get(image).and_then(|tried| tried.as_ref().err()),
        },
    };
    why.map(|why| Diagnostic::bad(NAME, why.to_string(), why.hint()))
}

/// What makes the containers of an agent.
fn engine(sandbox: &SandboxConfig, containers: &Containers) -> Option<Diagnostic> {
    let Ok(container) = containers.get(sandbox.image.as_ref()?)? else { return None };
    let ContainerBackend { engine, program, image, .. } = container;
    let says = format!("{} ({}) runs containers of {image}", engine.name(), program.display());
    Some(Diagnostic::ok(NAME, says))
}

/// What the profile of an agent does not hold, where that is much.
fn weaker(agent: &AgentConfig) -> Option<Diagnostic> {
    (agent.sandbox.profile == SandboxProfile::Landlock).then(|| {
        let says = format!(
            "agent {} is held by Landlock alone: git's objects, sockets, modes and times of files, command lines and the network are open to it",
            agent.name
        );
        Diagnostic::warn(NAME, says, "set profile = \"workspace\" where bubblewrap works")
    })
}

fn unconfined(free: &[&AgentConfig], tried: &SandboxProbe) -> Diagnostic {
    let names: Vec<&str> = free.iter().map(|agent| agent.name.as_str()).collect();
    let who = match names.as_slice() {
        [] => "agents run".to_owned(),
        [name] => format!("agent {name} runs"),
        names => format!("agents {} run", names.join(", ")),
    };
    let says = format!(
        "{who} with your own rights, so they can read the server's token and every file of yours"
    );
    let fix = match &tried.bubblewrap {
        Ok(_) => "set profile = \"workspace\" under [sandbox] in the project file".to_owned(),
        Err(why @ SandboxUnavailable::Missing) => {
            format!("{why}: install it and set profile = \"workspace\" under [sandbox]")
        }
        Err(why) if tried.alone.is_ok() => {
            format!(
                "set profile = \"landlock\" under [sandbox], which is weaker than a sandbox of bubblewrap ({why})"
            )
        }
        Err(why) => format!("run Musher as a user of its own, or in a container ({why})"),
    };
    Diagnostic::warn(NAME, says, fix)
}

/// What an agent can see, in a sentence.
fn sight(agent: &AgentConfig) -> String {
    let SandboxConfig { profile, read, write, hosts, caches, nested, image, .. } = &agent.sandbox;
    let network = match profile {
        SandboxProfile::Strict => "reaches only hosts that are allowed",
        SandboxProfile::Off | SandboxProfile::Landlock | SandboxProfile::Workspace => {
            "has its network"
        }
    };
    let verb = match profile {
        SandboxProfile::Landlock => "uses",
        SandboxProfile::Off | SandboxProfile::Workspace | SandboxProfile::Strict => "sees",
    };
    let mut says = format!(
        "agent {} is confined ({}): it {verb} its worktree, a home of its own and the programs of the machine, and {network}",
        agent.name,
        profile.name()
    );
    let mut add = |what: &str, list: Vec<String>| {
        if !list.is_empty() {
            says.push_str(&format!("; {what} {}", list.join(", ")));
        }
    };
    add("reads", read.iter().map(|path| path.display().to_string()).collect());
    add("writes", write.iter().map(|path| path.display().to_string()).collect());
    add("reaches", hosts.clone());
    add("shares the caches", caches.iter().map(|cache| cache.name.to_owned()).collect());
    add("has at most", most(&agent.sandbox));
    add("is in a container of", image.iter().cloned().collect());
    add("makes", nested.then(|| "namespaces of its own".to_owned()).into_iter().collect());
    says
}

/// Whether a confined agent that needs a login has one.
fn login(
    agent: &AgentConfig,
    environment: &Environment,
    state: Option<&Path>,
) -> Option<Diagnostic> {
    let file = agent.login()?.file?;
    let signed_in = state.is_some_and(|state| login_home(state, &agent.name).join(&file).is_file());
    // A place that a person gives it may hold the login as well.
    let given = agent
        .sandbox
        .write
        .iter()
        .any(|place| place.strip_prefix("~").is_ok_and(|below| file.starts_with(below)));
    if signed_in || given || agent.login_key(environment).is_some() {
        return None;
    }
    let says = format!("agent {} has no login in its sandbox", agent.name);
    let fix = match agent.sandbox.profile {
        SandboxProfile::Landlock => "give it a key by `env`".to_owned(),
        SandboxProfile::Off | SandboxProfile::Workspace | SandboxProfile::Strict => {
            format!("musher login {}", agent.name)
        }
    };
    Some(Diagnostic::warn(NAME, says, fix))
}

/// What is wrong with the limits of an agent, found out by setting them.
fn limits(agent: &AgentConfig) -> Option<Diagnostic> {
    let limits = agent.sandbox.limits();
    let by_engine = agent.sandbox.image.is_some();
    if by_engine || (limits.memory.is_none() && limits.cpu_millis.is_none()) {
        return None;
    }
    let why = musher_runtime::can_be_limited(limits).err()?;
    Some(Diagnostic::bad(NAME, format!("agent {}: {why}", agent.name), UNLIMITED_HINT))
}

/// How much of the machine an agent may take, in words.
fn most(sandbox: &SandboxConfig) -> Vec<String> {
    let processes = sandbox.processes.map(|most| format!("{most} processes"));
    let memory = sandbox.memory.map(|most| format!("{} MiB of memory", most >> 20));
    let cpu = sandbox.cpu_millis.map(|most| format!("{} processors", f64::from(most) / 1000.0));
    [processes, memory, cpu].into_iter().flatten().collect()
}

/// A proxy of this machine that a sandbox with its own network cannot go through.
fn upstream(agent: &AgentConfig, environment: &Environment) -> Option<Diagnostic> {
    if agent.sandbox.profile != SandboxProfile::Strict {
        return None;
    }
    let given = agent.env.iter().fold(environment.clone(), |all, (name, value)| match value {
        EnvSource::Text(text) => all.set(name, text),
        EnvSource::From(from) => match environment.get(from).map(ToOwned::to_owned) {
            Some(value) => all.set(name, value),
            None => all,
        },
    });
    let error = Upstreams::of(&given).err()?;
    let says = format!("agent {} cannot start: {error}", agent.name);
    Some(Diagnostic::bad(NAME, says, "change the variable where the server is started"))
}

/// What of a sandbox is weaker on this machine.
fn degraded(tried: &SandboxProbe) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if tried.superuser {
        let says = "the server runs as root, so a hole in a sandbox is a hole to root";
        found.push(Diagnostic::warn(NAME, says, "run Musher as an ordinary user"));
    }
    if tried.landlock.is_none_or(|version| version < musher_sandbox::SCOPES_SINCE) {
        let says = "this kernel does not confine abstract sockets; an agent can reach those of your session";
        found.push(Diagnostic::warn(NAME, says, "use Linux 6.12 or newer with Landlock"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn agents(sandbox: &str) -> Vec<AgentConfig> {
        let repo = tempfile::tempdir().unwrap();
        std::fs::create_dir(repo.path().join(".musher")).unwrap();
        let text = format!("[[agent]]\nname = 'a'\nruntime = 'script'\n{sandbox}");
        std::fs::write(repo.path().join(".musher/project.toml"), text).unwrap();
        config::load(repo.path(), crate::runtimes::built()).unwrap().agents
    }

    fn tried(bubblewrap: Result<(), SandboxUnavailable>) -> SandboxProbe {
        let bubblewrap = bubblewrap.map(|()| "/usr/bin/bwrap".into());
        SandboxProbe { bubblewrap, landlock: Some(6), alone: Ok(()), superuser: false }
    }

    fn told(sandbox: &str, bubblewrap: Result<(), SandboxUnavailable>) -> String {
        format!(
            "{:?}",
            judge(
                &agents(sandbox),
                &tried(bubblewrap),
                &Containers::new(),
                &Environment::default(),
                None
            )
        )
    }

    #[test]
    fn an_agent_with_its_users_rights_is_told_with_the_line_that_confines_it() {
        let told = told("", Ok(()));
        assert!(told.contains("agent a runs with your own rights"), "{told}");
        assert!(told.contains("profile = "), "{told}");
    }

    #[test]
    fn a_sandbox_that_cannot_be_had_is_a_failure_with_its_fix() {
        let told = told("[sandbox]\nprofile = 'workspace'", Err(SandboxUnavailable::Missing));
        assert!(
            told.contains("is not installed") && told.contains("install the package"),
            "{told}"
        );
        assert!(!told.contains("is confined"), "{told}");
    }

    #[test]
    fn a_proxy_of_the_machine_that_strict_cannot_go_through_is_told_without_its_password() {
        let set = Environment::default().set("ALL_PROXY", "socks5://me:pa55word@p:1");
        let judged = |profile: &str| {
            let agents = agents(&format!("[sandbox]\nprofile = '{profile}'"));
            format!("{:?}", judge(&agents, &tried(Ok(())), &Containers::new(), &set, None))
        };
        let told = judged("strict");
        assert!(told.contains("agent a cannot start: ALL_PROXY names a proxy"), "{told}");
        assert!(!told.contains("pa55word"), "{told}");
        assert!(!judged("workspace").contains("cannot start"));
    }

    #[test]
    fn landlock_alone_is_told_with_what_it_does_not_hold() {
        let alone = "[sandbox]\nprofile = 'landlock'\n";
        let told = told(alone, Err(SandboxUnavailable::Missing));
        assert!(told.contains("is confined (landlock)"), "{told}");
        assert!(told.contains("objects, sockets, modes"), "{told}");
        let nothing = SandboxProbe {
            alone: Err(SandboxUnavailable::NoLandlock),
            ..tried(Err(SandboxUnavailable::Missing))
        };
        let told = format!(
            "{:?}",
            judge(&agents(alone), &nothing, &Containers::new(), &Environment::default(), None)
        );
        assert!(told.contains("has no Landlock") && told.contains("6.12"), "{told}");
        assert!(!told.contains("is confined"), "{told}");
        let told = format!(
            "{:?}",
            judge(
                &agents(&format!("{alone}processes = 4\n")),
                &nothing,
                &Containers::new(),
                &Environment::default(),
                None
            )
        );
        assert!(told.contains("`processes` means nothing with"), "{told}");
    }

    #[test]
    fn an_image_that_cannot_be_had_is_a_failure_with_its_fix() {
        let agents = agents("[sandbox]\nprofile = 'strict'\nimage = 'localhost/agents:1'\n");
        let image = || "localhost/agents:1".to_owned();
        let missing = Containers::from([(image(), Err(SandboxUnavailable::NoEngine))]);
        // bubblewrap is there, and is not used in its place.
        let told = format!(
            "{:?}",
            judge(&agents, &tried(Ok(())), &missing, &Environment::default(), None)
        );
        assert!(told.contains("no container engine") && told.contains("install podman"), "{told}");
        assert!(!told.contains("is confined"), "{told}");
        let (engine, program) = (musher_sandbox::ContainerEngine::Podman, "/usr/bin/podman".into());
        let variables = BTreeMap::new();
        let there = ContainerBackend { engine, program, image: image(), variables };
        let there = Containers::from([(image(), Ok(there))]);
        let told = format!(
            "{:?}",
            judge(
                &agents,
                &tried(Err(SandboxUnavailable::Missing)),
                &there,
                &Environment::default(),
                None
            )
        );
        assert!(told.contains("podman (/usr/bin/podman) runs containers of localhost"), "{told}");
        assert!(told.contains("is in a container of localhost/agents:1"), "{told}");
    }

    #[test]
    fn what_a_confined_agent_can_see_is_listed() {
        let sandbox = "[sandbox]\nprofile = 'workspace'\nread = ['~/data']\ncaches = ['npm']\n";
        let told = told(sandbox, Ok(()));
        for word in ["agent a is confined", "reads ~/data", "caches npm", "has its network"] {
            assert!(told.contains(word), "{told}");
        }
    }
}
