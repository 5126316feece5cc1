//! `musher cap`: what may be spent on one day.

use clap::Args;
use musher_core::Usd;
use serde_json::json;

use super::place::PlaceArgs;
use super::{CliError, CliExit, money, out, receipt};
use musher_client::api::{ApiDay, ApiLocalSettings, ApiProject, ApiSpent};

#[derive(Debug, Args)]
pub(crate) struct Cap {
    /// The limit in dollars for all runs on one day (UTC), or `none`; shows the current one if left out.
    #[arg(value_name = "USD|none", value_parser = amount)]
    usd: Option<Amount>,
    #[command(flatten)]
    place: PlaceArgs,
}

/// An amount, or that there is to be none.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Amount {
    Usd(f64),
    Unlimited,
}

fn amount(text: &str) -> Result<Amount, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(Amount::Unlimited);
    }
    let dollars = text.strip_prefix('$').unwrap_or(text).parse::<f64>().ok();
    match dollars.filter(|dollars| dollars.is_finite() && *dollars > 0.0) {
        Some(dollars) => Ok(Amount::Usd(dollars)),
        None => Err("write an amount of dollars above 0 such as 20, or `none`".into()),
    }
}

impl Cap {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let Some(amount) = self.usd else {
            let reply = client.get(&["local"], &[]).await?;
            match place.json() {
                true => out::document(&reply.text())?,
                false => {
                    let ApiLocalSettings { caps, .. } = reply.read()?;
                    out::line(&shown(caps.day_usd))?;
                    let ApiProject { day, .. } = client.get(&["project"], &[]).await?.read()?;
                    out::line(&so_far(&day))?;
                }
            }
            return Ok(CliExit::Completed);
        };
        let day_usd = match amount {
            Amount::Usd(dollars) => Some(dollars),
            Amount::Unlimited => None,
        };
        let reply = client.put(&["local", "caps"], &json!({ "day_usd": day_usd })).await?;
        receipt::told(&place, &reply, &shown(day_usd))
    }
}

fn shown(day_usd: Option<f64>) -> String {
    match day_usd {
        Some(dollars) => {
            let cap = Usd::from_dollars(dollars);
            format!("All runs together may spend {cap} on one day (UTC).")
        }
        None => "What is spent on one day is not capped.".into(),
    }
}

/// What is gone of the day, and what may be: money that nobody can account for is not there to be spent.
fn so_far(day: &ApiDay) -> String {
    let cost_usd = (!day.unknown).then_some(day.spent_usd);
    let (known_cost_usd, estimated) = (day.spent_usd, day.estimated);
    let spent = ApiSpent { cost_usd, known_cost_usd, estimated, ..ApiSpent::default() };
    let spent = format!("Today: {}", money::bill(&spent));
    match Usd::from_dollars(day.held_usd) {
        held if held.is_zero() => format!("{spent}."),
        held => {
            format!("{spent}; {held} more is held, because runs of unknown cost may have spent it.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_of_the_day_is_told_with_what_may_be() {
        let day =
            |unknown, held_usd| ApiDay { spent_usd: 0.5, unknown, held_usd, ..ApiDay::default() };
        assert_eq!(so_far(&day(false, 0.0)), "Today: $0.50.");
        let said =
            "Today: ≥ $0.50; $0.25 more is held, because runs of unknown cost may have spent it.";
        assert_eq!(so_far(&day(true, 0.25)), said);
    }

    #[test]
    fn a_cap_is_an_amount_above_nothing_or_none() {
        assert_eq!(amount("20"), Ok(Amount::Usd(20.0)));
        assert_eq!(amount("$2.50"), Ok(Amount::Usd(2.5)));
        assert_eq!(amount("NONE"), Ok(Amount::Unlimited));
        for wrong in ["", "0", "-1", "inf", "nan", "much", "1e999"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }
}
