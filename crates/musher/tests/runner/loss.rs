//! A runner that dies: what it wrote is kept, what it started is found, and the run gets its end.

use musher_core::{ClosedBy, ErrorClass, ErrorInfo, EventKind, Outcome, TurnOutcome};
use musher_log::{Lock, Lost, close_lost};
use musher_testkit::proc;
use rustix::process::{Pid, Signal, kill_process};

use crate::rig::Rig;

fn lost() -> Lost {
    let reason = ErrorInfo::new(ErrorClass::Internal, "the runner died");
    Lost { reason, now_ms: 5, lineage: Default::default(), asks_a_model: false }
}

#[tokio::test]
async fn promise_2_what_a_killed_runner_started_is_found_and_its_log_gets_an_end() {
    let rig = Rig::script(
        "[[step]]\nusage = { input = 7, output = 1, cost_usd = 0.25 }\n[[step]]\nsay = 'Hi.'\n[[step]]\nrun = 'setsid sleep 300 & (setsid sleep 300 &); sleep 300'",
    );
    rig.launch();
    let tool = |event: &musher_core::Event| matches!(event.kind, EventKind::Tool(_));
    rig.until(tool).await;
    while proc::marked(&rig.mark()).len() < 4 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let before = rig.events();
    let pid = i32::try_from(rig.link().await.pid).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    rig.until_free().await;
    let left = proc::marked(&rig.mark());
    assert!(!left.is_empty(), "without the sweep something is left, or the test proves nothing");
    let group = musher_runtime::control_group(&rig.spec.mark);
    assert_eq!(musher_runtime::sweep(&rig.spec.mark, group.as_deref()), Vec::<i32>::new());
    assert_eq!(proc::marked(&rig.mark()), Vec::<i32>::new());

    let end = close_lost(Lock::take(&rig.run()).unwrap(), lost()).unwrap();
    assert_eq!((end.outcome, end.usage.input), (Outcome::Lost, 7));
    assert_eq!(rig.outcome().unwrap(), end);
    let after = rig.events();
    assert_eq!(after[..before.len()], before, "nothing that was read is changed");
    let numbers: Vec<u64> = after.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=after.len() as u64).collect::<Vec<_>>());
    let turn = after.iter().find_map(|event| match &event.kind {
        EventKind::TurnEnded(turn) => Some(turn.outcome),
        _ => None,
    });
    assert_eq!(turn, Some(TurnOutcome::Lost));
}

#[tokio::test]
async fn an_ask_that_was_open_when_the_runner_died_is_closed() {
    let rig = Rig::script("[[step]]\nrun = 'true'\nask_first = true");
    rig.launch();
    rig.until(|event| matches!(event.kind, EventKind::AskOpened { .. })).await;
    let pid = i32::try_from(rig.link().await.pid).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    rig.until_free().await;
    close_lost(Lock::take(&rig.run()).unwrap(), lost()).unwrap();
    let closed = rig.events().into_iter().find_map(|event| match event.kind {
        EventKind::AskClosed { by, .. } => Some(by),
        _ => None,
    });
    assert_eq!(closed, Some(ClosedBy::ProcessEnd));
}
