//! The log of a run whose runner died is closed: what was open is closed, what was spent is counted, once.

use std::fs;

use musher_core::{
    Approval, Ask, ClosedBy, CostBasis, ErrorClass, ErrorInfo, Event, EventKind, EventScope, Level,
    Lineage, OpenWork, Origin, Outcome, SessionEnded, SessionInfo, SessionOrigin, Spend, TaskPhase,
    TaskUpdate, Tokens, ToolKind, ToolPhase, ToolUpdate, Trigger, TurnEnded, TurnOutcome, UsageOf,
    UsageReport, Usd,
};
use musher_log::{LogReader, Lost, close_lost, close_short, open_ends, outcome};

use crate::rig::{Folder, drain, event, notice, read_all};

fn lost() -> Lost {
    let reason = ErrorInfo::new(ErrorClass::ProcessExit, "the runner died");
    Lost { reason, now_ms: 99_000, lineage: Lineage::default(), asks_a_model: true }
}

fn usage(input: u64, cost: f64, cumulative: bool) -> EventKind {
    EventKind::Usage(UsageReport {
        of: if cumulative { UsageOf::Session } else { UsageOf::ModelCall },
        cumulative,
        cost_basis: CostBasis::Reported,
        id: None,
        ..UsageReport::call("", Some("m".into()), spend(input, cost))
    })
}

fn spend(input: u64, cost: f64) -> Spend {
    let tokens = Tokens { input, ..Tokens::default() };
    Spend::costing(tokens, Some(Usd::from_dollars(cost)))
}

fn approval() -> Ask {
    Ask::Approval(Box::new(Approval {
        tool: "shell".into(),
        tool_kind: ToolKind::Execute,
        call: None,
        subject: None,
        subject_field: None,
        input: serde_json::json!({"command": "make"}),
        edits: Vec::new(),
        reason: None,
        always: vec![],
        human_only: false,
        shortened: None,
        as_is: false,
    }))
}

fn ask(id: &str) -> EventKind {
    EventKind::AskOpened {
        ask: id.into(),
        body: approval(),
        deadline: None,
        rule: None,
        settled: false,
    }
}

fn tool(id: &str, phase: ToolPhase) -> EventKind {
    EventKind::Tool(Box::new(ToolUpdate::phase(id.into(), phase)))
}

fn session(id: &str) -> EventKind {
    EventKind::SessionInfo(Box::new(SessionInfo {
        session: Some(id.into()),
        ..SessionInfo::default()
    }))
}

fn turn_started() -> EventKind {
    EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: vec!["p2".into()] }
}

fn numbered(kinds: Vec<EventKind>) -> Vec<Event> {
    (1..).zip(kinds).map(|(seq, kind)| event(seq, kind)).collect()
}

