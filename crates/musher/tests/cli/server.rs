//! A project with a scripted agent, and the server that serves it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::musher::{Place, Ran};

/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project whose one agent plays a script.
pub(crate) struct Served {
    pub(crate) place: Place,
    server: Option<Child>,
}

impl Served {
    /// Serves a project whose agent plays these steps.
    pub(crate) fn playing(steps: &str) -> Self {
        let place = Place::repository();
        let file = place.project_file();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(place.work.path().join("work.toml"), steps).unwrap();
        std::fs::write(
            file,
            "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = './work.toml'\n",
        )
        .unwrap();
        place.git(&["add", "."]);
        place.git(&["commit", "-qm", "project"]);
        assert_eq!(place.run(&["trust"]).code, Some(0));
        let mut served = Self { place, server: None };
        served.serve();
        served
    }

    /// Starts the server and waits until it is ready.
    pub(crate) fn serve(&mut self) {
        let mut child = self
            .place
            .musher(&["serve", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("http://127.0.0.1:"), "{line}");
        self.server = Some(child);
    }

    /// Kills the server in the middle of whatever it does.
    pub(crate) fn kill_server(&mut self) {
        if let Some(mut child) = self.server.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// A command that must succeed.
    pub(crate) fn does(&self, args: &[&str]) -> Ran {
        let ran = self.place.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran
    }

    /// A command that must fail with this code, and say these words.
    pub(crate) fn refuses(&self, args: &[&str], code: i32, says: &[&str]) {
        let ran = self.place.run(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert_eq!(ran.out, "", "{args:?}");
        for words in says {
            assert!(ran.err.contains(words), "{args:?} should say `{words}`: {}", ran.err);
        }
    }

    /// The one JSON document that a command prints.
    pub(crate) fn json(&self, args: &[&str]) -> Json {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let ran = self.does(&args);
        let mut lines = ran.lines();
        assert_eq!(lines.len(), 1, "{args:?}: {ran:?}");
        lines.remove(0)
    }

    /// Starts the agent on a new story, and gives the run.
    pub(crate) fn start(&self, title: &str) -> String {
        let story = self.json(&["story", "add", title])["story"].as_str().unwrap().to_owned();
        self.json(&["start", &story])["run"].as_str().unwrap().to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill_server();
        let ended = self.place.run(&["kill", "--all"]);
        if !std::thread::panicking() {
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
    }
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}
