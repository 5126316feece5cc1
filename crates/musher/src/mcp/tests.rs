//! The door over pipes in memory, with tools that do as the test wants.

mod operator;

use std::sync::Arc;
use std::time::Duration;

use musher_core::ToolKind;
use musher_runtime::tools::{ReplyFuture, ToolCall, ToolHost, ToolReply, ToolSpec};
use proptest::prelude::*;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientConfig, ClientRequest,
    Implementation, PaginatedRequestParams, ProtocolVersion, Request,
};
use rmcp::service::{
    ClientLifecycleMode, PeerRequestOptions, RoleClient, RunningService,
    serve_client_with_lifecycle,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{ToolServer, serve};

/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// So many tools, of which the first waits until it is cancelled.
#[derive(Debug)]
struct Crowd {
    count: usize,
    cancelled: mpsc::Sender<()>,
}

impl ToolHost for Crowd {
    fn tools(&self) -> Vec<ToolSpec> {
        let tool = |number| ToolSpec {
            name: format!("tool_{number}").into(),
            description: "One of many.".into(),
            input_schema: json!({ "type": "object" }),
            kind: ToolKind::Read,
            parallel: true,
            subject: None,
        };
        (0..self.count).map(tool).collect()
    }

    fn call<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ReplyFuture<'a> {
        Box::pin(async move {
            if call.name == "tool_0" {
                call.progress.say("waiting");
                cancel.cancelled().await;
                let _full = self.cancelled.try_send(());
                return ToolReply::cancelled();
            }
            ToolReply::done(call.name).with_structured(json!([call.input]))
        })
    }
}

type Client = RunningService<RoleClient, ClientConfig>;

struct Stage {
    client: Client,
    cancelled: mpsc::Receiver<()>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

async fn stage(lifecycle: ClientLifecycleMode) -> Stage {
    let (told, cancelled) = mpsc::channel(256);
    let door = ToolServer::new(Crowd { count: 120, cancelled: told }, "Try them.");
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let closing = CancellationToken::new();
    let tasks = TaskTracker::new();
    let token = closing.clone();
    tasks.spawn(async move {
        let (read, write) = tokio::io::split(ours);
        serve(door, read, write, &token).await;
    });
    tasks.close();
    let config = ClientConfig::new(Default::default(), Implementation::new("test", "1"));
    let client = serve_client_with_lifecycle(config, theirs, lifecycle).await.unwrap();
    Stage { client, cancelled, closing, tasks }
}

fn both() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions }]
}

fn call(name: &str) -> CallToolRequestParams {
    CallToolRequestParams::new(name.to_owned())
}

fn text(result: &CallToolResult) -> &str {
    result.content[0].as_text().map(|text| text.text.as_str()).unwrap_or_default()
}

#[tokio::test]
async fn tools_are_listed_page_by_page_in_the_same_order_every_time() {
    for lifecycle in both() {
        let stage = stage(lifecycle).await;
        let first = stage.client.list_tools(None).await.unwrap();
        assert_eq!((first.tools.len(), first.next_cursor.as_deref()), (50, Some("50")));
        let all = stage.client.list_all_tools().await.unwrap();
        let names: Vec<&str> = all.iter().map(|tool| tool.name.as_ref()).collect();
        let wanted: Vec<String> = (0..120).map(|number| format!("tool_{number}")).collect();
        assert_eq!(names, wanted);
        let beyond = PaginatedRequestParams::default().with_cursor(Some(usize::MAX.to_string()));
        assert!(stage.client.list_tools(Some(beyond)).await.unwrap().tools.is_empty());
        let wrong = PaginatedRequestParams::default().with_cursor(Some("x".into()));
        assert!(stage.client.list_tools(Some(wrong)).await.is_err());
    }
}

#[tokio::test]
async fn a_tool_that_is_called_too_often_says_when_to_call_it_again_and_others_are_not_slowed() {
    for lifecycle in both() {
        let stage = stage(lifecycle).await;
        let mut made = 0;
        let refused = loop {
            let result = stage.client.call_tool(call("tool_1")).await.unwrap();
            if result.is_error == Some(true) {
                break result;
            }
            made += 1;
            assert!(made < 10_000, "a flood was let through");
        };
        assert!(made >= 240, "a burst of {made} was not let through");
        assert!(text(&refused).contains("call it again in 0.1 s"), "{}", text(&refused));
        assert_eq!(refused.structured_content, Some(json!({ "retry_after_ms": 100 })));
        let other = stage.client.call_tool(call("tool_2")).await.unwrap();
        assert_eq!(other.is_error, Some(false));
        // Whoever waits as long as it was told is let in.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let again = stage.client.call_tool(call("tool_1")).await.unwrap();
        assert_eq!(again.is_error, Some(false), "{}", text(&again));
    }
}

