//! The desk at which asks are answered: by one client, by two at once, and by one who is too late.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use musher_client::api::{ApiAsk, ApiAsks, ApiReceipt};
use musher_core::Ask;
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::broken::{Broken, Promise};
use super::dice::Dice;
use super::ledger::{self, Answered};
use super::world::{Told, World};

const LOOK: Duration = Duration::from_millis(100);

pub(super) async fn desk(world: Arc<World>) -> anyhow::Result<()> {
    let mut answering = JoinSet::new();
    let mut busy = BTreeSet::new();
    for round in 0.. {
        if !world.goes_on_after(LOOK).await {
            break;
        }
        while let Some(answered) = answering.try_join_next() {
            let key: (String, String) = answered.context("an answer died")??;
            busy.remove(&key);
        }
        let asks: Option<ApiAsks> = world.look(&["asks"], &[("limit", "1000")]).await?;
        for (n, ask) in asks.unwrap_or_default().asks.into_iter().enumerate() {
            let key = (ask.run.clone(), ask.ask.clone());
            if ask.state == "open" && busy.insert(key) {
                let dice = world.dice(&format!("answers in round {round}"), n as u64);
                answering.spawn(answer(world.clone(), ask, dice));
            }
        }
    }
    while let Some(answered) = answering.join_next().await {
        answered.context("an answer died")??;
    }
    Ok(())
}

/// An answer with a word that stands in it alone.
struct Given {
    body: Json,
    answered: Answered,
}

impl Given {
    fn roll(ask: &Ask, shown: &str, dice: &mut Dice, client: &str) -> Self {
        let word = format!("{client}-{:012x}", dice.roll(1 << 48));
        let deny = json!({ "decision": "deny", "reason": word });
        let (answer, allows) = match ask {
            Ask::Approval(_) if dice.one_in(3) => (deny, false),
            Ask::Approval(_) => {
                (json!({ "decision": "allow", "input": { "description": word } }), true)
            }
            Ask::Question { .. } => {
                let replies = json!([{ "text": word }]);
                (json!({ "decision": "replies", "replies": replies }), true)
            }
            Ask::Plan { .. } => (json!({ "decision": "allow" }), true),
            Ask::Form { .. } => (deny, false),
        };
        Self {
            body: json!({ "answer": answer, "shown": shown }),
            answered: Answered { word, allows },
        }
    }
}

/// Answers one ask, and gives it back.
async fn answer(
    world: Arc<World>,
    ask: ApiAsk,
    mut dice: Dice,
) -> anyhow::Result<(String, String)> {
    let key = (ask.run.clone(), ask.ask.clone());
    // A person thinks a little, or long.
    let thinks = if dice.one_in(6) { dice.millis(500, 4000) } else { dice.millis(0, 200) };
    world.goes_on_after(thinks).await;
    let Some(body) = &ask.body else { return Ok(key) };
    let path = ["runs", &ask.run, "asks", &ask.ask, "answer"];
    let one = Given::roll(body, &ask.digest, &mut dice, "one");
    let two = Given::roll(body, &ask.digest, &mut dice, "two");
    let sent = if dice.one_in(2) {
        let both = tokio::join!(world.tell(&path, &one.body), world.tell(&path, &two.body));
        let (first, second) = (is_sent(both.0?)?, is_sent(both.1?)?);
        world.count("asks answered by two at once");
        match (first, second) {
            (true, true) => {
                let seen = format!("{} of {}: two clients were told `sent`", ask.ask, ask.run);
                return Err(Broken::error(Promise::Asks, seen));
            }
            (true, false) => Some(one),
            (false, true) => Some(two),
            (false, false) => None,
        }
    } else {
        is_sent(world.tell(&path, &one.body).await?)?.then_some(one)
    };
    let Some(sent) = sent else { return Ok(key) };
    world.count("answers sent");
    // What the pool itself asks stands in no log.
    if !matches!(body, Ask::Plan { .. }) {
        world.ledger().answer(&ask.run, &ask.ask, &sent.answered)?;
        ledger::answer(&world, &ask.run, &ask.ask)?;
    }
    if dice.one_in(3) {
        let late = Given::roll(body, &ask.digest, &mut dice, "late");
        match world.tell(&path, &late.body).await? {
            Told::No(_) => world.count("late answers refused"),
            Told::Away => {}
            Told::Yes(receipt) => {
                let (run, ask) = (&ask.run, &ask.ask);
                let seen = format!("a late answer to {ask} of {run} was taken: {receipt:?}");
                return Err(Broken::error(Promise::Asks, seen));
            }
        }
    }
    Ok(key)
}

/// Whether an answer counted.
fn is_sent(told: Told) -> anyhow::Result<bool> {
    match told {
        Told::Yes(ApiReceipt::Sent) => Ok(true),
        // Another one was first, the run has ended, or nobody knows.
        Told::No(problem) if (400..500).contains(&problem.status) => Ok(false),
        Told::Yes(ApiReceipt::Pending { .. }) | Told::Away => Ok(false),
        // The pool's own asks are answered where they are asked.
        Told::Yes(ApiReceipt::Done | ApiReceipt::Queued { .. }) => Ok(true),
        odd @ (Told::Yes(_) | Told::No(_)) => {
            Err(Broken::error(Promise::Server, format!("an answer was replied to with {odd:?}")))
        }
    }
}

/// What agents have heard by ask. None may have heard two answers, nor another one than was acknowledged.
pub(super) fn heard(world: &World) -> anyhow::Result<BTreeMap<String, String>> {
    let effects = std::fs::read_to_string(world.worker_home.join("effects")).unwrap_or_default();
    let mut heard = BTreeMap::new();
    for line in effects.lines() {
        let twice = match line.split(' ').collect::<Vec<_>>()[..] {
            ["answer", ask, decision] => {
                heard.insert(ask.to_owned(), decision.to_owned()).is_some()
            }
            ["stray", _] => true,
            _ => false,
        };
        if twice {
            let seen = format!("an agent heard an answer once too often: {line}");
            return Err(Broken::error(Promise::Asks, seen));
        }
    }
    for ((run, ask), given) in &world.ledger().answers {
        let wanted = if given.allows { "allow" } else { "deny" };
        if let Some(decision) = heard.get(ask).filter(|decision| *decision != wanted) {
            let seen = format!("{ask} of {run} was answered with {given:?}, and heard: {decision}");
            return Err(Broken::error(Promise::Asks, seen));
        }
    }
    Ok(heard)
}
