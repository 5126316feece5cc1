//! Offers the tools of a host over MCP; both generations of the protocol come from the library.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use musher_runtime::tools::{CallProgress, ToolCall, ToolHost, ToolReply, ToolSpec};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value as Json, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use super::pace::{Caller, Pace};

/// Tools on a page of the list.
const PAGE: usize = 50;
/// Calls at work at once through one door; one more is refused at once.
pub(super) const CALLS: usize = 64;
/// The shortest wait that is worth a word.
const MIN_REPORTED_WAIT: Duration = Duration::from_millis(100);
/// Words of progress that may wait to be passed on.
const WORDS: usize = 32;
/// A call that says nothing gives a sign of life this often, so that its client does not give it up.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// One set of tools, as MCP shows it. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolServer {
    host: Arc<dyn ToolHost>,
    /// What a model is told of the tools as a whole.
    instructions: &'static str,
    calls: Arc<Semaphore>,
    pace: Arc<Pace>,
    /// The tools by name; calls of others are counted together.
    names: Arc<HashSet<String>>,
}

impl ToolServer {
    pub fn new(host: impl ToolHost + 'static, instructions: &'static str) -> Self {
        let names = host.tools().into_iter().map(|tool| tool.name.into_owned()).collect();
        Self {
            host: Arc::new(host),
            instructions,
            calls: Arc::new(Semaphore::new(CALLS)),
            pace: Arc::new(Pace::default()),
            names: Arc::new(names),
        }
    }

    /// Counts a call; one that comes too soon is told when it may come again.
    fn count(&self, name: &str, context: &RequestContext<RoleServer>) -> Result<(), ToolReply> {
        let caller = caller(context);
        let tool = if self.names.contains(name) { name } else { "" };
        self.pace.take(&caller, tool, Instant::now()).map_err(|wait| {
            let wait = wait.max(MIN_REPORTED_WAIT);
            let seconds = wait.as_secs_f64();
            let text = format!("this tool was called too often; call it again in {seconds:.1} s");
            let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            ToolReply::failed(text).with_structured(json!({ "retry_after_ms": millis }))
        })
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("musher", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let from = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => cursor.parse::<usize>().map_err(|_| {
                ErrorData::invalid_params("the cursor is none of ours; list from the start", None)
            })?,
        };
        let tools = self.host.tools();
        let end = from.saturating_add(PAGE);
        let more = end < tools.len();
        let page = tools.into_iter().skip(from).take(PAGE).map(tool).collect();
        let mut listed = ListToolsResult::with_all_items(page);
        listed.next_cursor = more.then(|| end.to_string());
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.host.tools().into_iter().find(|tool| tool.name == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Err(too_soon) = self.count(&request.name, &context) {
            return Ok(result(too_soon).into());
        }
        let Ok(_place) = self.calls.try_acquire() else {
            let busy = ToolReply::failed("too many calls are at work; wait for one of them to end");
            return Ok(result(busy).into());
        };
        let input = Json::Object(request.arguments.unwrap_or_default());
        let mut call = ToolCall::new(format!("mcp-{}", context.id), request.name, input);
        let replying = async {
            match context.meta.get_progress_token() {
                None => self.host.call(call, &context.ct).await,
                Some(token) => {
                    let (words, said) = mpsc::channel(WORDS);
                    call.progress = CallProgress::to(words);
                    tokio::select! {
                        reply = self.host.call(call, &context.ct) => reply,
                        never = tell(&context.peer, token, said) => match never {},
                    }
                }
            }
        };
        let reply = CALLER_OF_TOOL.scope(caller(&context), replying).await;
        Ok(result(reply).into())
    }
}

tokio::task_local! {
    /// Who has called the tool that is at work.
    pub static CALLER_OF_TOOL: Caller;
}

fn caller(context: &RequestContext<RoleServer>) -> Caller {
    let request = context.extensions.get::<axum::http::request::Parts>();
    let caller = request.and_then(|request| request.extensions.get::<Caller>());
    caller.cloned().unwrap_or_default()
}

/// Passes on how far a call is, for as long as it runs.
async fn tell(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    mut said: mpsc::Receiver<String>,
) -> std::convert::Infallible {
    let mut step = 0.0;
    let mut followed = true;
    loop {
        let message = tokio::select! {
            words = said.recv(), if followed => match words {
                Some(words) => Some(words),
                // The call has nothing more to say; only signs of life follow.
                None => {
                    followed = false;
                    continue;
                }
            },
            () = tokio::time::sleep(KEEPALIVE_INTERVAL) => None,
        };
        step += 1.0;
        let mut progress = ProgressNotificationParam::new(token.clone(), step);
        progress.message = message;
        // A client that is gone does not need to hear it.
        let _gone = peer.notify_progress(progress).await;
    }
}

fn tool(spec: ToolSpec) -> Tool {
    let schema = spec.input_schema.as_object().cloned().unwrap_or_default();
    let mut tool = Tool::new(spec.name, spec.description, schema);
    tool.annotations = Some(hints(spec.kind));
    tool
}

/// What a client may show before it asks its person.
fn hints(kind: musher_core::ToolKind) -> ToolAnnotations {
    use musher_core::ToolKind;
    let reads = match kind {
        ToolKind::Read | ToolKind::Search => true,
        ToolKind::Edit
        | ToolKind::Execute
        | ToolKind::Fetch
        | ToolKind::Mcp
        | ToolKind::Subagent
        | ToolKind::Question
        | ToolKind::Plan
        | ToolKind::Other => false,
    };
    let destroys = matches!(kind, ToolKind::Edit | ToolKind::Execute);
    ToolAnnotations::new().read_only(reads).destructive(destroys).open_world(false)
}

/// A reply for the model as text, and for programs as a structure.
fn result(reply: ToolReply) -> CallToolResult {
    let failed = reply.is_failed();
    let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
    // Clients of the older generation take nothing but an object here.
    result.structured_content = reply.structured.map(|value| match value.is_object() {
        true => value,
        false => serde_json::json!({ "value": value }),
    });
    result.is_error = Some(failed);
    result
}
