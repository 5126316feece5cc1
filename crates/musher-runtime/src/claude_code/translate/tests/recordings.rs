//! Every recording: a snapshot of what it means, and invariants that no snapshot can hide.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use musher_core::{CallId, Ledger, Lineage, ToolPhase, Usd};
use proptest::prelude::*;

use super::*;
use crate::claude_code::recording;
use crate::conversation::feeding::{assert_none_is_lost, frames, recorded};

/// Frames of the recordings that have no words here, on purpose.
const NATIVE: &[&str] = &["system/ui_invalidate"];

fn recordings() -> Vec<(String, Vec<u8>)> {
    let read = |(name, path)| (name, std::fs::read::<PathBuf>(path).unwrap());
    let found: Vec<(String, Vec<u8>)> = recorded("claude").into_iter().map(read).collect();
    assert!(found.len() > 50);
    found
}

#[test]
fn a_recording_is_read_alike_however_it_is_cut() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/claude/text.jsonl");
    let bytes = std::fs::read(path).unwrap();
    let read = |piece: usize| {
        let (mut recording, mut said) = (recording(), Vec::new());
        bytes.chunks(piece).for_each(|piece| recording.read(piece, &mut said));
        said
    };
    let whole = read(bytes.len());
    assert!(whole.iter().any(|kind| matches!(kind, EventKind::TurnEnded(_))), "{whole:?}");
    assert_eq!(read(7), whole);
}

#[test]
fn every_recording_means_what_it_meant() {
    for (name, bytes) in recordings() {
        let steps = feed(&mut Translator::default(), &bytes);
        let text: Vec<String> = signals(&steps).map(show).collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, text.join("\n"));
        });
    }
}

#[test]
fn no_frame_of_a_recording_is_lost() {
    for (name, bytes) in recordings() {
        let steps = feed(&mut Translator::default(), &bytes);
        assert_eq!(steps.len(), frames(&bytes).len(), "{name}");
        assert_none_is_lost(&name, &steps, NATIVE);
    }
}

#[test]
fn each_turn_of_a_recording_starts_once_and_ends_once() {
    for (name, bytes) in recordings() {
        let mut translator = Translator::default();
        let steps = feed(&mut translator, &bytes);
        let mut open = false;
        let mut ends = 0;
        for event in events(&steps) {
            match event {
                EventKind::TurnStarted { .. } => {
                    assert!(!open, "{name}: a turn started inside a turn");
                    open = true;
                }
                EventKind::TurnEnded(_) => {
                    open = false;
                    ends += 1;
                }
                _ => {}
            }
        }
        let results = frames(&bytes).iter().filter(|frame| frame["type"] == "result").count();
        let unknown =
            usize::from(translator.failure.as_ref().is_some_and(|failure| failure.unknown_session));
        assert_eq!(ends + unknown, results, "{name}: one end for each result");
    }
}

#[test]
fn each_result_of_a_tool_belongs_to_a_call_that_was_proposed() {
    for (name, bytes) in recordings() {
        let steps = feed(&mut Translator::default(), &bytes);
        let mut proposed: HashSet<CallId> = HashSet::new();
        for event in events(&steps) {
            if let EventKind::Tool(update) = event {
                match update.phase {
                    ToolPhase::Proposed => {
                        assert!(proposed.insert(update.call.clone()), "{name}: proposed twice");
                    }
                    _ => {
                        assert!(proposed.contains(&update.call), "{name}: a result without a call");
                    }
                }
            }
        }
        let asked = signals(&steps).filter(|s| matches!(s, Signal::AskOpened { .. })).count();
        let wanted = frames(&bytes).iter().filter(|f| f["type"] == "control_request").count();
        assert_eq!(asked, wanted, "{name}: every request of the agent is an ask");
    }
}

