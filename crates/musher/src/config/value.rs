//! Single values: from what was written to what is meant, or what is wrong with it.

use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use musher_core::Rule;

use super::model::odd;
use super::nearest;
use super::reader::{Wrong, shown};

/// Words that become arguments, such as a model: not empty, no option, no control characters.
pub(super) fn word(text: &str) -> Result<String, Wrong> {
    if text.trim().is_empty() {
        return Err(Wrong::new("this is empty").with_fix("give a value, or leave the key out"));
    }
    if text.starts_with('-') {
        return Err(Wrong::new("a value that begins with `-` would be taken for an option"));
    }
    if text.chars().any(char::is_control) {
        return Err(Wrong::new("this holds a control character"));
    }
    Ok(text.to_owned())
}

/// Text that must say something.
pub(super) fn not_blank(text: &str) -> Result<String, Wrong> {
    match text.trim().is_empty() {
        true => Err(Wrong::new("this is empty").with_fix("give a text, or leave the key out")),
        false => Ok(text.to_owned()),
    }
}

/// One of a few words.
pub(super) fn choice<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, Wrong> {
    if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let fix = match nearest(text, words.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("write one of {}", words.join(", ")),
    };
    Err(Wrong::new(format!("`{}` is not one of {}", shown(text), words.join(", "))).with_fix(fix))
}

/// Units of memory, and how many bytes each is.
const SIZE_UNITS: &[(&str, u64)] =
    &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// A number of bytes above 0, with its unit.
pub(super) fn size(text: &str) -> Result<u64, Wrong> {
    let wrong = || {
        Wrong::new(format!("`{}` is no amount of memory", shown(text)))
            .with_fix("write a whole number with its unit, such as \"512 MiB\" or \"4 GiB\"")
    };
    let units = SIZE_UNITS.iter();
    let (number, unit) = units
        .filter_map(|(name, bytes)| Some((text.strip_suffix(name)?.trim_end(), bytes)))
        .next()
        .ok_or_else(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(*unit).filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

/// A length of time above 0.
pub(super) fn time(text: &str) -> Result<Duration, Wrong> {
    match time_or_none(text)? {
        Duration::ZERO => Err(Wrong::new("a time of 0 leaves no room to work")
            .with_fix("give a longer time, or leave the key out for no limit")),
        time => Ok(time),
    }
}

/// A length of time above 0, or the word that there is no limit.
pub(super) fn time_or_off(text: &str) -> Result<Option<Duration>, Wrong> {
    match text {
        "off" => Ok(None),
        _ => time(text).map(Some).map_err(|wrong| match time_or_none(text) {
            Ok(_) => Wrong::new("a time of 0 leaves no room to work")
                .with_fix("give a longer time, or \"off\" for no limit"),
            Err(_) => wrong,
        }),
    }
}

/// A length of time, 0 included.
pub(super) fn time_or_none(text: &str) -> Result<Duration, Wrong> {
    let parsed = text.parse::<jiff::SignedDuration>().ok();
    parsed.and_then(|time| Duration::try_from(time).ok()).ok_or_else(|| {
        Wrong::new(format!("`{}` is not a time", shown(text)))
            .with_fix("write a time such as \"90s\", \"15m\" or \"1h30m\"")
    })
}

pub(super) fn rule(text: &str) -> Result<Rule, Wrong> {
    if text.chars().any(char::is_control) {
        return Err(Wrong::new("a rule may not hold control characters"));
    }
    text.parse().map_err(|error: musher_core::RuleError| Wrong::new(error.to_string()))
}

/// A path that stays in the folder it starts from.
pub(super) fn relative(text: &str) -> Result<PathBuf, Wrong> {
    let path = Path::new(text);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let named = path.components().any(|part| matches!(part, Component::Normal(_)));
    if text.chars().any(char::is_control) {
        return Err(Wrong::new("a path may not hold control characters"));
    }
    if path.is_absolute() {
        return Err(Wrong::new("this path is absolute").with_fix("write it as seen from inside"));
    }
    if !path.components().all(plain) {
        return Err(Wrong::new("a path may not climb with `..`").with_fix("name something inside"));
    }
    if !named {
        return Err(Wrong::new("this path names nothing").with_fix("name a file or a folder"));
    }
    Ok(path.components().filter(|part| *part != Component::CurDir).collect())
}

/// A path in a worktree, beside what git keeps for itself.
pub(super) fn work_path(text: &str) -> Result<PathBuf, Wrong> {
    let path = relative(text)?;
    let first = path.components().next();
    if first == Some(Component::Normal(".git".as_ref())) {
        return Err(Wrong::new("`.git` belongs to git").with_fix("name something else"));
    }
    Ok(path)
}

/// A branch name that git would accept and could not take for anything else.
pub(super) fn branch(text: &str) -> Result<String, Wrong> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let wrong = text.starts_with('-')
        || text.ends_with('.')
        || text == "@"
        || text.contains("..")
        || text.contains("@{")
        || text.contains(odd)
        || text.split('/').any(bad_part);
    match wrong {
        true => Err(Wrong::new(format!("`{}` is not a name for a branch", shown(text)))),
        false => Ok(text.to_owned()),
    }
}

/// The name of an environment variable.
pub(super) fn variable(text: &str) -> Result<String, Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) || !text.chars().all(plain)
    {
        return Err(Wrong::new(format!("`{}` is not a name for a variable", shown(text)))
            .with_fix("use letters, digits and `_`"));
    }
    if text.starts_with("MUSHER_") {
        return Err(Wrong::new("variables that begin with MUSHER_ are Musher's own"));
    }
    Ok(text.to_owned())
}

