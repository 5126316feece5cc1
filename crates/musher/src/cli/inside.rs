//! `musher inside`: the helper in a sandbox, which becomes the program that was asked for. It is for Musher alone.

use std::ffi::OsString;
use std::process::ExitCode;

use musher_sandbox::{FORWARD_VERB, INSIDE_VERB, InsideOptions, become_program, forward};

use super::CliExit;
use super::terminal::tell;

/// The arguments of the helper, if this is it. It is called for everything that starts in a sandbox, so it takes a short way.
pub fn among(args: impl IntoIterator<Item = OsString>) -> Option<Option<InsideOptions>> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != INSIDE_VERB {
        return None;
    }
    let (mut nested, mut proxy, mut processes) = (false, false, None);
    for arg in args.by_ref() {
        let text = arg.to_string_lossy();
        if text == "--" {
            break;
        } else if text == "--nested" {
            nested = true;
        } else if text == "--proxy" {
            proxy = true;
        } else {
            let count = text.strip_prefix("--processes=").and_then(|count| count.parse().ok());
            if count.is_none() {
                return Some(None);
            }
            processes = count;
        }
    }
    let options = args.next().map(|program| InsideOptions {
        nested,
        processes,
        proxy,
        program: program.into(),
        args: args.collect(),
    });
    Some(options)
}

/// Whether this is the process that carries connections to the proxy.
pub fn is_forwarder(args: impl IntoIterator<Item = OsString>) -> bool {
    args.into_iter().nth(1).is_some_and(|verb| verb == FORWARD_VERB)
}

/// Carries connections until the sandbox ends.
pub fn carry_on() -> ExitCode {
    match forward() {
        Ok(()) => CliExit::Completed.into(),
        Err(error) => {
            tell(&format!("error: sandbox: {error}"));
            CliExit::Unavailable.into()
        }
    }
}

/// Becomes the program. It returns only if that cannot be.
pub fn enter(options: Option<InsideOptions>) -> ExitCode {
    let why = match options {
        Some(options) => become_program(options).to_string(),
        None => "this verb is Musher's own and was called with other arguments".to_owned(),
    };
    tell(&format!("error: sandbox: {why}"));
    CliExit::Unavailable.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Option<InsideOptions>> {
        among(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_helper_is_told_apart_from_every_other_verb() {
        assert_eq!(read("musher runner /x"), None);
        assert_eq!(read("musher inside --what -- true"), Some(None));
        assert_eq!(read("musher inside --nested --"), Some(None));
        let options =
            read("musher inside --nested --proxy --processes=40 -- sh -c -- --nested").unwrap();
        let args = ["-c", "--", "--nested"].map(OsString::from).to_vec();
        let program = "sh".into();
        let whole = InsideOptions { nested: true, processes: Some(40), proxy: true, program, args };
        assert_eq!(options, Some(whole));
    }
}
