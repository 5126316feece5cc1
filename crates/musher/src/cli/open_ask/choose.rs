//! Which of the open asks a person means: by a short id, by a prefix, by the run, or all of them.

use super::super::{CliError, ask};
use musher_client::api::ApiAsk;

/// A short id has at least so many characters, so that a word that was mistyped hits nothing.
const SHORTEST: usize = 4;

/// An ask that was chosen.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) ask: ApiAsk,
    /// It was named itself. A run that is named may ask something else by now than what the person has in mind.
    pub(crate) named: bool,
}

/// What the words mean.
#[derive(Debug)]
pub(crate) enum ParsedAnswer {
    Open(Vec<Chosen>),
    /// Nothing that is open: the server knows whether there is such a run, and who won.
    Elsewhere {
        run: String,
        ask: Option<String>,
    },
}

/// The short id of an ask: the first characters of its digest that no other of these asks has.
pub(crate) fn short<'a>(open: &ApiAsk, among: impl IntoIterator<Item = &'a ApiAsk>) -> String {
    let common = |other: &ApiAsk| {
        open.digest.bytes().zip(other.digest.bytes()).take_while(|(a, b)| a == b).count()
    };
    let others = among.into_iter().filter(|other| other.digest != open.digest);
    let length = others.map(|other| common(other) + 1).max().unwrap_or(0).max(SHORTEST);
    open.digest.chars().take(length).collect()
}

/// The asks that are meant by `words`, or with `all` all of them.
pub(crate) fn choose(
    open: &[ApiAsk],
    words: &[String],
    all: bool,
) -> Result<ParsedAnswer, CliError> {
    if words.is_empty() {
        let chosen = open.iter().map(|ask| Chosen { ask: ask.clone(), named: false });
        return Ok(ParsedAnswer::Open(chosen.collect()));
    }
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let of_run: Vec<&ApiAsk> = open.iter().filter(|ask| is_of(ask, word)).collect();
        let found = match (of_run.as_slice(), words.peek()) {
            ([], _) => match of_id(open, word)?.as_slice() {
                [] if chosen.is_empty() => {
                    let ask = words.next().cloned();
                    return Ok(ParsedAnswer::Elsewhere { run: word.clone(), ask });
                }
                [] => {
                    return Err(CliError::hinted(
                        format!("no open ask is called {word}, and no run that asks"),
                        "see what waits with `musher asks`",
                    ));
                }
                found => named(found, true),
            },
            (_, Some(next)) if !open.iter().any(|ask| is_of(ask, next)) => {
                let next = next.to_string();
                match within(&of_run, &next)? {
                    Some(ask) => {
                        words.next();
                        named(&[ask], true)
                    }
                    // It may be another ask by its own short id, or one that is closed.
                    None if !of_id(open, &next)?.is_empty() => of_one_run(word, &of_run, all)?,
                    None => {
                        return Ok(ParsedAnswer::Elsewhere { run: word.clone(), ask: Some(next) });
                    }
                }
            }
            (_, _) => of_one_run(word, &of_run, all)?,
        };
        for found in found {
            let known = |it: &Chosen| it.ask.run == found.ask.run && it.ask.ask == found.ask.ask;
            if !chosen.iter().any(known) {
                chosen.push(found);
            }
        }
    }
    Ok(ParsedAnswer::Open(chosen))
}

fn named(asks: &[&ApiAsk], named: bool) -> Vec<Chosen> {
    asks.iter().map(|ask| Chosen { ask: (*ask).clone(), named }).collect()
}

fn of_one_run(word: &str, asks: &[&ApiAsk], all: bool) -> Result<Vec<Chosen>, CliError> {
    match asks {
        [_] => Ok(named(asks, false)),
        _ if all => Ok(named(asks, false)),
        several => Err(CliError::hinted(
            format!("{word} asks {} things:{}", several.len(), listed(several)),
            format!(
                "name those that you mean by the id at the left, or take all with `{word} --all`"
            ),
        )),
    }
}

/// Whether a word names the run of an ask.
pub(super) fn is_of(ask: &ApiAsk, word: &str) -> bool {
    ask.run == word
        || ask.story == word
        || word
            .split_once('/')
            .is_some_and(|(story, agent)| ask.story == story && ask.agent == agent)
}

/// The ask that a word names among all: by its short id, or by its own if only one run has it.
fn of_id<'a>(open: &'a [ApiAsk], word: &str) -> Result<Vec<&'a ApiAsk>, CliError> {
    let all: Vec<&ApiAsk> = open.iter().collect();
    Ok(within(&all, word)?.into_iter().collect())
}

