//! What "always" grants: never more than what was asked, and never what hides behind it.

use proptest::strategy::Strategy;

use super::*;

fn offered(tool_use: &ToolUse<'_>) -> Option<String> {
    Rule::for_use(tool_use).map(|rule| rule.to_string())
}

#[test]
fn a_command_is_offered_as_it_is_or_by_its_first_words_where_the_rest_may_vary() {
    for (line, rule) in [
        ("git status", "execute(git status *)"),
        ("cargo test -p core rules", "execute(cargo test *)"),
        ("cargo test", "execute(cargo test *)"),
        ("cargo test 'a*b'", "execute(cargo test *)"),
        ("git push origin main", "execute(git push origin main)"),
        ("rm -rf target", "execute(rm -rf target)"),
        ("  make  check ", "execute(make  check)"),
        ("git commit -m 'fix(core): a (b)'", "execute(git commit -m 'fix(core): a (b)')"),
        ("RUST_LOG=debug cargo test", "execute(RUST_LOG=debug cargo test)"),
    ] {
        assert_eq!(offered(&command(line)).as_deref(), Some(rule), "{line}");
    }
}

#[test]
fn a_command_that_hides_varies_or_runs_another_is_never_granted_for_good() {
    for line in [
        "",
        "cargo test && rm -rf x",
        "cargo test; cargo test",
        "cargo test | tee log",
        "cargo test &",
        "cargo test\nrm x",
        "cargo test > log",
        "cargo test $(rm x)",
        "cargo test `rm x`",
        "(cargo test)",
        "cargo test 'unclosed",
        "cargo test # why",
        "cargo test \\",
        "sh -c 'cargo test'",
        "/bin/bash script.sh",
        "sudo make install",
        "xargs rm",
        "eval x",
        "rm *",
        "rm ?",
        "rm [ab]",
        "rm $X",
        "echo \u{202e}txt",
        &format!("echo {}", "x".repeat(300)),
    ] {
        assert_eq!(offered(&command(line)), None, "{line:?}");
    }
}

#[test]
fn a_path_is_offered_alone_and_nothing_outside_the_folder_may_be_written_for_good() {
    let read = |path| ToolUse { tool: "Read", kind: ToolKind::Read, subject: Some(path), ..ANY };
    assert_eq!(offered(&edit("/w/src/a.rs")).as_deref(), Some("edit(src/a.rs)"));
    assert_eq!(offered(&edit("src/../b.rs")).as_deref(), Some("edit(b.rs)"));
    assert_eq!(offered(&read("/etc/hosts")).as_deref(), Some("read(/etc/hosts)"));
    for path in ["/etc/hosts", "../x", ".git/config", "a/.git/hooks/x", ".musher/project.toml", "*"]
    {
        assert_eq!(offered(&edit(path)), None, "{path}");
    }
    let link = ToolUse { resolved: Some("/home/me/env"), ..edit("link") };
    assert_eq!(offered(&link), None, "where it leads counts, not what it is called");
}

#[test]
fn a_site_is_offered_by_its_name_and_every_other_address_alone() {
    let fetch = |to| ToolUse { tool: "Fetch", kind: ToolKind::Fetch, subject: Some(to), ..ANY };
    for (address, rule) in [
        ("https://docs.rs/serde/latest", Some("fetch(https://docs.rs/*)")),
        ("https://docs.rs", Some("fetch(https://docs.rs)")),
        ("http://docs.rs/x", Some("fetch(http://docs.rs/x)")),
        ("https://10.0.0.1/x", Some("fetch(https://10.0.0.1/x)")),
        ("https://docs.rs:8443/x", Some("fetch(https://docs.rs:8443/x)")),
        ("https://me@docs.rs/x", Some("fetch(https://me@docs.rs/x)")),
        ("http://docs.rs/x?y", None),
        ("rust tokens", Some("fetch(rust tokens)")),
    ] {
        assert_eq!(offered(&fetch(address)).as_deref(), rule, "{address}");
    }
}

#[test]
fn a_tool_server_is_offered_by_its_tool_and_an_unknown_tool_is_not() {
    let mcp = |tool| ToolUse { tool, kind: ToolKind::Mcp, ..ANY };
    assert_eq!(offered(&mcp("mcp__db__query")).as_deref(), Some("mcp__db__query"));
    for tool in ["mcp", "Edit", "*", "a b", ""] {
        assert_eq!(offered(&mcp(tool)), None, "{tool:?}");
    }
    assert_eq!(offered(&ToolUse { tool: "Odd", subject: Some("x"), ..ANY }), None);
}

