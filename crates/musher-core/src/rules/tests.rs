//! The rules as tables: what is granted, what is banned, and what slips past neither.

mod order;
mod propose;
mod scopes;

use super::*;

fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> ToolRules {
    let parse = |list: &[&str]| list.iter().map(|rule| rule.parse().unwrap()).collect();
    ToolRules { allow: parse(allow), ask: parse(ask), deny: parse(deny), ..ToolRules::default() }
}

const ANY: ToolUse<'static> = ToolUse {
    tool: "",
    kind: ToolKind::Other,
    subject: None,
    resolved: None,
    texts: &[],
    cwd: "/w",
    unseen: false,
};

fn command<'a>(line: &'a str) -> ToolUse<'a> {
    ToolUse { tool: "Bash", kind: ToolKind::Execute, subject: Some(line), ..ANY }
}

fn edit<'a>(path: &'a str) -> ToolUse<'a> {
    ToolUse { tool: "Edit", kind: ToolKind::Edit, subject: Some(path), ..ANY }
}

fn allows(rules: &ToolRules, tool_use: &ToolUse<'_>) -> bool {
    matches!(rules.verdict(tool_use), Verdict::Allow(_))
}

fn denies(rules: &ToolRules, tool_use: &ToolUse<'_>) -> bool {
    matches!(rules.verdict(tool_use), Verdict::Deny(_))
}

#[test]
fn a_grant_for_one_command_covers_every_command_of_the_line_or_none() {
    let git = rules(&["execute(git *)"], &[], &[]);
    for line in [
        "git",
        "git status",
        "git log --oneline | git shortlog",
        "git add . && git commit -m 'a; b'",
    ] {
        assert!(allows(&git, &command(line)), "{line}");
    }
    for line in [
        "rm -rf /",
        "git status; rm -rf /",
        "git status && rm x",
        "git status | sh",
        "git status & rm x",
        "git status\nrm x",
        "git log $(rm x)",
        "git log `rm x`",
        "git log \"$(rm x)\"",
        "git log > ~/.bashrc",
        "git diff <(rm x)",
        "git log ${x:-$(rm)}",
        "(git status)",
        "git status 'unclosed",
        "git status # '\nrm -f victim\n# '",
        "git status;# '\nrm x #'",
        "git log \"$\\\n(rm x)\"",
        "git log $['$(rm x)']",
        "git log $\\\n'a\\'b'; rm x; echo \\'",
        "gitk",
        "",
    ] {
        assert!(!allows(&git, &command(line)), "{line:?}");
    }
}

#[test]
fn a_ban_strikes_wherever_the_command_hides() {
    let no_rm = rules(&["*"], &[], &["execute(rm *)"]);
    for line in [
        "rm x",
        "rm",
        "ls; rm x",
        "ls && rm x",
        "ls | rm x",
        "echo $(rm x)",
        "echo `rm x`",
        "sh -c 'rm x'",
        "{ rm x; }",
        "(rm x)",
        "ls\nrm x",
        "sudo rm x",
        "sudo -n -u root rm x",
        "/bin/rm x",
        "X=1 rm x",
        "env A=b timeout 5 rm x",
        "find . | xargs -0 rm",
        "if true; then rm x; fi",
        "\\rm x",
        "r''m x",
        "find . -exec rm {} +",
        "coproc rm x",
        "flock f rm x",
        "parallel rm ::: x",
        ">/dev/null rm -rf x",
        "rm>/dev/null -rf x",
        "r\\\nm x",
        "sh -c rm\\ x",
        "{rm,-rf,x}",
        "X+=1 rm x",
        "trap rm\\ x EXIT",
    ] {
        assert!(denies(&no_rm, &command(line)), "{line:?}");
    }
    assert!(allows(&no_rm, &command("echo rmdir-is-fine")));
}

#[test]
fn a_megabyte_of_hostile_command_is_judged_in_no_time() {
    let rules = rules(&["execute(git *)"], &["execute(*a*b*c*)"], &["execute(rm *)"]);
    for line in [
        format!("sh {}", "a ".repeat(500_000)),
        format!("sudo {}", "x".repeat(1_000_000)),
        "a;".repeat(500_000),
        "'".repeat(1_000_000),
        "\\\n".repeat(300_000),
    ] {
        rules.verdict(&command(&line));
    }
    let buried = format!("{} rm x", "true;".repeat(5000));
    assert!(denies(&rules, &command(&buried)), "what nobody can read is not let through");
}

#[test]
fn deny_beats_ask_beats_allow() {
    let all = rules(&["Edit"], &["edit(src/**)"], &["edit(src/secret/*)"]);
    assert!(matches!(all.verdict(&edit("/w/README.md")), Verdict::Allow(_)));
    assert!(matches!(all.verdict(&edit("/w/src/a/b.rs")), Verdict::Ask(_)));
    assert!(matches!(all.verdict(&edit("src/secret/key")), Verdict::Deny(_)));
    assert_eq!(all.verdict(&command("ls")), Verdict::Unsettled);
}

