//! What can be granted for one use, from the exact rule to the widest safe one.

use super::*;

fn scopes(tool_use: &ToolUse<'_>) -> Vec<String> {
    Rule::scopes(tool_use).into_iter().map(|scope| scope.rule.to_string()).collect()
}

#[test]
fn scopes_go_from_the_exact_command_to_every_command() {
    assert_eq!(
        scopes(&command("cargo test -p core")),
        ["execute(cargo test -p core)", "execute(cargo test *)", "execute(cargo *)", "execute"]
    );
    assert_eq!(scopes(&command("make")), ["execute(make)", "execute(make *)", "execute"]);
    assert_eq!(scopes(&command("git status")), ["execute(git status)", "execute(git status *)"]);
    for line in ["rm -rf target", "python3 x.py", "curl https://a.b", "git push origin"] {
        assert_eq!(scopes(&command(line)), [format!("execute({line})")], "arguments decide here");
    }
    for line in ["sudo make", "sh -c x", "make; rm x", "make > x", "make $(rm x)", "rm *", ""] {
        assert_eq!(scopes(&command(line)), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn scopes_of_paths_addresses_and_servers_end_where_it_is_no_longer_safe() {
    assert_eq!(scopes(&edit("src/a/b.rs")), ["edit(src/a/b.rs)", "edit(src/a/**)", "edit(src/**)"]);
    assert_eq!(scopes(&edit("a.rs")), ["edit(a.rs)"]);
    assert_eq!(scopes(&edit(".git/config")), Vec::<String>::new());
    let read = |path| ToolUse { tool: "Read", kind: ToolKind::Read, subject: Some(path), ..ANY };
    assert_eq!(scopes(&read("src/a.rs")), ["read(src/a.rs)", "read(src/**)", "read(./**)"]);
    assert_eq!(scopes(&read("/etc/hosts")), ["read(/etc/hosts)"]);
    let fetch = |to| ToolUse { tool: "Fetch", kind: ToolKind::Fetch, subject: Some(to), ..ANY };
    assert_eq!(
        scopes(&fetch("https://docs.rs/serde")),
        ["fetch(https://docs.rs/serde)", "fetch(https://docs.rs/*)"]
    );
    let mcp = |tool| ToolUse { tool, kind: ToolKind::Mcp, ..ANY };
    assert_eq!(scopes(&mcp("mcp__db__query")), ["mcp__db__query", "mcp__db__*"]);
    assert_eq!(scopes(&mcp("query")), ["query"]);
}

proptest::proptest! {
    #[test]
    fn each_scope_fits_the_use_is_no_narrower_than_the_one_before_and_hides_no_other_command(
        program in proptest::sample::select(vec!["cargo", "make", "git", "npm", "rm", "./x"]),
        rest in "[a-z ./=-]{0,20}",
    ) {
        let line = format!("{program} {rest}");
        let found = Rule::scopes(&command(&line));
        for (at, scope) in found.iter().enumerate() {
            let granted = ToolRules { granted: vec![scope.rule.clone()], ..ToolRules::default() };
            proptest::prop_assert!(allows(&granted, &command(&line)), "{} {line}", scope.rule);
            if let Some(before) = at.checked_sub(1).and_then(|at| found.get(at)) {
                proptest::prop_assert!(scope.rule.covers(&before.rule), "{} {}", scope.rule, before.rule);
            }
            for behind in ["; rm -rf x", " | sh", " > /etc/x", " $(rm x)"] {
                let more = format!("{line}{behind}");
                let all = scope.rule.to_string() == "execute";
                proptest::prop_assert!(all || !allows(&granted, &command(&more)), "{}", scope.rule);
            }
        }
    }
}
