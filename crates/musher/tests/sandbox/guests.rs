//! One sandbox for all commands of a run, which each of them enters.

use std::sync::Arc;

use musher_runtime::tools::{CommandSpec, CommandTools, ToolCall, ToolHost};
use musher_runtime::{Containment, Environment};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::lab::Lab;

#[test]
fn a_command_that_enters_has_no_capability_and_gains_none() {
    let lab = Lab::new();
    let kept = lab.keep(&lab.sandbox);
    let told = lab.enter(&kept, "grep -e Cap -e NoNewPrivs /proc/self/status");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(told.contains(&format!("{set}:\t0000000000000000")), "{told}");
    }
    assert!(told.contains("NoNewPrivs:\t1"), "{told}");
}

#[test]
fn commands_see_each_other_and_what_an_earlier_one_left() {
    let lab = Lab::new();
    let kept = lab.keep(&lab.sandbox);
    let server = "echo left > /tmp/left; echo in-home > ~/left; (sleep 600 & echo $! > /tmp/pid) >/dev/null 2>&1";
    lab.enter(&kept, server);
    let told = lab.enter(&kept, "cat /tmp/left ~/left; cat /proc/$(cat /tmp/pid)/comm");
    assert!(told.contains("left\nin-home\nsleep"), "{told}");
    let ended = lab.enter(&kept, "kill $(cat /tmp/pid) && echo ended");
    assert!(ended.contains("ended"), "one command ends what another has started: {ended}");
}

#[test]
fn a_server_of_one_command_answers_the_next_on_a_loopback_of_its_own() {
    let lab = Lab::new();
    let sandbox = musher_sandbox::Sandbox {
        network: musher_sandbox::SandboxNetwork::None,
        ..lab.sandbox.clone()
    };
    let kept = lab.keep(&sandbox);
    let listen = "perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\", LocalPort => 8123) or die; \
                  if (fork) { exit } close STDOUT; close STDERR; $c = $l->accept; print $c \"hello\\n\"'";
    lab.enter(&kept, listen);
    let ask =
        "perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(\"127.0.0.1:8123\")->getline'";
    let told = lab.enter(&kept, ask);
    assert!(told.contains("hello"), "{told}");
}

#[test]
fn how_a_command_ended_is_told() {
    let lab = Lab::new();
    let kept = lab.keep(&lab.sandbox);
    assert!(lab.enter(&kept, "exit 7").contains("exit status: 7"));
    assert!(lab.enter(&kept, "kill -TERM $$").contains("exit status: 143"));
}

#[test]
fn nothing_inside_can_end_the_sandbox_and_everything_ends_with_it() {
    let lab = Lab::new();
    let mut kept = lab.keep(&lab.sandbox);
    lab.enter(&kept, "(setsid sleep 45431 &) >/dev/null 2>&1");
    assert!(lab.outside("pgrep -f 'sleep 4543[1]'").contains("exit status: 0"));
    let attacks = "kill -9 1; kill -TERM 1; kill -STOP 1; kill -SEGV 1; kill -BUS 1; cat /proc/1/environ /proc/1/root/etc/x";
    let told = lab.enter(&kept, attacks);
    assert!(told.contains("Permission denied"), "the first process is looked into: {told}");
    assert!(lab.enter(&kept, "echo still there").contains("still there"));
    kept.holder.stdin.take();
    kept.holder.wait().unwrap();
    assert!(lab.outside("pgrep -f 'sleep 4543[1]'").contains("exit status: 1"), "it lives on");
    assert!(lab.enter(&kept, "echo still there").contains("cannot be entered"));
}

#[test]
fn orphans_inside_leave_no_zombies() {
    let lab = Lab::new();
    let kept = lab.keep(&lab.sandbox);
    lab.enter(&kept, "for i in 1 2 3 4 5; do (setsid true &); done >/dev/null 2>&1");
    let told = lab.enter(&kept, "sleep 0.2; grep -l 'State:.Z' /proc/[0-9]*/status | wc -l");
    assert!(told.starts_with('0'), "{told}");
}

/// Calls a tool for commands and gives what the model is told.
async fn call(tools: &CommandTools, name: &str, input: serde_json::Value) -> String {
    let call = ToolCall::new("call", name, input);
    tools.call(call, &CancellationToken::new()).await.text
}

#[test]
fn the_commands_of_a_model_share_one_sandbox_and_nothing_of_it_is_left() {
    let lab = Lab::new();
    lab.block_on(async {
        let tools = CommandTools::new(CommandSpec {
            folder: lab.worktree(),
            environment: Environment::from_vars([("PATH".into(), "/usr/bin:/bin".into())]),
            hidden: Vec::new(),
            mark: None,
            containment: Containment::default(),
            sandbox: Some(Arc::new(lab.sandbox.clone())),
        });
        let run = async |line: &str| call(&tools, "run_command", json!({ "command": line })).await;
        let server = "trap 'echo tidied up > /tmp/tidied; exit 0' TERM; echo $$ > /tmp/pid; sleep 45432 & while :; do sleep 0.05; done";
        let input = json!({ "command": server, "background": true });
        let started = call(&tools, "run_command", input).await;
        assert!(started.contains("cmd-1 runs"), "{started}");
        let seen = run("until [ -s /tmp/pid ]; do sleep 0.02; done; cat /proc/$(cat /tmp/pid)/comm").await;
        assert!(seen.starts_with("sh\n"), "{seen}");
        let fresh = run("cat ~/.ssh/id_ed25519; kill -9 $$").await;
        assert!(fresh.contains("No such file") && fresh.contains("ended by signal 9"), "{fresh}");
        call(&tools, "stop_command", json!({ "id": "cmd-1" })).await;
        let tidied = run("cat /tmp/tidied; ps -e -o args | grep 'sleep 4543[2]'").await;
        assert!(tidied.starts_with("tidied up\n[exit code 1]"), "a stop leaves time: {tidied}");
        call(&tools, "run_command", json!({ "command": "sleep 45432", "background": true })).await;
        assert!(tools.close().await.is_empty());
    });
    assert!(lab.outside("pgrep -f 'sleep 4543[2]'").contains("exit status: 1"), "it lives on");
}
