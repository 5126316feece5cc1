//! A model that was not asked for: it is billed under its own name and at its own price, and the person is told.

use musher_runtime::core::{EventKind, Level, Outcome, Usd};

use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

/// A table with two models, so that every format has the same names.
const TABLE: &str = "[[model]]\nname = 'asked'\ninput = 1.0\noutput = 1.0\n\
[[model]]\nname = 'served'\ninput = 10.0\noutput = 10.0\n\
[[model]]\nname = 'asked-2024-01-31'\ninput = 100.0\noutput = 100.0\n";

async fn run(wire: Wire, marker: &str) -> Ended {
    let rig = ModelRig::new(wire).await;
    let table = rig.place.home.path().join("prices.toml");
    std::fs::write(&table, TABLE).unwrap();
    let usage = "in=1000 cr=0 cw=0 out=1000";
    let mut spec = rig.free(&format!("[[scn:seq n=1 {usage} {marker}]] go"));
    spec.model = Some("asked".into());
    spec.model_options.prices = Some(table);
    let ended = rig.begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?} {marker}:\n{}", ended.text());
    ended
}

fn notices(ended: &Ended) -> Vec<String> {
    let told = |kind: &EventKind| match kind {
        EventKind::Notice { code, text, level: Level::Warning }
            if code.as_deref() == Some("another_model") =>
        {
            Some(text.clone())
        }
        _ => None,
    };
    ended.events.iter().filter_map(|event| told(&event.kind)).collect()
}

fn bill(ended: &Ended) -> Vec<(&str, Option<Usd>)> {
    ended.end.models.iter().map(|(name, spend)| (name.as_str(), spend.cost_usd)).collect()
}

#[tokio::test]
async fn another_model_is_billed_as_itself_and_told_once() {
    for wire in Wire::ALL {
        let ended = run(wire, "served=served").await;
        assert_eq!(bill(&ended), [("served", Some(Usd::from_dollars(0.04)))], "{wire:?}");
        let told = notices(&ended);
        assert_eq!(told.len(), 1, "{wire:?}: {told:?}");
        assert!(told[0].contains("`asked`") && told[0].contains("`served`"), "{wire:?}: {told:?}");
    }
}

#[tokio::test]
async fn another_model_whose_price_nobody_knows_has_no_known_cost() {
    for wire in Wire::ALL {
        let ended = run(wire, "served=nobody-knows-it").await;
        assert_eq!(bill(&ended), [("nobody-knows-it", None)], "{wire:?}");
        assert_eq!(ended.end.cost_usd, None, "{wire:?}");
        assert_eq!(notices(&ended).len(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn a_dated_name_is_the_same_model_unless_the_table_knows_it_by_itself() {
    for wire in Wire::ALL {
        let ended = run(wire, "served=asked-2026-11-01").await;
        let cost = Some(Usd::from_dollars(0.004));
        assert_eq!(bill(&ended), [("asked-2026-11-01", cost)], "{wire:?}");
        assert_eq!(notices(&ended), [""; 0], "{wire:?}");
        let ended = run(wire, "served=asked-2024-01-31").await;
        let cost = Some(Usd::from_dollars(0.4));
        assert_eq!(bill(&ended), [("asked-2024-01-31", cost)], "{wire:?}");
    }
}
