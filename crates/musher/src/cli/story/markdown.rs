//! Stories as Markdown files: what they ask for in front matter, then a heading with the title, then the text.

use std::collections::BTreeMap;

use musher_client::api::{ApiStorySpec, ApiStoryWhole};
use musher_core::StoryId;
use serde::{Deserialize, Serialize};

/// What opens and closes front matter.
const FENCE: &str = "---";
/// An id that is made of a title or of the name of a file is no longer.
const MAX_MADE_ID_CHARS: usize = 48;

/// A story as a file holds it, and as the API takes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct StoryFile {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) text: String,
    #[serde(flatten)]
    pub(super) front: FrontMatter,
}

/// What stands between the fences, beside the id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FrontMatter {
    #[serde(skip_serializing)]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) priority: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) after: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) context: BTreeMap<String, String>,
}

/// Front matter as it is written, with the id first.
#[derive(Serialize)]
struct Written<'a> {
    id: &'a str,
    #[serde(flatten)]
    front: &'a FrontMatter,
}

/// A file that is no story.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StoryFileError {
    #[error("the front matter has no closing `---`")]
    Unclosed,
    #[error("the front matter cannot be read: {0}")]
    Front(String),
    #[error("there is no title: a line `# TITLE` after the front matter")]
    NoTitle,
    #[error("it has no id: write `id: NAME` into its front matter")]
    NoId,
}

impl StoryFile {
    /// Reads a file. Without an id of its own the story is called like the file, so that reading it again means the same story.
    pub(super) fn read(text: &str, stem: &str) -> Result<Self, StoryFileError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let (front, rest) = split(&text)?;
        let mut lines = rest.split_inclusive('\n');
        let title = lines.by_ref().find(|line| !line.trim().is_empty());
        let title = title.and_then(|line| line.strip_prefix("# "));
        let title = title.ok_or(StoryFileError::NoTitle)?.trim().to_owned();
        let body: String = lines.collect();
        let body = body.strip_prefix('\n').unwrap_or(&body).trim_end().to_owned();
        let id = front.id.clone().or_else(|| made_id(stem)).ok_or(StoryFileError::NoId)?;
        Ok(Self { id, title, text: body, front: FrontMatter { id: None, ..front } })
    }

    /// A story of nothing but its title.
    pub(super) fn of_title(title: &str) -> Option<Self> {
        let id = made_id(title)?;
        let (title, text, front) = (title.to_owned(), String::new(), FrontMatter::default());
        Some(Self { id, title, text, front })
    }

    /// The file that says the same.
    pub(super) fn written(&self) -> Result<String, StoryFileError> {
        let front = Written { id: &self.id, front: &self.front };
        let front = serde_saphyr::to_string(&front)
            .map_err(|error| StoryFileError::Front(error.to_string()))?;
        let text = match self.text.trim_end() {
            "" => String::new(),
            text => format!("\n{text}\n"),
        };
        Ok(format!("{FENCE}\n{}\n{FENCE}\n# {}\n{text}", front.trim_end(), self.title))
    }
}

impl From<ApiStoryWhole> for StoryFile {
    fn from(whole: ApiStoryWhole) -> Self {
        let ApiStoryWhole { story, text, context, .. } = whole;
        let ApiStorySpec { after, priority, labels, budget_usd, agent, base, branch } = story.asks;
        let usual = u8::from(musher_core::Priority::default());
        let priority = (priority != usual).then_some(priority);
        let front = FrontMatter {
            id: None,
            priority,
            after,
            labels,
            budget_usd,
            agent,
            base,
            branch,
            context,
        };
        let (title, text) = (story.title.unwrap_or_default(), text.unwrap_or_default());
        Self { id: story.id, title, text, front }
    }
}

