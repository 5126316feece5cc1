//! What a server has open is its own: no child of any kind holds it, and what a dead one held for a moment is waited for.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::rig::{Project, runner_pid};

/// Everything that a process has open, by the kernel's names, without what all have: null devices and pipes to others.
fn open_in(pid: i32) -> BTreeSet<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.map(|link| link.to_string_lossy().into_owned()).filter(|link| is_own(link)).collect()
}

fn is_own(link: &str) -> bool {
    link.starts_with("socket:") || (link.starts_with('/') && !link.starts_with("/dev/"))
}

/// A program of this name that writes down what it was born with and then is the real one.
fn spy(folder: &Path, name: &str, notes: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let real = Command::new("sh").args(["-c", &format!("command -v {name}")]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let text = format!(
        "#!/bin/sh\nfor fd in /proc/$$/fd/*; do case $fd in */255) ;; *) readlink \"$fd\" >> '{}';; esac; done\nexec '{}' \"$@\"\n",
        notes.display(),
        real.trim()
    );
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn no_child_of_any_kind_holds_what_the_server_has_open() {
    let mut project = Project::of_workers();
    let (bin, notes) = (project.top().join("bin"), project.top().join("born-with"));
    spy(&bin, "git", &notes);
    let path = std::env::var("PATH").unwrap();
    project.vars.push(("PATH".into(), format!("{}:{path}", bin.display())));
    let server = project.serve().await;
    let (_, run) = server.begin("[[work spawn=setsid spawn=daemon hang=1]]").await;
    server.until_live(&run).await;
    while project.left().len() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    // What doctor and the API start to look at the machine.
    server.get("/checks").await;
    let ours = open_in(server.pid());
    assert!(ours.iter().any(|link| link.starts_with("socket:")), "its port at least: {ours:?}");
    let runner = runner_pid(&project.run_folder(&run)).unwrap();
    let held = open_in(runner);
    // The server reads the run's log, and the runner writes it.
    let log = project.run_folder(&run).display().to_string();
    let leaked = |of: &BTreeSet<String>| -> Vec<String> {
        of.intersection(&ours).filter(|link| !link.starts_with(&log)).cloned().collect()
    };
    assert_eq!(leaked(&held), Vec::<String>::new(), "the runner");
    for pid in project.left() {
        let with = open_in(pid);
        let common: Vec<&String> = with.intersection(&held).collect();
        assert_eq!(leaked(&with), Vec::<String>::new(), "a process of the agent, {pid}");
        assert_eq!(common, Vec::<&String>::new(), "a process of the agent, {pid}, and its runner");
    }
    let born = std::fs::read_to_string(&notes).unwrap();
    let born: BTreeSet<String> =
        born.lines().filter(|link| is_own(link)).map(str::to_owned).collect();
    // A git keeps the lock of the slot in which it works, so that nobody else does while it lives.
    let leaked: Vec<&String> =
        born.intersection(&ours).filter(|link| !link.contains("/.git/")).collect();
    assert_eq!(leaked, Vec::<&String>::new(), "git");
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    server.until_over(&run).await;
}

#[tokio::test]
async fn a_port_that_a_dead_servers_child_holds_for_a_moment_is_waited_for() {
    let project = Project::of_workers();
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap().to_string();
    // As a child that was forked and has not come to its own program yet: it holds the port, and does nothing with it.
    let mut child = Command::new("sh")
        .args(["-c", "echo held; sleep 0.3"])
        .stdin(OwnedFd::from(port))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let server = project.serve_with(&["--listen", &address]).await;
    let server = server.expect("the port is free a moment later");
    assert_eq!(server.url, format!("http://{address}"));
    child.wait().unwrap();
}
