//! Runs in a sandbox, through the whole stack.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use musher_core::EventKind;
use musher_sandbox::SandboxLimits;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

use crate::rig::{PATIENCE, Project, kill_runner};

/// A project whose agent runs this line of shell in a sandbox.
fn of_line(line: &str) -> Project {
    of_line_with(line, "profile = 'workspace'\n")
}

pub(crate) fn of_line_with(line: &str, sandbox: &str) -> Project {
    let project = Project::new(&format!(
        "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = './work.toml'\n[sandbox]\n{sandbox}"
    ));
    let script = format!("[[step]]\nrun = '''\n{line}\n'''\n");
    std::fs::write(project.repo().join("work.toml"), script).unwrap();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "script"]);
    project
}

/// A project whose agent is this shell script, in a sandbox.
fn of_program(script: &str) -> Project {
    let project = Project::new(
        "[[agent]]\nname = 'coder'\nruntime = 'claude-code'\ncommand = './agent'\n[sandbox]\nprofile = 'workspace'\n",
    );
    let agent = project.repo().join("agent");
    std::fs::write(&agent, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "agent"]);
    project
}

/// What the commands of a run printed.
pub(crate) fn printed(project: &Project, run: &str) -> String {
    let outputs = project.events(run).into_iter().filter_map(|event| match event.kind {
        EventKind::Tool(update) => Some(update.output?.text),
        _ => None,
    });
    outputs.collect()
}

pub(crate) async fn until_there(path: &std::path::Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < PATIENCE, "{} never came", path.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_confined_run_leaves_its_commits_and_nothing_else() {
    let line = "echo x > new; git add new; git -c user.name=a -c user.email=a@a commit -qm mine; \
                git update-ref refs/heads/main HEAD; cat \"$(dirname $PWD)/../token\" || echo NONE; echo y > left";
    let project = of_line(line);
    let main = project.git(&["rev-parse", "main"]);
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let view = server.until_over(&run).await;
    assert_eq!(view["outcome"], "completed", "{view:#}");
    assert!(printed(&project, &run).contains("NONE"));
    assert_eq!(project.git(&["log", "--format=%s", "main..musher/s1/1"]), "Work\nmine\n");
    assert_eq!(project.git(&["rev-parse", "main"]), main);
    let diff = server.get(&format!("/runs/{run}/diff")).await.to_string();
    assert!(diff.contains("new") && diff.contains("left"), "{diff}");
}

#[tokio::test]
async fn inside_of_a_sandbox_only_the_tools_of_the_run_can_be_reached() {
    // It says what a server would say to a runner.
    let line = r#"ls -d "$(dirname $PWD)/../runs" || echo HIDDEN
ls /run/musher
perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("/run/musher/s")) or die; S->autoflush; print scalar <S>; print S "{\"type\":\"command\",\"id\":\"c9\",\"command\":{\"type\":\"kill\"}}\n"; print defined(<S>) ? "HEARD" : "CLOSED"'
perl -MSocket -MIO::Handle -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("/run/musher/s")) or die; S->autoflush; <S>; print S "{\"type\":\"tools\",\"secret\":\"x\"}\n"; print scalar <S>'"#;
    let project = of_line(line);
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let view = server.until_over(&run).await;
    let told = printed(&project, &run);
    assert_eq!(view["outcome"], "completed", "{told}");
    for word in ["HIDDEN", "CLOSED", "wrong_secret"] {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    assert!(!told.contains("HEARD"), "{told}");
}

#[tokio::test]
async fn the_control_socket_of_a_confined_run_takes_no_command_without_its_secret() {
    let project = of_program("touch begun; exec sleep 600");
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    until_there(&project.state().join("worktrees/1/begun")).await;
    let folder = project.run_folder(&run);
    let kept = std::fs::metadata(folder.join("control")).unwrap().permissions().mode();
    assert_eq!(kept & 0o077, 0, "others can read the secret: {kept:o}");
    let stream = tokio::net::UnixStream::connect(folder.join("s")).await.unwrap();
    let (read, mut write) = stream.into_split();
    let mut said = tokio::io::BufReader::new(read).lines();
    assert!(said.next_line().await.unwrap().unwrap().contains("hello"));
    for secret in ["", "0000"] {
        let shown = json!({ "type": "control", "secret": secret });
        let wish = json!({ "type": "command", "id": "c9", "command": { "verb": "kill" } });
        write.write_all(format!("{shown}\n{wish}\n").as_bytes()).await.unwrap();
        let reply = said.next_line().await.unwrap().unwrap();
        assert!(reply.contains("wrong_secret"), "{reply}");
    }
    let view = server.get(&format!("/runs/{run}")).await;
    assert!(view["outcome"].is_null(), "it was not ended: {view}");
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    assert_eq!(server.until_over(&run).await["outcome"], "stopped");
}

