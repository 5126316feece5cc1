//! What it was started with: the few arguments that it honours, and its place in the environment.

use std::path::PathBuf;

use crate::calls::Charge;
use crate::wire::Mint;

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) session: String,
    pub(crate) origin: Origin,
    pub(crate) model: String,
    pub(crate) mode: String,
    /// Whether it repeats what it is told.
    pub(crate) replays: bool,
    /// Whether it says when it is busy and when it is idle.
    pub(crate) states: bool,
    pub(crate) home: Option<PathBuf>,
    pub(crate) charge: Charge,
}

/// Where a session comes from.
#[derive(Debug)]
pub(crate) enum Origin {
    New,
    Resumed(String),
    Forked(String),
}

impl Options {
    #[expect(
        clippy::disallowed_methods,
        reason = "callers whose arguments are fixed choose by environment"
    )]
    pub(crate) fn read(args: &[String]) -> Self {
        let own_id = || given(args, "--session-id").unwrap_or_else(|| Mint::new().uuid());
        let (origin, session) = match given(args, "--resume") {
            None => (Origin::New, own_id()),
            Some(earlier) if args.iter().any(|arg| arg == "--fork-session") => {
                (Origin::Forked(earlier), own_id())
            }
            Some(earlier) => (Origin::Resumed(earlier.clone()), earlier),
        };
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            session,
            origin,
            model: given(args, "--model").unwrap_or_else(|| "claude-opus-5-5".to_owned()),
            mode: given(args, "--permission-mode").unwrap_or_else(|| "default".to_owned()),
            replays: args.iter().any(|arg| arg == "--replay-user-messages"),
            states: set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS").is_some(),
            home: set("WORKER_HOME").map(PathBuf::from),
            charge: match set("WORKER_CALLS") {
                None => Charge::Turn,
                Some(_) => Charge::Calls,
            },
        }
    }
}

/// The value after `--name` or in `--name=value`; all other arguments are passed over.
fn given(args: &[String], name: &str) -> Option<String> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == name {
            return args.next().cloned();
        }
        if let Some(value) = arg.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            return Some(value.to_owned());
        }
    }
    None
}
