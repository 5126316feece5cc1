//! How the driver lets a session end: gently when it is idle, step by step when something ends it.

use musher_core::{Activity, ErrorClass, ErrorInfo, Outcome};

use super::super::ending::Ending;
use super::super::port::BackendOrder;
use super::Driver;
use super::state::DriverState;

impl Driver {
    /// Ends an agent that can say nothing any more and does not leave.
    pub(super) fn end_mute(&mut self) {
        let owed = self.owes_a_turn() || (self.work.has_background() && !self.state.is_leaving());
        if self.turns.open.is_some() || owed {
            let message = "the agent closed its output before its work was done, and did not leave";
            let error = ErrorInfo::new(ErrorClass::ProcessExit, message).with_code("output_closed");
            self.begin_ending(Outcome::Failed, Some(error));
        }
        self.end.cancel();
    }

    /// Starts down the stop ladder; the first reason stands.
    pub(super) fn begin_ending(&mut self, outcome: Outcome, error: Option<ErrorInfo>) {
        if self.state.ending().is_some() {
            return;
        }
        self.forget_pending();
        let mut ending = Ending::new(outcome, error);
        let can_tell = self.profile.capabilities.interrupt && self.mute_by.is_none();
        let may_interrupt = self.turns.open.is_some() && can_tell;
        if may_interrupt && self.order(BackendOrder::Interrupt).is_ok() {
            ending.interrupting();
        } else {
            self.end.cancel();
        }
        self.state = DriverState::Ending(ending);
    }

    /// What was waited for did not come.
    pub(super) fn waited_enough(&mut self) {
        match &mut self.state {
            DriverState::Open { agent, close_at } => {
                *close_at = None;
                // An agent that claimed to be busy and said nothing more is taken to be idle.
                let was_busy = std::mem::replace(agent, Activity::Idle) != Activity::Idle;
                let words = self.turns.not_taken(None);
                if was_busy || words {
                    self.settle();
                } else {
                    self.close();
                }
            }
            DriverState::Ending(ending) => {
                ending.interrupting_until = None;
                self.end.cancel();
            }
            DriverState::Leaving => {}
        }
    }

    /// Lets an idle session end by itself.
    pub(super) fn close(&mut self) {
        self.state = DriverState::Leaving;
        if self.order(BackendOrder::Close).is_err() {
            self.end.cancel();
        }
    }
}
