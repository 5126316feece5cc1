//! Words in a run's log, looked for on the server.

use musher_core::{ErrorClass, ErrorInfo, EventKind, ItemBody, ToolOutput, ToolPhase, ToolUpdate};
use serde_json::{Value as Json, json};

use crate::rig::Rig;

fn text(text: &str) -> EventKind {
    let body = ItemBody::Text { text: text.into() };
    EventKind::ItemDone { item: "i".into(), body, aborted: false }
}

fn call(id: &str, name: Option<&str>, phase: ToolPhase, output: &str) -> EventKind {
    let output = ToolOutput { text: output.into(), ..ToolOutput::default() };
    let (name, output) = (name.map(str::to_owned), Some(output));
    EventKind::Tool(Box::new(ToolUpdate { name, output, ..ToolUpdate::phase(id.into(), phase) }))
}

fn numbers(reply: &Json) -> Vec<u64> {
    let matches = reply["matches"].as_array().unwrap();
    matches.iter().map(|found| found["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn words_are_found_whatever_their_case_and_told_with_what_is_around_them() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(5);
    let seq = log.append(text("First line.\nThe Needle is \"here\"."));
    log.notices(5);
    let path = |query: &str| format!("/api/v1/runs/{run}/search?{query}");
    let found = rig.get(&path("q=nEEDLE%20is%20%22h")).await.json();
    assert_eq!(
        found,
        json!({
            "matches": [{
                "seq": seq, "at": 1000, "type": "item_done", "turn": null,
                "excerpt": "First line. The Needle is \"here\".",
            }],
            "next": null,
            "scanned": 11,
        })
    );
    assert_eq!(numbers(&rig.get(&path("q=item_done")).await.json()), Vec::<u64>::new());
    let by_kind = rig.get(&path("q=e&kinds=item_done")).await.json();
    assert_eq!(numbers(&by_kind), [seq]);
}

#[tokio::test]
async fn what_failed_and_the_calls_of_one_tool_can_be_found() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.append(call("c1", Some("Bash"), ToolPhase::Proposed, "make"));
    log.append(call("c2", Some("Edit"), ToolPhase::Proposed, "make"));
    log.append(call("c1", None, ToolPhase::Failed, "make failed"));
    log.append(call("c2", None, ToolPhase::Completed, "make fine"));
    let error = ErrorInfo::new(ErrorClass::Unknown, "make broke");
    log.append(EventKind::Error { error });
    let found = async |query: &str| {
        numbers(&rig.get(&format!("/api/v1/runs/{run}/search?{query}")).await.json())
    };
    assert_eq!(found("q=make&tool=bash").await, [1, 3]);
    assert_eq!(found("errors=1").await, [3, 5]);
    assert_eq!(found("errors=1&tool=Bash").await, [3]);
    assert_eq!(found("q=broke&errors=1").await, [5]);
    assert_eq!(found("").await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_search_goes_on_where_it_stopped() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    for n in 0..120 {
        log.append(text(&format!("{} {n}", if n % 3 == 0 { "yes" } else { "no" })));
    }
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let path = format!("/api/v1/runs/{run}/search?q=yes&limit=7&after={after}");
        let found = rig.get(&path).await.json();
        seen.extend(numbers(&found));
        match found["next"].as_u64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(seen, (0..40).map(|n| n * 3 + 1).collect::<Vec<u64>>());
    let none = rig.get(&format!("/api/v1/runs/{run}/search?q=yes&after=99999")).await.json();
    assert_eq!((numbers(&none).len(), &none["next"]), (0, &json!(null)));
    let other = rig.live().await;
    let empty = rig.get(&format!("/api/v1/runs/{other}/search?q=yes")).await.json();
    assert_eq!(empty, json!({"matches": [], "next": null, "scanned": 0}));
    let long = "x".repeat(2_000);
    rig.get(&format!("/api/v1/runs/{run}/search?q={long}")).await.is_problem(400, "bad_query");
}
