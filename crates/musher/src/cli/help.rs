//! The first page of help: the verbs in groups, and the commands that most people want first.

use clap::Command;

/// The verbs as people look for them. One that stands in no group is shown at the end.
const GROUPS: &[(&str, &[&str])] = &[
    ("Get started", &["demo", "init", "trust", "login", "serve", "open", "agents", "doctor"]),
    ("Stories and runs", &["story", "start", "ps", "show", "logs", "wait", "run"]),
    ("Approvals and questions", &["asks", "approve", "deny", "answer", "grants", "rules"]),
    (
        "Direct a run",
        &[
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
        ],
    ),
    ("Review and merge", &["diff", "merge"]),
    ("Cost", &["usage", "cap"]),
    ("Access for browsers and assistants", &["token", "mcp"]),
];

pub(super) const AFTER: &str = "\
Examples:
  musher demo                           Watch three scripted agents work; no key needed
  musher init && musher serve           Set up and serve this repository
  musher open                           Open its web UI in the browser, signed in
  musher story add 'Fix the login'      Add a story: it becomes s1
  musher start s1 && musher logs -f s1  Start an agent, watch it, answer it
  musher asks                           List approvals and questions, each with a short id
  musher approve 3f2a 91bc              Approve two of them by their ids
  musher diff s1 && musher merge s1     Review the changes and merge them

Run `musher COMMAND --help` for details. `--json` prints JSON.

Exit codes: 0 completed, 1 a bug in Musher, 2 invalid input or configuration, 3 failed or lost, \
4 stopped or interrupted, 5 ended by a limit, 6 a program or server is missing.";

/// The command with its verbs in groups.
pub(super) fn grouped(command: Command) -> Command {
    let groups = groups(&command);
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}\n"
    );
    command.help_template(template)
}

fn groups(command: &Command) -> String {
    let verbs: Vec<(&str, String)> = command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .map(|verb| {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            (verb.get_name(), about)
        })
        .collect();
    let width = verbs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, about): &(&str, String)| format!("  {name:width$}  {about}\n");
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let named = |name: &&str| verbs.iter().find(|(verb, _)| verb == name);
        let lines: String = names.iter().filter_map(named).map(line).collect();
        text += &format!("{heading}:\n{lines}\n");
    }
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: String = verbs.iter().filter(|(name, _)| !grouped(name)).map(line).collect();
    if !others.is_empty() {
        text += &format!("Other:\n{others}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::*;

    #[test]
    fn every_verb_stands_in_one_group_with_what_it_does() {
        let text = groups(&Cli::command());
        assert!(!text.contains("Other:"), "{text}");
        for verb in Cli::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let about = verb.get_about().unwrap().to_string();
            let line = format!("  {} ", verb.get_name());
            let lines = text.lines().filter(|it| it.starts_with(&line) && it.ends_with(&about));
            assert_eq!(lines.count(), 1, "{}: {text}", verb.get_name());
        }
    }
}
