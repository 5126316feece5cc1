//! Whether an agent may speak to a host: the rules of its sandbox, what a person said before, and the ask about a new host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use musher_core::{Answer, Approval, Ask, AskId, ClosedBy, HostDecider, ToolKind};
use musher_runtime::{HostAnswer, HostAsk, SessionHandle};
use musher_sandbox::{Destination, HostRule};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

/// How long a connection is held while a person thinks; most programs wait a little longer than that.
const ASK_HOLD_TIMEOUT: Duration = Duration::from_secs(10);
/// So many hosts are remembered. An agent that names more is answered without being asked about.
const MAX_KNOWN_HOSTS: usize = 1000;

/// Who or what decided about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostVerdict {
    pub(super) by: HostDecider,
    /// The rule of the sandbox that allows it.
    pub(super) rule: Option<String>,
    pub(super) ask: Option<AskId>,
}

impl HostVerdict {
    pub(super) fn of(by: HostDecider) -> Self {
        Self { by, rule: None, ask: None }
    }
}

/// Whether a connection may be made, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Admission {
    Allowed(HostVerdict),
    Refused(HostVerdict),
    /// A person was asked and has not answered in time.
    Asked(HostVerdict),
}

/// What is known of a host that no rule of the sandbox names.
#[derive(Debug)]
enum Known {
    /// For the rest of the run.
    Settled(Admission),
    /// A person said yes to one connection, which had not waited so long. The next one is it.
    OneMore(HostVerdict),
    /// A person is asked. Those whose connections are held listen for the answer.
    Asked(Arc<watch::Sender<Option<Judged>>>),
}

/// What came of an ask.
#[derive(Debug, Clone)]
enum Judged {
    /// For the rest of the run.
    Settled(Admission),
    /// Only the connections that are held now.
    Once(HostVerdict),
    /// Nobody could be asked, or the ask was closed with its turn: the next connection asks again.
    Nothing,
}

/// Decides about the hosts of one run.
#[derive(Debug, Clone)]
pub(super) struct HostJudge(Arc<JudgeState>);

#[derive(Debug)]
struct JudgeState {
    rules: Vec<(HostRule, String)>,
    session: SessionHandle,
    known: Mutex<HashMap<Destination, Known>>,
    tasks: TaskTracker,
    /// How long a connection is held while a person thinks.
    hold: Duration,
}

impl HostJudge {
    /// A rule that cannot be read allows nothing; the project file was checked before.
    pub(super) fn new(hosts: &[String], session: SessionHandle, tasks: TaskTracker) -> Self {
        Self::holding(ASK_HOLD_TIMEOUT, hosts, session, tasks)
    }

    fn holding(
        hold: Duration,
        hosts: &[String],
        session: SessionHandle,
        tasks: TaskTracker,
    ) -> Self {
        let read = |host: &String| match host.parse::<HostRule>() {
            Ok(rule) => Some((rule, host.clone())),
            Err(error) => {
                warn!(cause = %error, "rule about a host cannot be read and allows nothing");
                None
            }
        };
        let rules = hosts.iter().filter_map(read).collect();
        Self(Arc::new(JudgeState { rules, session, known: Mutex::default(), tasks, hold }))
    }

    /// Whether a connection to this host may be made. It is held for a while if a person has to say so.
    pub(super) async fn admit(&self, to: &Destination) -> Admission {
        if let Some((_, rule)) = self.0.rules.iter().find(|(rule, _)| rule.allows(to)) {
            let rule = Some(rule.clone());
            return Admission::Allowed(HostVerdict { rule, ..HostVerdict::of(HostDecider::Hosts) });
        }
        let refused = || Admission::Refused(HostVerdict::of(HostDecider::Hosts));
        // An address has no name that a person could judge.
        let Destination::Name(..) = to else { return refused() };
        let mut heard = {
            let mut all = self.known();
            match all.get(to) {
                Some(Known::Settled(settled)) => return settled.clone(),
                Some(Known::OneMore(verdict)) => {
                    let verdict = verdict.clone();
                    all.remove(to);
                    return Admission::Allowed(verdict);
                }
                Some(Known::Asked(answer)) => answer.subscribe(),
                None if all.len() >= MAX_KNOWN_HOSTS => return refused(),
                None => {
                    let (answer, heard) = watch::channel(None);
                    let answer = Arc::new(answer);
                    all.insert(to.clone(), Known::Asked(answer.clone()));
                    let (judge, host) = (self.clone(), to.clone());
                    // The ask is not the client's: it stays when the client leaves.
                    self.0.tasks.spawn(async move { judge.judge(host, &answer).await });
                    heard
                }
            }
        };
        let _late = timeout(self.0.hold, async {
            // Whoever asks sends in any case.
            let _sent = heard.wait_for(Option::is_some).await;
        })
        .await;
        let judged = {
            // Whoever listens is counted as held, so the answer and the end of listening must not cross.
            let _alone = self.known();
            let judged = heard.borrow().clone();
            drop(heard);
            judged
        };
        match judged {
            Some(Judged::Settled(settled)) => settled,
            Some(Judged::Once(verdict)) => Admission::Allowed(verdict),
            Some(Judged::Nothing) => refused(),
            None => Admission::Asked(HostVerdict::of(HostDecider::Waiting)),
        }
    }

    /// Asks about a host, tells those that wait, and remembers what holds longer.
    async fn judge(&self, host: Destination, answer: &watch::Sender<Option<Judged>>) {
        let judged = self.judged(&host).await;
        info!(host = %host, ?judged, "a new host was judged");
        let mut all = self.known();
        match &judged {
            Judged::Settled(settled) => _ = all.insert(host, Known::Settled(settled.clone())),
            Judged::Once(verdict) if answer.receiver_count() == 0 => {
                _ = all.insert(host, Known::OneMore(verdict.clone()));
            }
            Judged::Once(_) | Judged::Nothing => _ = all.remove(&host),
        }
        answer.send_replace(Some(judged));
    }