#[test]
fn a_relative_pattern_never_fits_a_path_outside_the_working_folder() {
    let inside = rules(&["edit(./**)"], &[], &[]);
    for path in ["/w/a", "a", "a/../b", "./x/y/z", "/w/./q"] {
        assert!(allows(&inside, &edit(path)), "{path}");
    }
    for path in ["/etc/passwd", "../x", "a/../../x", "/w/../etc/passwd", "/wide/a", "/"] {
        assert!(!allows(&inside, &edit(path)), "{path}");
    }
    let absolute = rules(&["edit(/tmp/**)"], &[], &[]);
    assert!(allows(&absolute, &edit("/tmp/a/b")));
    assert!(!allows(&absolute, &edit("/tmp/../etc/passwd")));
}

#[test]
fn a_star_stays_in_its_folder_and_two_stars_do_not() {
    let one = rules(&["edit(src/*.rs)"], &[], &[]);
    assert!(allows(&one, &edit("src/a.rs")));
    assert!(!allows(&one, &edit("src/a/b.rs")));
    let two = rules(&["edit(src/**/*.rs)"], &[], &[]);
    assert!(allows(&two, &edit("src/a.rs")) && allows(&two, &edit("src/a/b/c.rs")));
    assert!(!allows(&two, &edit("srcs/a.rs")));
}

#[test]
fn a_rule_names_a_tool_a_kind_or_a_family() {
    let mcp = ToolUse { tool: "mcp__db__query", kind: ToolKind::Mcp, ..ANY };
    for rule in ["mcp__db__query", "mcp__db__*", "mcp", "*"] {
        assert!(allows(&rules(&[rule], &[], &[]), &mcp), "{rule}");
    }
    assert!(!allows(&rules(&["mcp__db"], &[], &[]), &mcp));
    assert!(!allows(&rules(&["mcp(anything)"], &[], &[]), &mcp), "no subject fits no pattern");
}

#[test]
fn a_link_is_banned_by_its_name_and_granted_by_where_it_leads() {
    let link = ToolUse { resolved: Some("/home/me/env"), ..edit(".env") };
    assert!(denies(&rules(&[], &[], &["edit(.env)"]), &link));
    assert!(denies(&rules(&[], &[], &["edit(/home/me/**)"]), &link));
    assert!(!allows(&rules(&["edit(./**)"], &[], &[]), &link));
    assert!(allows(&rules(&["edit(/home/me/*)"], &[], &[]), &link));
}

#[test]
fn a_ban_looks_at_every_text_of_a_tool_servers_call_and_a_grant_must_fit_them_all() {
    let call =
        ToolUse { tool: "mcp__fs__do", kind: ToolKind::Mcp, texts: &["ok", "/etc/x"], ..ANY };
    assert!(denies(&rules(&[], &[], &["mcp(/etc/*)"]), &call));
    assert!(!allows(&rules(&["mcp(ok)"], &[], &[]), &call));
    assert!(allows(&rules(&["mcp(*)"], &[], &[]), &call));
}

#[test]
fn names_are_compared_without_case_and_a_folder_belongs_to_what_is_in_it() {
    assert!(denies(&rules(&[], &[], &["bash(rm *)"]), &command("rm x")));
    let search = ToolUse { tool: "Grep", kind: ToolKind::Search, subject: Some("secrets"), ..ANY };
    assert!(denies(&rules(&[], &[], &["search(secrets/**)"]), &search));
}

#[test]
fn a_rule_that_cannot_be_read_says_what_to_write() {
    for (text, says) in [
        ("", "empty"),
        ("execute(", "closing parenthesis"),
        ("execute(git *", "closing parenthesis"),
        ("execute()", "write `execute`"),
        ("rm -rf", "not a tool name"),
        ("(x)", "not a tool name"),
    ] {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(says), "{text:?}: {error}");
    }
}

