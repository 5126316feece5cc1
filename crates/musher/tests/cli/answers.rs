//! Asks that are answered by commands: shown before they are answered, several at once, and where they appear.

use crate::server::{Served, until};
use crate::terminal::Terminal;

/// An agent that asks before it does something that names its story.
const ASKS: &str = "
[[step]]
run = 'echo ${prompt} >> made.txt'
ask_first = true
[[step]]
say = 'Done.'
";

/// The open asks, each with its run and its digest.
fn open(served: &Served, count: usize) -> Vec<(String, String)> {
    let mut found = Vec::new();
    until("the asks", || {
        let asks = served.json(&["asks"]);
        let asks = asks["asks"].as_array().unwrap();
        let text = |ask: &serde_json::Value, field: &str| ask[field].as_str().unwrap().to_owned();
        found = asks.iter().map(|ask| (text(ask, "run"), text(ask, "digest"))).collect();
        found.len() == count
    });
    found
}

fn is_over(served: &Served, run: &str) -> bool {
    served.json(&["show", run])["phase"] == "over"
}

#[test]
fn promise_22_the_command_line_shows_an_ask_and_sends_its_digest() {
    let served = Served::playing(ASKS);
    let run = served.start("one");
    let asks = open(&served, 1);
    let wrong = "0".repeat(64);
    served.refuses(
        &["approve", &run, "--shown", &wrong],
        2,
        &["? The agent wants to use run", "is not the one that was shown", "read the ask again"],
    );
    served.refuses(&["deny", &run, "--shown", ""], 2, &["is not the one that was shown"]);
    assert_eq!(open(&served, 1), asks, "nothing was answered");
    let approved = served.does(&["approve", &run, "--shown", &asks[0].1]);
    assert!(approved.err.contains("  echo one"), "it is shown: {approved:?}");
    let late = ["deny", &run, &served.json(&["asks", "--all"])["asks"][0]["ask"].to_string()];
    let late: Vec<&str> = late.iter().map(|word| word.trim_matches('"')).collect();
    served.refuses(&late, 2, &["was already approved by the command line"]);
}

#[test]
fn several_asks_are_answered_at_once_by_short_ids_a_prefix_or_all() {
    let served = Served::playing(ASKS);
    let runs: Vec<String> =
        ["one", "two", "three", "four"].iter().map(|title| served.start(title)).collect();
    let asks = open(&served, 4);
    let listed = served.does(&["asks"]);
    let digest = |run: &String| asks.iter().find(|(it, _)| it == run).unwrap().1.clone();
    let short = |run: &String| {
        let line = listed.out.lines().find(|line| line.contains(&format!(" {run} "))).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert!(digest(&runs[0]).starts_with(&short(&runs[0])), "{listed:?}");
    // Two by their short ids, each shown with what it would do.
    let two = served.does(&["approve", &short(&runs[0]), &digest(&runs[1])[..12]]);
    assert!(two.err.contains("echo one") && two.err.contains("echo two"), "{two:?}");
    assert_eq!(two.out.matches("is approved").count(), 2, "{two:?}");
    until("both go on", || is_over(&served, &runs[0]) && is_over(&served, &runs[1]));
    served.refuses(&["approve", &short(&runs[2]), "nonsense"], 2, &["nonsense"]);
    served.refuses(&["approve", "nonsense"], 2, &["there is no story nonsense"]);
    assert_eq!(open(&served, 2).len(), 2, "nothing was answered");
    // All that are left, as a document.
    let all = served.json(&["approve", "--all"]);
    let answers = all["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 2, "{all:#}");
    assert!(answers.iter().all(|it| it["status"] == "sent"), "{all:#}");
    until("all go on", || runs.iter().all(|run| is_over(&served, run)));
    served.refuses(&["approve", "--all"], 2, &["nothing waits for an answer"]);
}

#[test]
fn at_a_terminal_a_yes_is_asked_for_what_was_not_named_itself() {
    let served = Served::playing(ASKS);
    let (one, two) = (served.start("one"), served.start("two"));
    open(&served, 2);
    let mut terminal = Terminal::open(&served.place, &["approve", "--all"]);
    terminal.until("Approve these 2? [y/N]");
    terminal.type_in("n\n");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(4), "{screen}");
    assert!(screen.contains("echo one") && screen.contains("nothing was sent"), "{screen}");
    assert_eq!(open(&served, 2).len(), 2);
    let mut terminal = Terminal::open(&served.place, &["approve", &one]);
    terminal.until("Approve this? [y/N]");
    terminal.type_in("y\n");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(0), "{screen}");
    let left = open(&served, 1);
    // An ask that is named itself is the one that the person has seen.
    let (code, screen) = Terminal::open(&served.place, &["deny", &left[0].1[..8]]).close();
    assert_eq!(code, Some(0), "{screen}");
    until("both go on", || is_over(&served, &one) && is_over(&served, &two));
}

#[test]
fn whoever_follows_a_run_at_a_terminal_answers_its_asks_in_place() {
    let served = Served::playing(ASKS);
    let run = served.start("one");
    open(&served, 1);
    let mut terminal = Terminal::open(&served.place, &["logs", "-f", &run]);
    terminal.until("[y] approve");
    terminal.type_in("what\n");
    terminal.until("one of the keys");
    terminal.type_in("y\n");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("completed"), "{screen}");
    // Whoever reads it afterwards is asked nothing.
    let (code, screen) = Terminal::open(&served.place, &["logs", "-f", &run]).close();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("[y] approve"), "{screen}");
}

#[test]
fn ps_names_the_story_and_says_for_what_a_run_waits() {
    let served = Served::playing(ASKS);
    let run = served.start("Format prices for people");
    open(&served, 1);
    let ps = served.does(&["ps"]).out;
    assert!(ps.contains("Format prices for people"), "{ps}");
    assert!(ps.contains("waits for you: run echo"), "{ps}");
    served.does(&["approve", &run]);
    until("it is over", || is_over(&served, &run));
    assert!(served.does(&["ps", "--all"]).out.contains("Format prices for people"));
}

#[test]
fn an_error_says_that_a_story_is_missing_merged_or_archived() {
    let served = Served::playing("[[step]]\nrun = 'echo hi > made.txt'");
    for args in [&["start", "nowhere"][..], &["logs", "nowhere"], &["diff", "nowhere"]] {
        served.refuses(args, 2, &["there is no story nowhere"]);
    }
    served.refuses(&["prompt", "nowhere", "x"], 2, &["there is no story nowhere"]);
    served.json(&["story", "add", "idle", "--id", "idle"]);
    served.refuses(&["logs", "idle"], 2, &["story idle has no run yet", "musher start"]);
    let run = served.start("one");
    until("it is over", || is_over(&served, &run));
    served.does(&["merge", "s1"]);
    for args in [&["start", "s1"][..], &["merge", "s1"], &["prompt", "s1", "more"]] {
        served.refuses(args, 2, &["story s1 is merged already, as ", "reopen story s1"]);
    }
    served.does(&["story", "archive", "s1"]);
    for args in [&["start", "s1"][..], &["merge", "s1"], &["prompt", "s1", "more"]] {
        served.refuses(args, 2, &["story s1 is archived", "add a new story"]);
    }
}
