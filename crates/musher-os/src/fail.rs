//! Named points at which a server can be told to die or to break, so that tests can show that nothing is lost at any of them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static DIES_AT: OnceLock<String> = OnceLock::new();
static BREAKS_AT: OnceLock<String> = OnceLock::new();
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Every point there is, in the order in which a run meets them.
pub const POINTS: &[&str] = &[
    "after_commit",
    "before_prepare",
    "after_prepare",
    "before_spawn",
    "after_spawn",
    "before_heard",
    "before_grant",
    "after_grant",
    "before_deliver",
    "after_deliver",
    "before_close",
    "before_finish",
    "after_finish",
    "before_merge",
    "merge_files",
    "merge_moved",
    "after_merge",
    "before_release",
    "after_release",
];

/// Lets this process die, as by a kill, when it comes to the point. Only builds for tests can be told so.
pub fn die_at(point: Option<String>) {
    if let Some(point) = point.filter(|_| cfg!(debug_assertions)) {
        // A process dies once, so the first word stands.
        let _already = DIES_AT.set(point);
    }
}

/// Lets whatever comes to the point first break there, as by a bug. Only builds for tests can be told so.
pub fn break_at(point: Option<String>) {
    if let Some(point) = point.filter(|_| cfg!(debug_assertions)) {
        // It breaks once, so the first word stands.
        let _already = BREAKS_AT.set(point);
    }
}

/// Dies or breaks here, if this is the point.
pub fn point(name: &'static str) {
    debug_assert!(POINTS.contains(&name), "{name} is not in the list");
    let breaks = BREAKS_AT.get().is_some_and(|point| point == name);
    assert!(!breaks || BROKEN.swap(true, Ordering::Relaxed), "broken at {name}, as it was told to");
    if DIES_AT.get().is_some_and(|point| point == name) {
        // A kill cannot be refused, so nothing after this runs.
        let _dead =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
