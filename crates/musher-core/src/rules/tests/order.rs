//! Between ask and allow the more specific rule wins; deny always does; what can never win is found.

use proptest::sample::select;
use proptest::{prop_assert, prop_assert_eq};

use super::*;

fn asks(rules: &ToolRules, tool_use: &ToolUse<'_>) -> bool {
    matches!(rules.verdict(tool_use), Verdict::Ask(_))
}

#[test]
fn a_more_specific_allow_beats_a_wider_ask_and_nothing_else_does() {
    let test = command("cargo test -p core");
    for (allow, ask, allowed) in [
        ("execute(cargo test *)", "execute", true),
        ("execute(cargo test *)", "*", true),
        ("execute(cargo test *)", "execute(cargo *)", true),
        ("execute(cargo test *)", "execute(*)", true),
        ("Bash(cargo *)", "execute", true),
        ("Bash", "execute", true),
        ("execute", "*", true),
        // As specific as each other.
        ("execute", "execute", false),
        ("execute(*)", "execute", false),
        ("execute(cargo test *)", "Execute(cargo test *)", false),
        // The ask is the more specific one.
        ("execute(cargo *)", "execute(cargo test *)", false),
        ("execute", "Bash", false),
        ("*", "execute", false),
        // Neither is: one names the tool more closely, the other the command.
        ("Bash", "execute(cargo *)", false),
        ("execute(c* test *)", "execute(cargo *)", false),
        ("B*", "execute", false),
    ] {
        let rules = rules(&[allow], &[ask], &[]);
        assert_eq!(allows(&rules, &test), allowed, "allow {allow}, ask {ask}");
        assert_eq!(asks(&rules, &test), !allowed, "allow {allow}, ask {ask}");
    }
    // Every ask rule that fits must be beaten, and the whole line must be allowed.
    let two = rules(&["execute(git *)"], &["execute", "execute(git push *)"], &[]);
    assert!(allows(&two, &command("git status")));
    assert!(asks(&two, &command("git push origin")));
    assert!(asks(&two, &command("git status; rm x")));
    assert!(denies(&rules(&["execute(cargo test *)"], &["execute"], &["execute(cargo *)"]), &test));
}

#[test]
fn paths_are_ordered_by_the_folder_that_they_name() {
    let file = edit("src/a.rs");
    for (allow, ask, allowed) in [
        ("edit(src/**)", "edit", true),
        ("edit(src/**)", "edit(./**)", true),
        ("edit(./src/a.rs)", "edit(**/*.rs)", true),
        ("edit(src/**)", "edit(/**)", true),
        ("edit(./**)", "edit(src/**)", false),
        ("edit(src/*.rs)", "edit(src/a*)", false),
        ("edit(/w/src/**)", "edit(src/**)", false),
        ("edit(src/**)", "edit(/w/**)", false),
    ] {
        let rules = rules(&[allow], &[ask], &[]);
        assert_eq!(allows(&rules, &file), allowed, "allow {allow}, ask {ask}");
    }
}

#[test]
fn rules_that_can_never_win_are_found_with_the_reason() {
    let all = rules(
        &[
            "execute(git push *)",
            "fetch",
            "execute(make && make install)",
            "execute(ls > x)",
            "edit(src/**)",
        ],
        &["execute(git push origin)", "fetch", "edit(src/gen/**)"],
        &["execute(git push *)", "edit(../x)", "read(~/.ssh/**)"],
    );
    let found: Vec<(RuleList, usize, String)> =
        all.dead().into_iter().map(|dead| (dead.list, dead.index, dead.why)).collect();
    let places: Vec<(RuleList, usize)> =
        found.iter().map(|(list, index, _)| (*list, *index)).collect();
    let expected = [
        (RuleList::Allow, 0),
        (RuleList::Allow, 1),
        (RuleList::Allow, 2),
        (RuleList::Allow, 3),
        (RuleList::Ask, 0),
        (RuleList::Deny, 1),
        (RuleList::Deny, 2),
    ];
    assert_eq!(places, expected, "{found:#?}");
    assert!(found[0].2.contains("deny `execute(git push *)`"), "{found:#?}");
    assert!(found[1].2.contains("ask `fetch`"), "{found:#?}");
    let usual = rules(
        &["read(./**)", "search(./**)", "edit(./**)", "execute(cargo *)"],
        &["execute", "fetch", "mcp"],
        &["edit(.musher/**)", "edit(.git/**)"],
    );
    assert_eq!(usual.dead(), []);
    let pairs: Vec<String> =
        usual.loosened().iter().map(|(allow, ask)| format!("{allow} < {ask}")).collect();
    assert_eq!(pairs, ["execute(cargo *) < execute"]);
}

