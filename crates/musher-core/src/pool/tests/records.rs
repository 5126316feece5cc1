//! What was written once can be read for ever: facts and snapshots as JSON.

use std::collections::BTreeSet;

use super::scene::{Scene, agent, run, seen, story};
use crate::pool::{
    Fact, GrantStep, JOURNAL_FORMAT, PoolCommand, PoolInput, RunReport, SecretScan, State,
    UndeliveredCode, UnknownSpending,
};
use crate::{
    Answer, AskId, BranchName, ClosedBy, CommandId, EndRequest, ErrorClass, ErrorInfo, FirstPrompt,
    Label, Outcome, Priority, RunKind, RunLine, RunPlan, RunRef, Sender, SessionChange, SessionId,
    SessionOpening, SlotId, Spend, StorySpec, Tokens, Usd, Wait, WorktreeStart,
};

/// One of each fact, as the first version wrote it. Lines are only ever added.
const WRITTEN: &str = include_str!("../../../tests/fixtures/facts.jsonl");

/// How many kinds of facts each format of the journal has. A new kind is a new format; lines are only ever added.
const KINDS_BY_FORMAT: [(u32, usize); 4] = [(1, 33), (2, 34), (3, 35), (4, 36)];
/// How many kinds of facts there are.
pub(super) const KINDS: usize = KINDS_BY_FORMAT[KINDS_BY_FORMAT.len() - 1].1;

fn plan(kind: RunKind, words: FirstPrompt) -> RunPlan {
    RunPlan {
        story: story("s1"),
        agent: agent("ada"),
        model: Some("big".into()),
        kind,
        line: RunLine::Main,
        words,
        slot: Some(SlotId(1)),
    }
}

/// A story that asks for everything.
fn full_spec() -> StorySpec {
    StorySpec {
        after: [story("s2"), story("web")].into(),
        priority: Priority::FIRST,
        labels: [Label::parse("ui").unwrap()].into(),
        budget: Some(Usd::from_dollars(4.0)),
        agent: Some(agent("ada")),
        base: BranchName::parse("release/2").ok(),
        branch: BranchName::parse("fix/login").ok(),
    }
}