/// The ask that a word names among these: by its id, a prefix of that, or its short id.
fn within<'a>(asks: &[&'a ApiAsk], word: &str) -> Result<Option<&'a ApiAsk>, CliError> {
    let exact: Vec<&ApiAsk> = asks.iter().copied().filter(|ask| ask.ask == word).collect();
    let prefix = |ask: &&ApiAsk| {
        word.len() >= SHORTEST && (ask.digest.starts_with(word) || ask.ask.starts_with(word))
    };
    let found = match exact.is_empty() {
        true => asks.iter().copied().filter(prefix).collect(),
        false => exact,
    };
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => Err(CliError::hinted(
            format!("{word} can mean {} asks:{}", several.len(), listed(several)),
            "name the one that you mean by the id at the left",
        )),
    }
}

fn listed(asks: &[&ApiAsk]) -> String {
    let line = |open: &&ApiAsk| {
        let short = short(open, asks.iter().copied());
        let what = open.body.as_ref().map(ask::in_short).unwrap_or_default();
        format!("\n  {short}  {} {}  {what}", open.run, open.ask)
    };
    asks.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use musher_core::Ask;

    use super::*;

    fn open(run: &str, ask: &str, digest: &str) -> ApiAsk {
        ApiAsk {
            run: run.into(),
            ask: ask.into(),
            story: format!("story-{run}"),
            agent: "coder".into(),
            digest: digest.into(),
            body: Some(Ask::Plan { plan: format!("plan {digest}") }),
            ..ApiAsk::default()
        }
    }

    fn asks() -> Vec<ApiAsk> {
        vec![
            open("r1", "ask-4", "abcd1111"),
            open("r1", "ask-5", "abcd2222"),
            open("r2", "ask-4", "ffff3333"),
        ]
    }

    fn chosen(words: &[&str], all: bool) -> Result<Vec<(String, bool)>, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match choose(&asks(), &words, all).map_err(|error| error.to_string())? {
            ParsedAnswer::Open(chosen) => {
                Ok(chosen.into_iter().map(|it| (it.ask.digest, it.named)).collect())
            }
            ParsedAnswer::Elsewhere { run, ask } => Err(format!("elsewhere {run} {ask:?}")),
        }
    }

    fn of(digests: &[(&str, bool)]) -> Result<Vec<(String, bool)>, String> {
        Ok(digests.iter().map(|(digest, named)| ((*digest).to_owned(), *named)).collect())
    }

    #[test]
    fn asks_are_named_by_a_short_id_a_prefix_their_run_or_all_at_once() {
        assert_eq!(chosen(&["ffff"], false), of(&[("ffff3333", true)]));
        assert_eq!(
            chosen(&["abcd1", "ffff3"], false),
            of(&[("abcd1111", true), ("ffff3333", true)])
        );
        assert_eq!(chosen(&["r1", "ask-5"], false), of(&[("abcd2222", true)]));
        assert_eq!(chosen(&["story-r1/coder", "ask-5"], false), of(&[("abcd2222", true)]));
        assert_eq!(
            chosen(&["r1", "abcd2", "r2"], false),
            of(&[("abcd2222", true), ("ffff3333", false)])
        );
        assert_eq!(chosen(&["ask-5"], false), of(&[("abcd2222", true)]), "only one run has it");
        assert_eq!(chosen(&["r2"], false), of(&[("ffff3333", false)]), "its run alone was named");
        assert_eq!(chosen(&["r1"], true), of(&[("abcd1111", false), ("abcd2222", false)]));
        assert_eq!(chosen(&[], true).unwrap().len(), 3);
        assert_eq!(chosen(&["ffff", "r2", "ffff3333"], false).unwrap().len(), 1, "each once");
    }

    #[test]
    fn what_could_mean_several_asks_is_refused_with_all_of_them() {
        for words in [&["r1"][..], &["abcd"], &["ask-4"]] {
            let error = chosen(words, false).unwrap_err();
            assert!(error.contains("2 ") && error.contains("plan abcd1111"), "{error}");
        }
        assert!(chosen(&["r2", "zzzz"], false).unwrap_err().starts_with("elsewhere r2 Some"));
        assert_eq!(chosen(&["abc"], false).unwrap_err(), "elsewhere abc None", "it is too short");
        assert!(chosen(&["ffff", "nothing"], false).unwrap_err().contains("nothing"));
    }

    #[test]
    fn a_short_id_is_as_long_as_it_must_be() {
        let asks = asks();
        let ids: Vec<String> = asks.iter().map(|ask| short(ask, &asks)).collect();
        assert_eq!(ids, ["abcd1", "abcd2", "ffff"]);
    }
}
