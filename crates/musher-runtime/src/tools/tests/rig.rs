//! A folder with tools on it, and something beside it that must stay untouched.

use std::path::PathBuf;

use serde_json::Value as Json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::tools::{FileTools, ToolCall, ToolHost, ToolReply};

/// What is written where nothing may be read.
pub(super) const SECRET: &str = "the secret outside";

pub(super) struct Rig {
    _temp: TempDir,
    /// The working folder.
    pub(super) inside: PathBuf,
    /// A folder beside it.
    pub(super) outside: PathBuf,
    pub(super) tools: FileTools,
}

impl Rig {
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (inside, outside) = (top.join("inside"), top.join("outside"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret.txt"), SECRET).unwrap();
        let tools = FileTools::open(&inside).unwrap();
        Self { _temp: temp, inside, outside, tools }
    }

    /// The same, with paths resolved by hand.
    pub(super) fn by_hand() -> Self {
        let rig = Self::new();
        let tools = FileTools::by_hand(&rig.inside);
        Self { tools, ..rig }
    }

    /// Makes a file in the working folder.
    pub(super) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.inside.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(super) fn link(&self, path: &str, target: impl AsRef<std::path::Path>) {
        std::os::unix::fs::symlink(target, self.inside.join(path)).unwrap();
    }

    pub(super) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.inside.join(path)).unwrap()
    }

    pub(super) async fn call(&self, name: &str, input: Json) -> ToolReply {
        call(&self.tools, name, input).await
    }

    /// The text of a call that must work.
    pub(super) async fn ok(&self, name: &str, input: Json) -> String {
        let reply = self.call(name, input).await;
        assert!(!reply.is_failed(), "{}", reply.text);
        reply.text
    }

    /// The text of a call that must not work.
    pub(super) async fn err(&self, name: &str, input: Json) -> String {
        let reply = self.call(name, input).await;
        assert!(reply.is_failed(), "{}", reply.text);
        reply.text
    }

    /// Nothing was changed beside the working folder.
    pub(super) fn assert_outside_is_untouched(&self) {
        let names: Vec<_> =
            self.outside.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret.txt"]);
        assert_eq!(std::fs::read_to_string(self.outside.join("secret.txt")).unwrap(), SECRET);
    }
}

pub(super) async fn call(host: &dyn ToolHost, name: &str, input: Json) -> ToolReply {
    host.call(ToolCall::new("c1", name, input), &CancellationToken::new()).await
}
