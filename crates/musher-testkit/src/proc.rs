//! Looks at the processes of this machine, to prove that none is left over.

use std::fs;

/// The living processes whose environment holds this `KEY=VALUE` entry, or a mark inside it (`KEY=VALUE/…`).
pub fn marked(mark_key_value: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let mut found = pids
        .filter(|pid| carries(*pid, mark_key_value.as_bytes()) && alive(*pid))
        .collect::<Vec<_>>();
    found.sort_unstable();
    found
}

/// Whether the process exists and is not a zombie: a zombie runs no more, it only waits for its parent.
pub fn alive(pid: i32) -> bool {
    let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let stat = String::from_utf8_lossy(&stat);
    // The name of the program is in parentheses and may itself hold blanks and parentheses.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn carries(pid: i32, mark: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
        environ.split(|byte| *byte == 0).any(|entry| {
            entry.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    })
}
