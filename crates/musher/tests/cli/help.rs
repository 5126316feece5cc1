//! What people read first: the help of the command and of every verb.

use crate::musher::Place;

const VERBS: &[&str] = &[
    "init",
    "trust",
    "login",
    "open",
    "story",
    "story add",
    "story list",
    "story show",
    "story edit",
    "story import",
    "story export",
    "story done",
    "story reopen",
    "story archive",
    "start",
    "ps",
    "show",
    "logs",
    "prompt",
    "take-back",
    "steer",
    "interrupt",
    "model",
    "mode",
    "stop",
    "kill",
    "resume",
    "retry",
    "fork",
    "asks",
    "approve",
    "deny",
    "answer",
    "grants",
    "grants list",
    "grants revoke",
    "rules",
    "rules test",
    "cap",
    "token",
    "token list",
    "token add",
    "token revoke",
    "diff",
    "merge",
    "usage",
    "wait",
    "agents",
    "doctor",
];

#[test]
fn the_help_says_what_there_is() {
    let ran = Place::new().run(&["--help"]);
    assert_eq!(ran.code, Some(0));
    insta::assert_snapshot!("musher", ran.out);
}

#[test]
fn every_verb_explains_itself() {
    let place = Place::new();
    for verb in VERBS {
        let mut args: Vec<&str> = verb.split(' ').collect();
        args.push("--help");
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(0), "{verb}: {ran:?}");
        insta::assert_snapshot!(verb.replace(' ', "_"), ran.out);
    }
}