#[tokio::test]
async fn a_confined_agent_that_is_stopped_can_tidy_up() {
    let script =
        "trap 'echo tidied > tidied; exit 0' TERM; touch begun; while :; do sleep 0.05; done";
    let project = of_program(script);
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let worktree = project.state().join("worktrees/1");
    until_there(&worktree.join("begun")).await;
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    server.until_over(&run).await;
    assert_eq!(std::fs::read_to_string(worktree.join("tidied")).unwrap(), "tidied\n");
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn a_killed_runner_takes_its_sandbox_along() {
    let script = "setsid sh -c 'touch hidden; exec sleep 600' & touch begun; exec sleep 600";
    let project = of_program(script);
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let worktree = project.state().join("worktrees/1");
    until_there(&worktree.join("begun")).await;
    until_there(&worktree.join("hidden")).await;
    kill_runner(&project.run_folder(&run)).unwrap();
    let began = Instant::now();
    while !project.left().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(2), "{:?} are left", project.left());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_run_whose_sandbox_cannot_be_had_does_not_start_and_says_why() {
    if !rustix::process::geteuid().is_root() {
        // Only the superuser can hide a program of the machine.
        return;
    }
    let project = of_line("touch began");
    let hide = "if [ -z \"$HIDDEN\" ]; then HIDDEN=1 exec unshare -m sh -c 'mount --bind /usr/bin/false /usr/bin/bwrap; exec \"$@\"' sh \"$@\"; fi";
    let server = project.serve_after(hide).await;
    let (_, run) = server.begin("go").await;
    let view = server.until_over(&run).await;
    let told = view["error"].to_string();
    assert_ne!(view["outcome"], "completed", "{view:#}");
    assert!(told.contains("the sandbox cannot be made") && told.contains("profile"), "{told}");
    assert!(told.contains("landlock") && told.contains("weaker"), "{told}");
    assert!(!project.state().join("worktrees/1/began").exists());
}

#[tokio::test]
async fn an_agent_is_signed_in_inside_of_its_sandbox_and_only_its_own_runs_see_the_login() {
    let agent = r#"if [ "$1 $2" = "auth login" ]; then
  [ -e ~/.ssh ] && exit 9
  read key; echo "$key$3" > ~/.claude/new; mv ~/.claude/new ~/.claude/.credentials.json; touch ~/stray; exit 0
fi
cat ~/.claude/.credentials.json > seen 2>&1; ls ~ > home; touch begun; exec sleep 600"#;
    let project = of_program(agent);
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let other = "[[agent]]\nname = 'other'\nruntime = 'claude-code'\ncommand = './agent'\n";
    std::fs::write(&file, format!("{other}{text}")).unwrap();
    let person = project.state().parent().unwrap().to_owned();
    std::fs::create_dir_all(person.join(".ssh")).unwrap();
    let server = project.serve().await;
    let state = project.state().display().to_string();
    let login = |args: &[&str]| {
        let mut login = project.musher(&[&["login", "coder", "--state", &state], args].concat());
        let (input, mut output) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut output, b"key-4711\n").unwrap();
        login.stdin(input).output().unwrap()
    };
    let told = login(&["--", "-more"]);
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.status.success() && said.contains("coder is signed in"), "{told:?}");
    assert!(!person.join(".claude").exists(), "it is kept from the person's own login");
    for (agent, seen, slot) in [("coder", "key-4711-more", 1), ("other", "No such file", 2)] {
        let story = server.post("/stories", &json!({ "title": "Work" })).await;
        let start = format!("/stories/{}/start", story["story"].as_str().unwrap());
        let run = server.post(&start, &json!({ "agent": agent })).await;
        let worktree = project.state().join(format!("worktrees/{slot}"));
        until_there(&worktree.join("begun")).await;
        let found = std::fs::read_to_string(worktree.join("seen")).unwrap();
        assert!(found.contains(seen), "{agent}: {found}");
        let home = std::fs::read_to_string(worktree.join("home")).unwrap();
        assert!(!home.contains("stray"), "only the folder of the login is shared: {home}");
        let run = run["run"].as_str().unwrap();
        server.post(&format!("/runs/{run}/kill"), &json!({})).await;
        server.until_over(run).await;
    }
    let kept = project.state().join("logins/coder/.claude");
    std::fs::write(person.join(".ssh/.credentials.json"), "of the person").unwrap();
    std::fs::rename(&kept, kept.with_extension("moved")).unwrap();
    std::os::unix::fs::symlink(person.join(".ssh"), &kept).unwrap();
    let led = login(&[]);
    let said = String::from_utf8_lossy(&led.stderr).into_owned();
    assert!(!led.status.success() && said.contains("there is a link on the way"), "{led:?}");
    let story = server.post("/stories", &json!({ "title": "Work" })).await;
    let start = format!("/stories/{}/start", story["story"].as_str().unwrap());
    let run = server.post(&start, &json!({ "agent": "coder" })).await;
    let run = run["run"].as_str().unwrap().to_owned();
    let worktree = project.state().join("worktrees/3");
    until_there(&worktree.join("begun")).await;
    let found = std::fs::read_to_string(worktree.join("seen")).unwrap();
    assert!(found.contains("No such file"), "a link is not followed: {found}");
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    server.until_over(&run).await;
    assert!(login(&["--remove"]).status.success());
    assert!(person.join(".ssh/.credentials.json").exists(), "only the link is deleted");
    assert!(!project.state().join("logins/coder").exists());
}

