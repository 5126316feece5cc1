//! A run from its first event to its outcome.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use musher_core::{EventKind, Outcome};
use musher_log::Lock;
use musher_log::wire::FromRunner;
use musher_testkit::proc;

use crate::rig::{PATIENCE, Rig, program};

#[tokio::test]
async fn a_run_is_recorded_from_its_first_event_to_its_outcome() {
    let rig = Rig::script("[[step]]\nsay = 'Hello.'\n[[step]]\nusage = { input = 5, output = 2 }");
    rig.launch();
    rig.until_free().await;
    let events = rig.events();
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    let EventKind::SessionEnded(end) = &events.last().unwrap().kind else { panic!("{events:?}") };
    assert_eq!((end.outcome, end.usage.input), (Outcome::Completed, 5));
    assert_eq!(rig.outcome().as_ref(), Some(end.as_ref()));
    assert!(!rig.run().join("s").exists(), "nobody answers any more");
}

#[tokio::test]
async fn two_runners_in_one_folder_are_one_run() {
    let rig = Rig::script("[[step]]\nrun = 'echo started >> starts; sleep 0.3'");
    rig.write_spec();
    let start = || {
        std::process::Command::new(program())
            .arg("runner")
            .arg(rig.run())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut runners: Vec<_> = (0..8).map(|_| start()).collect();
    let codes: Vec<bool> = runners.iter_mut().map(|r| r.wait().unwrap().success()).collect();
    assert_eq!(codes.iter().filter(|ok| **ok).count(), 1, "{codes:?}");
    // One that comes when all is over finds a run that has begun, and leaves it alone.
    assert!(!start().wait().unwrap().success());
    let starts = std::fs::read_to_string(rig.work().join("starts")).unwrap();
    assert_eq!(starts, "started\n");
}

#[tokio::test]
async fn a_run_that_cannot_begin_still_has_a_log_that_says_why() {
    let mut rig = Rig::script("");
    rig.spec.runtime = "terminal".into();
    rig.launch();
    rig.until_free().await;
    let end = rig.outcome().unwrap();
    assert_eq!(end.outcome, Outcome::Failed);
    assert!(end.error.unwrap().message.contains("planned"), "it names the cause");
    assert_eq!(rig.events().len(), 1);
}

#[tokio::test]
async fn a_runner_takes_words_only_in_its_own_folder_and_hands_on_text_in_flight() {
    let rig = Rig::script(
        "pace_ms = 40\n[[step]]\nsay = 'one two three four five six seven'\n[[step]]\nhang = true",
    );
    std::fs::set_permissions(rig.run(), std::fs::Permissions::from_mode(0o700)).unwrap();
    rig.launch();
    let mut link = rig.link().await;
    link.watch().await.unwrap();
    let heard = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(FromRunner::Delta(line)) = link.next().await.unwrap() {
                return line;
            }
        }
    });
    let line = heard.await.unwrap();
    assert!("one two three four five six seven".contains(line.text.as_str()), "{line:?}");
    let id = "stop-1".parse().unwrap();
    let stopped = link.ask(id, musher_log::wire::RunCommand::Kill).await.unwrap();
    assert_eq!(stopped, Ok(()));
    rig.until_free().await;
    assert_eq!(rig.outcome().unwrap().outcome, Outcome::Stopped);
}

#[tokio::test]
async fn a_runner_that_is_told_to_terminate_ends_its_run_in_good_order() {
    let rig = Rig::script("[[step]]\nrun = 'setsid sleep 300 & sleep 300'");
    rig.launch();
    let pid = rig.link().await.pid;
    rig.until(|event| matches!(event.kind, EventKind::Tool(_))).await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    rig.until_free().await;
    assert_eq!(rig.outcome().unwrap().outcome, Outcome::Stopped);
    assert_eq!(proc::marked(&rig.mark()), Vec::<i32>::new());
}