/// The front matter, if there is any, and what follows it.
fn split(text: &str) -> Result<(FrontMatter, &str), StoryFileError> {
    let Some(rest) = text.strip_prefix("---\n") else { return Ok((FrontMatter::default(), text)) };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            let (front, rest) = (&rest[..at], &rest[at + line.len()..]);
            if front.trim().is_empty() {
                return Ok((FrontMatter::default(), rest));
            }
            let front = serde_saphyr::from_str(front)
                .map_err(|error| StoryFileError::Front(error.to_string()))?;
            return Ok((front, rest));
        }
        at += line.len();
    }
    Err(StoryFileError::Unclosed)
}

/// An id made of words: small letters, digits and hyphens.
fn made_id(words: &str) -> Option<String> {
    let mut id = String::new();
    for c in words.chars().flat_map(char::to_lowercase) {
        match c.is_ascii_alphanumeric() {
            true => id.push(c),
            false if !id.ends_with('-') && !id.is_empty() => id.push('-'),
            false => {}
        }
        if id.len() >= MAX_MADE_ID_CHARS {
            break;
        }
    }
    StoryId::parse(id.trim_end_matches('-')).ok().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "---\nid: login-401\npriority: 3\nafter: [s3, api-token]\nlabels: [auth]\nbudget_usd: 4\n\
        agent: coder\nbase: release/2\nbranch: fix/login\ncontext:\n  KEY: \"a: b\"\n---\n# A wrong token gives 401\n\n\
        Why and what.\n\n## Acceptance\n- [ ] 401 (gate: api)\n";

    #[test]
    fn a_file_is_read_and_what_is_written_of_it_says_the_same() {
        let story = StoryFile::read(WHOLE, "any").unwrap();
        assert_eq!(
            (story.id.as_str(), story.title.as_str()),
            ("login-401", "A wrong token gives 401")
        );
        assert!(story.text.starts_with("Why and what.") && story.text.ends_with("(gate: api)"));
        assert_eq!(story.front.after, ["s3", "api-token"]);
        assert_eq!(story.front.context["KEY"], "a: b");
        let written = story.written().unwrap();
        assert_eq!(StoryFile::read(&written, "other").unwrap(), story, "{written}");
        assert!(written.starts_with("---\nid: login-401\n"), "{written}");
    }

    #[test]
    fn a_file_without_front_matter_is_called_like_itself() {
        let story = StoryFile::read("# Paint the door\r\n\r\nRed.\r\n", "My Door!").unwrap();
        assert_eq!((story.id.as_str(), story.text.as_str()), ("my-door", "Red."));
        assert_eq!(StoryFile::of_title("  Über 3 Dinge  ").unwrap().id, "ber-3-dinge");
        assert_eq!(StoryFile::of_title("…"), None);
    }

    #[test]
    fn what_is_no_story_is_told_in_words() {
        let error = |text: &str| StoryFile::read(text, "x").unwrap_err();
        assert_eq!(error("---\nid: a\n# T\n"), StoryFileError::Unclosed);
        assert_eq!(error("---\nid: a\n---\nNo heading\n"), StoryFileError::NoTitle);
        assert_eq!(StoryFile::read("# T\n", "…"), Err(StoryFileError::NoId));
        let unknown = error("---\npriorty: 3\n---\n# T\n").to_string();
        assert!(unknown.contains("priorty"), "{unknown}");
        assert!(matches!(error("---\npriority: [\n---\n# T\n"), StoryFileError::Front(_)));
    }

    #[test]
    fn strange_texts_survive_a_round_trip() {
        for text in ["---\n", "# inner\n\ntext", "a\n\n\n---\nb", "\"quoted\": {x}"] {
            for title in ["yes", "- dash", "a: b # c", "---"] {
                let story = StoryFile {
                    id: "x".into(),
                    title: title.into(),
                    text: text.trim_end().into(),
                    front: FrontMatter {
                        labels: vec!["no".into(), "1".into()],
                        ..Default::default()
                    },
                };
                let written = story.written().unwrap();
                assert_eq!(StoryFile::read(&written, "y").unwrap(), story, "{written}");
            }
        }
    }
}
