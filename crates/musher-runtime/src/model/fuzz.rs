//! What must hold of every wire format, whatever comes over it.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};

use super::Service;
use super::sse::{Frame, Sse};
use super::wire::{CallArguments, CallResult, HistoryEntry, Request, ToolChoice, ToolRequest};
use crate::ModelOptions;
use crate::prices::Prices;
use crate::tools::ToolSpec;

fn runner() -> TestRunner {
    TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(300) })
}

/// The shipped table can be read, and knows the model that is used when none is named.
pub(crate) fn prices_are_sound(service: &Service) {
    let prices = Prices::load(service.prices, None).unwrap();
    let usual = prices.find(service.model).expect("the usual model has a price");
    assert!(usual.window.is_some() && usual.max_output.is_some());
    let tokens = musher_core::Tokens { output: 1_000_000, ..Default::default() };
    assert!(usual.cost(&tokens).is_some());
}

/// Any bytes may come instead of a stream.
pub(crate) fn no_bytes_break_a_reader(service: &Service) {
    let bytes = prop::collection::vec(any::<u8>(), 0..300);
    let lines = prop::collection::vec(
        prop_oneof![Just(b"data: ".to_vec()), Just(b"\n\n".to_vec()), bytes],
        0..20,
    );
    let all = lines.prop_map(|lines| lines.concat());
    let checked = runner().run(&all, |bytes| {
        for (_, make) in service.wires {
            let mut reader = make().reader();
            for frame in Sse::default().push(&bytes) {
                if let Frame::Event { name, data } = frame {
                    reader.event(&name, &data);
                }
            }
            let _whole = reader.finish();
        }
        Ok(())
    });
    checked.unwrap();
}

/// Any JSON may come, with the words of the format in any place.
pub(crate) fn no_frame_breaks_a_reader(service: &Service, words: &'static [&'static str]) {
    let frames = prop::collection::vec(frame(words), 0..12);
    let checked = runner().run(&frames, |frames| {
        for (name, make) in service.wires {
            let mut reader = make().reader();
            for frame in &frames {
                reader.event("", &frame.to_string());
            }
            let _usage = (reader.usage(), reader.model().is_some());
            let (_, answer) = reader.finish();
            // Whatever was understood can be sent back.
            if let Ok(answer) = answer {
                let entry = HistoryEntry::Model {
                    wire: (*name).to_owned(),
                    raw: answer.raw,
                    text: answer.text,
                    calls: answer.calls,
                };
                let entries = [HistoryEntry::said("go"), entry];
                make().write(&request(&entries, &[], &ModelOptions::default()));
            }
        }
        Ok(())
    });
    checked.unwrap();
}

fn frame(words: &'static [&'static str]) -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (0u64..3).prop_map(Json::from),
        select(words).prop_map(Json::from),
        ".{0,8}".prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((select(words), inner), 0..6).prop_map(|fields| {
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

/// A history of any other format is told in this one, with every call before its result.
pub(crate) fn every_history_can_be_told(service: &Service) {
    let names: Vec<&str> = service.wires.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, service.about.wires, "what is told of the service is what it has");
    let call = ToolRequest {
        id: "call_1".into(),
        name: "read_file".into(),
        input: CallArguments::Broken { text: "{".into(), why: "it ends too early".into() },
        minted: true,
    };
    let result = CallResult {
        id: "call_1".into(),
        name: "read_file".into(),
        text: "42".into(),
        failed: true,
        minted: true,
    };
    let entries = [
        HistoryEntry::said("go"),
        HistoryEntry::said("now"),
        HistoryEntry::Model {
            wire: "another".into(),
            raw: vec![json!({ "strange": true })],
            text: "I look.".into(),
            calls: vec![call],
        },
        HistoryEntry::Results { results: vec![result] },
        HistoryEntry::said("and then?"),
    ];
    let options = ModelOptions {
        temperature: Some(0.5),
        effort: Some("high".into()),
        max_output: Some(1000),
        ..ModelOptions::default()
    };
    for (name, make) in service.wires {
        let told = make().write(&request(&entries, &[], &options)).body.to_string();
        assert!(!told.contains("strange"), "{name}: what is raw elsewhere is not sent: {told}");
        let places = ["go", "now", "I look.", "read_file", "42", "and then?"]
            .map(|word| told.find(word).unwrap_or_else(|| panic!("{name}: no `{word}` in {told}")));
        assert!(places.is_sorted(), "{name}: {told}");
    }
}

fn request<'a>(
    entries: &'a [HistoryEntry],
    tools: &'a [ToolSpec],
    options: &'a ModelOptions,
) -> Request<'a> {
    Request {
        session: "session",
        model: "model",
        system: "",
        entries,
        tools,
        choice: ToolChoice::Auto,
        options,
        max_output: None,
    }
}
