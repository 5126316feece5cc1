//! Reads `[[work key=value …]]` directives out of a prompt.

use std::time::Duration;

const OPEN: &str = "[[work";
const CLOSE: &str = "]]";

/// One directive: acts in their order, and how they are done.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Work {
    pub(crate) acts: Vec<Act>,
    pub(crate) every: Duration,
    /// The least size of a line in bytes.
    pub(crate) size: usize,
    pub(crate) deltas: bool,
    pub(crate) text: Option<String>,
    pub(crate) options: Vec<String>,
    /// How many of several asks wait at a time; 2 if nothing is said.
    pub(crate) at_once: Option<usize>,
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cost: Option<f64>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    Lines(u64),
    Ask(String),
    /// How many, one after the other with some at the same time.
    Asks(u64),
    Question(String),
    Write(String),
    Spawn(Escape),
    Garbage(usize),
    Exit(u8),
    Crash(i32),
    Hang,
    /// In whole seconds, as the real agent tells them.
    Limited(u32),
    IgnoreTerm,
    Fail,
}

/// How a child gets away from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    /// Into a session of its own; it keeps stdout open.
    Setsid,
    /// Into a session of its own and away from its parent.
    Daemon,
    /// Into a session of its own, without any environment.
    ClearEnv,
}

/// Every directive of a prompt, or what is wrong with one.
pub(crate) fn read(prompt: &str) -> Result<Vec<Work>, String> {
    let mut works = Vec::new();
    let mut rest = prompt;
    while let Some(at) = rest.find(OPEN) {
        rest = &rest[at + OPEN.len()..];
        if rest.starts_with(char::is_whitespace) || rest.starts_with(CLOSE) {
            works.push(read_one(&mut rest)?);
        }
    }
    Ok(works)
}

fn read_one(rest: &mut &str) -> Result<Work, String> {
    let mut work = Work::default();
    loop {
        *rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(CLOSE) {
            *rest = after;
            return Ok(work);
        }
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix('=') else {
            return Err(format!("a directive has `{key}` where `key=value` or `]]` should be"));
        };
        let value = take_value(after, rest).ok_or_else(|| format!("`{key}=\"` has no end"))?;
        work.take(key, value)?;
    }
}

impl Work {
    fn take(&mut self, key: &str, value: String) -> Result<(), String> {
        match key {
            "lines" => self.acts.push(Act::Lines(number(key, &value)?)),
            "ask" => self.acts.push(Act::Ask(value)),
            "asks" => self.acts.push(Act::Asks(number(key, &value)?)),
            "at_once" => self.at_once = Some(number(key, &value)?),
            "question" => self.acts.push(Act::Question(value)),
            "write" => self.acts.push(Act::Write(value)),
            "spawn" => self.acts.push(Act::Spawn(escape(&value)?)),
            "garbage" => self.acts.push(Act::Garbage(number(key, &value)?)),
            "exit" => self.acts.push(Act::Exit(number(key, &value)?)),
            "crash" => self.acts.push(Act::Crash(number(key, &value)?)),
            "hang" => self.when(flag(key, &value)?, Act::Hang),
            "limited" => self.acts.push(Act::Limited(number(key, &value)?)),
            "ignore_term" => self.when(flag(key, &value)?, Act::IgnoreTerm),
            "fail" => self.when(flag(key, &value)?, Act::Fail),
            "commit" => _ = flag(key, &value)?,
            "every_ms" => self.every = Duration::from_millis(number(key, &value)?),
            "size" => self.size = number(key, &value)?,
            "deltas" => self.deltas = flag(key, &value)?,
            "text" => self.text = Some(value),
            "options" => self.options = value.split('|').map(str::to_owned).collect(),
            "input" => self.input = Some(number(key, &value)?),
            "output" => self.output = Some(number(key, &value)?),
            "cost" => match number::<f64>(key, &value)? {
                cost if cost.is_finite() && cost >= 0.0 => self.cost = Some(cost),
                _ => return Err(format!("`cost={value}` is no price")),
            },
            _ => return Err(format!("no directive knows `{key}`")),
        }
        Ok(())
    }

    fn when(&mut self, wanted: bool, act: Act) {
        self.acts.extend(wanted.then_some(act));
    }
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{key}={value}` is no number that fits"))
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(format!("`{key}={value}` is neither 0 nor 1")),
    }
}

fn escape(value: &str) -> Result<Escape, String> {
    match value {
        "setsid" => Ok(Escape::Setsid),
        "daemon" => Ok(Escape::Daemon),
        "clear_env" => Ok(Escape::ClearEnv),
        _ => Err(format!("`spawn={value}` is none of setsid, daemon and clear_env")),
    }
}

/// The value at the start of a text, which is moved behind it; in quotes it may hold anything, `\"` and `\\` included.
fn take_value<'a>(text: &'a str, rest: &mut &'a str) -> Option<String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let blank = text.find(char::is_whitespace).unwrap_or(text.len());
        let close = text.find(CLOSE).unwrap_or(text.len());
        let (value, after) = text.split_at(blank.min(close));
        *rest = after;
        return Some(value.to_owned());
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                *rest = &quoted[at + 1..];
                return Some(value);
            }
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_prompt_is_read_or_refused(
            before in any::<String>(),
            inside in r#"([a-z_]{1,8}=?"?|[0-9."\\ \]]|\PC){0,12}"#,
            after in any::<String>(),
        ) {
            let _either = read(&format!("{before}[[work {inside}]]{after}"));
        }

        #[test]
        fn a_value_in_quotes_comes_back_as_it_was(value in any::<String>()) {
            let quoted = value.replace('\\', r"\\").replace('"', "\\\"");
            let works = read(&format!("[[work ask=\"{quoted}\" lines=1]]")).unwrap();
            prop_assert_eq!(&works[0].acts, &[Act::Ask(value), Act::Lines(1)]);
        }
    }

    #[test]
    fn directives_are_read_in_their_order_and_other_words_are_passed_over() {
        let prompt = r#"Do [[workers]] this: [[work lines=2 every_ms=5 ask="rm \"x\" ]]" hang=0]] then
            [[work input=7 cost=0.25 fail=1]] and [[work]] no more."#;
        let ask = Act::Ask(r#"rm "x" ]]"#.to_owned());
        let first = Work {
            acts: vec![Act::Lines(2), ask],
            every: Duration::from_millis(5),
            ..Work::default()
        };
        let second =
            Work { acts: vec![Act::Fail], input: Some(7), cost: Some(0.25), ..Work::default() };
        assert_eq!(read(prompt).unwrap(), [first, second, Work::default()]);
        assert_eq!(read("Only words, [[ and ]].").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_with_a_directive_is_named() {
        for (prompt, named) in [
            ("[[work lines=many]]", "lines=many"),
            ("[[work exit=256]]", "exit=256"),
            ("[[work dance=1]]", "dance"),
            ("[[work lines]]", "lines]]"),
            ("[[work ask=\"no end]]", "ask"),
            ("[[work spawn=away]]", "spawn=away"),
            ("[[work cost=-1]]", "cost=-1"),
            ("[[work lines=1", "key=value"),
        ] {
            let why = read(prompt).unwrap_err();
            assert!(why.contains(named), "{prompt}: {why}");
        }
    }
}
