//! Bad ground to start on: the server says what is wrong, why, and what to do, and leaves nothing half-made.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value as Json, json};

use crate::disk::Mount;
use crate::rig::{Project, kill_runner};

impl Project {
    /// Starts a server that must refuse to start, and gives its exit code and its words.
    fn refused(&self, more: &[&str]) -> (i32, String) {
        self.trust();
        self.refused_untrusted(more)
    }

    fn refused_untrusted(&self, more: &[&str]) -> (i32, String) {
        let state = self.state().display().to_string();
        let mut args = vec!["serve", "--json", "--state", &state];
        args.extend(more);
        let Output { status, stdout, stderr } = self.musher(&args).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(String::from_utf8_lossy(&stdout), "", "{said}");
        println!("{said}");
        assert!(said.starts_with("error: "), "{said}");
        assert!(!said.contains("panicked"), "{said}");
        assert!(!self.state().join("server.json").exists());
        assert!(!self.state().join("bin").exists(), "nothing was prepared for runs");
        let branches = self.git_in(&self.repo(), &["branch", "--list", "musher/*"]);
        assert_eq!(branches, "", "no branch was made");
        (status.code().unwrap(), said)
    }
}

#[test]
fn a_folder_that_is_no_repository_is_refused_and_nothing_is_made_for_it() {
    let project = Project::of_workers();
    let plain = project.top().join("plain");
    fs::create_dir(&plain).unwrap();
    let (code, said) = project.refused_untrusted(&["-C", &plain.display().to_string()]);
    assert_eq!(code, 2);
    assert!(said.contains("plain is not in a git repository"), "{said}");
    assert!(said.contains("git init"), "{said}");
    assert!(!project.state().exists());
}

#[test]
fn a_bare_repository_is_refused_as_what_it_is() {
    let project = Project::of_workers();
    let bare = project.top().join("bare.git");
    let to = bare.display().to_string();
    project.git(&["clone", "-q", "--bare", ".", &to]);
    let (code, said) = project.refused_untrusted(&["-C", &to]);
    assert_eq!(code, 2);
    assert!(said.contains("bare.git is a bare repository"), "{said}");
    assert!(said.contains("clone"), "{said}");
    assert!(!project.state().exists());
}

#[test]
fn a_repository_without_a_commit_is_refused() {
    let project = Project::of_workers();
    fs::remove_dir_all(project.repo().join(".git")).unwrap();
    project.git(&["init", "-q"]);
    let (code, said) = project.refused(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("has no commit yet") && said.contains("git commit"), "{said}");
}

#[test]
fn a_base_branch_that_is_not_there_is_refused_with_those_that_are() {
    let project = Project::new(
        "base_branch = 'mian'\n[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@WORKER@'\n",
    );
    let (code, said) = project.refused(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("there is no branch mian"), "{said}");
    assert!(said.contains("did you mean main?"), "{said}");
}

#[test]
fn a_template_with_an_unknown_variable_is_refused_with_its_place() {
    let project = Project::new(
        "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\nprompt = 'Do {{ story.titel }}'\n",
    );
    let (code, said) = project.refused_untrusted(&[]);
    assert_eq!(code, 2);
    assert!(said.contains(".musher/project.toml:4:"), "{said}");
    assert!(said.contains("story.titel") && said.contains("story.title"), "{said}");
    assert!(!project.state().exists());
}

#[test]
fn a_project_file_that_nobody_trusted_is_refused_before_anything_runs() {
    let project = Project::new(
        "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@WORKER@'\n[worktree]\nsetup = ['touch /tmp/owned']\n",
    );
    let (code, said) = project.refused_untrusted(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("musher trust"), "{said}");
    project.trust();
    let file = project.repo().join(".musher/project.toml");
    let text = fs::read_to_string(&file).unwrap().replace("owned", "owned-twice");
    fs::write(&file, text).unwrap();
    let (code, said) = project.refused_untrusted(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("+") && said.contains("owned-twice"), "{said}");
    assert!(said.contains("musher trust"), "{said}");
}

#[test]
fn a_port_that_is_taken_is_named_and_nothing_is_changed() {
    let project = Project::of_workers();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, said) = project.refused(&["--listen", &address]);
    assert_eq!(code, 2);
    assert!(said.contains(&address) && said.contains("--listen 127.0.0.1:0"), "{said}");
    assert!(!project.state().join("journal.db").exists());
    let (code, said) = project.refused(&["--listen", "0.0.0.0:0"]);
    assert_eq!(code, 2);
    assert!(said.contains("other machines") && said.contains("127.0.0.1"), "{said}");
}

