//! Acceptance criteria: the lines of a story's text that begin with a box.

use serde::{Deserialize, Serialize};

/// One thing by which people see that a story is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    pub text: String,
    /// Its box has a tick.
    pub ticked: bool,
    pub judge: CriterionJudge,
}

/// Who says whether a criterion is met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum CriterionJudge {
    /// A reviewer, with evidence.
    Reviewer,
    /// The gate of this name.
    Gate { gate: String },
    /// A person, who ticks the box.
    Person,
}

/// The criteria of a text, in their order. What stands in a block of code is none.
pub fn criteria(text: &str) -> Vec<Criterion> {
    let mut fence: Option<&str> = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => found.extend(criterion(line)),
        }
    }
    found
}

fn criterion(line: &str) -> Option<Criterion> {
    let rest = ["- ", "* ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet))?;
    let rest = rest.trim_start();
    let (ticked, text) = match (rest.strip_prefix("[ ]"), rest.strip_prefix("[x]")) {
        (Some(text), _) => (false, text),
        (None, Some(text)) => (true, text),
        (None, None) => (true, rest.strip_prefix("[X]")?),
    };
    let (text, judge) = judged(text.trim());
    (!text.is_empty()).then(|| Criterion { text: text.to_owned(), ticked, judge })
}

/// What stands in parentheses at the end says who judges.
fn judged(text: &str) -> (&str, CriterionJudge) {
    let inside = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let Some((before, inside)) = inside else { return (text, CriterionJudge::Reviewer) };
    let judge = match (inside.trim(), inside.trim().strip_prefix("gate:")) {
        ("person", _) => CriterionJudge::Person,
        (_, Some(gate)) if !gate.trim().is_empty() => {
            CriterionJudge::Gate { gate: gate.trim().to_owned() }
        }
        _ => return (text, CriterionJudge::Reviewer),
    };
    (before.trim_end(), judge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_criteria_and_say_who_judges_them() {
        let text = "Why.\n## Acceptance\n- [ ] A wrong token gives 401 (gate: api)\n* [x] It looks right (person)\n\
                    - [ ] The message names no user (or nearly)\n- no box\n- [ ]\n```\n- [ ] code\n```\n  - [X] nested\n";
        let found = criteria(text);
        let told: Vec<(&str, bool)> =
            found.iter().map(|one| (one.text.as_str(), one.ticked)).collect();
        assert_eq!(
            told,
            [
                ("A wrong token gives 401", false),
                ("It looks right", true),
                ("The message names no user (or nearly)", false),
                ("nested", true),
            ]
        );
        assert_eq!(found[0].judge, CriterionJudge::Gate { gate: "api".into() });
        assert_eq!(found[1].judge, CriterionJudge::Person);
        assert_eq!(found[2].judge, CriterionJudge::Reviewer);
    }
}
