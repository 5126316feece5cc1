//! `musher inside`: the helper in a sandbox, which becomes the program that was asked for. It is for Musher alone.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use musher_sandbox::{
    AllowedPlaces, FORWARD_VERB, INSIDE_VERB, InsideOptions, InsidePart, InsideProgram,
    Restrictions, SandboxEntrance, forward, inside,
};

use super::CliExit;
use super::terminal::tell;

/// The arguments of the helper, if this is it. It is called for everything that starts in a sandbox, so it takes a short way.
pub fn among(args: impl IntoIterator<Item = OsString>) -> Option<Option<InsideOptions>> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != INSIDE_VERB {
        return None;
    }
    Some(read(args))
}

fn read(mut args: impl Iterator<Item = OsString>) -> Option<InsideOptions> {
    let mut restrictions = Restrictions::default();
    let (mut proxy, mut hold, mut network) = (false, false, false);
    let (mut holder, mut folder) = (None, None);
    let (mut alone, mut places) = (false, AllowedPlaces::default());
    for arg in args.by_ref() {
        let (name, value) = match arg.as_bytes().iter().position(|byte| *byte == b'=') {
            Some(at) => (&arg.as_bytes()[..at], OsStr::from_bytes(&arg.as_bytes()[at + 1..])),
            None => (arg.as_bytes(), OsStr::new("")),
        };
        match name {
            b"--" => break,
            b"--nested" => restrictions.nested = true,
            b"--proxy" => proxy = true,
            b"--hold" => hold = true,
            b"--network" => network = true,
            b"--landlock" => alone = true,
            b"--read" => places.read.push(value.into()),
            b"--write" => places.write.push(value.into()),
            b"--processes" => restrictions.processes = Some(value.to_str()?.parse().ok()?),
            b"--enter" => holder = Some(value.to_str()?.parse().ok()?),
            b"--folder" => folder = Some(value.into()),
            _ => return None,
        }
    }
    let program = args.next().map(|path| InsideProgram { path: path.into(), args: args.collect() });
    let part = match (hold, holder, folder, program) {
        (true, None, None, None) => InsidePart::Holder { proxy },
        (false, None, None, Some(program)) => InsidePart::Program { proxy, program },
        (false, Some(holder), Some(folder), Some(program)) => {
            InsidePart::Guest { entrance: SandboxEntrance { holder, network, folder }, program }
        }
        _ => return None,
    };
    let places = match (alone, &part) {
        (true, InsidePart::Program { .. }) => Some(places),
        (false, _) if places == AllowedPlaces::default() => None,
        (true | false, _) => return None,
    };
    Some(InsideOptions { restrictions, places, part })
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

/// Does what the helper is for; as a program it returns only if it cannot become it.
pub fn enter(options: Option<InsideOptions>) -> ExitCode {
    let why = match options.map(inside) {
        Some(Ok(code)) => return ExitCode::from(code),
        Some(Err(error)) => error.to_string(),
        None => "this verb is Musher's own and was called with other arguments".to_owned(),
    };
    tell(&format!("error: sandbox: {why}"));
    CliExit::Unavailable.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Option<Option<InsideOptions>> {
        among(line.split(' ').map(OsString::from))
    }

    fn shell() -> InsideProgram {
        InsideProgram {
            path: "sh".into(),
            args: ["-c", "--", "--nested"].map(OsString::from).to_vec(),
        }
    }

    #[test]
    fn the_helper_is_told_apart_from_every_other_verb() {
        assert_eq!(told("musher runner /x"), None);
        assert_eq!(told("musher inside --what -- true"), Some(None));
        assert_eq!(told("musher inside --nested --"), Some(None));
        assert_eq!(told("musher inside --hold -- true"), Some(None));
        assert_eq!(told("musher inside --enter=3 -- true"), Some(None));
        assert_eq!(told("musher inside --enter=x --folder=/ -- true"), Some(None));
    }

    #[test]
    fn the_helper_is_told_what_it_is_for() {
        let restrictions = Restrictions { nested: true, processes: Some(40) };
        let line = "musher inside --nested --proxy --processes=40 -- sh -c -- --nested";
        let part = InsidePart::Program { proxy: true, program: shell() };
        assert_eq!(told(line), Some(Some(InsideOptions { restrictions, places: None, part })));
        let restrictions = Restrictions::default();
        let part = InsidePart::Holder { proxy: false };
        assert_eq!(
            told("musher inside --hold"),
            Some(Some(InsideOptions { restrictions, places: None, part }))
        );
        let entrance = SandboxEntrance { holder: 7, network: true, folder: "/w=t".into() };
        let part = InsidePart::Guest { entrance, program: shell() };
        let line = "musher inside --enter=7 --network --folder=/w=t -- sh -c -- --nested";
        assert_eq!(told(line), Some(Some(InsideOptions { restrictions, places: None, part })));
    }

    #[test]
    fn the_helper_is_told_which_places_are_left() {
        let line =
            "musher inside --landlock --read=/usr --read=/a=b --write=/w -- sh -c -- --nested";
        let places =
            AllowedPlaces { read: vec!["/usr".into(), "/a=b".into()], write: vec!["/w".into()] };
        let part = InsidePart::Program { proxy: false, program: shell() };
        let restrictions = Restrictions::default();
        let options = InsideOptions { restrictions, places: Some(places), part };
        assert_eq!(told(line), Some(Some(options)));
        assert_eq!(told("musher inside --read=/usr -- true"), Some(None), "nothing would hold it");
        assert_eq!(told("musher inside --landlock --hold"), Some(None));
    }
}
