//! What a request costs, told as it becomes known: when it is sent, while it is answered, and at its end.

use crate::prices::is_same;
use musher_core::{EventKind, Level, Spend, Tokens, UsageReport};

use super::super::agent::ModelAgent;
use super::super::inbox::WaitBroken;
use super::super::refusal::Billed;
use super::super::told::Told;
use super::estimated;
use crate::session::Signal;

/// The name of a model is taken up to here.
const MAX_BILLED_NAME_BYTES: usize = 200;

/// One request in the books.
#[derive(Debug)]
pub(super) struct Bill {
    id: String,
    /// The model that was asked for.
    asked: String,
    /// How much input was told last while the answer was under way.
    context: u64,
}

/// What can be seen of an answer, for what its service does not tell.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SeenAnswer {
    /// Bytes of the request.
    pub(super) asked: usize,
    /// Bytes of the answer.
    pub(super) bytes: usize,
    /// Words of the answer. Each is a token at least.
    pub(super) words: u64,
}

impl ModelAgent {
    /// Says that a request is about to be sent. Nobody knows yet what it costs.
    pub(super) async fn open_bill(&mut self) -> Result<Bill, WaitBroken> {
        let bill = Bill { id: self.mint("call"), asked: self.model.clone(), context: 0 };
        let begun = UsageReport::begun(&bill.id, Some(bill.asked.clone()));
        self.outbox.event(EventKind::Usage(begun)).await?;
        Ok(bill)
    }

    /// What is known while the answer comes, whenever it is worth a word: once, and when more input is told.
    pub(super) fn so_far(
        &self,
        bill: &mut Bill,
        told: Told,
        served: Option<&str>,
    ) -> Option<Signal> {
        // What was told to the last is said with the last word.
        let Told::Part(tokens) = told else { return None };
        if tokens.context() <= bill.context {
            return None;
        }
        bill.context = tokens.context();
        let model = named(served, &bill.asked);
        let spend = Spend::costing(tokens, self.cost(&model, &tokens));
        Some(Signal::event(EventKind::Usage(UsageReport::so_far(&bill.id, Some(model), spend))))
    }

    /// The last word on a request for which no model has worked.
    pub(super) async fn close_free(&self, bill: Bill) {
        let report = UsageReport::free(bill.id, Some(bill.asked));
        self.outbox.last_word(EventKind::Usage(report)).await;
    }

    /// The last word on a request whose answer did not come, or did not come to its end: what was told of it is the
    /// least that it has used. Of what nobody told nobody knows it.
    pub(super) async fn close_cut(
        &self,
        bill: Bill,
        told: Told,
        served: Option<&str>,
        seen: SeenAnswer,
        billed: Billed,
    ) {
        let model = named(served, &bill.asked);
        let mut tokens = told.tokens();
        let report = match told {
            Told::All(tokens) => {
                let spend = Spend::costing(tokens, self.cost(&model, &tokens));
                UsageReport::call(bill.id, Some(model), spend)
            }
            Told::Nothing if billed == Billed::No => return self.close_free(bill).await,
            Told::Part(_) => {
                tokens.output = tokens.output.max(seen.words);
                let spend = Spend::costing(tokens, self.cost(&model, &tokens)).as_estimate();
                UsageReport::cut(bill.id, Some(model), spend)
            }
            Told::Nothing => {
                tokens.output = seen.words;
                let spend = Spend::unpriced(tokens);
                let least = self.cost(&model, &tokens).unwrap_or_default();
                let spend =
                    if seen.words > 0 { spend.as_estimate().at_least(least) } else { spend };
                UsageReport::cut(bill.id, Some(model), spend)
            }
        };
        self.outbox.last_word(EventKind::Usage(report)).await;
    }

    /// The last word on an answer that came whole. What its service did not tell is estimated, and what it cost is then
    /// unknown.
    pub(super) async fn close_whole(
        &mut self,
        bill: Bill,
        told: Told,
        served: Option<&str>,
        seen: SeenAnswer,
    ) -> Result<(), WaitBroken> {
        let model = named(served, &bill.asked);
        let (asked, said) = (estimated(seen.asked), estimated(seen.bytes));
        let (tokens, spend) = match told {
            Told::All(tokens) => (tokens, Spend::costing(tokens, self.cost(&model, &tokens))),
            Told::Part(tokens) => {
                let least = self.cost(&model, &tokens).unwrap_or_default();
                (tokens, Spend::unpriced(tokens).as_estimate().at_least(least))
            }
            Told::Nothing => {
                let tokens = Tokens { input: asked, output: said, ..Tokens::default() };
                (tokens, Spend::unpriced(tokens).as_estimate())
            }
        };
        self.context = match told {
            Told::All(_) => tokens.context().saturating_add(tokens.output),
            // The window must not be taken for empty because nobody says how full it is.
            Told::Part(_) | Told::Nothing => {
                tokens.context().max(asked).saturating_add(tokens.output.max(said))
            }
        };
        self.shown = self.history.entries.len();
        let report = UsageReport::call(bill.id, Some(model.clone()), spend)
            .with_context(self.context, self.window());
        self.outbox.last_word(EventKind::Usage(report)).await;
        let whole = matches!(told, Told::All(_));
        if !whole && !std::mem::replace(&mut self.told_of_estimate, true) {
            let text = "the service does not say what an answer uses, or not in a way that makes sense; \
                        tokens are estimated, and what they cost is unknown";
            self.notice(Level::Warning, "usage_estimated", text.to_owned()).await?;
        }
        self.tell_of_another(&bill.asked, model).await
    }

    /// Says once that another model answers than was asked for, because it has another price.
    async fn tell_of_another(&mut self, asked: &str, served: String) -> Result<(), WaitBroken> {
        if is_same(asked, &served) || self.told_of_served.as_ref() == Some(&served) {
            return Ok(());
        }
        let price = match self.prices.find(&served) {
            Some(_) => "it is billed at its own price",
            None => "nobody knows what it costs; a table of prices can say so",
        };
        let text = format!("`{asked}` was asked for, and `{served}` answers: {price}");
        self.told_of_served = Some(served);
        self.notice(Level::Warning, "another_model", text).await
    }

    fn cost(&self, model: &str, tokens: &Tokens) -> Option<musher_core::Usd> {
        self.prices.find(model)?.cost(tokens)
    }
}

/// The model that is billed: the one that answers, once it is known.
fn named(served: Option<&str>, asked: &str) -> String {
    let name = served.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(asked);
    // One vendor has a folder before the names of its models.
    let name = name.strip_prefix("models/").unwrap_or(name);
    name[..name.floor_char_boundary(name.len().min(MAX_BILLED_NAME_BYTES))].to_owned()
}
