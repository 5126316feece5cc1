//! A disk that an agent has mounted in its worktree and that never answers: it holds up nobody else.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::rig::Project;
use crate::tricks::{SOON, at_work, soon};

/// So many looks at one worktree are under way at a time; the others wait for their turn.
const LOOKS_AT_ONCE: u64 = 4;

/// A file system that takes every request and answers none, for as long as this lives.
struct Hung {
    at: PathBuf,
    /// Where the kernel tells how many requests wait.
    told: Told,
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
        Some(Self { at: at.to_owned(), told: Told::new(at), holder })
    }

    /// Returns when so many looks hang in the kernel.
    async fn until_waited_for(&self, looks: u64) {
        let began = Instant::now();
        // The first request of all is the kernel's own.
        while self.told.waiting() < looks + 1 {
            assert!(began.elapsed() < SOON, "{} requests wait", self.told.waiting());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The kernel's own count of the requests that a file system has not answered.
struct Told {
    mounted: TempDir,
    waiting: PathBuf,
}

impl Told {
    fn new(of: &Path) -> Self {
        let mounted = TempDir::new().unwrap();
        let status =
            Command::new("mount").args(["-t", "fusectl", "none"]).arg(mounted.path()).status();
        assert!(status.unwrap().success(), "no look at what waits");
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let name = of.display().to_string();
        let mount = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let number = mount.filter(|it| it[4] == name).map(|it| it[2].to_owned()).next().unwrap();
        let waiting = mounted.path().join(number.rsplit(':').next().unwrap()).join("waiting");
        Self { mounted, waiting }
    }

    fn waiting(&self) -> u64 {
        std::fs::read_to_string(&self.waiting).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg("-l").arg(self.mounted.path()).status();
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
    hung.until_waited_for(LOOKS_AT_ONCE).await;
    assert!(!looks.iter().any(tokio::task::JoinHandle::is_finished), "a look did not hang");
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
