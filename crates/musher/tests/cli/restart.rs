//! Following a run across the death and the return of the server.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::musher::Ran;
use crate::server::{Served, until};

#[test]
fn following_has_no_gap_and_no_repetition_across_a_restart() {
    let mut served = Served::playing(
        "[[step]]\nsay = 'Before.'\n[[step]]\nrun = 'until test -e $HOME/go; do sleep 0.02; done'\n[[step]]\nsay = 'After.'",
    );
    let run = served.start("one");
    let follower = served
        .place
        .musher(&["logs", "-f", &run, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the agent's work", || served.does(&["logs", &run]).out.contains("Before."));
    served.kill_server();
    served.serve();
    std::fs::write(served.place.home.path().join("go"), "").unwrap();
    let ran = Ran::from(follower.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let numbers: Vec<u64> = ran.events().iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let kept = served.does(&["logs", &run, "--json"]);
    assert_eq!(ran.out, kept.out, "what was followed is what was kept, byte for byte");
    assert!(ran.err.contains("lost the server") && ran.err.contains("is back"), "{}", ran.err);
}

#[test]
fn who_has_seen_enough_leaves_and_the_run_goes_on() {
    let served = Served::playing("[[step]]\nsay = 'Hi.'\n[[step]]\nhang = true");
    let run = served.start("one");
    until("the run", || served.json(&["show", &run])["phase"] == "live");
    for args in [&["logs", "-f", &run][..], &["wait", &run, "--until", "done"]] {
        let child = served
            .place
            .musher(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        until("the signal handler", || catches_interrupts(pid));
        kill_process(pid, Signal::INT).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(4), ""), "{args:?}: {ran:?}");
    }
    assert_eq!(served.json(&["show", &run])["phase"], "live");
}

/// Whether a process does something of its own when it is interrupted.
fn catches_interrupts(pid: Pid) -> bool {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & (1 << (Signal::INT.as_raw() - 1)) != 0)
}

#[test]
fn a_place_in_the_log_can_be_gone_on_from() {
    let served = Served::playing("[[step]]\nsay = 'One.'\n[[step]]\nsay = 'Two.'");
    let run = served.start("one");
    served.does(&["wait", "--until", "done", "--timeout", "60s"]);
    let all = served.does(&["logs", &run, "--json"]);
    let rest = served.does(&["logs", &run, "--json", "--after", "1.2"]);
    let lines: Vec<&str> = all.out.lines().skip(2).collect();
    assert_eq!(rest.out.lines().collect::<Vec<_>>(), lines);
    assert_eq!(served.does(&["logs", &run, "--json", "-n", "1"]).events().len(), 1);
    served.refuses(&["logs", &run, "--after", "nonsense"], 2, &["nonsense"]);
}

#[test]
fn a_journal_with_a_fact_of_a_newer_musher_is_refused_by_name_and_left_as_it_is() {
    let mut served = Served::playing("[[step]]\nsay = 'Hi.'");
    served.json(&["story", "add", "Kept"]);
    served.kill_server();
    let projects = served.place.home.path().join(".local/state/musher/projects");
    let state = std::fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    let journal = state.join("journal.db");
    let change = |sql: &str| {
        let db = rusqlite::Connection::open(&journal).unwrap();
        db.execute(sql, []).unwrap()
    };
    change(
        r#"INSERT INTO facts (id, at, body) SELECT max(id) + 1, 0, '{"type":"moon_landed"}' FROM facts"#,
    );
    let says = ["moon_landed", "a newer Musher may have written it", "start that one again"];
    served.refuses(&["serve"], 2, &says);
    assert_eq!(change("DELETE FROM facts WHERE type = 'moon_landed'"), 1, "it was left alone");
    served.serve();
    let stories = served.json(&["story", "list"]);
    assert_eq!(stories["stories"][0]["title"], "Kept", "{stories:#}");
}
