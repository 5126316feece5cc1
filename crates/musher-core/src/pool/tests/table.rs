//! What follows from every input in every phase of a run, written down cell by cell.

mod cells;

use super::scene::{Scene, ended, run, seen, story, team};
use crate::pool::{
    Action, CommandReply, DaySpending, PoolCommand, PoolDecision, PoolInput, Refusal, RunReport,
    State, WholeStory, decide,
};
use crate::{
    Actor, Answer, AskId, BranchRef, ClosedBy, CommandId, ErrorClass, ErrorInfo, FirstPrompt,
    Outcome, PastRun, RunPhase, RunRef, SessionChange, SessionId, SlotId, Usd,
};

/// Where the run `r1` of `ada` on `s1` is. The columns of the table, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// There never was such a run.
    Absent,
    Queued,
    Preparing,
    Starting,
    Live,
    Closing,
    Finishing,
    /// Finishing after it was lost.
    Lost,
    /// Ended and finished.
    Over,
}

const COLUMNS: [At; 9] = [
    At::Absent,
    At::Queued,
    At::Preparing,
    At::Starting,
    At::Live,
    At::Closing,
    At::Finishing,
    At::Lost,
    At::Over,
];

/// A pool whose `r1` is there. Once its runner is up, it has a session and an open ask.
fn scene(at: At) -> Scene {
    let mut scene = Scene::with_story();
    if at == At::Absent {
        return scene;
    }
    let limits = scene.team.limits;
    if at == At::Queued {
        scene.team.limits.runs = 0;
    }
    let run = scene.start("s1", "ada");
    scene.team.limits = limits;
    match at {
        At::Absent | At::Queued | At::Preparing => {}
        At::Starting => {
            scene.put(PoolInput::Prepared { run, head: "abc".into() });
        }
        At::Live | At::Closing | At::Finishing | At::Lost | At::Over => {
            scene.go_live(run);
            scene.name_session(run, 1, "x");
            scene.hear(run, 2, RunReport::AskOpened { ask: AskId::new("a1"), settled: false });
        }
    }
    match at {
        At::Absent | At::Queued | At::Preparing | At::Starting | At::Live => {}
        At::Closing => {
            scene.put(PoolInput::RunnerGone { run });
        }
        At::Finishing => {
            scene.hear(run, 9, ended(Outcome::Completed));
        }
        At::Lost => {
            scene.hear(run, 9, ended(Outcome::Lost));
        }
        At::Over => {
            scene.end(run, Outcome::Completed);
        }
    }
    let phase = scene.state.runs.get(&run).map(|run| &run.phase);
    let there = match phase {
        None => at == At::Over,
        Some(RunPhase::Queued) => at == At::Queued,
        Some(RunPhase::Preparing { .. }) => at == At::Preparing,
        Some(RunPhase::Starting { .. }) => at == At::Starting,
        Some(RunPhase::Live { .. }) => at == At::Live,
        Some(RunPhase::Closing { .. }) => at == At::Closing,
        Some(RunPhase::Finishing { outcome: Outcome::Lost, .. }) => at == At::Lost,
        Some(RunPhase::Finishing { .. }) => at == At::Finishing,
    };
    assert!(there, "{at:?}: {phase:?}");
    scene
}

