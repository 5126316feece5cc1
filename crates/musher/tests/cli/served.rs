//! The verbs against a server: a story from its title to its merge.

use crate::server::{Served, until};

const WORK: &str = "
[[step]]
say = 'Hello there.'
[[step]]
run = 'echo hi > made.txt'
ask_first = true
[[step]]
usage = { input = 120, cache_read = 30, output = 40, cost_usd = 0.0125 }
[[step]]
say = 'Done.'
";

#[test]
fn a_story_goes_from_its_title_to_its_merge_by_commands() {
    let served = Served::playing(WORK);
    assert!(served.does(&["story", "list"]).out.contains("musher story add TITLE"));
    assert!(served.does(&["ps"]).out.contains("musher start STORY"));
    assert!(served.does(&["asks"]).out.contains("No open approvals or questions"));
    let added = served.does(&["story", "add", "Greet", "--text", "by name", "--id", "greet"]);
    assert!(added.out.contains("musher start greet"), "{added:?}");
    assert!(served.does(&["story", "list"]).out.contains("○ open  greet"));
    assert!(served.does(&["start", "greet"]).out.contains("musher logs -f r1"));
    let waited = served.does(&["wait", "greet", "--until", "needs-you", "--timeout", "60s"]);
    assert_eq!(waited.out, "r1 needs you: run echo hi > made.txt\n");
    assert!(served.does(&["ps"]).out.contains("? needs you  r1   greet  Greet  coder"));
    assert!(served.does(&["asks"]).out.contains("? approval  r1   ask-"));
    assert!(served.does(&["asks", "r1"]).out.contains("\n  echo hi > made.txt"));
    served.refuses(&["approve", "r1", "--always"], 2, &["offers no lasting grant", "leave out"]);
    served.refuses(&["answer", "r1", "x"], 2, &["musher approve r1"]);
    assert!(served.does(&["approve", "greet/coder"]).out.contains("is approved"));
    let done = served.does(&["wait", "r1", "--until", "done", "--timeout", "60s"]);
    assert_eq!(done.out, "✓ completed r1 (greet, coder)\n");
    let log = served.does(&["logs", "greet"]).out;
    for words in ["› Greet", "Hello there.", "› yes", "✓ run echo hi", "● completed"] {
        assert!(log.contains(words), "{words}: {log}");
    }
    let shown = served.does(&["show", "greet"]).out;
    assert!(shown.contains("musher/greet/1"), "{shown}");
    let place = |shown: &str| {
        let place = shown.lines().find_map(|line| line.trim().strip_prefix("worktree"));
        place.map(|place| std::path::PathBuf::from(place.trim()))
    };
    assert!(place(&shown).unwrap().join("made.txt").exists(), "{shown}");
    assert!(served.does(&["diff", "r1"]).out.contains("+++ b/made.txt\n@@ -0,0 +1 @@\n+hi\n"));
    assert!(served.does(&["diff", "r1", "--stat"]).out.ends_with("1 added, 0 removed\n"));
    assert!(served.does(&["usage"]).out.contains("greet    120      30      40  $0.01"));
    assert!(served.does(&["merge", "greet"]).out.contains("is merged"));
    assert!(served.place.work.path().join("made.txt").exists());
    assert!(served.does(&["story", "show", "greet"]).out.contains("✓ merged"));
    let archived = served.does(&["story", "archive", "greet"]).out;
    assert!(archived.contains("is archived: it cannot be reopened"), "{archived}");
    served.refuses(&["story", "reopen", "greet"], 2, &["is archived", "add a new story"]);
    // Its folder is cleared for another story; nobody waits for that.
    let began = std::time::Instant::now();
    while place(&served.does(&["show", "greet"]).out).is_some() {
        assert!(
            began.elapsed() < std::time::Duration::from_secs(30),
            "its folder is never given back"
        );
    }
    assert!(served.does(&["story", "list", "--archived"]).out.contains("■ archived  greet"));
    assert!(served.does(&["doctor"]).out.contains("answers, version"));
}

