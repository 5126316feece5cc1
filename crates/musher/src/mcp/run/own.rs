//! Does to the session what the tools of its own run want of it.

use std::pin::Pin;

use musher_core::{Ask, Question};
use musher_runtime::tools::{
    CallProgress, ReplyFuture, SessionEffect, ToolCall, ToolHost, ToolReply, ToolSpec,
};
use musher_runtime::{CancellationToken, CommandError, HostAsk, Remark, SessionHandle};

/// The tools of a run that speak to its session. Which session that is was settled when the run began.
#[derive(Debug)]
pub struct Own<H> {
    host: H,
    session: SessionHandle,
}

impl<H: ToolHost> Own<H> {
    pub fn new(host: H, session: SessionHandle) -> Self {
        Self { host, session }
    }

    async fn settle(
        &self,
        reply: ToolReply,
        progress: &CallProgress,
        cancel: &CancellationToken,
    ) -> ToolReply {
        let remark = match &reply.effect {
            SessionEffect::None => return reply,
            SessionEffect::Question(questions) => {
                progress.say("waiting for the person");
                return self.ask(questions.clone(), cancel).await;
            }
            SessionEffect::Plan(entries) => Remark::Plan(entries.clone()),
            SessionEffect::Progress { text } => Remark::Progress(text.clone()),
            SessionEffect::Finish { summary } => Remark::Summary(summary.clone()),
        };
        match self.session.remark(remark).await {
            Ok(()) => reply.with_effect(SessionEffect::None),
            Err(error) => failed(&error),
        }
    }

    /// Puts questions to the person through the driver, which alone knows who may answer and until when.
    async fn ask(&self, questions: Vec<Question>, cancel: &CancellationToken) -> ToolReply {
        let body = Ask::Question { questions: questions.clone() };
        let HostAsk { ask, answer } = match self.session.ask(body).await {
            Ok(asked) => asked,
            Err(error) => return failed(&error),
        };
        tokio::select! {
            answer = answer => match answer {
                Ok(given) => ToolReply::answered(&questions, &given.answer),
                Err(_) => ToolReply::failed("the turn ended before anybody answered"),
            },
            () = cancel.cancelled() => {
                // A session that has ended has closed it already.
                let _ended = self.session.withdraw(ask).await;
                ToolReply::cancelled()
            }
        }
    }
}

impl<H: ToolHost> ToolHost for Own<H> {
    fn tools(&self) -> Vec<ToolSpec> {
        self.host.tools()
    }

    fn call<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ReplyFuture<'a> {
        Box::pin(async move {
            let progress = call.progress.clone();
            let reply = self.host.call(call, cancel).await;
            self.settle(reply, &progress, cancel).await
        })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = Vec<i32>> + Send + '_>> {
        self.host.close()
    }
}

fn failed(error: &CommandError) -> ToolReply {
    ToolReply::failed(match *error == CommandError::Ended {
        true => "the run is over, and nothing more can be said in it".to_owned(),
        false => error.to_string(),
    })
}
