//! What to play: from the arguments, else from the environment, for callers whose arguments are those of the real agent.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) recording: PathBuf,
    pub(crate) stdin: Option<PathBuf>,
    pub(crate) stderr: Option<PathBuf>,
    pub(crate) exit: u8,
}

impl Options {
    #[expect(
        clippy::disallowed_methods,
        reason = "callers whose arguments are fixed choose by environment"
    )]
    pub(crate) fn read(args: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let args = args.collect::<Vec<_>>();
        let value = |name: &str| {
            given(&args, &format!("--{name}"))
                .or_else(|| std::env::var_os(format!("REPLAY_{}", name.to_uppercase())))
        };
        let recording = value("recording")
            .map(PathBuf::from)
            .ok_or_else(|| io::Error::other("give --recording FILE or set REPLAY_RECORDING"))?;
        let beside = recording.with_extension("stdin.jsonl");
        let exit = match value("exit") {
            Some(code) => code
                .to_str()
                .and_then(|code| code.parse().ok())
                .ok_or_else(|| io::Error::other("the exit code is not a number below 256"))?,
            None => 0,
        };
        Ok(Self {
            stdin: value("stdin").map(PathBuf::from).or_else(|| beside.is_file().then_some(beside)),
            stderr: value("stderr").map(PathBuf::from),
            recording,
            exit,
        })
    }
}

/// The value after `--name` or in `--name=value`; all other arguments belong to the real agent and are passed over.
fn given(args: &[OsString], name: &str) -> Option<OsString> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == name {
            return args.next().cloned();
        }
        let joined = arg.to_str().and_then(|arg| arg.strip_prefix(name)?.strip_prefix('='));
        if let Some(value) = joined {
            return Some(value.into());
        }
    }
    None
}
