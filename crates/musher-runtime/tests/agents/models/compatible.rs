//! What servers that imitate a format do differently, and what they do not take.

use musher_runtime::core::{EventKind, Outcome, ToolPhase};

use super::assert_bill;
use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

async fn chat(prompt: &str) -> (ModelRig, Ended) {
    let rig = ModelRig::new(Wire::Chat).await;
    std::fs::write(rig.place.work.path().join("edit.txt"), "old\n").unwrap();
    let ended = rig.run(prompt).await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{prompt}:\n{}", ended.text());
    (rig, ended)
}

#[tokio::test]
async fn calls_are_made_however_they_are_numbered_named_and_written() {
    for quirk in [
        "no-index",
        "null-index",
        "zero-index",
        "no-id",
        "null-id",
        "empty-id",
        "args-object",
        "args-whole",
        "name-repeated",
        "finish-stop",
        "no-done",
        "no-index,no-id",
        "zero-index,empty-id,args-whole",
        "no-finish",
        "null-index,null-id,args-object,name-repeated,finish-stop,no-done",
    ] {
        let (rig, ended) = chat(&format!("[[scn:edit quirk={quirk}]] go")).await;
        assert_eq!(rig.place.file("edit.txt").as_deref(), Some("new\n"), "{quirk}");
        assert_eq!(ended.tools(ToolPhase::Completed), 2, "{quirk}:\n{}", ended.text());
        assert_bill(Wire::Chat, &ended, rig.server.ledger().total());
    }
}

#[tokio::test]
async fn several_calls_at_once_are_told_apart() {
    for quirk in ["", "no-index", "zero-index", "no-id,args-whole", "zero-index,no-id,args-whole"] {
        let prompt = format!(
            "[[scn:call n=3 tool=list_files args=\"{{\\\"path\\\": \\\".\\\"}}\" quirk={quirk}]] go"
        );
        let (rig, ended) = chat(&prompt).await;
        assert_eq!(ended.tools(ToolPhase::Completed), 3, "{quirk}:\n{}", ended.text());
        assert_eq!(rig.server.ledger().requests(), 2, "{quirk}");
    }
}

#[tokio::test]
async fn no_arguments_are_an_empty_object() {
    for quirk in ["args-empty", "args-missing"] {
        let (_, ended) = chat(&format!("[[scn:call tool=list_files quirk={quirk}]] go")).await;
        assert_eq!(ended.tools(ToolPhase::Completed), 1, "{quirk}:\n{}", ended.text());
    }
}

#[tokio::test]
async fn thoughts_are_found_wherever_they_are_told() {
    for quirk in ["reasoning", "think-tags", ""] {
        let (_, ended) = chat(&format!("[[scn:think quirk={quirk}]] go")).await;
        assert_eq!(ended.response(), "I thought about it.", "{quirk}");
        let said = serde_json::to_string(&ended.events).unwrap();
        assert!(said.contains("reasoning") && said.contains("step by step"), "{quirk}");
    }
}

#[tokio::test]
async fn usage_is_found_wherever_it_is_told() {
    for quirk in ["usage-every", "usage-last", "usage-unasked", "usage-every,no-done"] {
        let (rig, ended) = chat(&format!("[[scn:text quirk={quirk}]] go")).await;
        assert_bill(Wire::Chat, &ended, rig.server.ledger().total());
    }
}

#[tokio::test]
async fn usage_that_nobody_tells_is_estimated_and_its_cost_is_unknown() {
    let (_, ended) = chat("[[scn:text quirk=usage-never]] go").await;
    assert!(ended.end.usage.output > 0 && ended.end.usage.input > 0);
    assert_eq!(ended.end.cost_usd, None);
    let told = |code: &Option<String>| code.as_deref() == Some("usage_estimated");
    let notices = ended
        .events
        .iter()
        .filter(|event| matches!(&event.kind, EventKind::Notice { code, .. } if told(code)));
    assert_eq!(notices.count(), 1);
}

