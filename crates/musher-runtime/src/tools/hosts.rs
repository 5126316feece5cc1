//! Several hosts as one: the tools of all, in the order of the hosts.

use std::pin::Pin;
use std::sync::Arc;

use musher_core::Edit;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::{ReplyFuture, ToolCall, ToolHost, ToolReply, ToolSpec};

/// Hosts that are asked in turn. Of two tools with one name the first is offered and called.
#[derive(Debug, Clone, Default)]
pub struct Hosts(pub Vec<Arc<dyn ToolHost>>);

impl Hosts {
    #[must_use]
    pub fn and(mut self, host: impl ToolHost + 'static) -> Self {
        self.0.push(Arc::new(host));
        self
    }
}

impl ToolHost for Hosts {
    fn tools(&self) -> Vec<ToolSpec> {
        let mut tools: Vec<ToolSpec> = Vec::new();
        for tool in self.0.iter().flat_map(|host| host.tools()) {
            if tools.iter().all(|known| known.name != tool.name) {
                tools.push(tool);
            }
        }
        tools
    }

    fn offers(&self, name: &str) -> bool {
        self.0.iter().any(|host| host.offers(name))
    }

    fn edits(&self, name: &str, input: &Json) -> Vec<Edit> {
        let host = self.0.iter().find(|host| host.offers(name));
        host.map_or_else(Vec::new, |host| host.edits(name, input))
    }

    fn call<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ReplyFuture<'a> {
        match self.0.iter().find(|host| host.offers(&call.name)) {
            Some(host) => host.call(call, cancel),
            None => Box::pin(std::future::ready(unknown(&call.name, &self.tools()))),
        }
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = Vec<i32>> + Send + '_>> {
        Box::pin(async {
            let mut survivors = Vec::new();
            for host in &self.0 {
                survivors.extend(host.close().await);
            }
            survivors
        })
    }
}

impl<T: ToolHost + ?Sized> ToolHost for Arc<T> {
    fn tools(&self) -> Vec<ToolSpec> {
        (**self).tools()
    }

    fn offers(&self, name: &str) -> bool {
        (**self).offers(name)
    }

    fn edits(&self, name: &str, input: &Json) -> Vec<Edit> {
        (**self).edits(name, input)
    }

    fn call<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ReplyFuture<'a> {
        (**self).call(call, cancel)
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = Vec<i32>> + Send + '_>> {
        (**self).close()
    }
}

/// Tells a model that it called what does not exist.
pub(super) fn unknown(name: &str, tools: &[ToolSpec]) -> ToolReply {
    let shown: String = name.chars().take(64).collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    ToolReply::failed(format!(
        "there is no tool `{}`; call one of: {}",
        shown.escape_debug(),
        names.join(", ")
    ))
}