pub(super) fn samples() -> Vec<Fact> {
    let (s1, r1, ask) = (story("s1"), run(1), AskId::new("a1"));
    let command = CommandId::parse("c1").unwrap();
    let session = SessionId::new("x");
    let (of, run) = (r1, r1);
    let queued = |kind, words| Fact::RunQueued {
        run,
        plan: plan(kind, words),
        command: Some(command.clone()),
        at: 1_700_000_000_000,
        nonce: None,
    };
    let preparing = |n: u32, start, budget| Fact::RunPreparing {
        run,
        slot: SlotId(n),
        branch: n,
        start,
        budget,
    };
    let opening = SessionOpening::Resume { session: session.clone() };
    let restart = RunKind::Restart { of, opening };
    let error = ErrorInfo::new(ErrorClass::Startup, "it did not speak").with_hint("look at it");
    let tokens = Tokens { input: 10, output: 2, ..Tokens::default() };
    let spend = Spend::costing(tokens, Some(Usd::from_dollars(0.25)));
    let model = Some("big".to_owned());
    let counted = |at| Fact::UsageCounted {
        run,
        seq: 3,
        model: model.clone(),
        spend,
        at,
        earlier: None,
        cut: false,
        settles: false,
    };
    let partly = Spend::unpriced(tokens).plus(spend).as_estimate();
    let cut = Fact::UsageCounted {
        run,
        seq: 4,
        model: None,
        spend: partly,
        at: Some(5),
        earlier: Some(spend),
        cut: true,
        settles: true,
    };
    let usd = Usd::from_dollars(1.5);
    let held = UnknownSpending { usd, at: 7, of: Some(of), lasting: true };
    let code = UndeliveredCode::RunEnded;
    let message = "no".to_owned();
    vec![
        Fact::StoryAdded { story: s1.clone() },
        Fact::StoryEdited { story: s1.clone() },
        Fact::StorySpecSet { story: s1.clone(), spec: StorySpec::default() },
        Fact::StorySpecSet { story: s1.clone(), spec: full_spec() },
        Fact::RunWaits { run, wait: Wait::After { story: s1.clone() } },
        Fact::RunWaits { run, wait: Wait::AfterArchived { story: s1.clone() } },
        Fact::RunWaits { run, wait: Wait::StoryBudget { cap: usd } },
        Fact::StoryFinished { story: s1.clone() },
        Fact::StoryReopened { story: s1.clone() },
        Fact::MergeStarted {
            command: command.clone(),
            story: s1.clone(),
            branch: 1,
            check: SecretScan::Open,
        },
        Fact::MergeStarted {
            command: command.clone(),
            story: s1.clone(),
            branch: 1,
            check: SecretScan::Clean,
        },
        Fact::MergeFailed { command: command.clone(), story: s1.clone(), message: message.clone() },
        Fact::StoryMerged { command: command.clone(), story: s1.clone(), commit: "abc".into() },
        Fact::StoryArchived { story: s1 },
        queued(RunKind::Fresh, FirstPrompt::Own),
        queued(RunKind::Retry { of }, FirstPrompt::Of { run }),
        queued(RunKind::Resume { of, session: session.clone() }, FirstPrompt::Continue),
        queued(
            RunKind::Fork { of, session: session.clone(), from: SlotId(1), turn: None },
            FirstPrompt::Continue,
        ),
        queued(
            RunKind::Fork { of, session: session.clone(), from: SlotId(1), turn: Some(2) },
            FirstPrompt::Continue,
        ),
        queued(restart.clone(), FirstPrompt::Story),
        Fact::RunWaits { run, wait: Wait::DayCap { cap: Usd::from_dollars(5.0) } },
        Fact::RunWaits { run, wait: Wait::Place },
        preparing(1, WorktreeStart::Fresh, None),
        preparing(1, WorktreeStart::Keep, None),
        preparing(2, WorktreeStart::Snapshot { of: SlotId(1) }, None),
        preparing(1, WorktreeStart::Keep, Some(Usd::from_dollars(1.5))),
        Fact::RunPrepared { run, head: "abc".into() },
        Fact::RunStarted { run },
        Fact::SessionSeen { run, seq: 1, session: session.clone() },
        Fact::SetupDone { run, seq: 2 },
        counted(None),
        counted(Some(1_700_000_000_000)),
        Fact::AskOpened { run, seq: 4, ask: ask.clone() },
        Fact::AnswerOffered {
            run,
            ask: ask.clone(),
            command: command.clone(),
            from: None,
            grant: None,
        },
        Fact::AnswerOffered {
            run,
            ask: ask.clone(),
            command: command.clone(),
            from: Some(Sender::CommandLine),
            grant: Some(GrantStep::Wanted),
        },
        Fact::AnswerOffered {
            run,
            ask: ask.clone(),
            command: command.clone(),
            from: None,
            grant: Some(GrantStep::Saved),
        },
        Fact::AnswerOffered {
            run,
            ask: ask.clone(),
            command: command.clone(),
            from: Some(Sender::Token { token: "t3".into() }),
            grant: None,
        },
        Fact::AskAnswered { run, ask: ask.clone(), command: command.clone() },
        Fact::AnswerRefused {
            run,
            ask: ask.clone(),
            command: command.clone(),
            code: UndeliveredCode::AskClosed,
            message: message.clone(),
        },
        Fact::AskClosed { run, seq: 5, ask, by: ClosedBy::Deadline },
        Fact::PromptOffered { run, command: command.clone() },
        Fact::SteerOffered { run, command: command.clone() },
        Fact::TakeBackOffered { run, command: command.clone(), prompt: command.clone() },
        Fact::InterruptOffered { run, command: command.clone() },
        Fact::ChangeOffered {
            run,
            command: command.clone(),
            change: SessionChange::Model { model: "big".into() },
        },
        Fact::ChangeOffered {
            run,
            command: command.clone(),
            change: SessionChange::Mode { mode: "plan".into() },
        },
        Fact::EndWished { run, command: command.clone(), wish: EndRequest::Kill },
        Fact::CommandDelivered { run, command: command.clone() },
        Fact::CommandUndelivered { run, command: command.clone(), code, message },
        Fact::RunnerLost { run },
        Fact::RunEnded {
            run,
            seq: Some(6),
            outcome: Outcome::Lost,
            error: Some(error),
            session: Some(session),
            held: None,
        },
        Fact::RunEnded {
            run,
            seq: Some(7),
            outcome: Outcome::Stopped,
            error: None,
            session: None,
            held: Some(held),
        },
        cut,
        Fact::RunFinished { run, commit: Some("def".into()), error: None },
        Fact::RunParked { run, plan: plan(restart, FirstPrompt::Continue) },
        Fact::RunUnparked { run, command: Some(command.clone()), from: None },
        Fact::RunUnparked { run, command: Some(command), from: Some(Sender::CommandLine) },
        Fact::SlotReleased { slot: SlotId(1) },
    ]
}

fn written(fact: &Fact) -> String {
    serde_json::to_string(fact).unwrap()
}