#[test]
fn a_rule_covers_itself_and_what_is_narrower_by_its_text() {
    let rule = |text: &str| text.parse::<Rule>().unwrap();
    let tests = rule("execute(cargo test *)");
    for narrow in ["execute(cargo test *)", "Execute(cargo test --lib)", "execute(cargo test)"] {
        assert!(tests.covers(&rule(narrow)), "{narrow}");
    }
    for wide in
        ["execute", "*", "execute(*)", "execute(cargo *)", "execute(cargo tests)", "Bash(x)"]
    {
        assert!(!tests.covers(&rule(wide)), "{wide}");
    }
    assert!(!rule("edit(src/*)").covers(&rule("edit(src/**)")));
    assert!(!rule("execute(git status)").covers(&rule("execute(git status *)")));
    assert!(!rule("execute(a* b *)").covers(&rule("execute(a* *)")));
}

#[test]
fn a_grant_beats_ask_and_deny_beats_a_grant() {
    let mut all = rules(&[], &["execute"], &["execute(git push *)"]);
    assert!(matches!(all.verdict(&command("git status")), Verdict::Ask(_)));
    all.granted = vec!["execute(git *)".parse().unwrap()];
    assert!(allows(&all, &command("git status")));
    assert!(denies(&all, &command("git push origin")));
    assert!(matches!(all.verdict(&command("make")), Verdict::Ask(_)));
}

const BEHIND: &[&str] = &[
    "; rm -rf x",
    " && rm -rf x",
    " || rm -rf x",
    " | rm -rf x",
    " & rm -rf x",
    "\nrm -rf x",
    " $(rm -rf x)",
    " `rm -rf x`",
    " > /etc/x",
    " < /etc/x",
    " <(rm -rf x)",
    " \"$(rm -rf x)\"",
    " ${x:-$(rm)}",
    "; rm -rf x #",
    " '\nrm -rf x",
    "\\\n; rm -rf x",
];

const TRICKY: &[&str] = &[
    "git", "status", "cargo", "test", "npm", "go", "rm", "-rf", "sh", "-c", "\\", "'", "\"", "#",
    "$x", "*", "?", "\n", ";", "&&", "(", ")", "{", "}", "\u{202e}",
];

proptest::proptest! {
    #[test]
    fn what_is_offered_fits_its_use_and_never_what_follows_it(
        begins in proptest::sample::select(vec!["", "git status", "cargo test", "rm -rf", "make"]),
        words in proptest::collection::vec(
            proptest::prop_oneof![
                "[a-z./=-]{1,8}",
                "'[a-z ();&|$#]{0,8}'",
                "\"[a-z ();&|#]{0,8}\"",
                proptest::sample::select(TRICKY.to_vec()).prop_map(str::to_owned),
            ],
            0..5,
        )
    ) {
        use proptest::prop_assert;
        let line = format!("{begins} {}", words.join(" "));
        proptest::prop_assume!(line.trim() != "rm -rf x");
        if let Some(rule) = Rule::for_use(&command(&line)) {
            let granted = ToolRules { granted: vec![rule.clone()], ..ToolRules::default() };
            prop_assert!(allows(&granted, &command(&line)), "{rule} does not fit {line:?}");
            for behind in BEHIND {
                let more = format!("{line}{behind}");
                prop_assert!(!allows(&granted, &command(&more)), "{rule} fits {more:?}");
            }
            prop_assert!(rule.covers(&rule));
            let read: Rule = rule.to_string().parse().unwrap();
            prop_assert!(read == rule);
        }
    }

    #[test]
    fn what_is_offered_for_any_text_at_all_fits_it(line in ".{0,60}", path in "[a-z./*?]{0,30}") {
        for tool_use in [command(&line), edit(&path), edit(&line)] {
            if let Some(rule) = Rule::for_use(&tool_use) {
                let granted = ToolRules { granted: vec![rule], ..ToolRules::default() };
                proptest::prop_assert!(allows(&granted, &tool_use));
            }
        }
    }
}
