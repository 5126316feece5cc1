//! What an agent has begun and not ended yet: calls and tasks, its own and those of its helpers. Each gets its end.

use std::collections::BTreeMap;

use crate::{CallId, EventKind, EventScope, TaskId, TaskPhase, TaskUpdate, ToolPhase, ToolUpdate};

/// The open calls and tasks of one session.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OpenWork {
    calls: BTreeMap<CallId, EventScope>,
    tasks: BTreeMap<TaskId, OpenTask>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenTask {
    scope: EventScope,
    /// The call that began it.
    call: Option<CallId>,
    background: bool,
}

impl OpenWork {
    /// Keeps track of what an event begins and ends.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only calls and tasks go on after their event"
    )]
    pub fn hear(&mut self, kind: &EventKind, scope: &EventScope) {
        match kind {
            EventKind::Tool(update) => self.call(update, scope),
            EventKind::Task(update) => self.task(update, scope),
            _ => {}
        }
    }

    fn call(&mut self, update: &ToolUpdate, scope: &EventScope) {
        match update.phase {
            ToolPhase::Proposed | ToolPhase::Running => {
                self.calls.entry(update.call.clone()).or_insert_with(|| scope.clone());
            }
            // How far a call is may be told after its result.
            ToolPhase::Progress => {}
            ToolPhase::Completed | ToolPhase::Failed | ToolPhase::Denied | ToolPhase::Cancelled => {
                self.calls.remove(&update.call);
            }
        }
    }

    fn task(&mut self, update: &TaskUpdate, scope: &EventScope) {
        match update.phase {
            TaskPhase::Started | TaskPhase::Progress => {
                // One that was never begun and need not be waited for has nothing to end.
                let begins = update.phase == TaskPhase::Started || update.background;
                let known = self.tasks.get_mut(&update.task);
                match known {
                    Some(open) => {
                        open.background |= update.background;
                        open.call = open.call.take().or_else(|| update.call.clone());
                    }
                    None if begins => {
                        let (call, background) = (update.call.clone(), update.background);
                        let open = OpenTask { scope: scope.clone(), call, background };
                        self.tasks.insert(update.task.clone(), open);
                    }
                    None => {}
                }
            }
            TaskPhase::Completed | TaskPhase::Failed | TaskPhase::Stopped => {
                self.tasks.remove(&update.task);
            }
        }
    }

    /// Whether something works on that a turn need not wait for.
    pub fn has_background(&self) -> bool {
        self.tasks.values().any(|task| task.background)
    }

    /// The ends of all that ends with a turn: the agent's own calls, what they had begun, and what helpers do that do not
    /// work on in the background.
    pub fn end_turn(&mut self) -> Vec<(EventScope, EventKind)> {
        let calls: Vec<CallId> = self
            .calls
            .iter()
            .filter(|(_, scope)| !self.works_on(scope))
            .map(|(call, _)| call.clone())
            .collect();
        let tasks: Vec<TaskId> = self
            .tasks
            .iter()
            .filter(|(_, task)| {
                !task.background && task.call.as_ref().is_some_and(|call| calls.contains(call))
            })
            .map(|(task, _)| task.clone())
            .collect();
        self.ends(calls, tasks)
    }

    /// The ends of all that is open when the session ends.
    pub fn end(&mut self) -> Vec<(EventScope, EventKind)> {
        let (calls, tasks) =
            (self.calls.keys().cloned().collect(), self.tasks.keys().cloned().collect());
        self.ends(calls, tasks)
    }

    /// Whether this is a helper, or the helper of one, that works in the background.
    fn works_on(&self, scope: &EventScope) -> bool {
        let mut scope = scope;
        // Helpers of helpers stand in a row; a row that leads in a circle is no longer than there are calls.
        for _ in 0..=self.calls.len() {
            let EventScope::Subagent { agent, parent_call, .. } = scope else { return false };
            let is_this = |(id, task): (&TaskId, &OpenTask)| {
                task.background
                    && (id.as_str() == agent || (task.call.is_some() && task.call == *parent_call))
            };
            if self.tasks.iter().any(is_this) {
                return true;
            }
            match parent_call.as_ref().and_then(|call| self.calls.get(call)) {
                Some(parent) => scope = parent,
                None => return false,
            }
        }
        false
    }

    /// Helpers end before those who called them.
    fn ends(&mut self, calls: Vec<CallId>, tasks: Vec<TaskId>) -> Vec<(EventScope, EventKind)> {
        let mut ends = Vec::new();
        let mut calls: Vec<(CallId, EventScope)> =
            calls.into_iter().filter_map(|call| self.calls.remove_entry(&call)).collect();
        calls.sort_by_key(|(_, scope)| scope.is_main());
        for (call, scope) in calls {
            let update = ToolUpdate::phase(call, ToolPhase::Cancelled);
            ends.push((scope, EventKind::Tool(Box::new(update))));
        }
        for task in tasks {
            let Some((task, open)) = self.tasks.remove_entry(&task) else { continue };
            let update = TaskUpdate {
                task,
                phase: TaskPhase::Stopped,
                background: open.background,
                name: None,
                title: None,
                call: open.call,
                summary: None,
            };
            ends.push((open.scope, EventKind::Task(update)));
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper(parent: &str) -> EventScope {
        EventScope::Subagent { agent: parent.into(), parent_call: Some(parent.into()), name: None }
    }

    fn call(id: &str, phase: ToolPhase) -> EventKind {
        EventKind::Tool(Box::new(ToolUpdate::phase(id.into(), phase)))
    }

    fn task(id: &str, call: &str, background: bool) -> EventKind {
        EventKind::Task(TaskUpdate {
            task: id.into(),
            phase: TaskPhase::Started,
            background,
            name: None,
            title: None,
            call: Some(call.into()),
            summary: None,
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else ends")]
    fn name(kind: &EventKind) -> &str {
        match kind {
            EventKind::Tool(update) => update.call.as_str(),
            EventKind::Task(update) => update.task.as_str(),
            other => panic!("{other:?}"),
        }
    }

    fn names(ends: &[(EventScope, EventKind)]) -> Vec<&str> {
        ends.iter().map(|(_, kind)| name(kind)).collect()
    }

    #[test]
    fn what_works_in_the_background_outlives_the_turn_and_not_the_session() {
        let mut work = OpenWork::default();
        for (kind, scope) in [
            // A helper that the turn waits for, with a helper of its own.
            (call("agent", ToolPhase::Proposed), EventScope::Main),
            (task("t1", "agent", false), EventScope::Main),
            (call("its-call", ToolPhase::Proposed), helper("agent")),
            (call("its-helper", ToolPhase::Running), helper("its-call")),
            // One that works in the background: its own call has its result.
            (call("behind", ToolPhase::Proposed), EventScope::Main),
            (task("t2", "behind", true), EventScope::Main),
            (call("behind", ToolPhase::Completed), EventScope::Main),
            (call("goes-on", ToolPhase::Proposed), helper("behind")),
            (call("goes-on-too", ToolPhase::Proposed), helper("goes-on")),
            // A shell that was left running.
            (call("shell", ToolPhase::Proposed), EventScope::Main),
            (task("t3", "shell", false), EventScope::Main),
            (call("shell", ToolPhase::Completed), EventScope::Main),
            (call("shell", ToolPhase::Progress), EventScope::Main),
        ] {
            work.hear(&kind, &scope);
        }
        assert!(work.has_background());
        let ends = work.end_turn();
        assert_eq!(names(&ends), ["its-call", "its-helper", "agent", "t1"]);
        assert_eq!(ends[0].0, helper("agent"), "an end has the scope of its beginning");
        assert_eq!(names(&work.end_turn()), Vec::<&str>::new());
        assert_eq!(names(&work.end()), ["goes-on", "goes-on-too", "t2", "t3"]);
        assert_eq!(work, OpenWork::default());
    }
}