#[test]
fn facts_that_were_written_can_still_be_read_and_say_the_same() {
    for line in WRITTEN.lines() {
        let fact: Fact = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!(written(&fact), line);
    }
}

#[test]
fn every_kind_of_fact_is_among_the_written_ones() {
    let mut names = Vec::new();
    for fact in samples() {
        let line = written(&fact);
        assert!(WRITTEN.lines().any(|known| known == line), "add this line: {line}");
        assert!(line.starts_with(&format!(r#"{{"type":"{}""#, fact.name())), "{line}");
        assert_eq!(serde_json::from_str::<Fact>(&line).unwrap(), fact);
        names.push(fact.name());
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KINDS, "one sample and one line of each kind: {names:?}");
}

#[test]
fn every_kind_of_fact_says_which_format_of_the_journal_it_needs() {
    assert_eq!(KINDS_BY_FORMAT[KINDS_BY_FORMAT.len() - 1].0, JOURNAL_FORMAT);
    for (format, kinds) in KINDS_BY_FORMAT {
        let known: BTreeSet<_> = samples()
            .iter()
            .filter(|fact| fact.format() <= format)
            .map(|fact| fact.name())
            .collect();
        assert_eq!(known.len(), kinds, "format {format}: {known:?}");
    }
}

#[test]
fn a_fact_with_an_id_that_is_none_is_not_read() {
    for line in [
        r#"{"type":"story_added","story":"../up"}"#,
        r#"{"type":"run_started","run":"r0"}"#,
        r#"{"type":"prompt_offered","run":"r1","command":"a b"}"#,
    ] {
        assert!(serde_json::from_str::<Fact>(line).is_err(), "{line}");
    }
}

/// Facts are trusted, but even in a senseless order they never do harm.
#[test]
fn facts_in_any_order_are_folded_without_harm() {
    let facts = samples();
    for first in 0..facts.len() {
        let mut state = State::default();
        for step in 0..facts.len() * 2 {
            state.apply(&facts[(first + step * 7) % facts.len()]);
            state.owed();
        }
    }
}

/// A pool with something of everything in it.
fn busy() -> Scene {
    let mut scene = Scene::with_story();
    scene.add_story().unwrap();
    scene.add_story().unwrap();
    scene.reply(PoolCommand::ArchiveStory { story: story("s3") }).unwrap();
    let live = scene.live("s1", "ada");
    scene.name_session(live, 1, "x");
    scene.hear(live, 2, RunReport::SetupDone);
    for (seq, ask) in [(3, "a1"), (4, "a2"), (5, "a3")] {
        scene.hear(live, seq, RunReport::AskOpened { ask: AskId::new(ask), settled: false });
    }
    let ask = AskId::new("a3");
    scene.hear(live, 6, RunReport::AskClosed { ask, by: ClosedBy::Deadline, command: None });
    let answer = Answer::Allow { input: None };
    scene
        .reply(PoolCommand::Answer { run: live, ask: AskId::new("a1"), answer, seen: seen() })
        .unwrap();
    scene.reply(PoolCommand::Fork { run: RunRef::Live(live), text: None, turn: None }).unwrap();
    scene.reply(PoolCommand::Stop { run: run(2) }).unwrap();
    let second = scene.live("s2", "bob");
    for n in 0..4 {
        let lost = run(second.number() + n);
        scene.lose(lost);
        scene.go_live(run(lost.number() + 1));
    }
    scene.put(PoolInput::PrepareFailed {
        run: run(2),
        error: ErrorInfo::new(ErrorClass::Internal, "broken"),
    });
    scene
        .reply(PoolCommand::MergeStory { story: story("s2"), branch: None, with_secrets: true })
        .unwrap();
    scene
}

#[test]
fn a_snapshot_is_read_back_as_it_was() {
    let state = busy().state;
    assert!(!state.archived.is_empty() && !state.merges.is_empty() && !state.slots.is_empty());
    assert!(!state.deliveries.is_empty() && !state.parked.is_empty());
    assert!(!state.sessions.is_empty() && !state.restarts.is_empty() && !state.runs.is_empty());
    let json = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state);
    let empty = serde_json::to_string(&State::default()).unwrap();
    assert_eq!(serde_json::from_str::<State>(&empty).unwrap(), State::default());
}

#[test]
fn a_restart_folds_the_same_state_from_the_written_facts() {
    let scene = busy();
    let mut folded = State::default();
    for fact in &scene.facts {
        folded.apply(&serde_json::from_str(&written(fact)).unwrap());
    }
    assert_eq!(folded, scene.state);
    assert_eq!(folded.owed(), scene.state.owed());
}
