//! `musher cap`: what may be spent on one day.

use clap::Args;
use musher_core::Usd;
use serde_json::json;

use super::place::PlaceArgs;
use super::{CliError, Exit, out, receipt};
use crate::client::views::Local;

#[derive(Debug, Args)]
pub(crate) struct Cap {
    /// The dollars that all runs together may spend on one day (UTC), or `none`; without it, the cap is shown.
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
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let Some(amount) = self.usd else {
            let reply = client.get(&["local"], &[]).await?;
            match place.json() {
                true => out::document(&reply.text())?,
                false => {
                    let Local { caps, .. } = reply.read()?;
                    out::line(&shown(caps.day_usd))?;
                }
            }
            return Ok(Exit::Completed);
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

#[cfg(test)]
mod tests {
    use super::*;

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