/// One of each input about `r1`; the number of each is its row, and [`cells::row`] knows them all.
fn inputs(at: At) -> Vec<PoolInput> {
    let run = run(1);
    let past = PastRun {
        run,
        story: story("s1"),
        agent: super::scene::agent("ada"),
        model: None,
        words: FirstPrompt::Story,
        session: Some(SessionId::new("x")),
        slot: Some(SlotId(1)),
        outcome: Outcome::Completed,
    };
    let of = || match at {
        At::Over => RunRef::Past(past.clone()),
        At::Absent
        | At::Queued
        | At::Preparing
        | At::Starting
        | At::Live
        | At::Closing
        | At::Finishing
        | At::Lost => RunRef::Live(run),
    };
    let s1 = || story("s1");
    let text = || "Go on.".to_owned();
    let whole = || {
        let (context, spec) = Default::default();
        WholeStory { id: s1(), title: text(), text: text(), context, spec }
    };
    let ask = || AskId::new("a1");
    let error = || ErrorInfo::new(ErrorClass::Internal, "broken");
    let commands = [
        PoolCommand::AddStory {
            id: None,
            title: text(),
            text: text(),
            context: Default::default(),
            spec: Default::default(),
        },
        PoolCommand::PutStories { stories: vec![whole()] },
        PoolCommand::EditStory {
            story: s1(),
            title: None,
            text: Some(text()),
            context: None,
            spec: Default::default(),
        },
        PoolCommand::FinishStory { story: s1() },
        PoolCommand::ReopenStory { story: s1() },
        PoolCommand::ArchiveStory { story: s1() },
        PoolCommand::MergeStory { story: s1(), branch: None, with_secrets: false },
        super::scene::start("s1", "ada"),
        PoolCommand::Prompt { run: of(), text: text() },
        PoolCommand::Steer { run, text: text() },
        PoolCommand::TakeBack { run, prompt: CommandId::parse("said").unwrap() },
        PoolCommand::Interrupt { run },
        PoolCommand::Change { run, change: SessionChange::Model { model: "big".into() } },
        PoolCommand::Stop { run },
        PoolCommand::Kill { run },
        PoolCommand::Answer {
            run,
            ask: ask(),
            answer: Answer::Allow { input: None },
            seen: seen(),
        },
        PoolCommand::Resume { past: past.clone(), text: None },
        PoolCommand::Retry { past: past.clone() },
        PoolCommand::Fork { run: of(), text: None, turn: None },
    ];
    let heard = [
        RunReport::Session { session: SessionId::new("y") },
        RunReport::SetupDone,
        RunReport::AskOpened { ask: AskId::new("a2"), settled: false },
        RunReport::AskClosed { ask: ask(), by: ClosedBy::Deadline, command: None },
        RunReport::Taken { command: CommandId::parse("said").unwrap() },
        RunReport::Usage { model: None, entry: crate::Spend::default().into() },
        ended(Outcome::Completed),
    ];
    let id = CommandId::parse("new").unwrap();
    let said = CommandId::parse("said").unwrap();
    let command = |command| PoolInput::Command { id: id.clone(), by: Actor::POOL, command };
    let mut inputs = vec![PoolInput::Begun];
    inputs.extend(commands.map(command));
    inputs.extend([
        PoolInput::Prepared { run, head: "abc".into() },
        PoolInput::PrepareFailed { run, error: error() },
        PoolInput::RunnerUp { run },
        PoolInput::SpawnFailed { run, error: error() },
    ]);
    inputs.extend(heard.map(|what| PoolInput::Heard { run, seq: 20, what }));
    inputs.extend([
        PoolInput::RunnerGone { run },
        PoolInput::LogLost { run, error: error() },
        PoolInput::Delivered { run, command: said.clone(), result: Ok(()) },
        PoolInput::Granted { run, command: said.clone(), result: Ok(()) },
        PoolInput::Finished { run, commit: None, error: None },
        PoolInput::Released { slot: SlotId(1), branch: BranchRef::plain(s1(), 1) },
        PoolInput::Searched { command: said.clone(), story: s1(), result: Ok(Vec::new()) },
        PoolInput::Merged { command: said, story: s1(), result: Ok("abc".into()) },
    ]);
    inputs
}