#[tokio::test]
async fn a_second_server_on_the_same_state_is_told_where_the_first_is() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let state = project.state().display().to_string();
    let second = project.musher(&["serve", "--json", "--state", &state]).output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(said.contains(&server.url) && said.contains("fix: "), "{said}");
    server.post("/stories", &json!({ "title": "Still here" })).await;
}

#[tokio::test]
async fn a_corrupt_journal_is_refused_and_left_as_it_is() {
    let project = Project::of_workers();
    project.serve().await.kill();
    let journal = project.state().join("journal.db");
    let whole = fs::read(&journal).unwrap();
    let mut torn = whole.clone();
    torn[100..4000].fill(0xff);
    fs::remove_dir_all(project.state().join("bin")).unwrap();
    fs::remove_file(project.state().join("server.json")).ok();
    for (bytes, named) in [(torn, "damaged"), (b"not a database".repeat(100), "not a journal")] {
        fs::write(&journal, &bytes).unwrap();
        for leftover in ["journal.db-wal", "journal.db-shm"] {
            fs::remove_file(project.state().join(leftover)).ok();
        }
        let (code, said) = project.refused(&[]);
        assert_eq!(code, 2);
        assert!(said.contains("journal.db") && said.contains(named), "{said}");
        assert!(said.contains("fix: "), "{said}");
        assert!(fs::read(&journal).unwrap() == bytes, "the file was changed");
    }
    fs::write(&journal, whole).unwrap();
    project.serve().await;
}

#[tokio::test]
async fn a_torn_log_of_a_lost_run_is_cut_and_closed() {
    for torn in ["{\"seq\":", "\0\0\0\0\0\0\0\0", "{\"seq\":7,\"at\":1,\"type\":\"notice\"}\nx"] {
        let project = Project::of_workers();
        let server = project.serve().await;
        let (_, run) = server.begin("[[work lines=3 ask=make]]").await;
        server.until_ask(&run).await;
        server.kill();
        let folder = project.run_folder(&run);
        kill_runner(&folder).unwrap();
        let segment = folder.join("events-00000001.jsonl");
        let before = fs::read_to_string(&segment).unwrap();
        fs::write(&segment, format!("{before}{torn}")).unwrap();
        let server = project.serve().await;
        let over = server.until_over(&run).await;
        assert_eq!((&over["outcome"], &over["open_asks"]), (&json!("lost"), &json!(0)));
        let count = before.lines().count() as u64 - 1;
        assert!(project.gapless(&run) > count, "{torn:?}: what was whole is kept");
        assert_eq!(project.said(&run), [1, 2, 3]);
        assert_eq!(fs::read_to_string(&segment).unwrap(), before, "{torn:?}");
        server.post("/runs/r2/kill", &json!({})).await;
        server.until_over("r2").await;
    }
}

#[tokio::test]
async fn a_repository_in_the_middle_of_something_is_served_and_a_merge_into_it_is_refused() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (story, run) = server.begin("[[work write=made.txt text=done]]").await;
    server.until_over(&run).await;
    drop(server);
    let merge = format!("/stories/{story}/merge");
    // Changes that nobody committed.
    fs::write(project.repo().join("README"), "mine\n").unwrap();
    let server = project.serve().await;
    let problem = refused_merge(&server, &merge).await;
    assert!(problem.contains("README") && problem.contains("commit or stash"), "{problem}");
    project.git(&["checkout", "-q", "README"]);
    // A file in the way.
    fs::write(project.repo().join("made.txt"), "mine\n").unwrap();
    let problem = refused_merge(&server, &merge).await;
    assert!(problem.contains("made.txt"), "{problem}");
    assert_eq!(fs::read_to_string(project.repo().join("made.txt")).unwrap(), "mine\n");
    fs::remove_file(project.repo().join("made.txt")).unwrap();
    drop(server);
    // The middle of a rebase.
    project.git(&["switch", "-qc", "side"]);
    fs::write(project.repo().join("README"), "side\n").unwrap();
    project.git(&["commit", "-qam", "side"]);
    project.git(&["switch", "-q", "main"]);
    fs::write(project.repo().join("README"), "main\n").unwrap();
    project.git(&["commit", "-qam", "main"]);
    project.git_fails(&["rebase", "side"]);
    let server = project.serve().await;
    let (_, another) = server.begin("[[work lines=1]]").await;
    assert_eq!(server.until_over(&another).await["outcome"], "completed");
    let problem = refused_merge(&server, &merge).await;
    assert!(problem.contains("in the middle of a rebase"), "{problem}");
    project.git(&["rebase", "--abort"]);
    drop(server);
    // On no branch.
    project.git(&["checkout", "-q", "--detach"]);
    let server = project.serve().await;
    server.post(&merge, &json!({})).await;
    assert_eq!(project.git(&["show", "main:made.txt"]).trim(), "done");
    assert!(!project.repo().join("made.txt").exists(), "what is checked out is not touched");
}

