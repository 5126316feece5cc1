//! What a browser is called by people, from what it says of itself.

/// A browser by the product that gives it away; those that pretend to be others come first.
const BROWSERS: &[(&str, &str)] = &[
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// A system by the words that give it away; those that pretend to be others come first.
const SYSTEMS: &[(&str, &str)] = &[
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iOS"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
];

/// A name for the token of whoever sends this.
pub(in crate::api) fn name(user_agent: Option<&str>) -> String {
    let given = user_agent.unwrap_or_default();
    let known = |table: &[(&str, &'static str)]| {
        table.iter().find(|(word, _)| given.contains(word)).map(|(_, name)| *name)
    };
    let product = given.split(['/', ' ']).next().unwrap_or_default();
    let plain = |text: &str| {
        !text.is_empty()
            && text.len() <= 32
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let product = Some(product).filter(|product| plain(product)).unwrap_or("a browser");
    match (known(BROWSERS), known(SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => product.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_called_what_people_call_it_and_nothing_strange_comes_through() {
        let webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";
        for (given, wanted) in [
            (
                format!("Mozilla/5.0 (X11; Linux x86_64) {webkit} Chrome/139.0.0.0 Safari/537.36"),
                "Chrome on Linux",
            ),
            (
                format!("Mozilla/5.0 (Windows NT 10.0) {webkit} Chrome/1 Safari/1 Edg/1"),
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 14) Version/17 Safari/605".into(),
                "Safari on macOS",
            ),
            ("Mozilla/5.0 (Android 14; Mobile) Gecko/1 Firefox/140.0".into(), "Firefox on Android"),
            ("curl/8.5.0".into(), "curl"),
            ("\u{1b}[31m/1".into(), "a browser"),
            (String::new(), "a browser"),
        ] {
            assert_eq!(name(Some(&given)), wanted, "{given}");
        }
        assert_eq!(name(None), "a browser");
    }
}
