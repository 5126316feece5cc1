//! The scenarios that use tools, with the names and inputs that Claude Code gives its tools.

use serde_json::{Value, json};

use super::Scene;

/// A tool call before it has an id.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) name: String,
    pub(super) input: Value,
}

/// What a working scenario does at its step.
#[derive(Debug)]
pub(super) enum Next {
    Call(Vec<Wish>),
    Close(String),
}

/// The next calls of a scenario that uses tools; `None` if the scenario is not one of these.
pub(super) fn calls(scene: &Scene<'_>) -> Option<Next> {
    let marker = scene.marker;
    let wishes = match (marker.name.as_str(), scene.step) {
        ("bash", 0) => vec![bash(&marker.text("cmd", "echo hi > out.txt && cat out.txt"))],
        ("bash_fail", 0) => vec![bash("cat /nonexistent-file")],
        ("bash_sleep", 0) => {
            let seconds = marker.number("s", 30);
            vec![bash(&format!("echo started > started.txt; sleep {seconds}; echo finished"))]
        }
        ("bash_big", 0) => vec![bash("yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 204800")],
        ("write", 0) => {
            let path = scene.path("written.txt");
            let content = marker.text("content", "written by the scripted model\n");
            vec![wish("Write", json!({"file_path": path, "content": content}))]
        }
        ("edit", 0) => vec![wish("Read", json!({"file_path": scene.path("edit.txt")}))],
        ("edit", 1) => {
            let (old, new) = (marker.text("old", "old"), marker.text("new", "new"));
            let input =
                json!({"file_path": scene.path("edit.txt"), "old_string": old, "new_string": new});
            vec![wish("Edit", input)]
        }
        ("par", 0) => {
            (1..=marker.number("n", 3)).map(|n| bash(&format!("echo parallel {n}"))).collect()
        }
        ("seq", step) if (step as u64) < marker.number("n", 3) => {
            vec![bash(&format!("echo step {}", step + 1))]
        }
        ("endless", _) => vec![bash("true")],
        ("badtool", 0) => vec![wish("NoSuchTool", json!({"why": "nobody offered it"}))],
        ("ask", 0) => vec![question(marker.flag("multi").unwrap_or(false))],
        ("plan", 0) => vec![wish(
            "ExitPlanMode",
            json!({"plan": marker.text("plan", "1. Look around.\n2. Write the file.\n3. Check it.")}),
        )],
        ("agent", 0) => vec![helper(scene)],
        ("todo", 0) => vec![todo(scene)?],
        ("todo", _) if todo(scene).is_none() => return None,
        ("agent", _) => return Some(Next::Close("The helper has answered.".to_owned())),
        (
            "bash" | "bash_fail" | "bash_sleep" | "bash_big" | "write" | "edit" | "par" | "seq"
            | "badtool" | "ask" | "plan" | "todo",
            _,
        ) => return Some(Next::Close("Done.".to_owned())),
        _ => return None,
    };
    Some(Next::Call(wishes))
}

fn wish(name: &str, input: Value) -> Wish {
    Wish { name: name.to_owned(), input }
}

fn bash(command: &str) -> Wish {
    wish("Bash", json!({"command": command, "description": "Run a scripted command"}))
}

fn question(multi: bool) -> Wish {
    wish(
        "AskUserQuestion",
        json!({"questions": [{
            "question": "Which colour do you prefer?",
            "header": "Colour",
            "multiSelect": multi,
            "options": [
                {"label": "Red", "description": "The colour red"},
                {"label": "Blue", "description": "The colour blue"},
            ],
        }]}),
    )
}

fn helper(scene: &Scene<'_>) -> Wish {
    let old_name = !scene.conversation.offers("Agent") && scene.conversation.offers("Task");
    let mut input = json!({
        "subagent_type": "general-purpose",
        "description": "helper",
        "prompt": "[[scn:text say=I_am_the_helper]]",
    });
    if let Some(background) = scene.marker.flag("bg") {
        input["run_in_background"] = json!(background);
    }
    wish(if old_name { "Task" } else { "Agent" }, input)
}

/// The todo tool under whichever name the client offers it.
fn todo(scene: &Scene<'_>) -> Option<Wish> {
    if scene.conversation.offers("TodoWrite") {
        let entry = |content: &str, active: &str, status: &str| json!({"content": content, "activeForm": active, "status": status});
        return Some(wish(
            "TodoWrite",
            json!({"todos": [
                entry("Look around", "Looking around", "completed"),
                entry("Write the file", "Writing the file", "in_progress"),
                entry("Check it", "Checking it", "pending"),
            ]}),
        ));
    }
    scene.conversation.offers("TaskCreate").then(|| {
        wish(
            "TaskCreate",
            json!({"subject": "Look around", "description": "See what is there", "activeForm": "Looking around"}),
        )
    })
}

impl Scene<'_> {
    /// The `path` value as the absolute name that the file tools demand.
    fn path(&self, default: &str) -> String {
        let name = self.marker.text("path", default);
        match self.conversation.folder() {
            Some(folder) if !name.starts_with('/') => {
                format!("{}/{name}", folder.trim_end_matches('/'))
            }
            _ => name,
        }
    }
}
