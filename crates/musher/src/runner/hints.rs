//! What a person can do about a failure, in the words of this product: the runtime library gives codes.

use musher_core::{ErrorClass, Event, HintCode};

/// How files are agreed to that an agent's program would execute.
pub(crate) const HOW_TO_AGREE: &str = "see `musher trust`";

/// Words the hint of an event that tells of a failure, before anybody keeps or shows it. `confined` is the agent of a run in a
/// sandbox, where the login of the person is not to be found.
pub(crate) fn word(event: &mut Event, confined: Option<&str>) {
    let Some(error) = event.kind.failure_mut() else { return };
    if let Some(agent) = confined.filter(|_| error.class == ErrorClass::Auth) {
        error.hint = Some(format!(
            "its sandbox has a login of its own: sign in with `musher login {agent}`, or give it a key by `env`"
        ));
        return;
    }
    let Some(code) = error.hint_code else { return };
    match (words(code), error.hint.take()) {
        // The library says how the program is installed.
        (Some(words), Some(own)) if code == HintCode::NameProgram => {
            error.hint = Some(format!("{own}, or {words}"));
        }
        (Some(words), _) => error.hint = Some(words.to_owned()),
        (None, own) => error.hint = own,
    }
}

/// The flag, the command or the setting that helps.
fn words(code: HintCode) -> Option<&'static str> {
    match code {
        HintCode::RaiseMaxTurns => Some("raise the limit with --max-turns, or resume the session"),
        HintCode::RaiseBudget => Some("raise the budget with --budget, or resume the session"),
        HintCode::RaiseTimeout => {
            Some("raise the limit (--timeout), or give it a smaller piece of work")
        }
        HintCode::RaiseInactivity => Some(
            "raise the limit if its tools are slow and silent (`inactivity`, --inactivity), or switch it off with `off`",
        ),
        HintCode::StartFresh => Some("start a new one without --resume"),
        HintCode::DropRules => Some("use the tested version, or drop the --deny and --ask rules"),
        HintCode::NameModel => Some("name a model that this key may use, with --model"),
        HintCode::NameProgram => Some("name it with --program"),
        HintCode::FixSetup => {
            Some("fix the command under [worktree] setup, or install what it needs")
        }
        // A code that this product does not know yet comes with the library's own words.
        HintCode::Unknown | _ => None,
    }
}