/// The truth, worked out apart from the translator: the last running totals less what was there before the run.
fn spent_by_model(frames: &[Json]) -> BTreeMap<String, (u64, u64, f64)> {
    let results: Vec<&Json> = frames.iter().filter(|frame| frame["type"] == "result").collect();
    let read = |usage: &Json| {
        let number = |key: &str| usage[key].as_u64().unwrap_or(0);
        let input = number("inputTokens")
            + number("cacheReadInputTokens")
            + number("cacheCreationInputTokens");
        (input, number("outputTokens"), usage["costUSD"].as_f64().unwrap_or(0.0))
    };
    let of = |frame: &Json, key: &str, model: &str| read(&frame[key][model]);
    let (Some(first), Some(last)) = (results.first(), results.last()) else {
        return BTreeMap::new();
    };
    let models = last["modelUsage"].as_object().cloned().unwrap_or_default();
    models
        .keys()
        .map(|model| {
            let before = of(first, "modelUsage", model);
            // A program that does not tell increments was started fresh here.
            let told = first.get("model_usage_since_last_result").is_some();
            let began =
                if told { of(first, "model_usage_since_last_result", model) } else { before };
            let end = of(last, "modelUsage", model);
            let baseline = (before.0 - began.0, before.1 - began.1, before.2 - began.2);
            (model.clone(), (end.0 - baseline.0, end.1 - baseline.1, end.2 - baseline.2))
        })
        .filter(|(_, spent)| spent.0 + spent.1 > 0)
        .collect()
}

#[test]
fn promise_11_usage_and_cost_of_every_recording_are_exact() {
    for (name, bytes) in recordings() {
        let steps = feed(&mut Translator::default(), &bytes);
        let mut ledger = Ledger::default();
        for event in events(&steps) {
            if let EventKind::Usage(report) = event
                // A call that was cut is in no bill of the program.
                && !report.cut
            {
                ledger.enter(report);
            }
        }
        let ours: BTreeMap<String, (u64, u64, Usd)> = ledger
            .by_model()
            .iter()
            .map(|(model, spend)| {
                let cost = spend.cost_usd.unwrap_or_default();
                (model.clone(), (spend.tokens.context(), spend.tokens.output, cost))
            })
            .collect();
        let truth: BTreeMap<String, (u64, u64, Usd)> = spent_by_model(&frames(&bytes))
            .into_iter()
            .map(|(model, (input, output, cost))| (model, (input, output, Usd::from_dollars(cost))))
            .collect();
        assert_eq!(ours, truth, "{name}");
    }
}

/// Recordings that do not show all the server said: an answer without content, and a run that prints its end alone.
const SERVER_UNSEEN: &[&str] = &["empty", "text_json"];

/// What the scripted server itself said of each call that was answered to its end: input, and output where it was
/// streamed. It is told in other frames than the bill.
fn said_by_the_server(frames: &[Json]) -> BTreeMap<String, (u64, Option<u64>)> {
    let context = |usage: &Json| {
        ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
            .iter()
            .map(|key| usage[key].as_u64().unwrap_or(0))
            .sum::<u64>()
    };
    let mut calls = BTreeMap::new();
    let mut streaming: BTreeMap<String, String> = BTreeMap::new();
    for frame in frames {
        let id = |message: &Json| message["id"].as_str().unwrap_or_default().to_owned();
        let owner = frame["parent_tool_use_id"].to_string();
        let (message, event) = (&frame["message"], &frame["event"]);
        match (frame["type"].as_str(), event["type"].as_str()) {
            (Some("assistant"), _) if message["model"] != "<synthetic>" => {
                calls.entry(id(message)).or_insert((context(&message["usage"]), None));
            }
            (_, Some("message_start")) => {
                let message = &event["message"];
                streaming.insert(owner, id(message));
                calls.insert(id(message), (context(&message["usage"]), None));
            }
            (_, Some("message_delta")) => {
                if let Some(call) = streaming.get(&owner).and_then(|id| calls.get_mut(id)) {
                    call.1 = event["usage"]["output_tokens"].as_u64();
                }
            }
            _ => {}
        }
    }
    calls
}

#[test]
fn promise_11_tokens_of_every_recording_equal_what_its_server_said() {
    let mut with_output = 0;
    for (name, bytes) in recordings() {
        let frames = frames(&bytes);
        let billed = frames.iter().any(|frame| frame["type"] == "result");
        if !billed || SERVER_UNSEEN.contains(&name.as_str()) {
            continue;
        }
        let mut ledger = Ledger::default();
        for event in events(&feed(&mut Translator::default(), &bytes)) {
            if let EventKind::Usage(report) = event {
                ledger.enter(report);
            }
        }
        let calls = said_by_the_server(&frames);
        let input: u64 = calls.values().map(|(input, _)| input).sum();
        assert_eq!(ledger.spent().tokens.context(), input, "{name}");
        let output: Option<u64> = calls.values().map(|(_, output)| *output).sum();
        if let Some(output) = output.filter(|_| !calls.is_empty()) {
            // The output of a call that was cut is at least what its server had said.
            let spent = ledger.spent();
            match spent.estimated {
                true => assert!(spent.tokens.output >= output, "{name}"),
                false => assert_eq!(spent.tokens.output, output, "{name}"),
            }
            with_output += 1;
        }
    }
    assert!(with_output >= 5, "only {with_output} recordings tell of output");
}