/// Puts limits into the project file.
fn limited(project: Project, limits: &str) -> Project {
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}{limits}")).unwrap();
    project
}

#[tokio::test]
async fn a_run_that_takes_more_memory_than_it_may_is_ended_and_says_why() {
    let limits = SandboxLimits { memory: Some(64 << 20), ..SandboxLimits::default() };
    if let Err(why) = musher_runtime::can_be_limited(limits) {
        eprintln!("not tried: {why}");
        return;
    }
    let hog = "perl -e '$x = \"x\" x (200 << 20); sleep 600'; echo OUTLIVED >&2; kill -9 $$";
    let project = limited(of_program(hog), "memory = '64 MiB'\ncpu = 1.5\n");
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let view = server.until_over(&run).await;
    assert_eq!(view["outcome"], "failed", "{view:#}");
    let told = view["error"].to_string();
    assert!(told.contains("the limit of memory was reached"), "{view:#}");
    assert_eq!(project.left(), Vec::<i32>::new());
    let groups = std::process::Command::new("find")
        .args(["/sys/fs/cgroup", "-maxdepth", "4", "-name", "musher-*"])
        .output()
        .unwrap();
    let spec = std::fs::read_to_string(project.run_folder(&run).join("spec.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_str(&spec).unwrap();
    let own = format!("musher-{}", spec["mark"].as_str().unwrap());
    let groups = String::from_utf8_lossy(&groups.stdout).into_owned();
    assert!(!groups.contains(&own), "a group is left: {groups}");
}

#[tokio::test]
async fn limits_that_nothing_holds_are_refused_before_the_start() {
    if !rustix::process::geteuid().is_root() {
        // Only the superuser can hide the control groups of the machine.
        return;
    }
    let project = limited(of_line("touch began"), "memory = '64 MiB'\n");
    let hide = "if [ -z \"$HIDDEN\" ]; then HIDDEN=1 exec unshare -m sh -c 'umount -R -l /sys/fs/cgroup; exec \"$@\"' sh \"$@\"; fi";
    let server = project.serve_after(hide).await;
    let (_, run) = server.begin("go").await;
    let view = server.until_over(&run).await;
    let told = view["error"].to_string();
    assert!(told.contains("holds a limit of memory") && told.contains("service manager"), "{told}");
    assert!(!project.state().join("worktrees/1/began").exists());
}

#[tokio::test]
async fn a_place_that_holds_what_is_kept_from_agents_is_refused() {
    let project = of_line("true");
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let whole = project.state().parent().unwrap().display().to_string();
    std::fs::write(&file, format!("{text}read = ['{whole}']\n")).unwrap();
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let told = server.until_over(&run).await["error"].to_string();
    assert!(told.contains("cannot be given") && told.contains("which holds"), "{told}");
}

#[tokio::test]
async fn a_run_held_by_landlock_alone_leaves_its_commits_and_reaches_its_tools() {
    let line = "echo x > new; git add new; git commit -qm mine && echo COMMITTED; \
                git update-ref refs/heads/main HEAD || echo KEPT; cat \"$(dirname $PWD)/../token\" || echo REFUSED; echo $HOME $TMPDIR; echo y > left";
    let project = of_line_with(line, "profile = 'landlock'\n");
    let main = project.git(&["rev-parse", "main"]);
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let view = server.until_over(&run).await;
    let told = printed(&project, &run);
    assert_eq!(view["outcome"], "completed", "{view:#} {told}");
    for word in ["COMMITTED", "KEPT", "REFUSED", "sandboxes/1/home", "sandboxes/1/tmp"] {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    assert_eq!(project.git(&["log", "--format=%s", "main..musher/s1/1"]), "Work\nmine\n");
    assert_eq!(project.git(&["rev-parse", "main"]), main);
    assert!(project.left().is_empty());
}

#[tokio::test]
async fn a_key_that_landlock_alone_can_do_nothing_with_is_refused() {
    let project = of_line_with("true", "profile = 'landlock'\ncaches = ['npm']\n");
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let told = server.until_over(&run).await["error"].to_string();
    assert!(told.contains("`caches` of [sandbox] means nothing with"), "{told}");
}

#[tokio::test]
async fn a_run_whose_image_cannot_be_had_does_not_start_and_says_why() {
    let sandbox = "profile = 'workspace'\nimage = 'localhost/nobody-has-made-this:1'\n";
    let project = of_line_with("touch began", sandbox);
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let view = server.until_over(&run).await;
    let told = view["error"].to_string();
    assert_ne!(view["outcome"], "completed", "{view:#}");
    assert!(told.contains("the sandbox cannot be made") && told.contains("`image`"), "{told}");
    assert!(!project.state().join("worktrees/1/began").exists());
}