/// The address of a service, without anything that only its owner should know.
pub(super) fn base_url(text: &str) -> Result<String, Wrong> {
    let wrong = |why: &str| Err(odd(text, &format!("the address of a service: {why}")));
    let url = match reqwest::Url::parse(text) {
        Ok(url) => url,
        Err(error) => return wrong(&error.to_string()),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return wrong("it must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Wrong::new("an address in the project file may not hold a user or a password")
            .with_fix("send it as a header: headers = { Authorization = { from = \"NAME\" } }"));
    }
    if url.fragment().is_some() || url.query().is_some() {
        return wrong("it must end with its path");
    }
    Ok(text.to_owned())
}

/// The name of a header.
pub(super) fn header_name(text: &str) -> Result<String, Wrong> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    match !text.is_empty() && text.bytes().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(odd(text, "a name for a header").with_fix("use letters, digits and `-`")),
    }
}

/// The value of a header.
pub(super) fn header(text: &str) -> Result<String, Wrong> {
    match text.bytes().all(|b| b == b' ' || b == b'\t' || b.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err(Wrong::new("a header may hold printable ASCII alone")),
    }
}

/// An address of this machine that no other machine can reach.
pub(super) fn listen(text: &str) -> Result<SocketAddr, Wrong> {
    let fix = "write \"127.0.0.1:0\" for any free port, or \"127.0.0.1:8080\"";
    let address = text.parse::<SocketAddr>().map_err(|_| {
        Wrong::new(format!("`{}` is not an address and a port", shown(text))).with_fix(fix)
    })?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err(Wrong::new(format!(
            "{} can be reached from other machines, and anyone who reaches the server can run commands here",
            address.ip()
        ))
        .with_fix("listen on 127.0.0.1, and reach it from elsewhere through SSH or a proxy")),
    }
}

/// An origin exactly as browsers send it.
pub(super) fn origin(text: &str) -> Result<String, Wrong> {
    let wrong = |why: &str| {
        Err(Wrong::new(format!("`{}` is not an origin: {why}", shown(text)))
            .with_fix("write it as browsers send it, such as \"http://127.0.0.1:8080\""))
    };
    let Some((scheme, host)) = text.split_once("://") else {
        return wrong("it has no scheme");
    };
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return wrong("the scheme must be http or https"),
    };
    if host.contains(['/', '?', '#']) {
        return wrong("it must end after the host and the port");
    }
    if host.contains('@') {
        return wrong("it may not name a user");
    }
    if host.ends_with(default_port) {
        return wrong("browsers leave this port out");
    }
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if name.parse::<std::net::Ipv6Addr>().is_ok() => (name, port),
            _ => return wrong("the address in brackets cannot be read"),
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-:".contains(c);
    if name.is_empty() || !name.chars().all(lower) {
        return wrong("the host may hold small letters, digits, `.` and `-`");
    }
    let digits = port.strip_prefix(':').unwrap_or("0");
    let whole = port.is_empty() || port.starts_with(':');
    let numeric = digits.bytes().all(|b| b.is_ascii_digit()) && digits.parse::<u16>().is_ok();
    if !whole || !numeric || (digits.starts_with('0') && !port.is_empty()) {
        return wrong("the port cannot be read");
    }
    Ok(text.to_owned())
}
