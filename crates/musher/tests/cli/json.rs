//! `--json`: events for programs.

use crate::musher::Place;

const WORK: &str = "
[[step]]
think = 'Let me see.'
[[step]]
say = 'Hello there.'
[[step]]
run = 'echo hi > made.txt'
[[step]]
usage = { input = 120, cache_read = 30, output = 40, cost_usd = 0.0125 }
[[step]]
say = 'Done.'
";

#[test]
fn every_line_is_an_event_with_a_number_or_a_delta_without() {
    let place = Place::new();
    let script = place.script(WORK);
    let ran = place.run(&["run", "--runtime", "script", "--program", &script, "--json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in ran.lines() {
        match line["type"].as_str().unwrap() {
            "delta" => assert!(line.get("seq").is_none()),
            _ => assert!(line["seq"].is_u64(), "{line}"),
        }
    }
    let numbers: Vec<u64> = ran.events().iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(ran.err, "");
    assert!(place.work.path().join("made.txt").exists());
}

#[test]
fn the_last_event_tells_outcome_session_usage_and_cost() {
    let place = Place::new();
    let script = place.script(WORK);
    let ran = place.run(&["run", "--runtime", "script", "--program", &script, "--json", "go"]);
    let lines = ran.lines();
    let end = lines.last().unwrap();
    assert_eq!(end["type"], "session_ended");
    assert_eq!(end["outcome"], "completed");
    assert!(end["session"].is_string());
    assert_eq!(end["usage"]["input"], 120);
    assert_eq!(end["usage"]["cache_read"], 30);
    assert_eq!(end["usage"]["output"], 40);
    assert_eq!(end["cost_usd"], 0.0125);
}

#[test]
fn an_ask_that_nobody_can_answer_is_denied_at_once_and_said_so() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'touch made.txt'\nask_first = true");
    let ran = place.run(&["run", "--runtime", "script", "--program", &script, "--json", "go"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.events().iter().any(|e| e["type"] == "ask_closed" && e["by"] == "unattended"));
    assert!(ran.err.contains("nobody is there to answer"), "{}", ran.err);
    assert!(!place.work.path().join("made.txt").exists());
    let allowed = ["run", "--runtime", "script", "--program", &script, "--allow", "execute", "go"];
    assert_eq!(place.run(&allowed).code, Some(0));
    assert!(place.work.path().join("made.txt").exists());
}

#[test]
fn a_session_goes_on_where_it_was_left_and_a_fork_leaves_it_there() {
    let place = Place::new();
    let script =
        place.script("[[step]]\nsay = 'One.'\n[[step]]\nturn = true\n[[step]]\nsay = 'Two.'");
    let run = |more: &[&str]| {
        let mut args = vec!["run", "--runtime", "script", "--program", &script, "--json"];
        args.extend(more);
        let ran = place.run(&args);
        let end = ran.lines().pop().unwrap();
        let said = ran.events().into_iter().rfind(|e| e["type"] == "turn_ended");
        (end, said.map(|e| e["final_text"].as_str().unwrap_or_default().to_owned()))
    };
    let (first, said) = run(&["go"]);
    assert_eq!(said.as_deref(), Some("One."));
    let session = first["session"].as_str().unwrap();
    let (fork, said) = run(&["--resume", session, "--fork", "go on"]);
    assert_eq!((fork["origin"].as_str(), said.as_deref()), (Some("forked"), Some("Two.")));
    assert_ne!(fork["session"], first["session"]);
    let (resumed, said) = run(&["--resume", session, "go on"]);
    assert_eq!((resumed["origin"].as_str(), said.as_deref()), (Some("resumed"), Some("Two.")));
    assert_eq!(resumed["session"], first["session"]);
    let other = place.home.path().join("other.toml");
    std::fs::write(&other, "[[step]]\nsay = 'Another.'").unwrap();
    let other = other.display().to_string();
    let ran =
        place.run(&["run", "--runtime", "script", "--program", &other, "--resume", session, "go"]);
    assert_eq!(ran.code, Some(2), "a session goes on with the script it was begun with: {ran:?}");
    let ran = place.run(&["run", "--runtime", "script", "--resume", session, "go on"]);
    assert!(ran.out.contains("at its end"), "{ran:?}");
    let unknown = "00000000-0000-4000-8000-000000000000";
    let (fresh, said) = run(&["--resume", unknown, "from the start"]);
    assert_eq!((fresh["origin"].as_str(), said.as_deref()), (Some("fallback"), Some("One.")));
}

#[test]
fn rules_judge_what_will_really_be_done() {
    let place = Place::new();
    // The name is filled in before the rule looks, so nothing can hide behind it.
    let script = place.script("[[step]]\nrun = '${prompt} made.txt'");
    let base = ["run", "--runtime", "script", "--program", &script, "--json", "--deny"];
    let ran = place.run(&[&base[..], &["execute(touch *)", "touch"]].concat());
    assert!(ran.out.contains(r#""phase":"denied""#), "{}", ran.out);
    assert!(!place.work.path().join("made.txt").exists());
    let ran = place.run(&[&base[..], &["execute(rm *)", "touch"]].concat());
    assert!(ran.out.contains(r#""phase":"completed""#), "{}", ran.out);
    assert!(place.work.path().join("made.txt").exists());
}