#[test]
fn a_verdict_is_explained_by_the_rule_that_decides_and_those_that_it_beats() {
    let rules = rules(&["execute(cargo test *)"], &["execute"], &["execute(rm *)"]);
    let allowed = rules.explain(&command("cargo test"));
    assert_eq!(allowed.list, Some(RuleList::Allow));
    assert!(allowed.why.contains("more specific"), "{allowed:?}");
    assert_eq!(allowed.beaten, [(RuleList::Ask, "execute".parse().unwrap())]);
    let asked = rules.explain(&command("cargo build"));
    assert_eq!((asked.list, asked.beaten), (Some(RuleList::Ask), vec![]));
    let denied = rules.explain(&command("rm x"));
    assert_eq!(denied.list, Some(RuleList::Deny));
    assert_eq!(rules.explain(&edit("x")).list, None);
}

const RULES: &[&str] = &[
    "*",
    "execute",
    "execute(*)",
    "execute(git *)",
    "execute(git)",
    "execute(git push *)",
    "execute(git push)",
    "execute(g*)",
    "execute(git p?sh)",
    "execute(*push*)",
    "Bash",
    "bash(git *)",
    "B*",
    "edit",
    "edit(**)",
    "edit(./**)",
    "edit(/**)",
    "edit(src/**)",
    "edit(src/*)",
    "edit(src/a.rs)",
    "edit(**/*.rs)",
    "edit(/w/src/**)",
    "Edit(src/**)",
    "fetch",
    "fetch(https://a.b/*)",
    "read(**)",
];
const LINES: &[&str] = &[
    "git",
    "git push",
    "git push origin",
    "git push; git status",
    "git push | sh",
    "sudo git push",
    "ls",
    "gitk",
    "git  push",
    "echo 'git push'",
    "git push > x",
    "",
];
const PATHS: &[&str] = &[
    "src",
    "src/a.rs",
    "src/b/c.rs",
    "a.rs",
    "/etc/x.rs",
    "../x",
    "/w/src/a.rs",
    ".",
    "srcs/a.rs",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4000))]

    #[test]
    fn a_rule_that_covers_another_fits_whatever_that_one_fits(
        wide in select(RULES), narrow in select(RULES), line in select(LINES), path in select(PATHS),
    ) {
        let (wide, narrow): (Rule, Rule) = (wide.parse().unwrap(), narrow.parse().unwrap());
        for tool_use in [command(line), edit(path)] {
            let covers = wide.covers(&narrow) || narrow.is_more_specific(&wide, &tool_use);
            if covers && narrow.matches(&tool_use, Reach::EveryPart) {
                prop_assert!(wide.matches(&tool_use, Reach::AnyPart), "{wide} {narrow} {tool_use:?}");
            }
            let both = narrow.is_more_specific(&wide, &tool_use) && wide.is_more_specific(&narrow, &tool_use);
            prop_assert!(!both, "{wide} and {narrow}");
        }
    }

    #[test]
    fn deny_wins_ask_yields_only_to_the_more_specific_and_order_means_nothing(
        allow in proptest::collection::vec(select(RULES), 0..4),
        ask in proptest::collection::vec(select(RULES), 0..4),
        deny in proptest::collection::vec(select(RULES), 0..2),
        line in select(LINES), path in select(PATHS),
    ) {
        let all = rules(&allow, &ask, &deny);
        let reversed = |list: &[&'static str]| list.iter().rev().copied().collect::<Vec<_>>();
        let other = rules(&reversed(&allow), &reversed(&ask), &reversed(&deny));
        for tool_use in [command(line), edit(path)] {
            let fits = |list: &[Rule], reach| -> Vec<Rule> {
                list.iter().filter(|rule| rule.matches(&tool_use, reach)).cloned().collect()
            };
            let verdict = all.verdict(&tool_use);
            prop_assert_eq!(
                std::mem::discriminant(&verdict),
                std::mem::discriminant(&other.verdict(&tool_use))
            );
            let denied = !fits(&all.deny, Reach::AnyPart).is_empty();
            prop_assert_eq!(matches!(verdict, Verdict::Deny(_)), denied);
            let allowing = fits(&all.allow, Reach::EveryPart);
            let lifted = |ask: &Rule| allowing.iter().any(|rule| rule.is_more_specific(ask, &tool_use));
            let asked = fits(&all.ask, Reach::AnyPart).iter().any(|ask| !lifted(ask));
            prop_assert_eq!(matches!(verdict, Verdict::Ask(_)), !denied && asked);
            prop_assert_eq!(matches!(verdict, Verdict::Allow(_)), !denied && !asked && !allowing.is_empty());
            // A rule that is called dead never decides.
            for dead in all.dead() {
                if let Verdict::Allow(rule) = &verdict {
                    prop_assert!(dead.list != RuleList::Allow || dead.rule != *rule, "{dead:?}");
                }
            }
        }
    }
}
