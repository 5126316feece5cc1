//! Our own loop against a scripted model: every scenario in every wire format.

mod bad_input;
mod compatible;
mod failures;
mod kept;
mod many;
mod room;
mod sessions;
mod settings;
mod talk;
mod tools;
mod trust;

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

/// What the session counted is what the server told, to the token.
fn assert_bill(wire: Wire, ended: &Ended, told: Usage) {
    let Tokens {
        input, cache_read, cache_write_5m, cache_write_1h, cache_write_other, output, ..
    } = ended.end.usage;
    let counted = Usage {
        input,
        cache_read,
        cache_write_5m: cache_write_5m + cache_write_other,
        cache_write_1h,
        output,
    };
    assert_eq!(counted, told, "{wire:?}:\n{}", ended.text());
    assert!(ended.end.cost_usd.is_some(), "{wire:?}: the price is known");
}
