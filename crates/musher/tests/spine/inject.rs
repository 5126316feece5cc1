//! Makes system calls of a running process fail.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Calls fail for as long as this lives.
pub(crate) struct Inject {
    child: Child,
    /// It must be able to speak as long as it lives.
    _errors: BufReader<ChildStderr>,
}

impl Inject {
    /// Makes calls of one thread fail from now on, by rules such as `fdatasync:error=EIO:when=2`.
    pub(crate) fn into_thread(thread: i32, rules: &[&str]) -> Self {
        let mut command = Command::new("strace");
        command.args(["-o", "/dev/null", "-p", &thread.to_string()]);
        for rule in rules {
            command.args(["-e", &format!("inject={rule}")]);
        }
        let spawned = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.expect("strace is needed; scripts/install-tools gets it");
        let mut said = String::new();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut said).unwrap();
        assert!(said.contains("attached"), "{said}");
        Self { child, _errors: errors }
    }
}

impl Drop for Inject {
    fn drop(&mut self) {
        // It ends by itself when the thread does.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// The thread of a process that has this name.
pub(crate) fn thread_named(pid: i32, name: &str) -> i32 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let mut threads = threads.filter(|thread| {
        std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
    });
    threads.next().unwrap().file_name().to_str().unwrap().parse().unwrap()
}
