//! `musher doctor`: what does not hold, and what would mend it.

use std::fs;

use serde_json::Value as Json;

use crate::musher::{Place, Ran};

/// What was found about one thing.
fn found<'a>(document: &'a Json, name: &str) -> &'a Json {
    let checks = document["checks"].as_array().unwrap();
    checks
        .iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {document}"))
}

fn examined(ran: &Ran) -> Json {
    let document = ran.lines().remove(0);
    for check in document["checks"].as_array().unwrap() {
        let fixed =
            check["verdict"] == "ok" || check["fix"].as_str().is_some_and(|fix| !fix.is_empty());
        assert!(fixed, "what is wrong has a fix: {check}");
    }
    document
}

#[test]
fn a_fresh_project_has_nothing_bad_and_every_weakness_is_named_with_its_fix() {
    let place = Place::repository();
    // A machine that can confine agents does so from the first project file on.
    let confined = place.run(&["init", "--json"]).lines()[0]["sandbox"] == "workspace";
    let ran = place.run(&["doctor", "--json"]);
    let document = examined(&ran);
    for (name, verdict) in [
        ("git", "ok"),
        ("sqlite", "ok"),
        ("project file", "ok"),
        ("trust", "ok"),
        ("project files", "ok"),
        ("sandbox", if confined { "ok" } else { "warn" }),
        ("server", "warn"),
    ] {
        assert_eq!(found(&document, name)["verdict"], verdict, "{document}");
    }
    for name in ["control group", "inotify", "state", "disk", "systemd"] {
        found(&document, name);
    }
    let people = place.run(&["doctor"]);
    assert_eq!(people.code, ran.code);
    assert!(
        people.out.lines().all(|line| ["ok ", "warn ", "bad "].iter().any(|w| line.starts_with(w)))
    );
}

#[test]
fn what_is_bad_makes_the_exit_code_2() {
    let place = Place::repository();
    fs::create_dir(place.work.path().join(".musher")).unwrap();
    fs::write(place.project_file(), "nonsense = 1\n").unwrap();
    let ran = place.run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let document = examined(&ran);
    let check = found(&document, "project file");
    assert_eq!((check["verdict"].as_str(), &document["ok"]), (Some("bad"), &Json::Bool(false)));
    assert!(check["says"].as_str().unwrap().contains("project.toml:1:1"), "{check}");
    fs::write(place.project_file(), "[[agent]]\nname = 'a'\nruntime = 'script'\n").unwrap();
    let document = examined(&place.run(&["doctor", "--json"]));
    assert_eq!(found(&document, "trust")["verdict"], "bad");
}

#[test]
fn a_program_that_is_missing_or_was_not_tested_is_named() {
    let place = Place::repository();
    let file = "[[agent]]\nname = 'a'\nruntime = 'claude-code'\ncommand = 'PROGRAM'\n";
    fs::create_dir(place.work.path().join(".musher")).unwrap();
    fs::write(place.project_file(), file.replace("PROGRAM", "/no/such/program")).unwrap();
    place.run(&["trust"]);
    let ran = place.run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let document = examined(&ran);
    assert_eq!(found(&document, "program")["verdict"], "bad");
    let program = place.program("touch $HOME/was-run");
    fs::write(place.project_file(), file.replace("PROGRAM", &program)).unwrap();
    place.run(&["trust"]);
    let document = examined(&place.run(&["doctor", "--json"]));
    let check = found(&document, "program");
    assert_eq!(check["verdict"], "warn");
    assert!(check["says"].as_str().unwrap().contains("version unknown"), "{check}");
    assert!(!place.home.path().join("was-run").exists(), "nothing is run to find out");
}

#[test]
fn outside_of_a_repository_it_still_says_what_is_wrong() {
    let ran = Place::new().run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(found(&examined(&ran), "git")["verdict"], "bad");
}
