//! How an ask of the demonstration is answered: at the terminal, in the browser, or by the demonstration itself.

use musher_core::pool::State;
use musher_core::{Answer, Ask, AskId, AskState, RunId};

use super::super::run::answer::{self, Dialog, Meaning};
use super::super::terminal::Typed;
use super::super::text::plain;
use super::super::{CliError, ask, out};
use crate::pool::{PoolHandle, RunName};

/// Waits until somebody else has answered.
pub(super) async fn until_closed(pool: &PoolHandle, run: RunId, ask: &AskId) {
    pool.until_heard(&RunName::Id(run), ask).await;
    let mut facts = pool.facts();
    loop {
        facts.borrow_and_update();
        if is_closed(pool, run, ask).await {
            return;
        }
        if facts.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Whether an answer makes no difference any more.
pub(super) async fn is_closed(pool: &PoolHandle, run: RunId, ask: &AskId) -> bool {
    let ask = ask.clone();
    let look = move |state: &State| match state.runs.get(&run) {
        Some(run) => matches!(run.asks.get(&ask), Some(AskState::Closed { .. })),
        None => true,
    };
    pool.inspect(look).await.unwrap_or(false)
}

/// What the demonstration says when nobody is there: yes, or the first option.
pub(super) fn own_answer(ask: &Ask) -> (Answer, String) {
    match ask {
        Ask::Question { questions } => {
            let first = |question: &musher_core::Question| {
                question.options.first().map(|option| option.label.clone()).unwrap_or_default()
            };
            let chosen: Vec<String> = questions.iter().map(first).collect();
            let said = chosen.join(", ");
            let reply =
                |label: String| musher_core::QuestionReply { chosen: vec![label], text: None };
            (Answer::Replies { replies: chosen.into_iter().map(reply).collect() }, said)
        }
        Ask::Approval(_) | Ask::Plan { .. } => (Answer::Allow { input: None }, "yes".into()),
        Ask::Form { .. } => (Answer::Deny { reason: "Nobody is there.".into() }, "no".into()),
    }
}

/// The whole ask, with a mark at every option that the answer takes.
pub(super) fn marked(ask: &Ask, answer: &Answer) -> String {
    let taken = |label: &str| match answer {
        Answer::Replies { replies } => {
            replies.iter().flat_map(|reply| &reply.chosen).any(|chosen| chosen == label)
        }
        Answer::Allow { .. }
        | Answer::AllowAlways { .. }
        | Answer::Deny { .. }
        | Answer::DenyAndInterrupt { .. }
        | Answer::Form { .. } => false,
    };
    let Ask::Question { questions } = ask else { return ask::described(ask) };
    let mut lines = Vec::new();
    for question in questions {
        lines.push(format!("? {}", plain(&question.text)));
        for option in &question.options {
            let mark = if taken(&option.label) { "●" } else { "○" };
            lines.push(format!("  {mark} {}", plain(&option.label)));
        }
    }
    lines.join("\n")
}

/// Asks the person at the terminal until the answer is understood.
pub(super) async fn typed(
    ask: &Ask,
    typed: &mut Typed,
    startled: bool,
) -> Result<Answer, CliError> {
    let mut dialog = Dialog::Start;
    // What was typed before the question is no answer to it; what is typed after it is.
    typed.listen();
    out::line(&answer::put(ask))?;
    if startled {
        out::line("  The ask before this one was answered just now: press Enter, then answer.")?;
        typed.next().await;
    }
    loop {
        let Some(line) = typed.next().await else {
            return Ok(Answer::Deny { reason: "Nobody is at the terminal.".into() });
        };
        match answer::understand(ask, &dialog, &line) {
            Meaning::Answer(answer) => return Ok(answer),
            Meaning::Next(next, question) => {
                dialog = next;
                out::line(&question)?;
            }
            Meaning::Again(why) => out::line(&why)?,
        }
    }
}
