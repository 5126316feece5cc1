//! Lasting grants inside one session.

use musher_core::{Answer, ClosedBy, Rule, ToolRules};

use super::*;

fn command(line: &str, human_only: bool) -> Ask {
    Ask::Approval(Box::new(Approval {
        tool: "Bash".into(),
        tool_kind: ToolKind::Execute,
        call: None,
        subject: Some(line.into()),
        subject_field: Some("command".into()),
        input: serde_json::json!({ "command": line }),
        edits: vec![],
        reason: None,
        always: vec![],
        human_only,
        shortened: None,
        as_is: false,
    }))
}

async fn opens(attempt: &Attempt, ask: &str, body: Ask) {
    let ask = Signal::AskOpened { ask: ask.into(), body, scope: EventScope::Main, raw: None };
    attempt.port.signals.send(vec![ask].into()).await.unwrap();
}

async fn answered(attempt: &mut Attempt) -> Answer {
    loop {
        match attempt.port.orders.recv().await {
            Some(BackendOrder::Answer { answer, .. }) => return answer,
            Some(_) => {}
            None => panic!("no answer came"),
        }
    }
}

async fn opened(session: &mut Session, wanted: &str) -> Option<Rule> {
    while let Some(output) = session.next().await {
        match output {
            SessionOutput::Event(Event {
                kind: EventKind::AskOpened { ask, rule, .. }, ..
            }) if ask.as_str() == wanted => {
                return rule;
            }
            _ => {}
        }
    }
    panic!("{wanted} was not asked");
}

fn asks_about_commands() -> SessionSpec {
    let rule = |text: &str| vec![text.parse().unwrap()];
    let rules = ToolRules {
        ask: rule("execute"),
        deny: rule("execute(git push *)"),
        ..ToolRules::default()
    };
    SessionSpec { rules, ..spec() }
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_was_granted_answers_from_then_on_and_what_was_asked_meanwhile() {
    let mut session = play(asks_about_commands(), |mut attempt| async move {
        say(&attempt, started()).await;
        opens(&attempt, "a", command("git status", false)).await;
        opens(&attempt, "b", command("git status -s", false)).await;
        opens(&attempt, "c", command("make", false)).await;
        let yes = Answer::Allow { input: None };
        assert_eq!(answered(&mut attempt).await, yes, "to the agent a grant is a plain yes");
        assert_eq!(answered(&mut attempt).await, yes, "what was asked meanwhile is answered too");
        opens(&attempt, "d", command("git status --long", false)).await;
        assert_eq!(answered(&mut attempt).await, yes);
        opens(&attempt, "e", command("git push origin", false)).await;
        assert!(matches!(answered(&mut attempt).await, Answer::Deny { .. }), "deny still wins");
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let handle = session.handle();
    let rule = opened(&mut session, "a").await;
    assert_eq!(rule.as_ref().map(Rule::to_string).as_deref(), Some("execute(git status *)"));
    assert_eq!(
        opened(&mut session, "c").await.map(|rule| rule.to_string()).as_deref(),
        Some("execute(make)")
    );
    let wrong = Answer::always(Some("execute(make)".parse().unwrap()));
    let refused = handle.answer("a".into(), wrong).await.unwrap_err();
    assert!(matches!(refused, CommandError::WrongAnswer { .. }), "{refused}");
    handle.answer("a".into(), Answer::always(rule.clone())).await.unwrap();
    let closed: Vec<(String, ClosedBy)> = all(session)
        .await
        .into_iter()
        .filter_map(|kind| match kind {
            EventKind::AskClosed { ask, by, .. } => Some((ask.to_string(), by)),
            _ => None,
        })
        .collect();
    let told = |ask: &str, by| (ask.to_owned(), by);
    assert_eq!(
        closed,
        [
            told("a", ClosedBy::Person),
            told("b", ClosedBy::Rule),
            told("d", ClosedBy::Rule),
            told("e", ClosedBy::Rule),
            told("c", ClosedBy::TurnEnd),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_only_a_person_may_allow_is_never_granted_for_good() {
    let mut session = play(asks_about_commands(), |mut attempt| async move {
        say(&attempt, started()).await;
        opens(&attempt, "a", command("git status", true)).await;
        answered(&mut attempt).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let handle = session.handle();
    assert_eq!(opened(&mut session, "a").await, None);
    let always = Answer::always(Some("execute(git status)".parse().unwrap()));
    let refused = handle.answer("a".into(), always).await.unwrap_err();
    assert!(matches!(refused, CommandError::WrongAnswer { .. }), "{refused}");
    handle.answer("a".into(), Answer::Allow { input: None }).await.unwrap();
    all(session).await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_with_a_secret_in_it_is_not_offered() {
    let mut spec = asks_about_commands();
    spec.environment = Environment::default().set_secret("KEY", "hunter22-hunter22");
    let mut session = play(spec, |mut attempt| async move {
        say(&attempt, started()).await;
        opens(&attempt, "a", command("login hunter22-hunter22", false)).await;
        answered(&mut attempt).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let handle = session.handle();
    assert_eq!(opened(&mut session, "a").await, None);
    handle.answer("a".into(), Answer::Allow { input: None }).await.unwrap();
    all(session).await;
}