#[test]
fn rules_survive_the_wire_and_unknown_keys_are_refused() {
    let rules = rules(&["execute(git *)"], &["fetch"], &["*(/etc/**)"]);
    let json = serde_json::to_string(&rules).unwrap();
    assert_eq!(serde_json::from_str::<ToolRules>(&json).unwrap(), rules);
    assert!(serde_json::from_str::<ToolRules>(r#"{"alow":[]}"#).is_err());
}

proptest::proptest! {
    #[test]
    fn no_text_panics_a_rule_or_its_subject(rule in ".{0,40}", subject in ".{0,80}") {
        if let Ok(rule) = rule.parse::<Rule>() {
            let rules = ToolRules { allow: vec![rule.clone()], deny: vec![rule], ..ToolRules::default() };
            rules.verdict(&command(&subject));
            rules.verdict(&edit(&subject));
        }
    }

    #[test]
    fn a_granted_edit_is_always_inside_the_working_folder(path in "[a-z./]{0,30}") {
        let inside = rules(&["edit(**)"], &[], &[]);
        if allows(&inside, &edit(&path)) {
            let joined = if path.starts_with('/') { path } else { format!("/w/{path}") };
            let mut depth: Vec<&str> = vec![];
            for part in joined.split('/') {
                match part { "" | "." => {}, ".." => { depth.pop(); }, p => depth.push(p) }
            }
            proptest::prop_assert_eq!(depth.first().copied(), Some("w"));
        }
    }
}

/// What a program would run, in a folder and beneath it.
const RUN: &[&str] =
    &["edit(**/.tool/settings.json)", "edit(**/.tool/hooks/**)", "edit(**/.servers.json)"];

fn protecting(allow: &[&str], ask: &[&str], deny: &[&str]) -> ToolRules {
    let protected = RUN.iter().map(|rule| rule.parse().unwrap()).collect();
    ToolRules { protected, ..rules(allow, ask, deny) }
}

#[test]
fn what_is_protected_is_denied_however_much_is_allowed() {
    for allow in
        ["edit", "*", "Edit", "edit(**)", "edit(./**)", "edit(**/*.json)", "edit(**/settings.json)"]
    {
        let rules = protecting(&[allow], &[], &[]);
        for path in [
            ".tool/settings.json",
            "a/b/.tool/settings.json",
            "./a/../.servers.json",
            "/w/.tool/hooks/x/y.sh",
        ] {
            assert!(denies(&rules, &edit(path)), "{allow}: {path}");
        }
        for path in ["a.json", "settings.json", ".tool/notes.md", "src/.tools/settings.json"] {
            assert!(!denies(&rules, &edit(path)), "{allow}: {path}");
        }
    }
    let read = ToolUse { tool: "Read", kind: ToolKind::Read, ..edit(".tool/settings.json") };
    assert!(allows(&protecting(&["read"], &[], &[]), &read));
    let linked = ToolUse { resolved: Some("/w/.tool/settings.json"), ..edit("innocent") };
    assert!(denies(&protecting(&["edit"], &[], &[]), &linked));
}

#[test]
fn what_is_protected_is_allowed_or_asked_about_by_a_rule_that_names_its_place() {
    let settings = edit(".tool/settings.json");
    for rule in
        ["edit(.tool/settings.json)", "edit(.tool/**)", "edit(./.tool/*.json)", "edit(**/.tool/**)"]
    {
        assert!(allows(&protecting(&["edit", rule], &[], &[]), &settings), "{rule}");
        assert!(
            matches!(protecting(&["edit"], &[rule], &[]).verdict(&settings), Verdict::Ask(_)),
            "{rule}"
        );
        assert!(denies(&protecting(&[rule], &[], &["edit(.tool/**)"]), &settings), "{rule}");
        let granted = ToolRules {
            granted: vec![rule.parse().unwrap()],
            ..protecting(&[], &["edit(.tool/**)"], &[])
        };
        assert!(allows(&granted, &settings), "{rule}");
    }
    assert!(denies(&protecting(&["edit(.servers.json)"], &[], &[]), &settings));
    assert!(denies(&protecting(&["edit(.tool/other)"], &[], &[]), &settings));
    assert!(
        denies(&protecting(&[], &["edit"], &[]), &settings),
        "a wide rule to ask does not mean it"
    );
}

#[test]
fn protection_makes_every_call_seen_and_is_not_written_down() {
    let rules = protecting(&[], &[], &[]);
    assert!(rules.see_every_call() && !rules.restrict());
    assert_eq!(
        serde_json::to_value(&rules).unwrap(),
        serde_json::json!({ "allow": [], "ask": [], "deny": [] })
    );
}

#[test]
fn what_could_not_be_seen_is_granted_by_no_pattern_and_held_back_by_every_pattern_that_might_strike()
 {
    let part = |line| ToolUse { unseen: true, ..command(line) };
    let verdict = |allow: &[&str], ask: &[&str], deny: &[&str], line| {
        rules(allow, ask, deny).verdict(&part(line))
    };
    // A pattern that fits what is seen says nothing of the rest.
    assert_eq!(verdict(&["execute(git *)"], &[], &[], "git log"), Verdict::Unsettled);
    let ban = || Verdict::Ask("execute(rm *)".parse().unwrap());
    assert_eq!(verdict(&["execute"], &[], &["execute(rm *)"], "git log"), ban());
    assert_eq!(verdict(&["execute"], &["execute(rm *)"], &[], "git log"), ban());
    // What does not depend on it holds as ever.
    assert!(denies(&rules(&["*"], &[], &["execute(rm *)"]), &part("rm x")));
    assert!(allows(&rules(&["execute"], &[], &["edit(.git/**)"]), &part("git log")));
    let mut granted = rules(&[], &[], &["execute(rm *)"]);
    granted.granted.push("execute".parse().unwrap());
    assert_eq!(granted.verdict(&part("git log")), ban(), "a grant does not lift a ban");
    assert_eq!(Rule::for_use(&part("git log")), None);
    let cut = ToolUse { unseen: true, ..edit("src/ … [7 bytes cut here] … ") };
    let protected = protecting(&["edit"], &[], &[]).verdict(&cut);
    assert!(matches!(protected, Verdict::Ask(_)), "it may be a protected place: {protected:?}");
}
