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

/// Whether this machine lets one process look into another. Where it does not, the tests that need it say so and stop;
/// those of the log still make every call fail, through a disk of their own.
pub(crate) fn possible() -> bool {
    let mut sleeper = Command::new("sleep").arg("20").spawn().unwrap();
    let mut tracer = Command::new("strace")
        .args(["-o", "/dev/null", "-p", &sleeper.id().to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace is needed; scripts/install-tools gets it");
    let mut said = String::new();
    let errors = tracer.stderr.take().unwrap();
    let heard = BufReader::new(errors).read_line(&mut said);
    for process in [&mut tracer, &mut sleeper] {
        // It may have ended by itself.
        let _gone = process.kill();
        process.wait().unwrap();
    }
    let possible = heard.is_ok() && said.contains("attached");
    if !possible {
        println!("NOT TRIED: no process may be traced here, so no call of one can be made to fail");
    }
    possible
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
