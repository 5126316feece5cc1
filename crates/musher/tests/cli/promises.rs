//! Promises that are the command's own.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use musher_testkit::proc;

use crate::musher::{Place, fake_agent};

/// Runs an agent that only makes noise, and gives the most memory that `musher` ever used, in KiB.
fn peak_memory(noise: &str) -> u64 {
    peak_memory_and_words(noise).0
}

/// The same, with all that it printed.
fn peak_memory_and_words(noise: &str) -> (u64, String) {
    let place = Place::new();
    let program = place.program(noise);
    let mut child = place
        .musher(&["run", "--program", &program, "--json", "go"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut peak = 0;
    let mut words = String::new();
    loop {
        peak = peak.max(high_water(child.id()));
        match output.read(&mut buffer) {
            Ok(read @ 1..) => words.push_str(&String::from_utf8_lossy(&buffer[..read])),
            _ => break,
        }
    }
    child.wait().unwrap();
    assert!(peak > 0);
    (peak, words)
}

#[test]
fn promise_10_memory_stays_under_32_mib_whatever_an_agent_prints() {
    for noise in [
        "long-line --mb 64",
        "no-newline --mb 100",
        "flood --mb 40",
        "garbage --seed 1 --bytes 4000000",
    ] {
        let peak = peak_memory(&format!("exec {} {noise}", fake_agent().display()));
        assert!(peak < 32 * 1024, "{noise}: {peak} KiB");
    }
    // The longest frames that are read at all.
    let frame = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":""#;
    let long = format!(
        "for i in 1 2 3 4; do printf '{frame}'; head -c 3900000 /dev/zero | tr '\\0' x; printf '\"}}]}}}}\\n'; done"
    );
    let peak = peak_memory(&long);
    assert!(peak < 32 * 1024, "frames of 3.9 MB: {peak} KiB");
}

#[test]
fn promise_10_memory_stays_under_32_mib_when_frames_of_64_mib_are_read() {
    let text = "head -c 67108864 /dev/zero | tr '\\0' x";
    let numbers = "yes 0, | tr -d '\\n' | head -c 67108864";
    for (what, before, many, after) in [
        (
            "a text",
            r#"{"message":{"content":[{"content":""#,
            text,
            r#"","type":"tool_result","tool_use_id":"t1"}]},"type":"user"}"#,
        ),
        (
            "a list",
            r#"{"tool_use_result":["#,
            numbers,
            r#"0],"message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]},"type":"user"}"#,
        ),
        (
            "a request",
            r#"{"request":{"input":{"list":["#,
            numbers,
            r#"0],"file_path":"a"},"tool_name":"Write","subtype":"can_use_tool"},"request_id":"q1","type":"control_request"}"#,
        ),
    ] {
        let frame = format!("printf '%s' '{before}'; {many}; printf '%s\\n' '{after}'");
        let (peak, output) = peak_memory_and_words(&frame);
        assert!(!output.contains("unparsed"), "{what} was not read");
        assert!(output.contains("t1") || output.contains("ask_opened"), "{what} was lost");
        assert!(peak < 32 * 1024, "{what} of 64 MiB: {peak} KiB");
    }
}

#[test]
fn promise_10_memory_stays_under_32_mib_when_nobody_reads_long_frames() {
    let place = Place::new();
    let frame = r#"printf '{"type":"assistant","message":{"id":"m%d","model":"m","content":[{"type":"text","text":"' $i"#;
    let program = place.program(&format!(
        "i=0; while [ $i -lt 40 ]; do {frame}; head -c 2000000 /dev/zero | tr '\\0' x; printf '\"}}]}}}}\\n'; i=$((i+1)); done"
    ));
    let mut child = place
        .musher(&["run", "--program", &program, "--json", "go"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Long enough for everything to come to rest against the reader that does not read.
    let mut peak = 0;
    let mut still = 0;
    while still < 20 {
        std::thread::sleep(Duration::from_millis(25));
        let now = high_water(child.id());
        still = if now > peak { 0 } else { still + 1 };
        peak = peak.max(now);
    }
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    child.wait().unwrap();
    assert_eq!(output.matches("item_done").count(), 40, "frames were lost");
    assert!(peak > 0 && peak < 32 * 1024, "{peak} KiB");
}

/// The most memory that a process ever had, without the pages of the program file, which all its copies share.
fn high_water(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        number.unwrap_or(0)
    };
    field("VmHWM:").saturating_sub(field("RssFile:"))
}

#[test]
fn promise_3_an_orphan_that_hid_itself_is_found_by_the_subreaper() {
    let place = Place::new();
    // It has cleared its environment, made its own session, and its parent is gone.
    let program = place.program(&format!("exec {} clear-env-daemon", fake_agent().display()));
    let mut child = place
        .musher(&["run", "--program", &program, "--json", "--timeout", "1s", "go"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut orphan = None;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(pid) = line["text"].as_str().and_then(|text| text.strip_prefix("pid ")) {
            let pid: i32 = pid.trim().parse().unwrap();
            assert!(proc::alive(pid));
            orphan = Some(pid);
        }
    }
    child.wait().unwrap();
    assert!(!proc::alive(orphan.expect("the agent told of no orphan")));
}

#[test]
fn a_host_that_ignores_the_end_of_its_children_still_hears_of_it() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'true'\n[[step]]\nsay = 'Done.'");
    let musher = place.musher(&["run", "--runtime", "script", "--program", &script, "go"]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' CHLD; exec \"$@\"", "sh"]);
    command.arg(musher.get_program()).args(musher.get_args()).current_dir(place.work.path());
    let output = command.env("HOME", place.home.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_full_disk_behind_stderr_does_not_break_it() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = place.musher(&["run", "--runtime", "weird", "go"]);
    assert_eq!(command.stderr(full).status().unwrap().code(), Some(2));
}

#[test]
fn dead_orphans_do_not_stay_in_the_process_table() {
    let place = Place::new();
    let script = place.script(
        "[[step]]\nrun = 'for i in 1 2 3 4 5; do (setsid sh -c \"echo \\$\\$ >> pids\" &); done; sleep 0.3; touch done; sleep 300'",
    );
    let mut child = place
        .musher(&["run", "--runtime", "script", "--program", &script, "--timeout", "20s", "go"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !place.work.path().join("done").exists() {
        assert!(began.elapsed() < Duration::from_secs(15));
        std::thread::sleep(Duration::from_millis(5));
    }
    let pids = std::fs::read_to_string(place.work.path().join("pids")).unwrap();
    let left = |pid: &&str| std::path::Path::new("/proc").join(pid).exists();
    let began = Instant::now();
    while pids.lines().any(|pid| left(&pid)) {
        assert!(began.elapsed() < Duration::from_secs(10), "zombies stay: {pids}");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(pids.lines().count(), 5);
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    child.wait().unwrap();
}

#[test]
fn an_agent_does_not_outlive_a_musher_that_was_killed() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'echo $$ > pid; exec sleep 300'");
    let mut child = place
        .musher(&["run", "--runtime", "script", "--program", &script, "go"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = loop {
        let told = std::fs::read_to_string(place.work.path().join("pid")).unwrap_or_default();
        if let Ok(pid) = told.trim().parse::<i32>() {
            break pid;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(proc::alive(pid));
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while proc::alive(pid) {
        assert!(Instant::now() < deadline, "the agent lives on without its musher");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_reader_that_goes_away_stops_the_run() {
    let place = Place::new();
    let script =
        place.script("[[step]]\nrun = 'echo $$ > pid; while :; do echo tick; sleep 0.02; done'");
    let mut child = place
        .musher(&["run", "--runtime", "script", "--program", &script, "--json", "go"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    drop(output);
    assert_eq!(child.wait().unwrap().code(), Some(4));
    // It may have been ended before it could write its number.
    let pid = std::fs::read_to_string(place.work.path().join("pid")).unwrap_or_default();
    if let Ok(pid) = pid.trim().parse() {
        assert!(!proc::alive(pid), "the command outlived the run");
    }
}
