//! The server's log: what goes wrong is explained by it alone, with ids, in lines that people and programs can read.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::rig::{PATIENCE, Project, Server, WORKERS, kill_runner};

const JSON: &[&str] = &["--log-format", "json"];

/// The lines of a JSON log, each of which must be an object with the four fields of every line.
fn lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    let parse = |line: &str| -> Json {
        let json: Json =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let known = |name| Json::is_string(&json[name]);
        assert!(["time", "level", "target", "message"].into_iter().all(known), "{line}");
        json
    };
    // The last one may be under way.
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(parse).collect()
}

/// Whether a line says this and has these fields.
fn says(line: &Json, level: &str, message: &str, fields: &Json) -> bool {
    let has = |(name, value): (&String, &Json)| line[name] == *value;
    line["level"] == level
        && line["message"] == message
        && fields.as_object().unwrap().iter().all(has)
}

impl Project {
    fn kept_log(&self) -> std::path::PathBuf {
        self.state().join("server.log")
    }

    /// Waits for a line of the log, and gives it.
    async fn logged(&self, level: &str, message: &str, fields: Json) -> Json {
        let began = Instant::now();
        loop {
            let all = lines(&self.kept_log());
            if let Some(line) = all.iter().find(|line| says(line, level, message, &fields)) {
                return line.clone();
            }
            let shown = || all.iter().map(Json::to_string).collect::<Vec<_>>().join("\n");
            assert!(
                began.elapsed() < PATIENCE,
                "the log never said {level} {message} {fields}:\n{}",
                shown()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn serve_json(&self) -> Server {
        self.serve_with(JSON).await.unwrap()
    }
}

fn text<'a>(line: &'a Json, name: &str) -> &'a str {
    line[name].as_str().unwrap_or_else(|| panic!("no {name}: {line}"))
}

#[tokio::test]
async fn a_run_is_followed_from_its_start_to_its_end_by_its_id_in_lines_that_all_parse() {
    let mut project = Project::of_workers();
    project.vars.push(("RUST_LOG".into(), "musher=debug,musher_runtime=debug".into()));
    let server = project.serve_json().await;
    let (story, run) = server.begin("[[work lines=3]]").await;
    server.until_over(&run).await;
    let ids = json!({ "run.id": run, "story.id": story, "agent": "worker" });
    project.logged("INFO", "run queued", ids.clone()).await;
    let preparing = project.logged("INFO", "run preparing", ids.clone()).await;
    assert_eq!((&preparing["slot"], &preparing["branch"]), (&json!(1), &json!(1)), "{preparing}");
    project.logged("INFO", "run started", ids.clone()).await;
    let ended = project.logged("INFO", "run ended", ids.clone()).await;
    assert_eq!(ended["outcome"], "completed", "{ended}");
    project.logged("INFO", "run over", ids).await;
    let began = project.logged("INFO", "server started", json!({ "url": server.url })).await;
    assert_eq!(began["pid"], server.pid(), "{began}");
    let (kept, printed) = (lines(&project.kept_log()), lines(&project.server_log()));
    assert!(printed.len() >= kept.len(), "what is kept is also on standard error");
    let requests = kept.iter().filter(|line| line["message"] == "request");
    assert!(requests.clone().count() > 2, "requests are told at debug");
    assert!(requests.clone().all(|line| line["level"] == "DEBUG" && line["status"].is_u64()));
}

#[tokio::test]
async fn a_lost_runner_is_explained_by_the_log_alone() {
    let project = Project::of_hanging_workers();
    let server = project.serve_json().await;
    let (story, run) = server.begin("[[work lines=3 hang=1]]").await;
    server.until(&run, |view| view["session"].is_string()).await;
    kill_runner(&project.run_folder(&run)).unwrap();
    let ids = json!({ "run.id": run, "story.id": story, "agent": "worker" });
    project.logged("WARN", "runner lost", ids.clone()).await;
    let ended = project.logged("WARN", "run ended", ids).await;
    assert_eq!(ended["outcome"], "lost", "{ended}");
    assert!(text(&ended, "cause").contains("the runner died"), "{ended}");
    let again = json!({ "kind": "restart", "of": run, "story.id": story });
    let restarted = project.logged("WARN", "run queued", again).await;
    let next = text(&restarted, "run.id").to_owned();
    project.logged("INFO", "run started", json!({ "run.id": next })).await;
    server.post(&format!("/runs/{next}/kill"), &json!({})).await;
    server.until_over(&next).await;
}

#[tokio::test]
async fn a_broken_worktree_is_explained_by_the_log_alone() {
    let project = Project::of_workers();
    let server = project.serve_json().await;
    // Whatever is in the place of the worktrees, it is no folder.
    std::fs::remove_dir_all(project.state().join("worktrees")).unwrap();
    std::fs::write(project.state().join("worktrees"), "in the way").unwrap();
    let (story, run) = server.begin("[[work lines=1]]").await;
    assert_eq!(server.until_over(&run).await["outcome"], "failed");
    let ids = json!({ "run.id": run, "story.id": story, "slot": 1 });
    let failed = project.logged("ERROR", "worktree could not be prepared", ids).await;
    assert!(text(&failed, "cause").contains("worktrees"), "{failed}");
    let ids = json!({ "run.id": run, "story.id": story, "agent": "worker", "outcome": "failed" });
    let ended = project.logged("WARN", "run ended", ids).await;
    assert!(text(&ended, "cause").contains("worktrees"), "{ended}");
}

#[tokio::test]
async fn a_full_disk_is_explained_by_the_log_alone() {
    let mut project = Project::of_workers();
    if !project.state_on_small_disk("size=24m") {
        return;
    }
    let server = project.serve_json().await;
    let (_, run) = server.begin("[[work lines=3000 size=1000]]").await;
    server.until(&run, |_| project.spoken() > 50).await;
    project.fill_disk();
    server.until(&run, |view| view["note"].is_string()).await;
    let began = Instant::now();
    // The journal has room in its last page yet.
    while server.try_post("/stories", &json!({ "title": "One more" })).await.unwrap().0 != 507 {
        assert!(began.elapsed() < PATIENCE, "a full disk takes everything");
    }
    project.make_room();
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    // What was said meanwhile is on standard error, for the disk with the file was full.
    let printed = lines(&project.server_log());
    let said = |level: &str, message: &str, fields: Json| {
        let found = printed.iter().find(|line| says(line, level, message, &fields));
        found.unwrap_or_else(|| panic!("{message}: {printed:#?}")).clone()
    };
    let paused = said("WARN", "run paused", json!({ "run.id": run }));
    assert!(text(&paused, "cause").contains("the disk is full"), "{paused}");
    said("INFO", "run continues", json!({ "run.id": run }));
    let full = said("WARN", "journal has no room, trying again", json!({ "attempt": 1 }));
    assert!(text(&full, "cause").contains("no room to write"), "{full}");
    said("INFO", "journal has room again", json!({}));
    let refused = said("WARN", "command refused", json!({ "command": "add_story" }));
    assert!(text(&refused, "cause").contains("make room on its disk"), "{refused}");
    let retries = printed.iter().filter(|line| line["message"] == full["message"]).count();
    assert!(retries < 20, "a retry that goes on is not told each time: {retries}");
}

#[tokio::test]
async fn a_refused_start_is_explained_by_the_log_alone() {
    let project = Project::of_workers();
    let server = project.serve_json().await;
    let (story, run) = server.begin("[[work ask=make]]").await;
    server.until_ask(&run).await;
    let start = format!("/stories/{story}/start");
    assert_eq!(server.try_post(&start, &json!({})).await.unwrap().0, 409);
    assert_eq!(server.try_post(&start, &json!({ "agent": "nobody" })).await.unwrap().0, 404);
    let ids = json!({ "command": "start_run", "story.id": story, "agent": "nobody" });
    let refused = project.logged("INFO", "command refused", ids).await;
    assert!(text(&refused, "cause").contains("there is no agent nobody"), "{refused}");
    let cause = format!("agent worker already has a run on story {story}: {run}");
    project.logged("INFO", "command refused", json!({ "story.id": story, "cause": cause })).await;
    // One that shows no token is refused at the door.
    let bare = reqwest::Client::new().get(format!("{}/api/v1/runs", server.url));
    assert_eq!(bare.send().await.unwrap().status().as_u16(), 401);
    let ids = json!({ "status": 401, "code": "no_token", "path": "/api/v1/runs" });
    let refused = project.logged("INFO", "request refused", ids).await;
    assert!(text(&refused, "client").starts_with("127.0.0.1:"), "{refused}");
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    server.until_over(&run).await;
}

#[tokio::test]
async fn a_server_that_begins_again_tells_which_runs_it_adopted() {
    let project = Project::of_workers();
    let server = project.serve_json().await;
    let (story, run) = server.begin("[[work ask=make lines=1]]").await;
    let ask = server.until_ask(&run).await;
    server.kill();
    let server = project.serve_json().await;
    let ids = json!({ "run.id": run, "story.id": story, "agent": "worker" });
    project.logged("INFO", "run adopted", ids.clone()).await;
    project.logged("INFO", "server started", json!({ "pid": server.pid(), "runs": 1 })).await;
    let yes = json!({ "answer": { "decision": "allow" } });
    server.post(&format!("/runs/{run}/asks/{ask}/answer"), &yes).await;
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    project.logged("INFO", "run ended", ids).await;
}

#[tokio::test]
async fn no_secret_is_in_the_log() {
    let key = "sk-live-0123456789abcdef";
    let gone = WORKERS.replace("'@WORKER@'", &format!("'@WORKER@-{key}'"));
    let mut project = Project::new(&gone);
    project.vars.push(("PROVIDER_API_KEY".into(), key.into()));
    project.vars.push(("RUST_LOG".into(), "trace".into()));
    let server = project.serve_json().await;
    let (_, run) = server.begin("[[work lines=1]]").await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "failed", "{over:#}");
    let token = server.token.trim().to_owned();
    server.try_get(&format!("/runs/{token}?token={token}")).await.unwrap();
    let body = json!({ "name": "page", "scope": "full" });
    let made = server.try_post("/tokens", &body).await.unwrap().1;
    let minted = made["token"].as_str().unwrap_or(&token).to_owned();
    let ended = project.logged("WARN", "run ended", json!({ "run.id": run })).await;
    assert!(text(&ended, "cause").contains("[redacted PROVIDER_API_KEY]"), "{ended}");
    let path = "/api/v1/runs/[redacted the token of the server]";
    project.logged("DEBUG", "request", json!({ "path": path })).await;
    server.kill();
    for log in [project.kept_log(), project.server_log()] {
        let said = std::fs::read_to_string(log).unwrap();
        for secret in [key, &token, &minted] {
            assert!(!said.contains(secret), "{secret} is in the log");
        }
    }
}