#[tokio::test]
async fn a_runner_says_nothing_to_another_user() {
    if !rustix::process::geteuid().is_root() {
        println!("only root can become another user; not tried");
        return;
    }
    let rig = Rig::script("[[step]]\nhang = true");
    rig.launch();
    // The folder alone would keep them out, so it is opened for this.
    let open = |path: &std::path::Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    };
    open(&rig.run());
    open(&rig.run().join("s"));
    open(rig.run().parent().unwrap());
    let ask = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nprint(len(s.recv(100)))";
    let said = |user: &str| {
        let heard = std::process::Command::new("setpriv")
            .args(["--reuid", user, "--clear-groups", "python3", "-c", ask])
            .arg(rig.run().join("s"))
            .output()
            .unwrap();
        String::from_utf8(heard.stdout).unwrap()
    };
    let stranger = said("65534");
    assert!(["", "0\n"].contains(&stranger.as_str()), "a stranger is hung up on: {stranger}");
    match said("0").trim().parse::<usize>() {
        Ok(owner) => assert!(owner > 0, "and the owner is not"),
        Err(_) => println!("NOT TRIED: no process may change its user here"),
    }
    let mut link = rig.link().await;
    link.ask("k".parse().unwrap(), musher_log::wire::RunCommand::Kill).await.unwrap().unwrap();
    rig.until_free().await;
}

#[tokio::test]
async fn promise_19_a_key_from_the_servers_environment_reaches_the_agent_and_no_file() {
    let mut rig = Rig::script("[[step]]\nrun = 'echo $INNOCENT; echo $INNOCENT > got'");
    // The variable is one that every test process has, and its value is in no other file of the run.
    let value = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let from = musher::runner::spec::SpecEnvValue::From("CARGO_MANIFEST_DIR".into());
    rig.spec.env.insert("INNOCENT".into(), from);
    rig.launch();
    rig.until_free().await;
    assert_eq!(std::fs::read_to_string(rig.work().join("got")).unwrap().trim(), value);
    for file in std::fs::read_dir(rig.run()).unwrap() {
        let path = file.unwrap().path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
        assert!(!text.contains(&value), "{} holds the secret", path.display());
    }
}

#[tokio::test]
async fn the_lock_tells_who_lives() {
    let rig = Rig::script("[[step]]\nhang = true");
    assert!(!Lock::is_held(&rig.run()).unwrap());
    rig.launch();
    assert!(Lock::is_held(&rig.run()).unwrap());
    let mut link = rig.link().await;
    let kill = musher_log::wire::RunCommand::Kill;
    link.ask("k".parse().unwrap(), kill).await.unwrap().unwrap();
    let end = tokio::time::timeout(Duration::from_secs(20), async {
        while let Ok(Some(_)) = link.next().await {}
    });
    end.await.unwrap();
    rig.until_free().await;
}

#[tokio::test]
async fn a_runner_whose_folder_is_deleted_ends_with_all_that_it_started() {
    let rig = Rig::script("[[step]]\nrun = 'setsid sleep 300 & sleep 300'");
    rig.launch();
    let pid = rig.link().await.pid;
    rig.until(|event| matches!(event.kind, EventKind::Tool(_))).await;
    std::fs::remove_dir_all(rig.run()).unwrap();
    let began = std::time::Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(began.elapsed() < PATIENCE, "nobody can reach it, and it lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
        musher::runner::launch::reap();
    }
    assert_eq!(proc::marked(&rig.mark()), Vec::<i32>::new());
}

#[tokio::test]
async fn a_runner_in_a_folder_that_is_no_runs_leaves_it_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = std::process::Command::new(program());
    let ended = runner.arg("runner").arg(folder.path()).output().unwrap();
    assert!(!ended.status.success());
    assert!(String::from_utf8_lossy(&ended.stderr).contains("spec.json"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_runner_that_does_not_begin_in_time_is_not_left_behind() {
    use std::os::unix::fs::PermissionsExt;
    let rig = Rig::script("");
    rig.write_spec();
    let slow = rig.work().join("slow");
    std::fs::write(&slow, "#!/bin/sh\necho $$ > \"$2/pid\"\nexec sleep 300\n").unwrap();
    std::fs::set_permissions(&slow, std::fs::Permissions::from_mode(0o755)).unwrap();
    let patience = Duration::from_millis(500);
    let run = rig.run();
    let refused = musher::runner::launch::launch(patience, &slow, &run, &[]).unwrap_err();
    assert!(refused.to_string().contains("did not begin"), "{refused}");
    let pid = std::fs::read_to_string(run.join("pid")).unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "it lives on");
}
