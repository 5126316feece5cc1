//! `musher rules test`, and what `musher doctor` says of rules that can never win.

use std::fs;

use crate::musher::Place;

const FILE: &str = "[[agent]]
name = 'coder'
runtime = 'script'
rules = { allow = ['execute(cargo test *)', 'edit(./**)'], ask = ['execute'], deny = ['execute(rm *)'] }

[[agent]]
name = 'strict'
runtime = 'script'

[agent.rules]
ask = ['execute']
allow = [
  'read(./**)',
  'execute(git push *)',
  'execute',
]
deny = ['execute(git push *)']
";

fn place() -> Place {
    let place = Place::repository();
    fs::create_dir(place.work.path().join(".musher")).unwrap();
    fs::write(place.project_file(), FILE).unwrap();
    place
}

#[test]
fn rules_test_names_the_rule_that_decides_and_why() {
    let place = place();
    let tested = |args: &[&str]| {
        let mut all = vec!["rules", "test", "--json"];
        all.extend(args);
        let ran = place.run(&all);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.lines().remove(0)["agents"].clone()
    };
    let both = tested(&["cargo test -p x"]);
    assert_eq!((&both[0]["verdict"], &both[0]["list"]), (&"allowed".into(), &"allow".into()));
    assert_eq!(both[0]["rule"], "execute(cargo test *)", "{both}");
    assert!(both[0]["why"].as_str().unwrap().contains("more specific"), "{both}");
    assert_eq!(both[0]["beaten"][0]["rule"], "execute", "{both}");
    assert_eq!((&both[1]["agent"], &both[1]["verdict"]), (&"strict".into(), &"asked".into()));
    let denied = tested(&["cargo test; rm x", "--agent", "coder"]);
    assert_eq!(
        (&denied[0]["verdict"], &denied[0]["rule"]),
        (&"denied".into(), &"execute(rm *)".into())
    );
    let edit = tested(&["src/a.rs", "--tool", "edit", "--agent", "coder"]);
    assert_eq!(edit[0]["rule"], "edit(./**)", "{edit}");
    let hook = tested(&[".claude/settings.json", "--tool", "edit", "--agent", "coder"]);
    assert_eq!((&hook[0]["verdict"], &hook[0]["list"]), (&"denied".into(), &"protected".into()));
    let named = tested(&["cargo test", "--tool", "Bash", "--agent", "coder"]);
    assert_eq!(named[0]["verdict"], "allowed", "{named}");
    let none = tested(&["https://a.b/", "--tool", "fetch", "--agent", "coder"]);
    assert_eq!(none[0]["verdict"], "unsettled", "{none}");
    let people = place.run(&["rules", "test", "cargo test", "--agent", "coder"]);
    assert!(
        people.out.starts_with("coder: allowed by allow `execute(cargo test *)`: "),
        "{people:?}"
    );
    let nobody = place.run(&["rules", "test", "ls", "--agent", "nobody"]);
    assert_eq!(nobody.code, Some(2), "{nobody:?}");
    assert!(nobody.err.contains("coder, strict"), "{nobody:?}");
}

#[test]
fn doctor_names_the_line_of_a_rule_that_can_never_win_and_why() {
    let ran = place().run(&["doctor", "--json"]);
    let document = ran.lines().remove(0);
    let checks = document["checks"].as_array().unwrap().iter();
    let says: Vec<&str> = checks
        .filter(|check| check["name"] == "rules")
        .map(|check| {
            assert_eq!(check["verdict"], "warn");
            check["says"].as_str().unwrap()
        })
        .collect();
    assert_eq!(says.len(), 2, "{says:#?}");
    assert!(
        says[0].starts_with(".musher/project.toml:14: agent strict: allow `execute(git push *)`"),
        "{says:#?}"
    );
    assert!(says[0].contains("deny `execute(git push *)`"), "{says:#?}");
    assert!(
        says[1].starts_with(".musher/project.toml:15: agent strict: allow `execute`"),
        "{says:#?}"
    );
    assert!(says[1].contains("ask `execute` is as specific"), "{says:#?}");
}

#[test]
fn what_was_granted_decides_too_and_doctor_names_a_grant_that_can_never_win() {
    let place = place();
    let state = place.home.path().join("state");
    fs::create_dir(&state).unwrap();
    let grant = |rule: &str| format!("[[grant]]\nagent = 'strict'\nrule = '{rule}'\n");
    let grants = grant("execute(git push *)") + &grant("execute(make *)");
    fs::write(state.join("local.toml"), grants).unwrap();
    let state = state.to_str().unwrap();
    let test = ["rules", "test", "make all", "--agent", "strict", "--state", state, "--json"];
    let tested = place.run(&test).lines().remove(0)["agents"][0].clone();
    assert_eq!((&tested["verdict"], &tested["list"]), (&"allowed".into(), &"granted".into()));
    assert_eq!(tested["rule"], "execute(make *)", "{tested}");
    let doctor = place.run(&["doctor", "--json", "--state", state]).lines().remove(0);
    let checks = doctor["checks"].as_array().unwrap().iter();
    let granted: Vec<_> = checks
        .filter(|check| check["name"] == "rules")
        .filter(|check| check["says"].as_str().unwrap().contains("granted"))
        .collect();
    assert_eq!(granted.len(), 1, "{granted:#?}");
    let says = granted[0]["says"].as_str().unwrap();
    assert!(says.starts_with("agent strict: granted `execute(git push *)`"), "{says}");
    let fix = granted[0]["fix"].as_str().unwrap();
    assert!(fix.contains("musher grants revoke strict \"execute(git push *)\""), "{fix}");
}
