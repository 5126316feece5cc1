//! Agents that give away how they reach the tools of their run, so that a test can stand in for them.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use musher_testkit::programs;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ContentBlock, Implementation,
    ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, RoleClient, RunningService, serve_client_with_lifecycle};
use serde::Deserialize;
use serde_json::Value as Json;
use tokio::process::{Child, ChildStdout, Command};

use crate::rig::{PATIENCE, Project};

/// A project whose agents write down the tool servers that they were given, and then do what their story says.
pub(super) fn project() -> Project {
    let project = Project::new(
        "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@HOME@/agent.sh'\nprompt = '{{ story.text }}'\nenv = { WORKER_HOME = '@HOME@' }\n[limits]\nruns = 8\nruns_per_agent = 8\n",
    );
    let script = format!(
        "#!/bin/sh\nfor word; do case $word in\n--mcp-config=*) cp \"${{word#*=}}\" \"$WORKER_HOME/.servers-$$\" && mv \"$WORKER_HOME/.servers-$$\" \"$WORKER_HOME/servers-$$.json\" ;;\nesac; done\nprintf '%s\\n' \"$*\" >> \"$WORKER_HOME/arguments\"\nexec '{}' \"$@\"\n",
        programs::worker_agent().unwrap().display()
    );
    let path = project.worker_home().join("agent.sh");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    project
}

/// How an agent reaches the tools of its run.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Endpoint {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
}

impl Endpoint {
    /// Waits until the agent of a run was given it.
    pub(super) async fn of(project: &Project, run: &str) -> Self {
        Self::in_folder(project, &format!("/{run}")).await
    }

    /// Waits until an agent was given one whose folder holds these words.
    pub(super) async fn in_folder(project: &Project, words: &str) -> Self {
        let began = Instant::now();
        loop {
            let files = std::fs::read_dir(project.worker_home()).unwrap().flatten();
            let texts =
                files.filter(|file| file.file_name().to_string_lossy().starts_with("servers-"));
            for file in texts {
                let text = std::fs::read_to_string(file.path()).unwrap();
                let config: Json = serde_json::from_str(&text).unwrap();
                let endpoint: Self =
                    serde_json::from_value(config["mcpServers"]["musher"].clone()).unwrap();
                let folder = endpoint.args.last().map_or("", String::as_str);
                if folder.ends_with(words) || folder.contains(&format!("{words}-")) {
                    return endpoint;
                }
            }
            assert!(began.elapsed() < PATIENCE, "nobody was given the tools of {words}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The bridge, as an agent starts it: with nothing of its own environment.
    pub(super) fn start(&self) -> Child {
        Command::new(&self.command)
            .args(&self.args)
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }

    /// What a bridge says that is not let in.
    pub(super) async fn refusal(&self) -> String {
        let output = tokio::time::timeout(PATIENCE, self.start().wait_with_output()).await;
        let output = output.unwrap().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    pub(super) async fn connect(&self, generation: Generation) -> Tools {
        let mut child = self.start();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let client = connect((stdout, stdin), generation).await;
        Tools { client, child }
    }
}

/// The two generations of the protocol.
#[derive(Debug, Clone, Copy)]
pub(super) enum Generation {
    Initialize,
    Stateless,
}

impl Generation {
    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Stateless => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }
}

type Pipes = (ChildStdout, tokio::process::ChildStdin);

async fn connect(pipes: Pipes, generation: Generation) -> RunningService<RoleClient, ClientConfig> {
    let info = ClientConfig::new(Default::default(), Implementation::new("test", "1"));
    serve_client_with_lifecycle(info, pipes, generation.lifecycle()).await.unwrap()
}

/// A client of the tools of one run.
pub(super) struct Tools {
    client: RunningService<RoleClient, ClientConfig>,
    child: Child,
}

impl Tools {
    pub(super) async fn names(&self) -> Vec<String> {
        let tools = self.client.list_all_tools().await.unwrap();
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// The fields of every tool's input.
    pub(super) async fn fields(&self) -> Vec<String> {
        let tools = self.client.list_all_tools().await.unwrap();
        let schemas = tools.iter().filter_map(|tool| tool.input_schema.get("properties"));
        schemas.flat_map(|fields| fields.as_object().unwrap().keys().cloned()).collect()
    }

    pub(super) async fn call(&self, name: &str, input: Json) -> CallToolResult {
        let params = CallToolRequestParams::new(name.to_owned())
            .with_arguments(input.as_object().unwrap().clone());
        self.client.call_tool(params).await.unwrap()
    }

    /// Waits until the bridge has gone by itself.
    pub(super) async fn until_gone(mut self) {
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{status}");
    }
}

/// The text of a result, and whether it is a failure.
pub(super) fn said(result: &CallToolResult) -> (String, bool) {
    let text = match result.content.first() {
        Some(ContentBlock::Text(text)) => text.text.clone(),
        other => panic!("no text: {other:?}"),
    };
    (text, result.is_error == Some(true))
}
