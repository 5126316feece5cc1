//! The bill of calls that a result tells of, and of those that no result does.

use musher_core::{Ledger, Spend, Usd};

use super::*;

/// What one session says, and its books.
#[derive(Default)]
struct Talk {
    translator: Translator,
    ledger: Ledger,
}

impl Talk {
    fn say(&mut self, frame: Json) {
        let step = one(&mut self.translator, frame);
        for event in events(&[step]) {
            if let EventKind::Usage(report) = event {
                self.ledger.enter(report);
            }
        }
    }

    fn asks(&mut self) {
        self.say(json!({"type":"system","subtype":"status","status":"requesting"}));
    }

    #[expect(clippy::needless_pass_by_value, reason = "frames are written where they are fed")]
    fn streams(&mut self, event: Json) {
        self.say(json!({"type":"stream_event","event":event,"parent_tool_use_id":null}));
    }

    fn begins(&mut self, message: &str) {
        let message = json!({"id":message,"model":"claude-opus-5-5","usage":usage(1)});
        self.streams(json!({"type":"message_start","message":message}));
    }

    fn ends(&mut self) {
        self.streams(json!({
            "type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}
        }));
    }

    /// One whole call of the agent itself.
    fn calls(&mut self, message: &str) {
        self.asks();
        self.begins(message);
        self.ends();
    }

    /// The end of a turn that tells so many calls, of which so many are new.
    fn result(&mut self, reason: &str, new: u64, all: u64) {
        self.say(result(reason, &billed(new), &billed(all)));
    }

    /// Ends the session and tells its bill: input, output, cost.
    fn bill(mut self) -> (u64, u64, Option<Usd>, bool) {
        for report in self.ledger.left() {
            self.ledger.enter(&report);
        }
        let Spend { tokens, cost_usd, estimated, .. } = self.ledger.spent();
        (tokens.context(), tokens.output, cost_usd, estimated)
    }
}

fn usage(output: u64) -> Json {
    json!({
        "input_tokens":100,"cache_read_input_tokens":1000,"cache_creation_input_tokens":50,
        "cache_creation":{"ephemeral_5m_input_tokens":50,"ephemeral_1h_input_tokens":0},
        "output_tokens":output
    })
}

/// What calls of 20 tokens each are billed at.
fn billed(calls: u64) -> Json {
    if calls == 0 {
        return json!({});
    }
    json!({"claude-opus-5-5":{
        "inputTokens":100*calls,"cacheReadInputTokens":1000*calls,"outputTokens":20*calls,
        "cacheCreationInputTokens":50*calls,"cacheCreationEphemeral5mInputTokens":50*calls,
        "costUSD":0.00125*calls as f64
    }})
}

fn result(reason: &str, since: &Json, total: &Json) -> Json {
    json!({
        "type":"result","is_error":reason != "completed","terminal_reason":reason,"uuid":"r",
        "modelUsage":total,"model_usage_since_last_result":since
    })
}

fn calls(count: f64) -> Option<Usd> {
    Some(Usd::from_dollars(0.00125 * count))
}

#[test]
fn promise_20_calls_of_a_turn_that_never_ended_are_billed_as_they_were_told() {
    let mut talk = Talk::default();
    talk.calls("m1");
    talk.calls("m2");
    talk.asks();
    talk.begins("m3");
    let (input, output, cost, estimated) = talk.bill();
    assert_eq!((input, output, estimated), (3 * 1150, 41, true));
    let least = calls(2.0).map(|two| two.plus(Usd::from_dollars(0.00087)));
    assert_eq!(cost, least, "at the published prices");
}

#[test]
fn promise_20_a_request_without_an_answer_is_unknown() {
    let mut talk = Talk::default();
    talk.calls("m1");
    talk.asks();
    let (input, output, cost, _) = talk.bill();
    assert_eq!((input, output, cost), (1150, 20, None));
}

#[test]
fn promise_20_a_result_replaces_what_was_told_and_a_second_one_like_it_adds_nothing() {
    let mut talk = Talk::default();
    talk.calls("m1");
    talk.calls("m2");
    talk.result("completed", 2, 2);
    talk.result("completed", 2, 2);
    assert_eq!(talk.bill(), (2 * 1150, 40, calls(2.0), false));
}