async fn refused_merge(server: &crate::rig::Server, path: &str) -> String {
    let (status, problem) = server.try_post(path, &json!({})).await.unwrap();
    assert_eq!(status, 409, "{problem:#}");
    problem["detail"].as_str().unwrap().to_owned()
}

#[test]
fn a_repository_that_cannot_be_written_is_refused() {
    let project = Project::of_workers();
    let repo = project.repo().display().to_string();
    let Some(bound) = Mount::new(&project.repo(), &["--bind", &repo]) else {
        println!("nothing could be mounted");
        return;
    };
    project.trust();
    assert!(bound.make_read_only());
    let (code, said) = project.refused_untrusted(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("cannot be written") && said.contains("make it writable"), "{said}");
    drop(bound);
}

#[tokio::test]
async fn promise_17_hostile_words_over_the_api_are_refused_or_harmless() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let long = "x".repeat(10_000);
    let hostile = [
        "../x",
        "..",
        "-x",
        "--upload-pack=touch",
        "a\0b",
        "",
        " ",
        "x.lock",
        "a..b",
        "a/b",
        "@{1}",
        "con\u{202e}txt",
        "\u{1f600}",
        "\n",
        "$(touch owned)",
        "%2e%2e",
        "HEAD",
        &long,
    ];
    let mut harmless = 0;
    for words in hostile {
        let story = json!({ "id": words, "title": "Work", "text": "[[work lines=1]]" });
        let (status, reply) = server.try_post("/stories", &story).await.unwrap();
        match status {
            201 => {
                harmless += 1;
                start_and_end(&server, reply["story"].as_str().unwrap()).await;
            }
            400..=499 => assert!(reply["hint"].is_string() && reply["code"].is_string(), "{reply}"),
            _ => panic!("{words:?}: {status} {reply:#}"),
        }
        let story = json!({ "title": words, "text": format!("[[work lines=1]] {words}") });
        let (status, reply) = server.try_post("/stories", &story).await.unwrap();
        match status {
            201 => start_and_end(&server, reply["story"].as_str().unwrap()).await,
            400..=499 => assert!(reply["detail"].is_string(), "{reply}"),
            _ => panic!("{words:?}: {status} {reply:#}"),
        }
        let path: String = words.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for path in [format!("/stories/{path}/start"), format!("/runs/{path}/stop")] {
            if let Ok((status, reply)) = server.try_post(&path, &json!({})).await {
                assert!((400..500).contains(&status), "{path}: {status} {reply:#}");
            }
        }
    }
    assert!(harmless <= 2, "{harmless}");
    assert!(!project.repo().join("owned").exists());
    let outside: Vec<_> = names(project.top()).into_iter().filter(|name| name == "x").collect();
    assert_eq!(outside, Vec::<String>::new());
    project.git(&["fsck"]);
    let branches = project.git(&["for-each-ref", "--format=%(refname)"]);
    assert!(
        branches
            .lines()
            .all(|name| name == "refs/heads/main" || name.starts_with("refs/heads/musher/")),
        "{branches}"
    );
}

async fn start_and_end(server: &crate::rig::Server, story: &str) {
    let (status, reply): (u16, Json) =
        server.try_post(&format!("/stories/{story}/start"), &json!({})).await.unwrap();
    assert_eq!(status, 201, "{story:?}: {reply:#}");
    let over = server.until_over(reply["run"].as_str().unwrap()).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
