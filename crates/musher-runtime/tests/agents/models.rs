//! Our own loop against a scripted model: every scenario in every wire format.

mod attachments;
mod bad_input;
mod compatible;
mod endings;
mod failures;
mod kept;
mod many;
mod money;
mod no_stream;
mod room;
mod served;
mod sessions;
mod settings;
mod talk;
mod tools;
mod trust;
mod usage;

use musher_runtime::core::{EventKind, Tokens};
use musher_testkit::model::Usage;

use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

/// Runs a prompt in every wire format, each against a server of its own.
async fn everywhere(prompt: &str, check: impl Fn(Wire, &Ended, &ModelRig)) {
    let one = async |wire| {
        let rig = ModelRig::new(wire).await;
        let ended = rig.run(prompt).await;
        check(wire, &ended, &rig);
    };
    let [a, b, c, d] = Wire::ALL;
    tokio::join!(one(a), one(b), one(c), one(d));
}

fn retries(ended: &Ended) -> usize {
    ended.events.iter().filter(|e| matches!(e.kind, EventKind::Retry { .. })).count()
}

/// What the session counted, in the kinds of the server's books.
fn counted(ended: &Ended) -> Usage {
    let Tokens {
        input, cache_read, cache_write_5m, cache_write_1h, cache_write_other, output, ..
    } = ended.end.usage;
    Usage {
        input,
        cache_read,
        cache_write_5m: cache_write_5m + cache_write_other,
        cache_write_1h,
        output,
    }
}

/// What the session counted is what the server told, to the token.
fn assert_bill(wire: Wire, ended: &Ended, told: Usage) {
    assert_eq!(counted(ended), told, "{wire:?}:\n{}", ended.text());
    assert!(ended.end.cost_usd.is_some(), "{wire:?}: the price is known");
}

/// All that the server told is counted, and a bill that is below the server's books says that it is not all.
fn assert_books(ended: &Ended, rig: &ModelRig, case: &str) {
    let (told, charged) = (rig.server.ledger().told(), rig.server.ledger().charged());
    let counted = counted(ended);
    let case = format!(
        "{case}: told {told:?}, charged {charged:?}, counted {counted:?}:\n{}",
        ended.text()
    );
    assert_eq!(Usage { output: 0, ..counted }, Usage { output: 0, ..told }, "{case}");
    assert!(counted.output >= told.output && counted.output <= charged.output, "{case}");
    let known = ended.end.cost_usd.is_some() && !ended.end.estimated;
    assert!(!known || counted == charged, "a bill that is too small was told as known: {case}");
    if told == Usage::default() && charged != told {
        assert_eq!(ended.end.cost_usd, None, "{case}");
    }
}