#[test]
fn promise_20_an_interrupted_call_is_in_no_result_and_is_billed_all_the_same() {
    let mut talk = Talk::default();
    talk.calls("m1");
    talk.asks();
    talk.begins("m2");
    talk.result("aborted_streaming", 1, 1);
    talk.calls("m3");
    talk.result("completed", 1, 2);
    let (input, output, _, estimated) = talk.bill();
    assert_eq!((input, output, estimated), (3 * 1150, 41, true));
    let mut silent = Talk::default();
    silent.asks();
    silent.result("aborted_streaming", 0, 0);
    assert_eq!(silent.bill(), (0, 0, None, false), "interrupted before it answered");
}

#[test]
fn promise_20_a_call_that_broke_off_is_billed_once_whether_the_result_holds_it_or_not() {
    for held in [true, false] {
        let mut talk = Talk::default();
        talk.asks();
        talk.begins("m1");
        talk.streams(json!({"type":"message_stop"}));
        let attempt = json!({"type":"system","subtype":"api_retry","attempt":1,"error":"unknown"});
        talk.say(attempt);
        talk.begins("m2");
        talk.ends();
        let mut told = billed(1);
        if held {
            let model = &mut told["claude-opus-5-5"];
            for (key, value) in [
                ("inputTokens", 200),
                ("cacheReadInputTokens", 2000),
                ("cacheCreationInputTokens", 100),
                ("cacheCreationEphemeral5mInputTokens", 100),
                ("outputTokens", 21),
            ] {
                model[key] = value.into();
            }
        }
        talk.say(result("completed", &told, &told));
        let (input, output, _, estimated) = talk.bill();
        assert_eq!((input, output, estimated), (2 * 1150, 21, !held), "held {held}");
    }
}

#[test]
fn promise_20_a_refused_request_is_free() {
    let mut talk = Talk::default();
    talk.asks();
    talk.say(json!({"type":"system","subtype":"api_retry","attempt":1,"error_status":500}));
    talk.result("api_error", 0, 0);
    assert_eq!(talk.bill(), (0, 0, Some(Usd::default()), false));
}

#[test]
fn promise_20_a_helper_that_was_still_at_work_is_billed_as_far_as_it_was_heard_and_is_unknown() {
    let started = json!({
        "type":"system","subtype":"task_started","task_id":"a1","task_type":"local_agent",
        "is_backgrounded":true
    });
    let spoke = |message: &str| {
        json!({
            "type":"assistant","agent_id":"a1","parent_tool_use_id":"t1",
            "message":{"id":message,"model":"claude-opus-5-5","content":[],"usage":usage(1)}
        })
    };
    let mut talk = Talk::default();
    talk.calls("m1");
    talk.say(started);
    talk.say(spoke("h1"));
    talk.result("completed", 1, 1);
    talk.say(spoke("h2"));
    talk.say(spoke("h2"));
    let (input, output, cost, estimated) = talk.bill();
    assert_eq!((input, output), (3 * 1150, 22), "each of its calls once");
    assert_eq!((cost, estimated), (None, true), "it may be asking for more");
}

#[test]
fn promise_20_a_helper_that_is_done_is_in_the_next_result() {
    let task = |subtype: &str, status: Option<&str>| {
        json!({
            "type":"system","subtype":subtype,"task_id":"a1","task_type":"local_agent",
            "is_backgrounded":true,"status":status
        })
    };
    let mut talk = Talk::default();
    talk.calls("m1");
    talk.say(task("task_started", None));
    talk.say(json!({
        "type":"assistant","agent_id":"a1","parent_tool_use_id":"t1",
        "message":{"id":"h1","model":"claude-opus-5-5","content":[],"usage":usage(1)}
    }));
    talk.say(task("task_notification", Some("completed")));
    talk.result("completed", 2, 2);
    assert_eq!(talk.bill(), (2 * 1150, 40, calls(2.0), false));
}

#[test]
fn promise_20_nulls_and_unreal_figures_in_a_bill_are_unknown_and_never_nothing() {
    for cost in [json!(null), json!(-1.0), json!("0")] {
        let mut told = billed(1);
        told["claude-opus-5-5"]["costUSD"] = cost.clone();
        let mut talk = Talk::default();
        talk.say(result("completed", &told, &told));
        assert_eq!(talk.bill(), (1150, 20, None, false), "{cost}");
    }
    let mut told = billed(1);
    told["claude-opus-5-5"]["inputTokens"] = json!(null);
    let mut talk = Talk::default();
    talk.say(result("completed", &told, &told));
    assert_eq!(talk.bill(), (1050, 20, calls(1.0), true), "tokens that nobody told are missing");
    let mut talk = Talk::default();
    talk.calls("m1");
    talk.say(result("completed", &json!(null), &json!(null)));
    assert_eq!(talk.bill(), (1150, 20, calls(1.0), true), "a bill that is none replaces nothing");
}