#[tokio::test]
async fn a_server_that_refuses_a_setting_is_asked_once_more_without_it() {
    let prompt = "[[scn:seq n=2 quirk=no-stream-options,usage-unasked]] go";
    let rig = ModelRig::new(Wire::Chat).await;
    let ended = rig.run(prompt).await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let requests = rig.server.requests();
    let asked = requests.iter().filter(|request| request.json()["stream_options"].is_object());
    assert_eq!(asked.count(), 1, "what was learnt is remembered");
    assert_bill(Wire::Chat, &ended, rig.server.ledger().total());
}

#[tokio::test]
async fn a_server_without_a_system_role_is_told_the_same_by_the_user() {
    let (rig, ended) = chat("[[scn:seq n=2 quirk=no-system]] go").await;
    let requests = rig.server.requests();
    let roles = |at: usize| requests[at].json()["messages"][0]["role"].clone();
    assert_eq!([roles(0), roles(1), roles(2)], ["system", "user", "user"], "it is learnt once");
    let first = requests[1].json()["messages"][0]["content"].to_string();
    assert!(first.contains("scn:seq"), "two messages of one user are one: {first}");
    assert_eq!(ended.tools(ToolPhase::Completed), 2, "{}", ended.text());
}

#[tokio::test]
async fn a_model_that_takes_no_tools_is_told_with_what_to_do_about_it() {
    let rig = ModelRig::new(Wire::Chat).await;
    let ended = rig.run("[[scn:text quirk=no-tools]] go").await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    let error = ended.end.error.as_ref().unwrap();
    assert!(error.message.contains("does not support tools"), "{error:?}");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("can call tools")), "{error:?}");
    assert_eq!(rig.server.ledger().requests(), 1);
}

#[tokio::test]
async fn an_error_inside_a_success_is_an_error() {
    let rig = ModelRig::new(Wire::Chat).await;
    let ended = rig.run("[[scn:nomodel quirk=error-200]] go").await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
}

#[tokio::test]
async fn an_event_that_is_named_an_error_is_one_whatever_follows_it() {
    let chunk = r#"data: {\"choices\":[{\"delta\":{\"content\":\"Hm\"}}]}"#;
    for error in ["it broke", r#"{\"message\":\"it broke\"}"#] {
        let body = format!(r"{chunk}\n\nevent: error\ndata: {error}\n\ndata: [DONE]\n\n");
        let prompt = format!("[[scn:body n=0 as=text/event-stream say=\"{body}\"]] go");
        let rig = ModelRig::new(Wire::Chat).await;
        let ended = rig.run(&prompt).await;
        assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
        let told = &ended.end.error.as_ref().unwrap().message;
        assert_eq!(told, "it broke", "{}", ended.text());
        assert_eq!(ended.end.cost_usd, None, "it had begun:\n{}", ended.text());
    }
}

#[tokio::test]
async fn a_later_reason_does_not_make_a_bad_end_good() {
    let chunk = |reason: &str| {
        format!(
            r#"data: {{\"choices\":[{{\"delta\":{{\"content\":\"Hm\"}},\"finish_reason\":\"{reason}\"}}]}}\n\n"#
        )
    };
    let body =
        [&chunk("content_filter"), &chunk("stop"), r"data: [DONE]\n\n"].map(|s: &str| s.to_owned());
    let prompt = format!("[[scn:body n=0 as=text/event-stream say=\"{}\"]] go", body.concat());
    let rig = ModelRig::new(Wire::Chat).await;
    let ended = rig.run(&prompt).await;
    let error = ended.end.error.as_ref().map(|error| error.message.as_str());
    assert_eq!(error, Some("the model declined to answer (content_filter)"), "{}", ended.text());
}

#[tokio::test]
async fn a_server_of_ones_own_needs_no_key() {
    let rig = ModelRig::new(Wire::Chat).await;
    let mut spec = rig.free("[[scn:text quirk=keyless]] go");
    spec.environment = rig.place.environment().set("OPENAI_BASE_URL", rig.server.openai_url());
    let ended = rig.begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
}
