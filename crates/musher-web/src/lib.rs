//! The files of the web UI: embedded in the program, or read from a folder while the UI is being worked on.

use std::borrow::Cow;
use std::path::PathBuf;

/// What the build script has put together, by path: each with a hash of it, and its bytes.
static BUILT: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Where the files come from.
#[derive(Debug, Clone, Default)]
pub enum WebFiles {
    /// From the program itself.
    #[default]
    Embedded,
    /// From a folder that a bundler writes, read anew each time.
    Folder(PathBuf),
}

/// A file as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub bytes: Cow<'static, [u8]>,
    /// Its media type.
    pub kind: &'static str,
    /// How the bytes are packed, if they are.
    pub encoding: Option<&'static str>,
    /// Says whether a client has the same already.
    pub etag: String,
}

/// The packings, the smallest first.
const PACKED: &[(&str, &str)] = &[("br", ".br"), ("gzip", ".gz")];

impl WebFiles {
    /// The page itself, as small as the client takes it.
    pub fn page(&self, accepted: &str) -> Option<File> {
        self.file("index.html", "text/html; charset=utf-8", accepted)
    }

    /// A file that the page loads, by its name, which holds a hash of what is in it.
    pub fn asset(&self, name: &str, accepted: &str) -> Option<File> {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        // A name of these letters is no path, and the packed files are known to nobody.
        if name.starts_with('.') || !name.chars().all(fine) {
            return None;
        }
        self.file(&format!("assets/{name}"), kind(name)?, accepted)
    }

    fn file(&self, path: &str, kind: &'static str, accepted: &str) -> Option<File> {
        for (encoding, ending) in PACKED {
            if accepts(accepted, encoding)
                && let Some(found) = self.read(&format!("{path}{ending}"))
            {
                let (bytes, etag) = found;
                return Some(File { bytes, kind, encoding: Some(encoding), etag });
            }
        }
        let (bytes, etag) = self.read(path)?;
        Some(File { bytes, kind, encoding: None, etag })
    }

    /// The bytes of a file and what tells them from others.
    fn read(&self, path: &str) -> Option<(Cow<'static, [u8]>, String)> {
        match self {
            Self::Embedded => {
                let at = BUILT.binary_search_by_key(&path, |(known, _, _)| known).ok()?;
                let (_, hash, bytes) = BUILT.get(at)?;
                Some((Cow::Borrowed(*bytes), format!("\"{hash}\"")))
            }
            Self::Folder(folder) => {
                let bytes = std::fs::read(folder.join(path)).ok()?;
                // Whoever works on the UI reloads to see what is new.
                Some((bytes.into(), String::new()))
            }
        }
    }
}

/// Whether a client takes a packing, by its `Accept-Encoding`.
fn accepts(accepted: &str, encoding: &str) -> bool {
    accepted.split(',').any(|part| {
        let (name, rest) = part.split_once(';').unwrap_or((part, ""));
        let refused = rest.trim().strip_prefix("q=").is_some_and(|q| q.trim().parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case(encoding) && !refused
    })
}

/// The media type of what the bundler makes; there is nothing else.
fn kind(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    match ending {
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "map" => Some("application/json"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        "woff2" => Some("font/woff2"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, WebFiles) {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("assets")).unwrap();
        std::fs::write(place.path().join("secret"), "secret").unwrap();
        std::fs::write(place.path().join("index.html"), "page").unwrap();
        std::fs::write(place.path().join("assets/app-1.js"), "plain").unwrap();
        std::fs::write(place.path().join("assets/app-1.js.br"), "small").unwrap();
        std::fs::write(place.path().join("assets/app-1.js.gz"), "smaller").unwrap();
        let site = WebFiles::Folder(place.path().to_owned());
        (place, site)
    }

    #[test]
    fn a_client_gets_the_smallest_packing_that_it_takes() {
        let (_place, site) = folder();
        let got = |accepted| site.asset("app-1.js", accepted).map(|file| file.encoding);
        assert_eq!(got("gzip, deflate, br"), Some(Some("br")));
        assert_eq!(got("gzip;q=0.5, br;q=0"), Some(Some("gzip")));
        assert_eq!(got("GZIP"), Some(Some("gzip")));
        assert_eq!(got(""), Some(None));
        assert_eq!(got("br;q=0, gzip; q=0.0, xbr"), Some(None));
    }

    #[test]
    fn no_name_leads_out_of_the_folder_or_to_what_is_not_part_of_the_page() {
        let (_place, site) = folder();
        let wrong = [
            "../secret",
            "..",
            ".",
            "",
            "x/../app-1.js",
            "app-1.js.br",
            "app-1",
            "%2e%2e",
            "a\0.js",
        ];
        for name in wrong {
            assert_eq!(site.asset(name, "br"), None, "{name}");
        }
    }

    #[test]
    fn there_is_always_a_page_whatever_it_was_built_with() {
        let page = WebFiles::Embedded.page("").unwrap();
        let text = String::from_utf8_lossy(&page.bytes);
        assert!(text.starts_with("<!doctype html>") && text.contains("Musher"), "{text}");
        assert!(!page.etag.is_empty() && page.encoding.is_none());
    }

    #[test]
    fn everything_that_the_page_loads_is_there_and_nothing_in_it_acts_by_itself() {
        let page = WebFiles::Embedded.page("").unwrap();
        let text = String::from_utf8_lossy(&page.bytes).into_owned();
        for link in text.split('"').filter(|part| part.starts_with("/assets/")) {
            let name = link.trim_start_matches("/assets/");
            let plain = WebFiles::Embedded.asset(name, "").unwrap();
            let packed = WebFiles::Embedded.asset(name, "br").unwrap();
            assert!(packed.bytes.len() < plain.bytes.len(), "{name}");
            assert_eq!(packed.encoding, Some("br"));
        }
        assert!(!text.contains("<style") && !text.contains("onload"), "{text}");
        for script in text.split("<script").skip(1) {
            assert!(script.contains("src=\"/assets/") && script.contains("></script>"), "{script}");
        }
    }
}
