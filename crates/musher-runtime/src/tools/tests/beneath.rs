//! Nothing outside the working folder is reached, whatever the arguments are and whatever moves meanwhile.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::rig::{Rig, SECRET, call};
use crate::tools::FileTools;

/// Every file tool with this path, and some with it as a pattern.
fn calls(path: &str) -> Vec<(&'static str, Json)> {
    vec![
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "overwritten"})),
        ("edit_file", json!({"path": path, "old": "secret", "new": "changed"})),
        ("list_files", json!({"path": path, "depth": 3})),
        ("glob", json!({"path": path, "pattern": "**"})),
        ("grep", json!({"path": path, "pattern": "secret"})),
        ("glob", json!({"pattern": path})),
        ("grep", json!({"glob": path, "pattern": "secret"})),
    ]
}

/// A reply may name the path that it was asked for, and nothing of what is behind it.
fn assert_tells_nothing(text: &str, about: &str) {
    assert!(!text.contains(SECRET) && !text.contains("(18 bytes)"), "{about}: {text}");
}

#[tokio::test]
async fn promise_18_no_path_and_no_link_leads_out_of_the_folder() {
    for rig in [Rig::new(), Rig::by_hand()] {
        let secret = rig.outside.join("secret.txt");
        rig.link("abs", &rig.outside);
        rig.link("rel", "../outside");
        rig.link("file", &secret);
        rig.link("dangling", rig.outside.join("new.txt"));
        rig.link("root", "/proc/self/root");
        rig.link("loop", "loop");
        rig.link("chain", "rel/../../outside/secret.txt");
        rig.link("up", "..");
        let real = secret.display().to_string();
        let paths = [
            "../outside/secret.txt",
            "a/../../outside/secret.txt",
            &real,
            &format!("/{real}"),
            &format!("/proc/self/root{real}"),
            &format!("root{real}"),
            &format!("{}/../outside/secret.txt", rig.inside.display()),
            "abs/secret.txt",
            "rel/secret.txt",
            "up/outside/secret.txt",
            "abs/new.txt",
            "rel/deep/new.txt",
            "file",
            "dangling",
            "dangling/x",
            "loop",
            "loop/x",
            "chain",
            "rel/../inside/x",
            "a\0b",
            "",
        ];
        for path in paths {
            for (tool, input) in calls(path) {
                let reply = rig.call(tool, input.clone()).await;
                assert_tells_nothing(&reply.text, &format!("{tool} {input}"));
                let refused = match input.get("path") {
                    // These stay inside once they are made plain.
                    Some(_) => path != "rel/../inside/x",
                    None => false,
                };
                assert!(reply.is_failed() || !refused, "{tool} {input}: {}", reply.text);
            }
            rig.assert_outside_is_untouched();
        }
    }
}

#[tokio::test]
async fn links_that_stay_inside_are_read_and_never_written_through() {
    for rig in [Rig::new(), Rig::by_hand()] {
        rig.file("real/file.txt", "hello secret\n");
        rig.link("folder", "real");
        rig.link("real/again", "../real/./file.txt");
        for path in ["folder/file.txt", "real/again", "folder/again"] {
            assert!(rig.ok("read_file", json!({"path": path})).await.contains("hello"));
            for tool in ["write_file", "edit_file"] {
                let (_, input) = calls(path).into_iter().find(|(name, _)| *name == tool).unwrap();
                let text = rig.err(tool, input).await;
                assert!(text.contains("name the real file instead"), "{text}");
                assert!(text.contains("leads to"), "{text}");
            }
        }
        assert_eq!(rig.text("real/file.txt"), "hello secret\n");
        let text = rig.ok("grep", json!({"pattern": "hello"})).await;
        assert_eq!(text, "real/file.txt:1: hello secret", "a file is met once");
    }
}

#[tokio::test]
async fn gits_own_files_are_not_written() {
    let rig = Rig::new();
    rig.file(".git/config", "[core]\n");
    rig.file("sub/x", "");
    rig.link("alias", ".git");
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        "sub/.git",
        ".GIT/config",
        "alias/config",
        "sub/../.git/config",
    ] {
        for (tool, input) in [
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old": "core", "new": "x"})),
        ] {
            let text = rig.err(tool, input).await;
            assert!(text.contains("belongs to git") || text.contains("goes through one"), "{text}");
        }
    }
    assert_eq!(rig.text(".git/config"), "[core]\n");
    assert!(!rig.inside.join(".git/hooks").exists() && !rig.inside.join("sub/.git").exists());
}

#[tokio::test]
async fn a_pipe_a_socket_and_a_device_are_left_alone() {
    let rig = Rig::new();
    let pipe = rig.inside.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(rig.inside.join("socket")).unwrap();
    for path in ["pipe", "socket"] {
        for (tool, input) in calls(path).into_iter().take(6) {
            rig.err(tool, input).await;
        }
    }
    assert!(rig.ok("grep", json!({"pattern": "x"})).await.contains("not found"));
    assert!(rig.ok("list_files", json!({})).await.contains("pipe (a pipe)"));
}

/// Swaps a folder and a link to the outside for one another, again and again, until it is dropped.
struct Swapper {
    done: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

impl Swapper {
    fn start(inside: &Path, outside: &Path) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let (folder, link) = (inside.join("swapped"), inside.join("link"));
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        std::fs::write(folder.join("secret.txt"), "an inner secret").unwrap();
        symlink(outside, &link).unwrap();
        let stop = done.clone();
        let thread = std::thread::spawn(move || {
            let mut swaps = 0;
            while !stop.load(Ordering::Relaxed) {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        });
        Self { done, thread: Some(thread) }
    }

