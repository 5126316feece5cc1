//! Whatever an agent puts in the place of a file, the server goes on: it answers, it ends, it tells what it found, and
//! nothing from outside the worktree is committed.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use musher_client::Client;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::{Value as Json, json};
use tokio::time::timeout;

use crate::rig::{Project, Server};

/// Whatever hangs takes longer; the machine may be busy.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Where one agent works, and where git keeps what belongs to that.
pub(crate) struct Place {
    pub(crate) worktree: PathBuf,
    pub(crate) entry: PathBuf,
}

type Play = fn(&Place);

/// A trick, what is told of it (nothing, if it changes nothing), and how it is played.
type Trick = (&'static str, &'static str, Play);

/// Tricks with the files that git keeps for a worktree.
const OF_ENTRIES: &[Trick] = &[
    ("a pipe over the index", "index is a pipe", |at| pipe(&at.entry.join("index"))),
    ("a pipe over HEAD", "HEAD is a pipe", |at| pipe(&at.entry.join("HEAD"))),
    ("a pipe over the log of HEAD", "logs/HEAD is a pipe", |at| pipe(&at.entry.join("logs/HEAD"))),
    ("a pipe over the entry's way home", "", |at| pipe(&at.entry.join("commondir"))),
    ("a pipe over the entry's path", "", |at| pipe(&at.entry.join("gitdir"))),
    ("a pipe over the entry's lock", "", |at| pipe(&at.entry.join("locked"))),
    ("a link to a pipe over the index", "index is a link", |at| {
        pipe(&at.worktree.join("hidden"));
        fs::remove_file(at.entry.join("index")).unwrap();
        symlink(at.worktree.join("hidden"), at.entry.join("index")).unwrap();
    }),
    ("an endless device over the index", "index is a ", |at| device(&at.entry.join("index"))),
    ("a socket over HEAD", "HEAD is a socket", |at| {
        fs::remove_file(at.entry.join("HEAD")).unwrap();
        drop(UnixListener::bind(at.entry.join("HEAD")).unwrap());
    }),
    ("a folder over the index", "index is a folder", |at| {
        fs::remove_file(at.entry.join("index")).unwrap();
        fs::create_dir(at.entry.join("index")).unwrap();
    }),
    ("an index of 100 GB", "index is longer than", |at| {
        let index = fs::File::options().write(true).open(at.entry.join("index")).unwrap();
        index.set_len(100 << 30).unwrap();
    }),
    ("a HEAD of 100 GB", "HEAD is longer than", |at| {
        let head = fs::File::options().write(true).open(at.entry.join("HEAD")).unwrap();
        head.set_len(100 << 30).unwrap();
    }),
];

/// Tricks with the files of a worktree.
const OF_WORKTREES: &[Trick] = &[
    ("a pipe over .git", "", |at| pipe(&at.worktree.join(".git"))),
    ("a pipe over .gitignore", ".gitignore is a pipe", |at| pipe(&at.worktree.join(".gitignore"))),
    ("a pipe over a deep .gitignore", "a/b/.gitignore is a pipe", |at| {
        pipe(&at.worktree.join("a/b/.gitignore"));
    }),
    ("a pipe over .gitattributes", ".gitattributes is a pipe", |at| {
        pipe(&at.worktree.join(".gitattributes"));
    }),
    ("a pipe in a repository inside", "inner/.git/HEAD is a pipe", |at| {
        fs::create_dir_all(at.worktree.join("inner/.git/objects")).unwrap();
        fs::create_dir_all(at.worktree.join("inner/.git/refs")).unwrap();
        pipe(&at.worktree.join("inner/.git/HEAD"));
    }),
    ("a pipe over a known file", "", |at| pipe(&at.worktree.join("README"))),
    ("a link in the place of the worktree", "is a link", |at| {
        let outside = at.worktree.parent().unwrap().parent().unwrap().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "from outside\n").unwrap();
        fs::rename(&at.worktree, at.worktree.with_extension("moved")).unwrap();
        symlink(&outside, &at.worktree).unwrap();
    }),
    ("a .git that leads elsewhere", "", |at| {
        fs::write(at.worktree.join(".git"), "gitdir: /tmp\n").unwrap();
    }),
];

fn clear(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::remove_file(path).ok();
}

pub(crate) fn pipe(path: &Path) {
    clear(path);
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// A link to a device that never ends, which anybody can make.
fn endless(path: &Path) {
    clear(path);
    symlink("/dev/zero", path).unwrap();
}

/// A device that never ends; only root can make one, and for others a pipe is as good.
fn device(path: &Path) {
    clear(path);
    let endless = makedev(1, 5);
    if mknodat(CWD, path, FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, endless).is_err() {
        pipe(path);
    }
}

pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    match timeout(SOON, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} did not come to an end"),
    }
}

