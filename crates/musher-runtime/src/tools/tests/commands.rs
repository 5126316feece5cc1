//! Commands: what they print, how they end, and that nothing of them is left.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use musher_testkit::{proc, programs};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::rig::call;
use crate::process::{Containment, Environment, Host, MARK, Sweep};
use crate::tools::{
    CallProgress, CommandSpec, CommandTools, FileTools, Hosts, ReplyKind, RunTools, ToolCall,
    ToolHost, ToolReply,
};

/// No process at all.
const NONE: [i32; 0] = [];

struct Shop {
    folder: TempDir,
    tools: CommandTools,
    mark: String,
}

impl Shop {
    fn new() -> Self {
        Self::with(|environment| environment, Containment::default())
    }

    fn with(change: impl FnOnce(Environment) -> Environment, containment: Containment) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mark = uuid::Uuid::new_v4().simple().to_string();
        let path = Environment::of_this_process().get("PATH").unwrap().to_owned();
        let environment =
            Environment::from_vars([("PATH".into(), path), ("OTHER".into(), "x".into())]);
        let tools = CommandTools::new(CommandSpec {
            folder: folder.path().canonicalize().unwrap(),
            environment: change(environment),
            hidden: vec!["MODEL_KEY".into()],
            mark: Some(mark.clone()),
            containment,
            sandbox: None,
        });
        Self { folder, tools, mark }
    }

    async fn run(&self, command: &str) -> ToolReply {
        self.call("run_command", json!({ "command": command })).await
    }

    async fn call(&self, name: &str, input: Json) -> ToolReply {
        call(&self.tools, name, input).await
    }

    /// Starts a command in the background and gives its id.
    async fn leave(&self, command: &str) -> String {
        let reply = self.call("run_command", json!({"command": command, "background": true})).await;
        reply.structured.unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// The processes of the run that are alive.
    fn alive(&self) -> Vec<i32> {
        proc::marked(&format!("{MARK}={}", self.mark))
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Waits until something holds, for a while.
async fn soon(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_command_gives_its_output_as_it_is_and_its_exit_code() {
    let shop = Shop::new();
    std::fs::write(shop.path().join("a"), "").unwrap();
    let reply = shop.run("ls; printf 'one\\n\\n\\ttwo'; echo; echo err >&2").await;
    assert_eq!(reply.text, "a\none\n\n\ttwo\nerr\n[exit code 0]");
    assert_eq!((reply.kind, reply.exit_code), (ReplyKind::Done, Some(0)));
    let reply = shop.run("echo no; exit 3").await;
    assert_eq!(reply.text, "no\n[exit code 3]");
    assert_eq!((reply.kind, reply.exit_code), (ReplyKind::Failed, Some(3)));
    assert_eq!(shop.run("kill -9 $$").await.text, "[no output; ended by signal 9]");
    assert_eq!(shop.run("true").await.text, "[no output; exit code 0]");
    let structured = shop.run("false").await.structured.unwrap();
    assert_eq!(structured, json!({"exit_code": 1, "signal": null, "timed_out": false}));
}

#[tokio::test]
async fn a_command_that_waits_for_input_gets_none() {
    let shop = Shop::new();
    let began = Instant::now();
    assert_eq!(shop.run("cat; read x; echo \"[$x]\"").await.text, "[]\n[exit code 0]");
    assert!(shop.run("exec < /dev/tty").await.is_failed(), "there is no terminal to ask at");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_command_sees_the_allowed_variables_and_no_key() {
    let given = |environment: Environment| {
        environment.set_secret("MODEL_KEY", "sk-very-secret").set("API_TOKEN", "token-to-be-masked")
    };
    let shop = Shop::with(given, Containment::default());
    let text = shop.run("env; echo $API_TOKEN").await.text;
    assert!(!text.contains("sk-very-secret") && !text.contains("OTHER="), "{text}");
    assert!(text.contains("PATH=") && text.contains("PAGER=cat") && text.contains("TERM=dumb"));
    assert!(text.contains("API_TOKEN=*****") && !text.contains("token-to-be-masked"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_prints_for_ever_is_ended_in_time_and_its_edges_are_told() {
    let shop = Shop::new();
    for endless in ["seq inf", "yes", "cat /dev/zero", "trap '' TERM; while :; do echo x; done"] {
        let began = Instant::now();
        let input = json!({"command": endless, "timeout_seconds": 1});
        let reply = shop.call("run_command", input).await;
        assert!(reply.is_failed() && reply.text.contains("stopped after 1 seconds"));
        assert!(reply.text.contains("bytes left out"), "{endless}");
        assert!(reply.text.len() < 256 * 1024, "{endless}: {}", reply.text.len());
        assert!(began.elapsed() < Duration::from_secs(15), "{endless}: {:?}", began.elapsed());
        assert_eq!(reply.structured.unwrap()["timed_out"], true);
        assert_eq!(shop.alive(), NONE, "{endless}");
    }
    let reply = shop.run("seq 100000").await;
    assert!(reply.text.starts_with("1\n2\n") && reply.text.ends_with("\n100000\n[exit code 0]"));
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    let shop = Shop::new();
    let agent = programs::fake_agent().unwrap();
    let agent = agent.display();
    for left in [
        "sleep 300 & echo started".to_owned(),
        "setsid sleep 300 & echo started".into(),
        format!("{agent} daemon"),
    ] {
        let began = Instant::now();
        let reply = shop.run(&left).await;
        assert!(!reply.is_failed(), "{left}: {}", reply.text);
        assert!(began.elapsed() < Duration::from_secs(10), "{left}: {:?}", began.elapsed());
        assert_eq!(shop.alive(), NONE, "{left}");
    }
}

#[tokio::test]
async fn the_end_of_one_command_does_not_touch_another() {
    let shop = Shop::new();
    let id = shop.leave("sleep 300 & wait").await;
    soon("it starts", || shop.alive().len() == 2).await;
    let before = shop.alive();
    assert_eq!(shop.run("echo one").await.text, "one\n[exit code 0]");
    let (one, two) = tokio::join!(shop.run("sleep 0.2; echo a"), shop.run("echo b"));
    assert_eq!((&*one.text, &*two.text), ("a\n[exit code 0]", "b\n[exit code 0]"));
    assert_eq!(shop.alive(), before);
    let reply = shop.call("stop_command", json!({ "id": id })).await;
    assert_eq!(reply.text, "[no output; stopped]");
    assert_eq!(shop.alive(), NONE);
}

#[tokio::test]
async fn a_background_command_is_looked_at_and_ended() {
    let shop = Shop::new();
    let line = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; while [ ! -e end ]; do sleep 0.02; done; exit 4";
    let id = shop.leave(line).await;
    assert_eq!(id, "cmd-1");
    let look = |wait: u32| shop.call("read_command", json!({"id": "cmd-1", "wait_seconds": wait}));
    let mut seen = String::new();
    while !seen.contains("one\n") {
        seen = look(0).await.text;
    }
    assert_eq!(seen, "one\n[cmd-1 runs]");
    assert_eq!(look(0).await.text, "[cmd-1 runs; nothing new]");
    std::fs::write(shop.path().join("go"), "").unwrap();
    std::fs::write(shop.path().join("end"), "").unwrap();
    let reply = look(60).await;
    assert_eq!(reply.text, "two\n[exit code 4]", "what was read before is not told again");
    assert_eq!((reply.kind, reply.exit_code), (ReplyKind::Done, Some(4)));
    assert_eq!(look(0).await.text, "[no output; exit code 4]");
    let reply = shop.call("read_command", json!({"id": "cmd-7"})).await;
    assert!(
        reply.is_failed() && reply.text.contains("there are cmd-1 (`echo one;"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn so_many_commands_run_in_the_background_and_no_more() {
    let shop = Shop::new();
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    shop.run("true").await;
    let before = descriptors();
    for _ in 0..40 {
        let id = shop.leave("true").await;
        shop.call("read_command", json!({"id": id, "wait_seconds": 60})).await;
    }
    let reply = shop.call("read_command", json!({"id": "cmd-1"})).await;
    assert!(reply.text.contains("no background command `cmd-1`"), "the oldest are forgotten");
    for _ in 0..16 {
        shop.leave("sleep 300").await;
    }
    let input = json!({"command": "sleep 300", "background": true});
    let reply = shop.call("run_command", input.clone()).await;
    assert!(
        reply.is_failed() && reply.text.contains("end one with stop_command"),
        "{}",
        reply.text
    );
    shop.call("stop_command", json!({"id": "cmd-41"})).await;
    assert!(!shop.call("run_command", input).await.is_failed());
    shop.tools.close().await;
    assert_eq!(shop.alive(), NONE);
    assert!(descriptors() <= before + 4, "{before} descriptors became {}", descriptors());
}

#[tokio::test]
async fn several_hosts_are_one_and_end_together() {
    let shop = Shop::new();
    let files: Arc<dyn ToolHost> = Arc::new(FileTools::open(shop.path()).unwrap());
    let hosts = Hosts(vec![files]).and(shop.tools).and(RunTools::default());
    let names: Vec<_> = hosts.tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(
        names.join(" "),
        "read_file write_file edit_file list_files glob grep run_command read_command stop_command plan ask_person report_progress finish"
    );
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    assert!(names.iter().all(|name| name.len() <= 64 && name.chars().all(plain)));
    call(&hosts, "write_file", json!({"path": "x", "content": "one\n"})).await;
    assert_eq!(
        call(&hosts, "run_command", json!({"command": "cat x"})).await.text,
        "one\n[exit code 0]"
    );
    let text = call(&hosts, "nothing", json!({})).await.text;
    assert!(text.contains("there is no tool `nothing`") && text.contains("finish"), "{text}");
    call(&hosts, "run_command", json!({"command": "sleep 300", "background": true})).await;
    assert_eq!(hosts.close().await, NONE);
    assert_eq!(proc::marked(&format!("{MARK}={}", shop.mark)), NONE);
}

#[tokio::test]
async fn a_command_that_is_cancelled_or_no_longer_awaited_leaves_nothing() {
    let shop = Shop::new();
    let cancel = CancellationToken::new();
    let input = json!({"command": "echo begun; exec sleep 300"});
    let (pieces, mut said) = mpsc::channel(8);
    let call = ToolCall {
        progress: CallProgress::to(pieces),
        ..ToolCall::new("c", "run_command", input.clone())
    };
    let (reply, ()) = tokio::join!(shop.tools.call(call, &cancel), async {
        assert_eq!(said.recv().await.as_deref(), Some("begun\n"), "it is told while it runs");
        cancel.cancel();
    });
    assert_eq!((reply.kind, &*reply.text), (ReplyKind::Cancelled, "begun\n[stopped]"));
    assert_eq!(shop.alive(), NONE);

    let never = CancellationToken::new();
    let call = shop.tools.call(ToolCall::new("c", "run_command", input), &never);
    tokio::select! {
        _ = call => panic!("it ended"),
        () = soon("it starts", || !shop.alive().is_empty()) => {}
    }
    soon("it was dropped", || shop.alive().is_empty()).await;
}

#[tokio::test]
async fn promise_18_nothing_outlives_the_tools_and_nothing_starts_after_them() {
    let agent = programs::fake_agent().unwrap();
    let shop = Shop::new();
    shop.leave("trap '' TERM; sleep 300").await;
    shop.leave(&format!("{} clear-env-daemon", agent.display())).await;
    soon("they start", || shop.alive().len() >= 3).await;
    assert_eq!(shop.tools.close().await, NONE);
    assert_eq!(shop.alive(), NONE);
    assert!(shop.run("echo x").await.text.contains("the run is over"));

    let shop = Shop::new();
    shop.leave("sleep 300").await;
    soon("it starts", || !shop.alive().is_empty()).await;
    let mark = format!("{MARK}={}", shop.mark);
    drop(shop);
    soon("dropping them is enough", || proc::marked(&mark).is_empty()).await;
}

#[tokio::test]
async fn an_orphan_without_a_mark_or_a_group_is_swept_by_a_dedicated_host() {
    let containment = Containment { host: Host::Dedicated, sweep: Sweep::WithoutGroup };
    let shop = Shop::with(|environment| environment, containment);
    let agent = programs::fake_agent().unwrap();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let id = shop.leave(&format!("exec {} clear-env-daemon", agent.display())).await;
    let mut said = String::new();
    while !said.contains("pid ") {
        said = shop.call("read_command", json!({ "id": id })).await.text;
    }
    let orphan: i32 = said.lines().next().unwrap().strip_prefix("pid ").unwrap().parse().unwrap();
    shop.run("true").await;
    assert!(proc::alive(orphan), "it belongs to a command that still runs");
    shop.tools.close().await;
    rustix::process::set_child_subreaper(None).unwrap();
    assert!(!proc::alive(orphan));
}

#[tokio::test]
async fn a_wrong_command_is_told_what_is_wrong() {
    let shop = Shop::new();
    for (input, told) in [
        (json!({"command": " "}), "is empty"),
        (json!({"command": "a\0b"}), "NUL byte"),
        (json!({"command": "x".repeat(200_000)}), "is too long"),
        (json!({"command": ["ls"]}), "`command` must be a string"),
        (json!({"cmd": "ls"}), "there is no field `cmd`"),
    ] {
        let reply = shop.call("run_command", input).await;
        assert!(reply.is_failed() && reply.text.contains(told), "{}", reply.text);
    }
    let reply = shop.call("read_command", json!({"id": "x\ny"})).await;
    assert!(reply.text.contains("none is running"), "{}", reply.text);
    let Shop { folder, tools, .. } = shop;
    drop(folder);
    let reply = call(&tools, "run_command", json!({"command": "true"})).await;
    assert!(reply.is_failed() && reply.text.contains("could not be started"), "{}", reply.text);
}