    fn stop(&mut self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().unwrap())
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_18_a_link_swapped_in_while_a_call_runs_leads_nowhere() {
    for rig in [Rig::new(), Rig::by_hand()] {
        let mut swapper = Swapper::start(&rig.inside, &rig.outside);
        let mut both_seen = [false; 2];
        for _ in 0..150 {
            for (tool, input) in [
                ("read_file", json!({"path": "swapped/secret.txt"})),
                ("write_file", json!({"path": "swapped/deep/new.txt", "content": "x"})),
                ("write_file", json!({"path": "swapped/other/new.txt", "content": "x"})),
                (
                    "edit_file",
                    json!({"path": "swapped/secret.txt", "old": "secret", "new": "secret"}),
                ),
                (
                    "edit_file",
                    json!({"path": "swapped/secret.txt", "old": "the", "new": "changed"}),
                ),
                ("list_files", json!({"path": ".", "depth": 4})),
                ("grep", json!({"pattern": "secret"})),
                ("grep", json!({"pattern": "secret", "path": "swapped"})),
            ] {
                let reply = rig.call(tool, input.clone()).await;
                assert!(!reply.text.contains(SECRET), "{tool} {input}: {}", reply.text);
                both_seen[usize::from(reply.is_failed())] = true;
            }
        }
        assert!(swapper.stop() > 100 && both_seen == [true, true], "the race was not run");
        rig.assert_outside_is_untouched();
    }
}

fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(String::new()),
        3 => prop::sample::select(vec![
            "a", "link", "up", "abs", "outside", "inside", "secret.txt", ".git", "proc", "self",
            "root", "file", "~", "\\..", "%2e%2e", "..\u{0}",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => prop::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
        1 => (1usize..5000).prop_map(|n| "x".repeat(n)),
    ];
    let start = prop::sample::select(vec!["", "/", "//", "/proc/self/root", "./", "TOP", "INSIDE"]);
    (start, prop::collection::vec(part, 0..8)).prop_map(|(start, parts)| {
        let joined = parts.join("/");
        match start {
            "" => joined,
            start => format!("{start}/{joined}"),
        }
    })
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        path().prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let names = prop::sample::select(vec![
            "path", "content", "old", "new", "pattern", "glob", "depth", "x",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((names, inner), 0..6).prop_map(|fields| {
                Json::Object(
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                )
            }),
        ]
    })
}

/// One working folder for many cases: whatever they do to it, it stays one.
fn hostile() -> (tokio::runtime::Runtime, Rig, FileTools) {
    let rig = Rig::new();
    rig.file("a/b.txt", "secret\n");
    rig.link("link", "a");
    rig.link("up", "..");
    rig.link("abs", &rig.outside);
    rig.link("file", rig.outside.join("secret.txt"));
    // Even a broken tool must do no harm to the machine that tests it, so this leads no further than the temporary folder.
    rig.link("root", rig.inside.parent().unwrap());
    let by_hand = FileTools::by_hand(&rig.inside);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    (runtime, rig, by_hand)
}

#[test]
fn promise_18_no_argument_of_any_file_tool_reaches_outside() {
    let (runtime, rig, by_hand) = hostile();
    let top = rig.inside.parent().unwrap().display().to_string();
    proptest!(ProptestConfig::with_cases(300), |(path in path())| {
        let path = path.replace("TOP", &top).replace("INSIDE", &format!("{top}/inside"));
        for (tool, input) in calls(&path) {
            for tools in [&rig.tools, &by_hand] {
                let reply = runtime.block_on(call(tools, tool, input.clone()));
                assert_tells_nothing(&reply.text, &format!("{tool} {input}"));
                prop_assert!(reply.text.len() < 256 * 1024);
            }
        }
        rig.assert_outside_is_untouched();
        let beside = rig.inside.parent().unwrap().read_dir().unwrap().count();
        prop_assert_eq!(beside, 2);
    });
}

#[test]
fn any_input_gets_a_reply_of_bounded_length() {
    let (runtime, rig, _) = hostile();
    let names: Vec<String> =
        ["read_file", "write_file", "edit_file", "list_files", "glob", "grep", "x"]
            .map(str::to_owned)
            .into();
    proptest!(ProptestConfig::with_cases(300), |(input in json_value(), name in prop::sample::select(names))| {
        let reply = runtime.block_on(rig.call(&name, input));
        prop_assert!(!reply.text.is_empty() && reply.text.len() < 256 * 1024);
        assert_tells_nothing(&reply.text, &name);
        rig.assert_outside_is_untouched();
    });
}

#[tokio::test]
async fn ten_thousand_calls_leak_no_descriptor() {
    let rig = Rig::new();
    rig.file("a/b.txt", "one\n");
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    for (tool, input) in calls("a/b.txt") {
        rig.call(tool, input).await;
    }
    let before = open();
    for n in 0..10_000 {
        let (tool, input) = calls(if n % 3 == 0 { "../x" } else { "a/b.txt" }).swap_remove(n % 8);
        rig.call(tool, input).await;
    }
    assert!(open() <= before + 4, "{before} descriptors became {}", open());
}