#[tokio::test]
async fn a_result_comes_as_text_and_as_a_structure() {
    let stage = stage(ClientLifecycleMode::Initialize).await;
    let input = json!({ "a": 1 }).as_object().unwrap().clone();
    let result = stage.client.call_tool(call("tool_7").with_arguments(input)).await.unwrap();
    assert_eq!(text(&result), "tool_7");
    assert_eq!(result.structured_content, Some(json!({ "value": [{ "a": 1 }] })));
    assert_eq!(result.is_error, Some(false));
}

#[tokio::test]
async fn a_call_that_its_client_cancels_is_cancelled() {
    for lifecycle in both() {
        let mut stage = stage(lifecycle).await;
        let request = ClientRequest::CallToolRequest(Request::new(call("tool_0")));
        let options = PeerRequestOptions::no_options();
        let asked = stage.client.send_cancellable_request(request, options).await.unwrap();
        let id = asked.id.clone();
        let cancel = CancelledNotificationParam::new(Some(id), None);
        stage.client.notify_cancelled(cancel).await.unwrap();
        let heard = tokio::time::timeout(PATIENCE, stage.cancelled.recv()).await;
        assert_eq!(heard.unwrap(), Some(()));
    }
}

#[tokio::test]
async fn calls_end_with_the_connection_and_the_connection_with_the_door() {
    for by_door in [true, false] {
        let Stage { client, mut cancelled, closing, tasks } =
            stage(ClientLifecycleMode::Initialize).await;
        let request = ClientRequest::CallToolRequest(Request::new(call("tool_0")));
        let options = PeerRequestOptions::no_options();
        let asked = client.send_cancellable_request(request, options).await.unwrap();
        // A reply to a later request shows that the earlier one was taken.
        client.call_tool(call("tool_1")).await.unwrap();
        match by_door {
            true => closing.cancel(),
            false => drop(client.cancel().await),
        }
        let heard = tokio::time::timeout(PATIENCE, cancelled.recv()).await;
        assert_eq!(heard.unwrap(), Some(()));
        tokio::time::timeout(PATIENCE, tasks.wait()).await.unwrap();
        drop(asked);
    }
}

#[tokio::test]
async fn more_calls_than_there_are_places_for_are_refused_at_once() {
    let stage = Arc::new(stage(ClientLifecycleMode::Initialize).await);
    let mut waiting = Vec::new();
    for _ in 0..super::tool_server::CALLS {
        let request = ClientRequest::CallToolRequest(Request::new(call("tool_0")));
        let options = PeerRequestOptions::no_options();
        waiting.push(stage.client.send_cancellable_request(request, options).await.unwrap());
    }
    let began = std::time::Instant::now();
    loop {
        let result = stage.client.call_tool(call("tool_1")).await.unwrap();
        if text(&result).contains("too many calls") {
            assert_eq!(result.is_error, Some(true));
            break;
        }
        assert!(began.elapsed() < PATIENCE, "every call finds a place");
    }
}

/// What the door says to these bytes, when nothing more follows them.
fn reply_to(bytes: &[u8]) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let door = ToolServer::new(Crowd { count: 2, cancelled: mpsc::channel(1).0 }, "");
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(ours);
        let closing = CancellationToken::new();
        let (mut heard, mut say) = tokio::io::split(theirs);
        let talking = async {
            say.write_all(bytes).await.unwrap();
            say.shutdown().await.unwrap();
            let mut said = Vec::new();
            heard.read_to_end(&mut said).await.unwrap();
            said
        };
        let both = async { tokio::join!(serve(door, read, write, &closing), talking).1 };
        tokio::time::timeout(PATIENCE, both).await.unwrap()
    })
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_break_the_door(bytes in proptest::collection::vec(any::<u8>(), 0..512), begun in any::<bool>()) {
        let mut sent = match begun {
            true => format!("{INITIALIZE}\n").into_bytes(),
            false => Vec::new(),
        };
        sent.extend(bytes);
        for line in reply_to(&sent).split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            serde_json::from_slice::<serde_json::Value>(line).unwrap();
        }
    }

    #[test]
    fn no_message_breaks_the_door(method in "[a-z/]{0,20}|tools/call|tools/list|server/discover", params in json_value()) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        reply_to(format!("{INITIALIZE}\n{message}\n").as_bytes());
        reply_to(format!("{message}\n").as_bytes());
    }
}

/// Any JSON that is not too large.
fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".{0,20}|tool_1|name|arguments".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            proptest::collection::btree_map("name|arguments|cursor|_meta|[a-z]{0,8}", inner, 0..4)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}
