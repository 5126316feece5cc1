//! Usage that is told badly: a number that is missing or makes no sense is unknown, and what it costs is unknown then.

use musher_runtime::core::{EventKind, Outcome};

use crate::rig::{ModelRig, Wire};

/// What stands where the usage should, in every way in which a service can get it wrong.
fn odd(wire: Wire) -> Vec<String> {
    let (input, output, cached) = match wire {
        Wire::Responses => ("input_tokens", "output_tokens", "input_tokens_details"),
        Wire::Chat => ("prompt_tokens", "completion_tokens", "prompt_tokens_details"),
        Wire::Messages => ("input_tokens", "output_tokens", "cache_read_input_tokens"),
        Wire::Generate => ("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount"),
    };
    let mut odd: Vec<String> =
        ["null", "{}", "[]", "7", "\"many\""].into_iter().map(str::to_owned).collect();
    for bad in ["null", "-5", "\"many\"", "1.5", "1e30", "18446744073709551615", "[]", "0"] {
        odd.push(format!("{{\"{input}\":{bad},\"{output}\":20}}"));
        odd.push(format!("{{\"{input}\":100,\"{output}\":{bad}}}"));
    }
    odd.push(format!("{{\"{output}\":20}}"));
    odd.push(format!("{{\"{input}\":100}}"));
    // More was read from the cache than was read at all, or less than nothing.
    let more = match wire {
        Wire::Responses | Wire::Chat => ["{\"cached_tokens\":101}", "{\"cached_tokens\":-1}"],
        Wire::Messages => ["1e30", "-1"],
        Wire::Generate => ["101", "-1"],
    };
    for more in more {
        odd.push(format!("{{\"{input}\":100,\"{output}\":20,\"{cached}\":{more}}}"));
    }
    odd
}

async fn unknown_and_never_nothing(wire: Wire) {
    let rig = ModelRig::new(wire).await;
    for usage in odd(wire) {
        for quirk in ["", "quirk=no-stream"] {
            let usage = usage.replace('"', "\\\"");
            let ended = rig.run(&format!("[[scn:text {quirk} usage=\"{usage}\"]] go")).await;
            let case = format!("{wire:?} {usage}:\n{}", ended.text());
            assert_eq!(ended.end.outcome, Outcome::Completed, "{case}");
            assert_eq!(ended.end.cost_usd, None, "{case}");
            let told = ended.events.iter().any(|event| {
                matches!(&event.kind, EventKind::Notice { code, .. }
                    if code.as_deref() == Some("usage_estimated"))
            });
            assert!(told, "{case}");
        }
    }
}

#[tokio::test]
async fn usage_of_responses_that_is_null_missing_negative_or_absurd_is_unknown_and_never_nothing() {
    unknown_and_never_nothing(Wire::Responses).await;
}

#[tokio::test]
async fn usage_of_chat_that_is_null_missing_negative_or_absurd_is_unknown_and_never_nothing() {
    unknown_and_never_nothing(Wire::Chat).await;
}

#[tokio::test]
async fn usage_of_messages_that_is_null_missing_negative_or_absurd_is_unknown_and_never_nothing() {
    unknown_and_never_nothing(Wire::Messages).await;
}

#[tokio::test]
async fn usage_of_generate_that_is_null_missing_negative_or_absurd_is_unknown_and_never_nothing() {
    unknown_and_never_nothing(Wire::Generate).await;
}

#[tokio::test]
async fn a_breakdown_that_is_left_out_is_none() {
    let rows = [
        (
            Wire::Responses,
            "{\"input_tokens\":100,\"output_tokens\":20,\"input_tokens_details\":null}",
        ),
        (
            Wire::Chat,
            "{\"prompt_tokens\":100,\"completion_tokens\":20,\"prompt_tokens_details\":null}",
        ),
        (
            Wire::Messages,
            "{\"input_tokens\":100,\"output_tokens\":20,\"cache_read_input_tokens\":null}",
        ),
        (Wire::Generate, "{\"promptTokenCount\":100,\"candidatesTokenCount\":20}"),
    ];
    for (wire, usage) in rows {
        let rig = ModelRig::new(wire).await;
        let usage = usage.replace('"', "\\\"");
        let ended = rig.run(&format!("[[scn:text usage=\"{usage}\"]] go")).await;
        let counted = (ended.end.usage.input, ended.end.usage.output);
        assert_eq!(counted, (100, 20), "{wire:?}:\n{}", ended.text());
        assert!(ended.end.cost_usd.is_some_and(|cost| cost > Default::default()), "{wire:?}");
    }
}
