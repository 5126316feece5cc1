//! What an agent's tools print has no colours, because their output is read by a model.

use serde_json::Value as Json;

use crate::musher::Place;

/// What a command of an agent says of its terminal, with these arguments more.
fn terminal_seen(more: &[&str]) -> String {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'echo \"[$TERM|$NO_COLOR|${COLORTERM-none}]\"'\n");
    let args = ["run", "--json", "--runtime", "script", "--program", &script, "--allow", "execute"];
    let args = [&args[..], more, &["Go."]].concat();
    let output = place.musher(&args).env("COLORTERM", "truecolor").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let events = String::from_utf8(output.stdout).unwrap();
    let printed = events.lines().find_map(|line| {
        let event: Json = serde_json::from_str(line).unwrap();
        let text = event["output"]["text"].as_str().filter(|text| text.starts_with('['))?;
        Some(text.trim().to_owned())
    });
    printed.unwrap_or_else(|| panic!("no command said anything: {events}"))
}

#[test]
fn an_agents_tools_are_told_to_print_no_colours_unless_a_person_says_otherwise() {
    assert_eq!(terminal_seen(&[]), "[dumb|1|none]");
    // What a person gives or passes on by name goes before it.
    assert_eq!(terminal_seen(&["--env", "TERM=vt100", "--env", "NO_COLOR="]), "[vt100||none]");
    assert_eq!(
        terminal_seen(&["--env", "TERM", "--env", "COLORTERM"]),
        "[xterm-256color|1|truecolor]"
    );
}
