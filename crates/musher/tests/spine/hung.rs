//! A disk that an agent has mounted in its worktree and that never answers: it holds up nobody else.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::rig::Project;
use crate::tricks::{at_work, soon};

/// A file system that takes every request and answers none, for as long as this lives.
struct Hung {
    at: PathBuf,
    /// Holds the other end; when it is gone, the requests fail.
    holder: Child,
}

impl Hung {
    /// Mounts one, if this machine lets us.
    fn new(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mount = "exec 3<>/dev/fuse && \
            mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hung \"$1\" && exec sleep 600";
        let mut holder = Command::new("sh")
            .args(["-c", mount, "sh"])
            .arg(at)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let name = at.display().to_string();
        while !std::fs::read_to_string("/proc/mounts").unwrap().contains(&name) {
            if holder.try_wait().unwrap().is_some() || began.elapsed() > Duration::from_secs(5) {
                let _ended = holder.kill();
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Self { at: at.to_owned(), holder })
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        let _ended = self.holder.kill();
        let _reaped = self.holder.wait();
        let _done = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

#[tokio::test]
async fn a_disk_that_never_answers_in_a_worktree_holds_up_nobody_else() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run, place) = at_work(&project, &server).await;
    let Some(hung) = Hung::new(&place.worktree.join("hung")) else {
        return println!("no disk that hangs could be mounted here");
    };
    // More looks than there are threads for async work, and than one worktree is given.
    let (url, token) = (server.url.clone(), server.token.clone());
    let looks: Vec<_> = (0..8)
        .map(|_| {
            let look = reqwest::Client::new()
                .get(format!("{url}/api/v1/runs/{run}/diff"))
                .bearer_auth(&token);
            tokio::spawn(look.send())
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.is_well().await;
    let (_, other) = soon("a story beside it", server.begin("[[work lines=2]]")).await;
    assert_eq!(server.until_over(&other).await["outcome"], "completed");
    server.is_well().await;
    soon("a kill", server.try_post(&format!("/runs/{run}/kill"), &json!({}))).await.unwrap();
    server.ends().await;
    looks.iter().for_each(tokio::task::JoinHandle::abort);
    drop(hung);
    // The next server finishes what was left of the run.
    let server = soon("the next server", project.serve()).await;
    server.until_over(&run).await;
}