#[tokio::test]
async fn the_kept_log_stays_bounded_and_keeps_one_old_file() {
    let project = Project::of_workers();
    project.trust();
    let (now, old) = (project.kept_log(), project.state().join("server.log.1"));
    let filler = json!({ "time": "", "level": "", "target": "", "message": "x".repeat(900) });
    let line = format!("{filler}\n");
    let full = (8 << 20) - 1;
    std::fs::write(&now, line.repeat(full / line.len())).unwrap();
    std::fs::write(&old, "older").unwrap();
    let server = project.serve_json().await;
    server.begin("[[work lines=1]]").await;
    project.logged("INFO", "run over", json!({})).await;
    let before = std::fs::read_to_string(&old).unwrap();
    assert!(before.starts_with(&line) && before.len() <= full + 1, "{}", before.len());
    assert!(now.metadata().unwrap().len() < 1 << 20);
    let logs = std::fs::read_dir(project.state()).unwrap().flatten();
    let logs = logs.filter(|file| file.file_name().to_string_lossy().starts_with("server.log"));
    assert_eq!(logs.count(), 2, "one old file is kept");
    server.kill();
}

#[tokio::test]
async fn a_text_log_has_one_line_for_each_thing_and_rust_log_chooses_them() {
    let mut project = Project::of_workers();
    let server = project.serve().await;
    let (story, run) = server.begin("[[work lines=1]]").await;
    server.until_over(&run).await;
    let wanted = format!(" INFO run ended run.id={run} story.id={story} agent=worker ");
    let said = || std::fs::read_to_string(project.kept_log()).unwrap();
    server.until(&run, |_| said().contains(&wanted)).await;
    assert!(!said().contains(" DEBUG "), "{}", said());
    server.kill();
    project.vars.push(("RUST_LOG".into(), "error".into()));
    std::fs::remove_file(project.kept_log()).unwrap();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=1]]").await;
    server.until_over(&run).await;
    server.kill();
    assert_eq!(std::fs::read_to_string(project.kept_log()).unwrap(), "");
    project.vars.push(("RUST_LOG".into(), "musher=loud".into()));
    let output = project.musher(&["serve", "--state", &project.state().display().to_string()]);
    let output = { output }.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("RUST_LOG") && said.contains("fix:"), "{said}");
}

#[tokio::test]
async fn a_server_that_cannot_begin_says_so_once_and_keeps_it_in_its_log() {
    let project = Project::of_workers();
    project.trust();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let state = project.state().display().to_string();
    let args = ["serve", "--listen", &address, "--state", &state];
    let output = project.musher(&args).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.matches(&address).count(), 1, "{said}");
    let kept = std::fs::read_to_string(project.kept_log()).unwrap();
    assert!(kept.contains("ERROR server failed") && kept.contains(&address), "{kept}");
}
