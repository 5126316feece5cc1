//! What each session was charged for, beside the books that its agent kept of every call.

use std::collections::BTreeMap;

use musher_client::api::ApiRun;
use musher_testkit::books::{Balance, Bill, Books, sum};

use super::broken::{Broken, Promise};
use super::world::World;

/// Every bill holds beside the books of its agent.
pub(super) fn balance<'a>(
    world: &World,
    runs: impl Iterator<Item = &'a ApiRun>,
) -> anyhow::Result<()> {
    let books = Books::read(&world.worker_home);
    let mut bills: BTreeMap<&str, Bill> = BTreeMap::new();
    for run in runs {
        let Some(session) = &run.session else { continue };
        let bill = bills.entry(session).or_default();
        bill.tokens = sum(bill.tokens, (run.spent.input, run.spent.output));
        bill.unknown |= run.spent.cost_usd.is_none();
        bill.broken_off |= run.outcome.as_deref() != Some("completed");
        bill.lost |= run.outcome.as_deref() == Some("lost");
    }
    for session in books.sessions() {
        let bill = bills.get(session).copied().unwrap_or_default();
        let balance = books.judge(session, bill);
        world.count(match balance.map_err(|wrong| Broken::error(Promise::Bill, wrong))? {
            Balance::Known => "bills that match the agent's books",
            Balance::Unknown => "bills that are said to be unknown",
        });
    }
    Ok(())
}