#[test]
fn promise_20_a_recording_that_breaks_off_anywhere_is_never_billed_below_what_was_told_until_then()
{
    for (name, bytes) in recordings().into_iter().filter(|(name, _)| name != "text_json") {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        for until in 0..lines.len() {
            let bytes = lines[..until].concat();
            let mut ledger = Ledger::default();
            for event in events(&feed(&mut Translator::default(), &bytes)) {
                if let EventKind::Usage(report) = event {
                    ledger.enter(report);
                }
            }
            for report in ledger.left() {
                ledger.enter(&report);
            }
            let told: u64 = said_by_the_server(&frames(&bytes)).values().map(|call| call.0).sum();
            let billed = ledger.spent().tokens.context();
            assert!(billed >= told, "{name} after {until} frames: {billed} of {told}");
        }
    }
}

#[test]
fn running_totals_alone_give_the_same_bill_when_the_parent_is_known() {
    for (name, bytes) in recordings() {
        let with = feed(&mut Translator::default(), &bytes);
        let mut stripped = Vec::new();
        let mut parent = BTreeMap::new();
        for (index, mut frame) in frames(&bytes).into_iter().enumerate() {
            if frame["type"] == "result" && parent.is_empty() && index > 0 {
                parent = baseline(&frame);
            }
            if let Some(fields) = frame.as_object_mut() {
                fields.remove("model_usage_since_last_result");
            }
            stripped.extend(frame.to_string().into_bytes());
            stripped.push(b'\n');
        }
        let without = feed(&mut Translator::default(), &stripped);
        let bill = |steps: &[Translation], mut ledger: Ledger| {
            for event in events(steps) {
                if let EventKind::Usage(report) = event {
                    ledger.enter(report);
                }
            }
            let spent = ledger.spent();
            (spent.tokens.total(), spent.cost_usd.unwrap_or_default())
        };
        assert_eq!(
            bill(&with, Ledger::default()),
            bill(&without, Ledger::resuming(Lineage { totals: parent, ..Lineage::default() })),
            "{name}"
        );
    }
}

/// What a resumed session had spent before its first result.
fn baseline(result: &Json) -> BTreeMap<String, musher_core::Spend> {
    let reports = |key: &str| {
        let mut frame = result.clone();
        if key == "modelUsage" {
            frame.as_object_mut().unwrap().remove("model_usage_since_last_result");
        }
        let mut ledger = Ledger::default();
        for event in events(&[one(&mut Translator::default(), frame)]) {
            if let EventKind::Usage(report) = event {
                ledger.enter(report);
            }
        }
        ledger.by_model().clone()
    };
    let totals = reports("modelUsage");
    let increments = reports("since");
    totals
        .into_iter()
        .map(|(model, total)| {
            let began = increments.get(&model).copied().unwrap_or_default();
            let cost = total.cost_usd.unwrap_or_default().minus(began.cost_usd.unwrap_or_default());
            let tokens = total.tokens.minus(began.tokens);
            (model, musher_core::Spend::costing(tokens, Some(cost)))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_split_anywhere_never_panic_and_no_line_is_lost(
        bytes in proptest::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'{')], 0..600),
    ) {
        let lines = bytes
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty())
            .count();
        let steps = feed(&mut Translator::default(), &bytes);
        prop_assert_eq!(steps.len(), lines);
        prop_assert!(steps.iter().all(|step| !step.signals.is_empty()));
    }

    #[test]
    fn a_recording_with_a_few_bytes_changed_never_panics_and_loses_no_line(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut all = recordings();
        let (_, mut bytes) = all.swap_remove(which.index(all.len()));
        if !bytes.is_empty() {
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let steps = feed_split(&mut Translator::default(), &bytes, &cuts);
        prop_assert!(steps.iter().all(|step| !step.signals.is_empty()));
        let whole = feed(&mut Translator::default(), &bytes);
        let shown = |steps: &[Translation]| signals(steps).map(show).collect::<Vec<_>>();
        prop_assert_eq!(shown(&steps), shown(&whole), "where it is split makes no difference");
    }
}