impl Server {
    /// Whether anybody is at home.
    pub(crate) async fn is_well(&self) {
        let asked = reqwest::get(format!("{}/healthz", self.url));
        assert!(soon("the health check", asked).await.unwrap().status().is_success());
    }

    /// Tells the server to end, and sees that it does.
    pub(crate) async fn ends(self) {
        let pid = rustix::process::Pid::from_raw(self.pid()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let dead = tokio::task::spawn_blocking(move || self.until_dead());
        assert!(soon("the server", dead).await.unwrap().success());
    }
}

/// A run whose agent has written a file and does no more.
pub(crate) async fn at_work(project: &Project, server: &Server) -> (String, String, Place) {
    let (story, run) = server.begin("[[work write=new.txt text=mine hang=1]]").await;
    let view = server.until_live(&run).await;
    let slot = view["slot"].as_u64().unwrap().to_string();
    let worktree = project.state().join("worktrees").join(&slot);
    let entry = project.repo().join(".git/worktrees").join(&slot);
    let began = Instant::now();
    while !worktree.join("new.txt").exists() {
        assert!(began.elapsed() < SOON, "{run} wrote nothing");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (story, run, Place { worktree, entry })
}

/// Waits until so many worktrees were taken from their stories.
async fn until_released(server: &Server, count: usize) {
    let client = Client::new(&server.url, &server.token).unwrap();
    let mut feed = client.stream(&["feed"], &[], Some("f0")).await.unwrap();
    let mut released = 0;
    while released < count {
        let told = soon("a release", feed.next()).await.unwrap().unwrap();
        let is_one = told.event.as_deref() == Some("fact") && told.data.contains("slot_released");
        released += usize::from(is_one);
    }
}

/// Whether some ref of Musher's has a file of this name.
fn is_kept(project: &Project, story: &str, file: &str) -> bool {
    let refs = project.git(&["for-each-ref", "--format=%(refname)", "refs/musher", "refs/heads"]);
    let mut own = refs.lines().filter(|name| name.contains(&format!("/{story}/")));
    own.any(|name| {
        project.git(&["ls-tree", "-r", "--name-only", name]).lines().any(|it| it == file)
    })
}

#[tokio::test]
async fn whatever_stands_in_the_place_of_gits_own_files_the_server_answers_ends_and_tells_it() {
    play(OF_ENTRIES).await;
}

#[tokio::test]
async fn whatever_stands_in_the_place_of_a_file_of_the_worktree_the_server_answers_ends_and_tells_it()
 {
    play(OF_WORKTREES).await;
}

/// Plays each trick on an agent of its own, and looks at it through every door until its worktree serves another story.
async fn play(tricks: &[Trick]) {
    let project = Project::of_workers();
    let mut server = project.serve().await;
    let mut played = Vec::new();
    for (name, told, play) in tricks {
        let (story, run, place) = at_work(&project, &server).await;
        play(&place);
        println!("{run}: {name}");
        played.push((*name, *told, story, run));
    }
    // One after the other, because few of them are taken at a time.
    for (name, told, _, run) in &played {
        let path = format!("/runs/{run}/diff");
        let diff = soon(&format!("{name}: the diff"), server.try_get(&path)).await;
        let (status, reply) = diff.unwrap();
        let detail = reply["detail"].as_str().unwrap_or_default();
        let as_told = match *told {
            "" => status == 200,
            told => status >= 400 && detail.contains(told),
        };
        assert!(as_told, "{name}: the diff: {status} {reply:#}");
        server.is_well().await;
    }
    println!("every diff was told");
    let ends = played.iter().map(async |(name, told, _, run)| {
        server.post(&format!("/runs/{run}/stop"), &json!({})).await;
        let over = soon(&format!("{name}: the end"), server.until_over(run)).await;
        assert_eq!(over["outcome"], "stopped", "{name}: {over:#}");
        let error = over["finish_error"].as_str().unwrap_or_default();
        match *told {
            "" => assert!(over["commit"].is_string(), "{name}: {over:#}"),
            told => assert!(error.contains(told), "{name}: {over:#}"),
        }
    });
    join_all(ends).await;
    println!("every run has ended");
    server.is_well().await;
    server.ends().await;
    server = soon("the next server", project.serve()).await;
    for (name, _, story, _) in &played {
        let archive = format!("/stories/{story}/archive");
        let (status, reply) = soon(name, server.try_post(&archive, &json!({}))).await.unwrap();
        assert!(status < 300, "{name}: {reply:#}");
    }
    until_released(&server, played.len()).await;
    println!("every worktree was taken from its story");
    for (name, _, story, _) in &played {
        let replaced = name.contains("place of the worktree");
        assert_eq!(is_kept(&project, story, "new.txt"), !replaced, "{name}");
        assert!(!is_kept(&project, story, "secret"), "{name}");
    }
    // Each of those worktrees serves another story.
    let nexts = played.iter().map(async |(name, ..)| {
        let (_, run) = server.begin("[[work write=next.txt text=next]]").await;
        let over = soon(&format!("after {name}"), server.until_over(&run)).await;
        let ended = (over["outcome"].as_str(), over["commit"].is_string());
        assert_eq!(ended, (Some("completed"), true), "{name}: {over:#}");
    });
    join_all(nexts).await;
    server.ends().await;
}

#[tokio::test]
async fn a_server_obeys_while_its_looks_at_several_worktrees_hang() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let mut asked = Vec::new();
    for _ in 0..4 {
        let (_, run, place) = at_work(&project, &server).await;
        pipe(&place.worktree.join(".gitignore"));
        pipe(&place.worktree.join("a/.gitattributes"));
        for _ in 0..6 {
            let url = format!("{}/api/v1/runs/{run}/diff", server.url);
            let request = reqwest::Client::new().get(url).bearer_auth(&server.token);
            asked.push(tokio::task::spawn(request.send()));
        }
    }
    server.is_well().await;
    server.post("/stories", &json!({ "title": "Another", "text": "one" })).await;
    server.ends().await;
    for reply in asked {
        let _cut_off_or_told = soon("a reply", reply).await;
    }
}

/// What a server that must not start says.
fn says(project: &Project) -> String {
    project.trust();
    let state = project.state().display().to_string();
    let output = project.musher(&["serve", "--json", "--state", &state]).output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn a_pipe_in_the_place_of_a_setting_of_the_repository_is_in_nobodys_way() {
    let project = Project::of_workers();
    let git = project.repo().join(".git");
    for name in ["info/exclude", "info/attributes", "info/grafts", "hooks/post-checkout"] {
        pipe(&git.join(name));
    }
    pipe(&project.top().join("included"));
    let include = format!("[include]\n\tpath = {}\n", project.top().join("included").display());
    let config = fs::read_to_string(git.join("config")).unwrap();
    fs::write(git.join("config"), config + &include).unwrap();
    let server = soon("the start", project.serve()).await;
    let (story, run) = server.begin("[[work write=new.txt text=mine]]").await;
    let over = soon("the run", server.until_over(&run)).await;
    assert!(over["commit"].is_string(), "{over:#}");
    soon("the merge", server.post(&format!("/stories/{story}/merge"), &json!({}))).await;
    assert_eq!(fs::read_to_string(project.repo().join("new.txt")).unwrap(), "mine\n");
    server.ends().await;
}

#[tokio::test]
async fn a_pipe_among_the_references_or_objects_is_named_by_a_server_that_cannot_start() {
    for name in ["HEAD", "packed-refs", "refs/heads/main", "objects/info/alternates"] {
        for kind in ["a pipe", "a device"] {
            let project = Project::of_workers();
            let path = project.repo().join(".git").join(name);
            match kind {
                "a pipe" => pipe(&path),
                _ => endless(&path),
            }
            let said = tokio::task::spawn_blocking(move || says(&project));
            let said = soon(name, said).await.unwrap();
            let told = [format!("{name} is {kind}"), format!("{name} is a link")];
            assert!(told.iter().any(|told| said.contains(told)), "{name}: {said}");
            assert!(said.contains("remove it"), "{name}: {said}");
        }
    }
}

/// A project whose agents' work is not committed by itself.
fn careless() -> Project {
    Project::new(&format!("auto_commit = false\n{}", crate::rig::WORKERS))
}

#[tokio::test]
async fn promise_12_what_one_agent_excludes_for_all_is_still_kept_of_another() {
    for committed in [true, false] {
        let project = if committed { Project::of_workers() } else { careless() };
        let server = project.serve().await;
        let (story, run, place) = at_work(&project, &server).await;
        // Another agent, in a worktree of its own, writes what counts for all of them.
        fs::write(project.repo().join(".git/info/exclude"), "*\n").unwrap();
        let ignore = project.top().join("ignore");
        fs::write(&ignore, "*\n").unwrap();
        let all = ["config", "core.excludesFile", ignore.to_str().unwrap()];
        project.git(&all);
        fs::write(place.worktree.join("second.txt"), "mine\n").unwrap();
        server.post(&format!("/runs/{run}/stop"), &json!({})).await;
        let over = server.until_over(&run).await;
        assert_eq!(over["commit"].is_string(), committed, "{over:#}");
        // What the person's own settings ignore is not committed; it is kept all the same.
        fs::create_dir_all(project.top().join(".config/git")).unwrap();
        fs::write(project.top().join(".config/git/ignore"), "*.own\n").unwrap();
        fs::write(place.worktree.join("third.own"), "mine\n").unwrap();
        server.post(&format!("/stories/{story}/archive"), &json!({})).await;
        until_released(&server, 1).await;
        for file in ["new.txt", "second.txt", "third.own"] {
            assert!(is_kept(&project, &story, file), "{file}, committed: {committed}");
        }
    }
}

#[tokio::test]
async fn filters_that_an_agent_wrote_into_the_repository_never_run_after_a_restart_either() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (story, run, place) = at_work(&project, &server).await;
    let sign = project.top().join("sprung");
    let trap = format!("sh -c 'echo sprung >> {}; cat'", sign.display());
    for key in ["filter.evil.clean", "filter.evil.smudge"] {
        project.git(&["config", key, &trap]);
    }
    let attributes = "* filter=evil\n";
    fs::write(project.repo().join(".git/info/attributes"), attributes).unwrap();
    fs::write(place.worktree.join(".gitattributes"), attributes).unwrap();
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    assert!(server.until_over(&run).await["commit"].is_string());
    server.ends().await;
    let server = project.serve().await;
    server.post(&format!("/stories/{story}/merge"), &json!({})).await;
    let (_, next) = server.begin("[[work write=next.txt text=next]]").await;
    assert!(server.until_over(&next).await["commit"].is_string());
    server.ends().await;
    assert!(!sign.exists(), "a filter of the agent's ran");
    assert!(project.repo().join("new.txt").exists());
}

/// Two stories that are done, each with a file of its own.
async fn two_stories(server: &Server) -> [String; 2] {
    let mut stories = Vec::new();
    for name in ["one", "two"] {
        let (story, run) = server.begin(&format!("[[work write={name}.txt text={name}]]")).await;
        assert!(server.until_over(&run).await["commit"].is_string());
        stories.push(story);
    }
    stories.try_into().unwrap()
}

#[tokio::test]
async fn promise_1_a_kill_in_the_middle_of_a_merge_is_in_no_other_merges_way() {
    for point in ["merge_files", "merge_moved"] {
        let project = Project::of_workers();
        let server = project.serve_with(&["--die-at", point]).await.unwrap();
        let [one, two] = two_stories(&server).await;
        let asked = server.try_post(&format!("/stories/{one}/merge"), &json!({})).await;
        assert!(asked.is_err(), "{point} was never met: {asked:?}");
        server.until_dead();
        assert!(project.repo().join("one.txt").exists(), "{point}: it was in the middle");
        let server = project.serve().await;
        server.post(&format!("/stories/{two}/merge"), &json!({})).await;
        let began = Instant::now();
        loop {
            let view: Json = server.get(&format!("/stories/{one}")).await;
            if view["merged"].is_string() {
                break;
            }
            assert!(began.elapsed() < SOON, "{point}: {view:#}");
            // What was under way is done again by itself; what was refused can be asked for.
            let _again = server.try_post(&format!("/stories/{one}/merge"), &json!({})).await;
        }
        for name in ["one.txt", "two.txt"] {
            assert!(project.repo().join(name).exists(), "{point}: {name}");
        }
        assert_eq!(project.git(&["status", "--porcelain"]), "", "{point}");
        assert_eq!(project.git(&["rev-list", "--merges", "--count", "main"]).trim(), "2");
    }
}

/// The same tricks when the work is merged: it ends, and nothing hangs.
#[tokio::test]
async fn whatever_stands_in_the_place_of_a_file_a_merge_ends_and_the_server_answers() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let mut merged = 0;
    for (trick, put) in
        [("a pipe", pipe as fn(&Path)), ("an endless link", endless), ("a device", device)]
    {
        let (story, run, place) = at_work(&project, &server).await;
        server.post(&format!("/runs/{run}/stop"), &json!({})).await;
        server.until_over(&run).await;
        for file in [
            place.worktree.join(".gitattributes"),
            place.worktree.join(".git"),
            place.worktree.join("new.txt"),
            place.entry.join("index"),
            place.entry.join("HEAD"),
        ] {
            put(&file);
        }
        let path = format!("/stories/{story}/merge");
        let (status, told) = soon(trick, server.try_post(&path, &json!({}))).await.unwrap();
        // What was committed is merged, or the reason why not is told.
        assert!([200, 409].contains(&status), "{trick}: {status} {told:#}");
        merged += u32::from(status == 200);
        server.is_well().await;
    }
    println!("merged {merged} of 3");
    server.ends().await;
}