#[test]
fn every_input_in_every_phase_does_what_the_table_says() {
    let mut broken = Vec::new();
    for (column, at) in COLUMNS.into_iter().enumerate() {
        for input in inputs(at) {
            let (row, cells) = cells::row(&input);
            let decision = scene(at).put(input);
            let found = shown(&decision);
            if cells[column] != found {
                broken.push(format!("{row} when {at:?}: {found:?}, not {:?}", cells[column]));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// The same when the day's money is gone: what would begin waits, and nothing else is different.
#[test]
fn nothing_begins_on_any_input_while_the_days_money_is_gone() {
    let mut broken = Vec::new();
    for (column, at) in COLUMNS.into_iter().enumerate() {
        for input in inputs(at) {
            let (row, cells) = cells::row(&input);
            let mut scene = scene(at);
            scene.team.limits.day_usd = Some(Usd::from_dollars(5.0));
            scene.state.day =
                DaySpending { spent: Usd::from_dollars(5.0), ..DaySpending::default() };
            let found = shown(&scene.put(input));
            let expected = cells[column].replace("run_preparing", "run_waits");
            let expected = expected.replace(" > prepare", "");
            if expected != found {
                broken.push(format!("{row} when {at:?}: {found:?}, not {expected:?}"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn the_table_has_a_row_for_every_kind_of_input() {
    let mut rows: Vec<_> = inputs(At::Live).iter().map(|input| cells::row(input).0).collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), cells::ROWS, "{rows:?}");
}

/// No honest journal makes these states; a decision must come of them all the same.
#[test]
fn something_sensible_follows_from_any_input_in_any_state_at_any_time() {
    let facts = super::records::samples();
    for first in 0..facts.len() {
        let mut state = State::default();
        for step in 0..facts.len() {
            state.apply(&facts[(first + step * 5) % facts.len()]);
            for input in inputs(if step % 2 == 0 { At::Over } else { At::Live }) {
                for (names, now) in [(&["ada"][..], i64::MIN), (&[], i64::MAX)] {
                    let mut after = state.clone();
                    let decision = decide(&state, &team(names), input.clone(), now);
                    decision.facts.iter().for_each(|fact| after.apply(fact));
                    after.owed();
                }
            }
        }
    }
}

/// The same with a prompt on its way to the run: what becomes of it.
#[test]
fn what_is_on_its_way_to_a_run_is_settled_by_the_runner_or_by_the_end() {
    let said = CommandId::parse("said").unwrap();
    let run = run(1);
    let prompt = PoolCommand::Prompt { run: RunRef::Live(run), text: "Go on.".into() };
    let delivered = PoolInput::Delivered { run, command: said.clone(), result: Ok(()) };
    let taken = RunReport::Taken { command: said.clone() };
    let heard_end = PoolInput::Heard { run, seq: 20, what: ended(Outcome::Completed) };
    let failed = |error| PoolInput::PrepareFailed { run, error };
    let error = || ErrorInfo::new(ErrorClass::Internal, "broken");
    let cases = [
        (
            At::Queued,
            PoolInput::Command {
                id: CommandId::parse("c").unwrap(),
                by: Actor::POOL,
                command: PoolCommand::Stop { run },
            },
            "done: command_undelivered run_ended ~ undelivered",
        ),
        (At::Preparing, failed(error()), "- command_undelivered run_ended > release ~ undelivered"),
        (At::Starting, PoolInput::RunnerUp { run }, "- run_started > deliver"),
        (At::Starting, delivered.clone(), "- command_delivered ~ sent"),
        (At::Live, delivered, "- command_delivered ~ sent"),
        (At::Live, PoolInput::Heard { run, seq: 19, what: taken }, "- command_delivered ~ sent"),
        (At::Live, PoolInput::RunnerGone { run }, "- runner_lost > close_log"),
        (At::Live, heard_end, "- command_undelivered run_ended > finish ~ undelivered"),
    ];
    for (at, input, expected) in cases {
        let mut scene = scene(at);
        scene.put(PoolInput::Command {
            id: said.clone(),
            by: Actor::POOL,
            command: prompt.clone(),
        });
        let found = shown(&scene.put(input.clone()));
        assert_eq!(found, expected, "{input:?} when {at:?}");
    }
}

/// A decision in a line: `reply: facts > actions ~ settled`; a dash stands for no reply.
fn shown(decision: &PoolDecision) -> String {
    let mut line = match &decision.reply {
        None => "-".to_owned(),
        Some(result) => format!("{}:", word(result)),
    };
    for fact in &decision.facts {
        line += " ";
        line += fact.name();
    }
    if !decision.actions.is_empty() {
        line += " >";
    }
    for action in &decision.actions {
        line += " ";
        line += match action {
            Action::Prepare { .. } => "prepare",
            Action::Spawn(_) => "spawn",
            Action::Deliver { .. } => "deliver",
            Action::Grant { .. } => "grant",
            Action::CloseLog { .. } => "close_log",
            Action::Finish { .. } => "finish",
            Action::Release { .. } => "release",
            Action::SearchSecrets { .. } => "search_secrets",
            Action::Merge { .. } => "merge",
        };
    }
    if !decision.settled.is_empty() {
        line += " ~";
    }
    for (_, result) in &decision.settled {
        line += " ";
        line += word(result);
    }
    line.trim_end_matches(':').to_owned()
}

fn word(result: &Result<CommandReply, Refusal>) -> &'static str {
    match result {
        Ok(CommandReply::Story(_)) => "story",
        Ok(CommandReply::Run(_)) => "run",
        Ok(CommandReply::Offered) => "offered",
        Ok(CommandReply::Done) => "done",
        Ok(CommandReply::Sent) => "sent",
        Err(refusal) => refusal.code(),
    }
}
