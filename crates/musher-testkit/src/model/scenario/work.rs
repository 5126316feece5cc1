//! The scenarios that use tools.

use serde_json::{Value, json};

use super::Scene;
use crate::model::reply::{Input, ToolCall};

/// What a working scenario does at its step.
#[derive(Debug)]
pub(super) enum Next {
    Call(Vec<ToolCall>),
    Close(String),
}

/// The next calls of a scenario that uses tools; `None` if the scenario is not one of these.
pub(super) fn calls(scene: &Scene<'_>) -> Option<Next> {
    let marker = scene.marker;
    let wishes = match (marker.name.as_str(), scene.step) {
        ("bash", 0) => vec![scene.run(&marker.text("cmd", "echo hi > out.txt && cat out.txt"))],
        ("bash_fail", 0) => vec![scene.run("cat /nonexistent-file")],
        ("bash_sleep", 0) => {
            let seconds = marker.number("s", 30);
            vec![scene.run(&format!("echo started > started.txt; sleep {seconds}; echo finished"))]
        }
        ("bash_big", 0) => {
            vec![scene.run("yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 204800")]
        }
        ("write", 0) => {
            let content = marker.text("content", "written by the scripted model\n");
            vec![scene.write(&scene.path("written.txt"), &content)]
        }
        ("edit", 0) => vec![scene.read(&scene.path("edit.txt"))],
        ("edit", 1) => {
            let (old, new) = (marker.text("old", "old"), marker.text("new", "new"));
            vec![scene.edit(&scene.path("edit.txt"), &old, &new)]
        }
        ("par", 0) => {
            (1..=marker.number("n", 3)).map(|n| scene.run(&format!("echo parallel {n}"))).collect()
        }
        ("seq", step) if (step as u64) < marker.number("n", 3) => {
            vec![scene.run(&format!("echo step {}", step + 1))]
        }
        ("endless", _) => vec![scene.run("true")],
        ("badtool", 0) => vec![ToolCall::new("NoSuchTool", json!({"why": "nobody offered it"}))],
        ("call", step) if (step as u64) < marker.number("steps", 1) => {
            (0..marker.number("n", 1)).map(|_| named(scene)).collect()
        }
        ("ask", 0) => vec![question(scene)],
        ("plan", 0) => vec![ToolCall::new(
            "ExitPlanMode",
            json!({"plan": marker.text("plan", "1. Look around.\n2. Write the file.\n3. Check it.")}),
        )],
        ("agent", 0) => vec![helper(scene)],
        ("todo", 0) => vec![todo(scene)?],
        ("todo", _) if todo(scene).is_none() => return None,
        ("agent", _) => return Some(Next::Close("The helper has answered.".to_owned())),
        (
            "bash" | "bash_fail" | "bash_sleep" | "bash_big" | "write" | "edit" | "par" | "seq"
            | "badtool" | "call" | "ask" | "plan" | "todo",
            _,
        ) => return Some(Next::Close("Done.".to_owned())),
        _ => return None,
    };
    Some(Next::Call(wishes))
}

/// The tool that the marker names, with the arguments that it gives; what is no JSON is sent as it is.
pub(super) fn named(scene: &Scene<'_>) -> ToolCall {
    let name = scene.marker.get("tool").map_or_else(
        || scene.conversation.tools.first().map_or("Bash", |offer| &offer.name).to_owned(),
        str::to_owned,
    );
    let arguments = scene.marker.text("args", "{}");
    let mut call = ToolCall::new(name, Value::Null);
    call.input = match serde_json::from_str(&arguments) {
        Ok(input) => Input::Json(input),
        Err(_) => Input::Broken(arguments),
    };
    call
}

fn question(scene: &Scene<'_>) -> ToolCall {
    let multi = scene.marker.flag("multi").unwrap_or(false);
    let options = json!([
        {"label": "Red", "description": "The colour red"},
        {"label": "Blue", "description": "The colour blue"},
    ]);
    let text = "Which colour do you prefer?";
    if scene.conversation.offer("ask_person").is_some() {
        let question = json!({"text": text, "options": options, "multi": multi});
        return ToolCall::new("ask_person", json!({"questions": [question]}));
    }
    if scene.conversation.offer("request_user_input").is_some() {
        let question =
            json!({"id": "colour", "header": "Colour", "question": text, "options": options});
        return ToolCall::new("request_user_input", json!({"questions": [question]}));
    }
    ToolCall::new(
        "AskUserQuestion",
        json!({"questions": [{
            "question": text,
            "header": "Colour",
            "multiSelect": multi,
            "options": options,
        }]}),
    )
}

fn helper(scene: &Scene<'_>) -> ToolCall {
    let old_name =
        scene.conversation.offer("Agent").is_none() && scene.conversation.offer("Task").is_some();
    let does = scene.marker.text("does", "text say=I_am_the_helper");
    let mut input = json!({
        "subagent_type": "general-purpose",
        "description": "helper",
        "prompt": format!("[[scn:{does}]]"),
    });
    if let Some(background) = scene.marker.flag("bg") {
        input["run_in_background"] = json!(background);
    }
    ToolCall::new(if old_name { "Task" } else { "Agent" }, input)
}

/// The todo tool under whichever name the client offers it.
fn todo(scene: &Scene<'_>) -> Option<ToolCall> {
    if scene.conversation.offer("TodoWrite").is_some() {
        let entry = |content: &str, active: &str, status: &str| json!({"content": content, "activeForm": active, "status": status});
        return Some(ToolCall::new(
            "TodoWrite",
            json!({"todos": [
                entry("Look around", "Looking around", "completed"),
                entry("Write the file", "Writing the file", "in_progress"),
                entry("Check it", "Checking it", "pending"),
            ]}),
        ));
    }
    if scene.conversation.offer("update_plan").is_some() {
        let step = |text: &str, status: &str| json!({"step": text, "status": status});
        let steps = [
            step("Look around", "completed"),
            step("Write the file", "in_progress"),
            step("Check it", "pending"),
        ];
        return Some(ToolCall::new("update_plan", json!({"plan": steps})));
    }
    if scene.conversation.offer("plan").is_some() {
        let step = |text: &str, status: &str| json!({"text": text, "status": status});
        let steps = [
            step("Look around", "completed"),
            step("Write the file", "in_progress"),
            step("Check it", "pending"),
        ];
        return Some(ToolCall::new("plan", json!({"steps": steps})));
    }
    scene.conversation.offer("TaskCreate").map(|_| {
        ToolCall::new(
            "TaskCreate",
            json!({"subject": "Look around", "description": "See what is there", "activeForm": "Looking around"}),
        )
    })
}

impl Scene<'_> {
    /// The file that the marker names.
    pub(super) fn path(&self, default: &str) -> String {
        self.marker.text("path", default)
    }
}