fn all(folder: &Folder) -> Vec<Event> {
    read_all(&folder.dir).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A run that dies in its second turn, with an ask and a call open.
fn died_in_a_turn() -> Folder {
    let folder = Folder::new();
    let mut first = TurnEnded::synthesised(TurnOutcome::Completed, None);
    first.model_calls = 3;
    let mut events = numbered(vec![
        session("s-1"),
        turn_started(),
        usage(100, 0.5, false),
        ask("a-1"),
        EventKind::AskClosed {
            ask: "a-1".into(),
            by: ClosedBy::Person,
            answer: None,
            command: None,
            who: None,
        },
        EventKind::TurnEnded(Box::new(first)),
        turn_started(),
        tool("c-1", ToolPhase::Running),
        tool("c-2", ToolPhase::Running),
        tool("c-1", ToolPhase::Completed),
        ask("a-2"),
        ask("a-3"),
        usage(40, 0.25, false),
    ]);
    for event in &mut events[6..] {
        event.turn = Some(2);
    }
    folder.create().append(&events).unwrap();
    folder
}

#[test]
fn what_a_dead_runner_left_open_is_closed_in_order_and_the_outcome_is_recorded() {
    let folder = died_in_a_turn();
    let ended = close_lost(folder.lock(), lost()).unwrap();
    let events = all(&folder);
    let EventKind::Usage(unseen) = &events[13].kind else { panic!("{:?}", events[13]) };
    assert!(unseen.cut && unseen.spend.cost_usd.is_none(), "what nobody wrote down is unknown");
    assert_eq!(events[13].turn, Some(2));
    let closing = &events[14..];
    assert_eq!(closing.len(), 5);
    for (closed, id) in closing.iter().zip(["a-2", "a-3"]) {
        let by = ClosedBy::ProcessEnd;
        assert_eq!(
            closed.kind,
            EventKind::AskClosed { ask: id.into(), by, answer: None, command: None, who: None }
        );
        assert_eq!((closed.at, closed.turn), (99_000, Some(2)));
    }
    assert_eq!(closing[2].kind, tool("c-2", ToolPhase::Cancelled));
    let EventKind::TurnEnded(turn) = &closing[3].kind else { panic!("{:?}", closing[3]) };
    assert_eq!((turn.outcome, turn.synthesised), (TurnOutcome::Lost, true));
    assert_eq!((turn.prompts.len(), turn.model_calls), (1, 1));
    assert_eq!(turn.error.as_ref().unwrap().message, "the runner died");
    assert_eq!(closing[4].kind, EventKind::SessionEnded(Box::new(ended.clone())));
    assert_eq!(ended.outcome, Outcome::Lost);
    assert_eq!(ended.session.as_ref().unwrap().as_str(), "s-1");
    let known = Usd::from_dollars(0.75);
    assert_eq!((ended.usage.input, ended.cost_usd, ended.known_cost_usd), (140, None, known));
    assert_eq!((ended.turns, ended.model_calls, ended.duration_ms), (2, 4, 12));
    assert_eq!(ended.models["m"], spend(140, 0.75));
    assert_eq!(outcome::read::<SessionEnded>(&folder.dir).unwrap(), Some(ended));
    assert!(!folder.path("ballast").exists());
}

#[test]
fn calls_and_tasks_of_helpers_get_their_end_when_a_runner_dies() {
    let folder = Folder::new();
    let task = |phase, background| {
        EventKind::Task(TaskUpdate {
            task: if background { "behind".into() } else { "waited-for".into() },
            phase,
            background,
            name: None,
            title: None,
            call: (!background).then(|| "agent".into()),
            summary: None,
        })
    };
    let mut events = numbered(vec![
        turn_started(),
        tool("agent", ToolPhase::Proposed),
        task(TaskPhase::Started, false),
        task(TaskPhase::Started, true),
        tool("its-call", ToolPhase::Proposed),
    ]);
    let helper =
        EventScope::Subagent { agent: "a".into(), parent_call: Some("agent".into()), name: None };
    events[4].scope = helper.clone();
    folder.create().append(&events).unwrap();
    close_lost(folder.lock(), lost()).unwrap();
    let events = all(&folder);
    let told: Vec<&EventKind> = events.iter().map(|event| &event.kind).collect();
    for end in [
        tool("its-call", ToolPhase::Cancelled),
        tool("agent", ToolPhase::Cancelled),
        task(TaskPhase::Stopped, false),
        task(TaskPhase::Stopped, true),
    ] {
        assert!(told.contains(&&end), "{end:?} is missing in {told:?}");
    }
    let of_helper = events.iter().filter(|event| event.scope == helper);
    assert_eq!(of_helper.count(), 2, "an end has the scope of its beginning");
}

#[test]
fn closing_again_changes_nothing_and_says_the_same() {
    let folder = died_in_a_turn();
    let first = close_lost(folder.lock(), lost()).unwrap();
    let lines = read_all(&folder.dir);
    let later = Lost { now_ms: 200_000, ..lost() };
    assert_eq!(close_lost(folder.lock(), later.clone()).unwrap(), first);
    assert_eq!(read_all(&folder.dir), lines);
    // The server died before it could record the outcome.
    fs::remove_file(folder.path("outcome.json")).unwrap();
    assert_eq!(close_lost(folder.lock(), later).unwrap(), first);
    assert_eq!(read_all(&folder.dir), lines);
    assert_eq!(outcome::read::<SessionEnded>(&folder.dir).unwrap(), Some(first));
}

#[test]
fn a_server_that_dies_while_closing_is_followed_by_one_that_finishes() {
    let whole = died_in_a_turn();
    close_lost(whole.lock(), lost()).unwrap();
    let complete = read_all(&whole.dir);
    let segment = fs::read(whole.newest()).unwrap();
    for kept in (0..segment.len()).step_by(23) {
        let folder = whole.copy();
        fs::remove_file(folder.path("outcome.json")).unwrap();
        fs::write(folder.newest(), &segment[..kept]).unwrap();
        let ended = close_lost(folder.lock(), lost()).unwrap();
        assert_eq!(ended.outcome, Outcome::Lost);
        let lines = read_all(&folder.dir);
        assert_eq!(lines.len(), complete.len(), "cut at {kept}");
        let ends = lines.iter().filter(|line| line.contains("\"session_ended\"")).count();
        let turns = lines.iter().filter(|line| line.contains("\"turn_ended\"")).count();
        assert_eq!((ends, turns), (1, 2));
    }
}

#[test]
fn a_run_that_had_said_its_end_keeps_it() {
    let folder = died_in_a_turn();
    let mut ended = close_lost(folder.lock(), lost()).unwrap();
    ended.outcome = Outcome::Completed;
    let other = Folder::new();
    let events = numbered(vec![session("s"), EventKind::SessionEnded(Box::new(ended.clone()))]);
    let mut writer = other.create();
    writer.append(&events[..1]).unwrap();
    let head = fs::read(other.path("head")).unwrap();
    writer.append(&events[1..]).unwrap();
    drop(writer);
    // It died after the line and before the head, and left a torn line of nothing that counts.
    fs::write(other.path("head"), head).unwrap();
    let closed = close_lost(other.lock(), lost()).unwrap();
    assert_eq!(closed, ended);
    assert_eq!(all(&other), events);
    assert_eq!(outcome::read::<SessionEnded>(&other.dir).unwrap(), Some(ended));
}

#[test]
fn a_runner_that_died_before_it_wrote_anything_is_lost_for_nothing() {
    for begun in [false, true] {
        let folder = Folder::new();
        if begun {
            drop(folder.create());
        }
        let ended = close_lost(folder.lock(), lost()).unwrap();
        assert_eq!((ended.outcome, ended.cost_usd), (Outcome::Lost, Some(Usd::default())));
        assert_eq!((ended.turns, ended.duration_ms), (0, 0));
        assert_eq!(all(&folder).len(), 1);
    }
}

#[test]
fn a_resumed_run_is_not_billed_for_its_parent_and_a_fallback_is_for_all_of_its_own() {
    let mut lineage = Lineage::default();
    lineage.add("m", spend(1_000, 1.0));
    let fallback = EventKind::Notice {
        level: Level::Warning,
        code: Some("resume_fallback".into()),
        text: "fresh".into(),
    };
    let resumed = SessionInfo { resumed_from: Some("s-0".into()), ..SessionInfo::default() };
    let cases = [
        (
            vec![EventKind::SessionInfo(Box::new(resumed)), usage(1_200, 1.5, true)],
            200,
            SessionOrigin::Resumed,
        ),
        (vec![fallback, usage(1_200, 1.5, true)], 1_200, SessionOrigin::Fallback),
    ];
    for (kinds, input, origin) in cases {
        let folder = Folder::new();
        folder.create().append(&numbered(kinds)).unwrap();
        let lost = Lost { lineage: lineage.clone(), ..lost() };
        let ended = close_lost(folder.lock(), lost).unwrap();
        assert_eq!((ended.usage.input, ended.origin), (input, origin));
    }
}

#[test]
fn other_kinds_leave_nothing_open() {
    let folder = Folder::new();
    let mut writer = folder.create();
    writer.append(&numbered(vec![turn_started()])).unwrap();
    writer.append(&[notice(2, "x")]).unwrap();
    drop(writer);
    let ends = open_ends(&folder.dir, Lineage::default()).unwrap();
    assert_eq!((ends.last_seq, ends.work), (2, OpenWork::default()));
}

#[test]
fn those_who_watch_a_run_die_see_it_closed() {
    let folder = died_in_a_turn();
    let mut live = LogReader::open(&folder.dir, None).unwrap();
    assert_eq!(drain(&mut live).0.len(), 13);
    close_lost(folder.lock(), lost()).unwrap();
    let (closing, resets) = drain(&mut live);
    assert_eq!((closing.len(), resets.len()), (6, 0));
    assert!(closing[5].contains("\"session_ended\""));
}

#[test]
fn a_finished_log_whose_head_went_back_is_read_to_its_end_once_it_is_closed_again() {
    let folder = Folder::new();
    let mut writer = folder.create();
    writer.append(&[notice(1, "a"), notice(2, "b")]).unwrap();
    let head = fs::read(folder.path("head")).unwrap();
    let ended = SessionEnded::unbegun(ErrorInfo::new(ErrorClass::Internal, "none"));
    let end = event(3, EventKind::SessionEnded(Box::new(ended.clone())));
    writer.append_last(&[end]).unwrap();
    writer.finish(&ended).unwrap();
    drop(writer);
    for broken in [head, Vec::new(), vec![0; 48]] {
        fs::write(folder.path("head"), broken).unwrap();
        assert_eq!(close_lost(folder.lock(), lost()).unwrap(), ended);
        assert_eq!(read_all(&folder.dir).len(), 3);
        let head = LogReader::open(&folder.dir, None).unwrap().head().unwrap().unwrap();
        assert_eq!((head.epoch, head.seq, head.synced), (1, 3, 3));
    }
}

#[test]
fn a_prompt_is_unbegun_until_a_turn_names_it() {
    let told = |id: &str, origin| EventKind::UserMessage {
        prompt: Some(id.into()),
        text: "do it".into(),
        origin,
        attachments: Vec::new(),
    };
    let folder = Folder::new();
    let events = numbered(vec![
        told("p1", Origin::Prompt),
        told("p2", Origin::Prompt),
        told("p3", Origin::Prompt),
        turn_started(),
        told("into the turn", Origin::Steer),
        told("p4", Origin::Prompt),
    ]);
    folder.create().append(&events).unwrap();
    let ends = open_ends(&folder.dir, Lineage::default()).unwrap();
    assert_eq!(ends.unbegun, ["p1".into(), "p3".into(), "p4".into()]);
    assert_eq!(ends.begun, ["p2".into()].into());
}

#[test]
fn a_run_that_is_ended_on_a_full_disk_says_its_own_end_once_and_what_it_spent() {
    let folder = died_in_a_turn();
    let mut end = close_lost(folder.copy().lock(), lost()).unwrap();
    end.outcome = Outcome::Stopped;
    let mut writer = folder.reopen();
    let before = writer.next_seq();
    for _ in 0..2 {
        close_short(&mut writer, &end, 99_000).unwrap();
    }
    writer.finish(&end).unwrap();
    let events = all(&folder);
    let names: Vec<_> =
        events[before as usize - 1..].iter().map(|event| name(&event.kind)).collect();
    let closing = ["notice", "usage", "ask_closed", "ask_closed", "tool", "turn_ended"];
    assert_eq!(names, [&closing[..], &["session_ended"]].concat());
    assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
    assert_eq!(outcome::read::<SessionEnded>(&folder.dir).unwrap(), Some(end));
}

/// The name of a kind, as it is written.
fn name(kind: &EventKind) -> String {
    serde_json::to_value(kind).unwrap()["type"].as_str().unwrap().to_owned()
}

/// A log of one turn with these reports in it, which may have ended.
fn of_a_turn(reports: Vec<UsageReport>, over: bool) -> Folder {
    let folder = Folder::new();
    let mut kinds = vec![session("s-1"), turn_started()];
    kinds.extend(reports.into_iter().map(EventKind::Usage));
    if over {
        let turn = TurnEnded::synthesised(TurnOutcome::Completed, None);
        kinds.push(EventKind::TurnEnded(Box::new(turn)));
    }
    folder.create().append(&numbered(kinds)).unwrap();
    folder
}

#[test]
fn promise_20_a_lost_run_is_billed_for_what_was_told_of_its_calls_and_the_rest_is_unknown() {
    let model = || Some("m".to_owned());
    let folder = of_a_turn(
        vec![
            UsageReport::so_far("c1", model(), spend(100, 0.5)).over(),
            UsageReport::begun("c2", model()),
            UsageReport::so_far("c2", model(), spend(40, 0.25)),
        ],
        false,
    );
    let ended = close_lost(folder.lock(), lost()).unwrap();
    assert_eq!((ended.usage.input, ended.cost_usd), (140, None));
    assert_eq!((ended.known_cost_usd, ended.estimated), (Usd::from_dollars(0.75), true));
    let last_words: Vec<_> = all(&folder)
        .into_iter()
        .filter_map(|event| {
            let EventKind::Usage(report) = event.kind else { return None };
            (!report.partial).then_some((report.id, report.cut))
        })
        .collect();
    let named = |id: &str| Some(id.to_owned());
    let expected = [(named("calls-over/m"), false), (named("c2"), true), (named("unseen"), true)];
    assert_eq!(last_words, expected);
}

#[test]
fn promise_20_a_run_that_is_lost_between_its_turns_is_billed_as_it_was_told() {
    let known = UsageReport::call("c1", Some("m".into()), spend(100, 0.5));
    let folder = of_a_turn(vec![known], true);
    let ended = close_lost(folder.lock(), lost()).unwrap();
    assert_eq!((ended.usage.input, ended.cost_usd), (100, Some(Usd::from_dollars(0.5))));
}