#[test]
fn programs_get_one_document_and_nothing_else() {
    let served = Served::playing("[[step]]\nsay = 'Hi.'");
    let run = served.start("one");
    let waited = served.json(&["wait", "--until", "done", "--timeout", "60s"]);
    assert_eq!(waited["reached"], "done");
    for args in [
        &["ps"][..],
        &["ps", "--all"],
        &["show", &run],
        &["story", "list"],
        &["story", "show", "s1"],
        &["story", "edit", "s1", "--title", "two"],
        &["story", "done", "s1"],
        &["story", "reopen", "s1"],
        &["asks"],
        &["diff", &run],
        &["usage", "--by", "model"],
        &["trust"],
        &["stop", &run],
        &["retry", &run],
        &["doctor"],
    ] {
        served.json(args);
    }
    served.json(&["wait", "--until", "done", "--timeout", "60s"]);
    served.json(&["resume", &run, "go on"]);
    let args: Vec<&str> = vec!["logs", &run, "--json"];
    let events = served.does(&args).events();
    assert_eq!(events[0]["seq"], 1);
    assert_eq!(events.last().unwrap()["type"], "session_ended");
}

#[test]
fn a_question_is_answered_by_a_label_or_in_words_and_the_second_answer_hears_who_won() {
    let served = Served::playing(
        "[[step]]\nask = 'Which colour?'\noptions = ['Red', 'Blue']\nsave = 'colour'\n[[step]]\nsay = 'It is ${colour}.'\n[[step]]\nhang = true",
    );
    let run = served.start("one");
    served.does(&["wait", "--until", "needs-you", "--timeout", "60s"]);
    served.refuses(&["approve", &run], 2, &["is a question", "musher answer r1"]);
    served.refuses(&["answer", &run, "--choose", "green"], 2, &["no option", "[1] Red", "fix:"]);
    let asks = served.json(&["asks"]);
    let ask = asks["asks"][0]["ask"].as_str().unwrap().to_owned();
    served.does(&["answer", &run, &ask, "--choose", "blue"]);
    served.refuses(
        &["deny", &run, &ask],
        2,
        &["was already answered (“Blue”) by the command line"],
    );
    until("the reply", || served.does(&["logs", &run]).out.contains("It is Blue."));
}

#[test]
fn a_run_is_told_to_end_and_is_over_when_the_command_says_so() {
    let served = Served::playing("[[step]]\nhang = true");
    let (one, two) = (served.start("one"), served.start("two"));
    let late = served.place.run(&["wait", &one, "--until", "done", "--timeout", "200ms"]);
    assert_eq!(late.code, Some(5), "{late:?}");
    assert!(late.err.contains("still active: r1"), "{late:?}");
    assert_eq!(served.does(&["stop", &one]).out, "r1 has ended: stopped\n");
    assert_eq!(served.does(&["stop", &one]).out, "r1 has ended: stopped\n", "again is as good");
    served.refuses(&["steer", &one, "x"], 2, &["no active run r1"]);
    let ended = served.does(&["kill", "--all", "--json"]).lines();
    assert_eq!((ended.len(), ended[0]["run"].as_str()), (1, Some(two.as_str())));
    assert_eq!(ended[0]["status"], "over");
    assert_eq!(served.does(&["stop", "--all"]).out, "No active runs.\n");
}

#[test]
fn what_the_server_refuses_is_told_with_its_fix() {
    let served = Served::playing("[[step]]\nhang = true");
    served.refuses(&["show", "r9"], 2, &["there is no run r9", "fix:"]);
    served.refuses(&["start", "nothing"], 2, &["no story nothing", "fix:"]);
    served.refuses(&["story", "add", ""], 2, &["title", "fix:"]);
    served.refuses(&["wait", "nothing", "--until", "done"], 2, &["nothing"]);
    served.does(&["story", "add", "one"]);
    served.refuses(&["start", "s1", "nobody"], 2, &["no agent nobody", "coder"]);
    served.refuses(&["merge", "s1"], 2, &["fix: start a run"]);
    served.does(&["start", "s1"]);
    served.refuses(&["start", "s1"], 2, &["already has a run", "r1"]);
}

#[test]
fn a_followed_start_exits_as_the_run_ended() {
    let served = Served::playing("[[step]]\nsay = 'Hi.'\n[[step]]\nfail = 'the model said no'");
    served.does(&["story", "add", "one"]);
    let ran = served.place.run(&["start", "s1", "--follow"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.out.contains("Hi.") && ran.out.contains("failed"), "{ran:?}");
}
