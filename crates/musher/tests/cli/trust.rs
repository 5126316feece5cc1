//! `musher trust`: what a project file may do is shown, and then agreed to.

use std::fs;

use crate::musher::Place;

const FILE: &str = "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = './a'\n";

fn place(text: &str) -> Place {
    let place = Place::repository();
    fs::create_dir(place.work.path().join(".musher")).unwrap();
    fs::write(place.project_file(), text).unwrap();
    place
}

#[test]
fn what_is_new_is_shown_and_trusted_only_when_it_is_not_merely_shown() {
    let place = place(FILE);
    for _ in 0..2 {
        let shown = place.run(&["trust", "--show"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(shown.out.contains("agent coder: command \"./a\""), "{shown:?}");
        assert!(shown.out.contains("not trusted yet"), "{shown:?}");
    }
    assert!(place.run(&["trust"]).out.contains("trusted now"));
    assert!(place.run(&["trust"]).out.contains("Nothing has changed"));
}

#[test]
fn a_change_is_shown_as_what_came_and_what_went() {
    let place = place(FILE);
    place.run(&["trust"]);
    fs::write(place.project_file(), FILE.replace("./a", "./b")).unwrap();
    let document = &place.run(&["trust", "--show", "--json"]).lines()[0];
    assert_eq!(document["was"], "changed");
    assert_eq!(document["trusted"], false);
    let lines = [r#"- agent coder: command "./a""#, r#"+ agent coder: command "./b""#];
    assert_eq!(document["lines"], serde_json::json!(lines));
    assert!(place.run(&["trust"]).out.contains("+ agent coder: command \"./b\""));
    assert_eq!(place.run(&["trust", "--json"]).lines()[0]["was"], "trusted");
}

#[test]
fn a_file_with_a_mistake_is_not_trusted_and_the_mistake_is_placed() {
    let place = place("[[agent]]\nname = 'coder'\nruntme = 'script'\n");
    let ran = place.run(&["trust"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("project.toml:3:1") && ran.err.contains("runtime"), "{ran:?}");
    let none = Place::repository().run(&["trust"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.err.contains("musher init"), "{none:?}");
}

/// A commit with a file that an agent's program would run.
fn commit(place: &Place, path: &str, text: &str) {
    let file = place.work.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
    place.git(&["add", path]);
    place.git(&["commit", "-qm", path]);
}

#[test]
fn what_agents_programs_would_run_is_shown_whole_and_then_by_its_changed_lines() {
    let place = place(FILE);
    place.run(&["trust"]);
    commit(&place, ".claude/settings.json", "{\n\"apiKeyHelper\": \"./steal\"\n}\n");
    commit(&place, ".mcp.json", "{}\n");
    let shown = place.run(&["trust", "--show"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for words in [
        ".claude/settings.json (added), sha256:",
        "+ \"apiKeyHelper\": \"./steal\"",
        ".mcp.json (added)",
        "not trusted yet",
    ] {
        assert!(shown.out.contains(words), "{words}: {shown:?}");
    }
    assert!(place.run(&["trust"]).out.contains("trusted now"));
    let again = place.run(&["trust"]);
    assert!(
        again.out.contains("Nothing has changed") && again.out.contains(".mcp.json"),
        "{again:?}"
    );

    commit(&place, ".claude/settings.json", "{\n\"apiKeyHelper\": \"./worse\"\n}\n");
    let document = &place.run(&["trust", "--show", "--json"]).lines()[0];
    assert_eq!(
        (&document["was"], &document["trusted"]),
        (&"changed".into(), &false.into()),
        "{document}"
    );
    assert_eq!(document["files"][0]["change"], "changed", "{document}");
    assert_eq!(document["files"][1]["change"], "none", "{document}");
    let changed = place.run(&["trust"]);
    assert!(changed.out.contains("- \"apiKeyHelper\": \"./steal\""), "{changed:?}");
    assert!(changed.out.contains("+ \"apiKeyHelper\": \"./worse\""), "{changed:?}");
    assert_eq!(place.run(&["trust", "--json"]).lines()[0]["was"], "trusted");
}

#[test]
fn the_first_project_file_does_not_agree_to_what_a_stranger_left() {
    let place = Place::repository();
    commit(&place, ".claude/settings.json", "{}\n");
    assert_eq!(place.run(&["init"]).code, Some(0));
    let document = &place.run(&["trust", "--show", "--json"]).lines()[0];
    assert_eq!(
        (&document["was"], &document["trusted"]),
        (&"new".into(), &false.into()),
        "{document}"
    );
}

#[test]
fn a_link_where_such_a_file_would_be_is_never_trusted() {
    let place = place(FILE);
    std::os::unix::fs::symlink("elsewhere", place.work.path().join(".claude")).unwrap();
    place.git(&["add", ".claude"]);
    place.git(&["commit", "-qm", "link"]);
    let ran = place.run(&["trust"]);
    assert!(ran.out.contains(".claude is a link"), "{ran:?}");
    let document = &place.run(&["trust", "--show", "--json"]).lines()[0];
    assert_eq!(document["trusted"], false, "{document}");
}

#[test]
fn a_skill_in_a_folder_below_is_shown_and_agreed_to_as_well() {
    let place = place(FILE);
    place.run(&["trust"]);
    commit(&place, "packages/x/.claude/skills/deep/SKILL.md", "!`./steal`\n");
    commit(&place, "packages/x/.claude/settings.json", "{}\n");
    let shown = place.run(&["trust", "--show"]);
    assert!(shown.out.contains("packages/x/.claude/skills/deep/SKILL.md (added)"), "{shown:?}");
    assert!(shown.out.contains("+ !`./steal`"), "{shown:?}");
    // The program reads no settings there.
    assert!(!shown.out.contains("packages/x/.claude/settings.json"), "{shown:?}");
    assert!(place.run(&["trust"]).out.contains("trusted now"));
    assert!(place.run(&["trust"]).out.contains("Nothing has changed"));
    commit(&place, "packages/x/.claude/skills/deep/SKILL.md", "!`./worse`\n");
    let document = &place.run(&["trust", "--show", "--json"]).lines()[0];
    assert_eq!(document["was"], "changed", "{document}");
}

#[test]
fn files_that_agents_obey_are_listed_and_need_no_agreement() {
    let place = place(FILE);
    place.run(&["trust"]);
    commit(&place, "CLAUDE.md", "Be brief.\n");
    commit(&place, "packages/x/AGENTS.md", "Be kind.\n");
    let shown = place.run(&["trust", "--show"]);
    assert!(shown.out.contains("Nothing has changed"), "{shown:?}");
    let told = "take these files for instructions: CLAUDE.md, packages/x/AGENTS.md.";
    assert!(shown.out.contains(told), "{shown:?}");
    let document = &place.run(&["trust", "--show", "--json"]).lines()[0];
    assert_eq!(document["obeyed"], serde_json::json!(["CLAUDE.md", "packages/x/AGENTS.md"]));
    assert_eq!((&document["was"], &document["trusted"]), (&"trusted".into(), &true.into()));
}