    async fn judged(&self, host: &Destination) -> Judged {
        let (ask, answer) = match self.0.session.ask(question(host)).await {
            Ok(HostAsk { ask, answer }) => (ask, answer.await),
            Err(error) => {
                debug!(host = %host, cause = %error, "nobody can be asked about a host now");
                return Judged::Nothing;
            }
        };
        let Ok(HostAnswer { answer, by }) = answer else { return Judged::Nothing };
        let verdict = HostVerdict { ask: Some(ask), ..HostVerdict::of(decider(by)) };
        match (answer, by) {
            // A plain yes of a person is for this once; a rule would say the same to the next connection.
            (Answer::Allow { .. }, ClosedBy::Person) => Judged::Once(verdict),
            (Answer::Allow { .. }, _) => Judged::Settled(Admission::Allowed(verdict)),
            (Answer::AllowAlways { .. }, _) => Judged::Settled(Admission::Allowed(verdict)),
            (
                Answer::Deny { .. }
                | Answer::DenyAndInterrupt { .. }
                | Answer::Replies { .. }
                | Answer::Form { .. },
                _,
            ) => Judged::Settled(Admission::Refused(verdict)),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Destination, Known>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn decider(by: ClosedBy) -> HostDecider {
    match by {
        ClosedBy::Rule => HostDecider::Rule,
        ClosedBy::Deadline => HostDecider::Deadline,
        ClosedBy::Unattended => HostDecider::Unattended,
        ClosedBy::Person | ClosedBy::Agent | ClosedBy::TurnEnd | ClosedBy::ProcessEnd => {
            HostDecider::Person
        }
    }
}

/// The ask about a new host. Rules about `fetch` hold for it, and "always" saves one.
fn question(to: &Destination) -> Ask {
    let url = to.url();
    Ask::Approval(Box::new(Approval {
        tool: "connect".into(),
        tool_kind: ToolKind::Fetch,
        call: None,
        subject: Some(url.clone()),
        subject_field: Some("url".into()),
        input: json!({ "url": url }),
        edits: Vec::new(),
        reason: Some(
            "a program in the sandbox wants to speak to a new host; yes is for this connection, always for this run, this agent or the project"
                .into(),
        ),
        always: Vec::new(),
        human_only: false,
        shortened: None,
        as_is: true,
    }))
}

#[cfg(test)]
mod tests {
    use musher_core::EventKind;
    use musher_runtime::{AskPolicy, Environment, Session, SessionOutput, SessionSpec};

    use super::*;
    use crate::runtimes;

    /// An agent in the middle of its turn.
    async fn busy(folder: &tempfile::TempDir, asks: AskPolicy) -> Session {
        let script = folder.path().join("work.toml");
        std::fs::write(&script, "[[step]]\nrun = 'exec sleep 600'\n").unwrap();
        let environment = Environment::of_this_process();
        let mut spec = SessionSpec::new("go", folder.path(), environment.clone());
        (spec.program, spec.asks) = (Some(script), asks);
        let mut session = runtimes::choose("script", None, &environment).unwrap().start(spec);
        loop {
            match session.next().await.unwrap() {
                SessionOutput::Event(event)
                    if matches!(event.kind, EventKind::TurnStarted { .. }) =>
                {
                    return session;
                }
                SessionOutput::Event(_) | SessionOutput::Delta(_) => {}
            }
        }
    }

    fn judge(session: &Session, hold: Duration) -> HostJudge {
        HostJudge::holding(hold, &["a.example".to_owned()], session.handle(), TaskTracker::new())
    }

    fn host(name: &str) -> Destination {
        Destination::new(name, 443).unwrap()
    }

    async fn next_ask(session: &mut Session) -> AskId {
        loop {
            if let SessionOutput::Event(event) = session.next().await.unwrap()
                && let EventKind::AskOpened { ask, .. } = event.kind
            {
                return ask;
            }
        }
    }

    #[tokio::test]
    async fn where_nobody_is_there_a_new_host_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let session = busy(&folder, AskPolicy::Deny).await;
        let judge = judge(&session, Duration::from_secs(600));
        let Admission::Refused(verdict) = judge.admit(&host("new.example")).await else {
            panic!("it was not refused");
        };
        assert_eq!(verdict.by, HostDecider::Unattended);
        let known = judge.admit(&host("a.example")).await;
        assert!(matches!(known, Admission::Allowed(_)), "{known:?}");
    }

    #[tokio::test]
    async fn a_yes_for_once_that_comes_after_the_connection_was_given_up_is_for_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = busy(&folder, AskPolicy::default()).await;
        let judge = judge(&session, Duration::from_millis(1));
        let new = host("new.example");
        let asked = judge.admit(&new).await;
        assert!(matches!(asked, Admission::Asked(_)), "{asked:?}");
        let ask = next_ask(&mut session).await;
        session.handle().answer(ask.clone(), Answer::Allow { input: None }).await.unwrap();
        // Who waits for the answer is told when the session has told it.
        let mut admitted = judge.admit(&new).await;
        while matches!(admitted, Admission::Asked(_)) {
            admitted = judge.admit(&new).await;
        }
        let Admission::Allowed(verdict) = admitted else { panic!("{admitted:?}") };
        assert_eq!((verdict.by, verdict.ask), (HostDecider::Person, Some(ask)));
        let again = judge.admit(&new).await;
        assert!(matches!(again, Admission::Asked(_)), "{again:?}");
    }
}
