//! The file tools: one folder, nothing above it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use musher_core::{Edit, ToolKind, ToolRules};
use serde::Deserialize as _;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::beneath::WorkFolder;
use super::fault::ToolFault;
use super::input::{parse, spec};
use super::{
    ReplyFuture, Subject, ToolCall, ToolHost, ToolReply, ToolSpec, ToolsError, edit, glob, grep,
    hosts, list, read, write,
};

static SPECS: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
    let side_by_side = |spec: ToolSpec| ToolSpec { parallel: true, ..spec };
    let about = |subject, spec: ToolSpec| ToolSpec { subject: Some(subject), ..spec };
    let read = spec::<read::ReadTool>("read_file", read::ABOUT, ToolKind::Read);
    let write = spec::<write::Write>("write_file", write::ABOUT, ToolKind::Edit);
    let edit = spec::<edit::EditTool>("edit_file", edit::ABOUT, ToolKind::Edit);
    let list = spec::<list::ListTool>("list_files", list::ABOUT, ToolKind::Search);
    let glob = spec::<glob::Glob>("glob", glob::ABOUT, ToolKind::Search);
    let grep = spec::<grep::Grep>("grep", grep::ABOUT, ToolKind::Search);
    vec![
        about(Subject::PATH, side_by_side(read)),
        about(Subject::PATH, write),
        about(Subject::PATH, edit),
        about(Subject::FOLDER, side_by_side(list)),
        about(Subject::FOLDER, side_by_side(glob)),
        about(Subject::FOLDER, side_by_side(grep)),
    ]
});

/// Reads, writes and searches files in one folder. Whatever its arguments are, nothing outside it is reached.
#[derive(Debug, Clone)]
pub struct FileTools {
    desk: Arc<FileToolState>,
}

#[derive(Debug)]
struct FileToolState {
    folder: WorkFolder,
    rules: ToolRules,
    /// Files outside of the folder that can be read, by their whole paths.
    attached: Vec<PathBuf>,
    /// Held from the reading of a file to its replacement, so that no change is lost to another.
    changing: Mutex<()>,
}

impl FileTools {
    /// The tools for one folder, which stays the same folder even if it is moved.
    pub fn open(folder: &Path) -> Result<Self, ToolsError> {
        Self::obeying(folder, ToolRules::default())
    }

    /// The same, with searches that pass over the files that these rules do not let the agent read by itself.
    pub fn obeying(folder: &Path, rules: ToolRules) -> Result<Self, ToolsError> {
        Self::also_reading(folder, rules, Vec::new())
    }

    /// The same, where `read_file` also reads exactly these files outside of the folder. Nothing else reaches them.
    pub(crate) fn also_reading(
        folder: &Path,
        rules: ToolRules,
        attached: Vec<PathBuf>,
    ) -> Result<Self, ToolsError> {
        let opened = WorkFolder::open(folder)
            .map_err(|cause| ToolsError::Folder { path: folder.to_owned(), cause })?;
        Ok(Self::of(opened, rules, attached))
    }

    fn of(folder: WorkFolder, rules: ToolRules, attached: Vec<PathBuf>) -> Self {
        let changing = Mutex::new(());
        Self { desk: Arc::new(FileToolState { folder, rules, attached, changing }) }
    }

    /// The same tools, with paths resolved by hand as on a kernel that cannot do it.
    #[cfg(test)]
    pub(super) fn by_hand(folder: &Path) -> Self {
        Self::of(WorkFolder::open(folder).unwrap().by_hand(), ToolRules::default(), Vec::new())
    }
}

/// One call, understood.
enum Task {
    Read(read::ReadTool),
    Write(write::Write),
    Edit(edit::EditTool),
    List(list::ListTool),
    Glob(glob::Glob),
    Grep(grep::Grep),
}

impl Task {
    fn of(call: ToolCall) -> Result<Self, ToolReply> {
        let Some(spec) = SPECS.iter().find(|spec| spec.name == call.name) else {
            return Err(hosts::unknown(&call.name, &SPECS));
        };
        let input = call.input;
        match &*call.name {
            "read_file" => parse(spec, input).map(Self::Read),
            "write_file" => parse(spec, input).map(Self::Write),
            "edit_file" => parse(spec, input).map(Self::Edit),
            "list_files" => parse(spec, input).map(Self::List),
            "glob" => parse(spec, input).map(Self::Glob),
            "grep" => parse(spec, input).map(Self::Grep),
            name => Err(hosts::unknown(name, &SPECS)),
        }
    }
}

impl FileToolState {
    fn carry_out(&self, task: &Task, cancel: &CancellationToken) -> Result<ToolReply, ToolFault> {
        if cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        let changing = || self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        match task {
            Task::Read(input) => read::read(&self.folder, &self.attached, input),
            Task::Write(input) => {
                let _alone = changing();
                write::write(&self.folder, input)
            }
            Task::Edit(input) => {
                let _alone = changing();
                edit::edit(&self.folder, input)
            }
            Task::List(input) => list::list(&self.folder, input, cancel),
            Task::Glob(input) => glob::glob(&self.folder, input, cancel),
            Task::Grep(input) => grep::grep(&self.folder, &self.rules, input, cancel),
        }
    }
}

impl ToolHost for FileTools {
    fn tools(&self) -> Vec<ToolSpec> {
        SPECS.clone()
    }

    fn offers(&self, name: &str) -> bool {
        SPECS.iter().any(|spec| spec.name == name)
    }

    fn edits(&self, name: &str, input: &Json) -> Vec<Edit> {
        // Input that does not fit is refused when the call is carried out, and changes nothing.
        let change = match name {
            "write_file" => write::Write::deserialize(input).ok().map(write::Write::into_change),
            "edit_file" => edit::EditTool::deserialize(input).ok().map(edit::EditTool::into_change),
            _ => None,
        };
        change.into_iter().collect()
    }

    fn call<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ReplyFuture<'a> {
        Box::pin(async move {
            let task = match Task::of(call) {
                Ok(task) => task,
                Err(reply) => return reply,
            };
            // A future that is dropped takes its work with it.
            let gone = cancel.child_token();
            let _drop_with_us = gone.clone().drop_guard();
            let desk = self.desk.clone();
            let work = tokio::task::spawn_blocking(move || desk.carry_out(&task, &gone));
            // A change is never given up half-way, so its end is waited for; searches look at the token themselves.
            match work.await {
                Ok(Ok(reply)) => reply,
                Ok(Err(ToolFault::Cancelled)) | Err(_) => ToolReply::cancelled(),
                Ok(Err(fault)) => ToolReply::failed(fault.to_string()),
            }
        })
    }
}
