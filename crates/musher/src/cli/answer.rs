//! `musher answer`: answers an agent's questions, or fills in a form.

use clap::Args;
use musher_core::{Answer as Said, Ask, Question, QuestionReply};
use serde_json::Value as Json;

use super::ask::{asked, reply};
use super::open_ask::{AnswerToSend, Chosen, OpenAsks, SeenAsk, send};
use super::place::PlaceArgs;
use super::text::plain;
use super::{CliError, CliExit};
use musher_client::api::ApiAsk;

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The id from `musher asks`, or the run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    #[arg(value_name = "ASK")]
    ask: String,
    /// After a run, the ask's name if it has several; then the answer: one text per question (a label, a number or free
    /// text), or `name=value` for each field of a form.
    #[arg(value_name = "[ASK] TEXT", required_unless_present = "choose")]
    words: Vec<String>,
    /// Choose an option by label or number; repeat it to choose several.
    #[arg(short, long, value_name = "LABEL")]
    choose: Vec<String>,
    #[command(flatten)]
    seen: SeenAsk,
    #[command(flatten)]
    place: PlaceArgs,
}

impl AnswerArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let open = OpenAsks::read(&client).await?;
        let (chosen, taken) = open.one(&client, &self.ask, self.words.first()).await?;
        let ApiAsk { run, ask, .. } = &chosen.ask;
        let Some(body) = &chosen.ask.body else {
            return Err(CliError::hinted(
                format!("what ask {ask} of {run} asks is not known here"),
                "answer it in the page of the server, or deny it",
            ));
        };
        let answer = said(body, &self.words[taken..], &self.choose).map_err(|why| {
            CliError::hinted(format!("ask {ask} of {run}: {}", why.0), why.1.replace("RUN", run))
        })?;
        let done = format!("ask {ask} of {run} is answered");
        // Words that fit were written for what is asked here.
        let chosen = Chosen { named: true, ..chosen };
        send(&place, &client, &self.seen, "Answer", vec![AnswerToSend { chosen, answer, done }])
            .await
    }
}

/// What is wrong with an answer, and what to do about it.
type Wrong = (String, String);

/// The words as the answer that the ask takes.
fn said(ask: &Ask, words: &[String], choose: &[String]) -> Result<Said, Wrong> {
    let answer = match ask {
        Ask::Approval(_) | Ask::Plan { .. } => {
            return Err((
                "it takes yes or no".into(),
                "use `musher approve RUN` or `musher deny RUN --reason TEXT`".into(),
            ));
        }
        Ask::Form { .. } if choose.is_empty() => form(words)?,
        Ask::Form { .. } => {
            return Err(("a form has nothing to choose from".into(), "write name=value".into()));
        }
        Ask::Question { questions } => {
            Said::Replies { replies: replies(questions, words, choose)? }
        }
    };
    ask.accepts(&answer).map_err(|why| (why.to_owned(), "see it with `musher asks RUN`".into()))?;
    Ok(answer)
}

fn replies(
    questions: &[Question],
    words: &[String],
    choose: &[String],
) -> Result<Vec<QuestionReply>, Wrong> {
    if let ([question], false) = (questions, choose.is_empty()) {
        return chosen(question, choose, &words.join(" ")).map(|reply| vec![reply]);
    }
    // One question takes all the words, so that nobody has to quote a sentence.
    let sentence = [words.join(" ")];
    let lines = match questions {
        [_] => &sentence[..],
        _ if choose.is_empty() => words,
        // Several questions, each answered by a choice.
        _ => choose,
    };
    if lines.len() != questions.len() {
        let list: String =
            questions.iter().map(|question| format!("\n{}", asked(question))).collect();
        return Err((
            format!("it has {} questions and got {} answers{list}", questions.len(), lines.len()),
            "give one text for each question, in their order and in quotes".into(),
        ));
    }
    let mut replies = Vec::new();
    for (question, line) in questions.iter().zip(lines) {
        let understood = reply(question, line.trim());
        replies.push(
            understood.map_err(|why| (format!("{why}\n{}", asked(question)), how(question)))?,
        );
    }
    Ok(replies)
}

/// The options that were named, each one of those that there are.
fn chosen(question: &Question, choose: &[String], text: &str) -> Result<QuestionReply, Wrong> {
    let mut chosen = Vec::new();
    for wanted in choose {
        let number = wanted.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let same = |label: &str| label.to_lowercase() == wanted.trim().to_lowercase();
        let labels = || question.options.iter().map(|option| &option.label);
        let label = labels().find(|label| same(label)).or_else(|| labels().nth(number?));
        let Some(label) = label else {
            let wanted = plain(wanted);
            return Err((format!("`{wanted}` is no option\n{}", asked(question)), how(question)));
        };
        if !chosen.contains(label) {
            chosen.push(label.clone());
        }
    }
    if chosen.len() > 1 && !question.multi {
        return Err(("only one can be chosen".into(), how(question)));
    }
    let text = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    Ok(QuestionReply { chosen, text })
}

fn how(question: &Question) -> String {
    match question.options.is_empty() {
        true => "answer in your own words".into(),
        false => "name an option by its label or number, or answer in your own words".into(),
    }
}

fn form(words: &[String]) -> Result<Said, Wrong> {
    let field = |word: &String| {
        let (name, value) = word.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or((
            format!("`{}` is no field of a form", plain(word)),
            "write name=value for each field".to_owned(),
        ))?;
        // What reads as JSON is meant so: numbers, true and false.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()));
        Ok((name.to_owned(), value))
    };
    let content = words.iter().map(field).collect::<Result<_, Wrong>>()?;
    Ok(Said::Form { content })
}

#[cfg(test)]
mod tests {
    use musher_core::QuestionOption;

    use super::*;

    fn question(options: &[&str], multi: bool) -> Question {
        let option = |label: &&str| QuestionOption { label: (*label).into(), description: None };
        let options = options.iter().map(option).collect();
        Question { text: "Which?".into(), header: None, options, multi }
    }

    fn ask(questions: &[Question]) -> Ask {
        Ask::Question { questions: questions.to_vec() }
    }

    fn words(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn replied(ask: &Ask, texts: &[&str], choose: &[&str]) -> Result<Vec<QuestionReply>, Wrong> {
        match said(ask, &words(texts), &words(choose))? {
            Said::Replies { replies } => Ok(replies),
            other @ (Said::Allow { .. }
            | Said::AllowAlways { .. }
            | Said::Deny { .. }
            | Said::DenyAndInterrupt { .. }
            | Said::Form { .. }) => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_question_takes_a_whole_sentence_a_label_or_a_number() {
        let one = ask(&[question(&["Red", "Blue"], false)]);
        assert_eq!(
            replied(&one, &["use", "green", "please"], &[]).unwrap()[0].joined(),
            "use green please"
        );
        assert_eq!(replied(&one, &["blue"], &[]).unwrap()[0].chosen, ["Blue"]);
        assert_eq!(replied(&one, &["2"], &[]).unwrap()[0].chosen, ["Blue"]);
        assert!(replied(&one, &["3"], &[]).is_err());
        assert!(replied(&one, &[""], &[]).is_err());
    }

    #[test]
    fn a_choice_must_be_one_of_the_options_and_one_unless_several_may_be() {
        let one = ask(&[question(&["Red", "Blue"], false)]);
        assert_eq!(replied(&one, &[], &["RED"]).unwrap()[0].chosen, ["Red"]);
        assert!(replied(&one, &[], &["green"]).unwrap_err().0.contains("[1] Red"));
        assert!(replied(&one, &[], &["1", "2"]).is_err());
        let many = ask(&[question(&["Red", "Blue"], true)]);
        let reply = replied(&many, &["and", "so", "on"], &["2", "red", "Red"]).unwrap();
        assert_eq!(reply[0].joined(), "Blue, Red, and so on");
    }

    #[test]
    fn several_questions_take_one_text_each_in_their_order() {
        let two = ask(&[question(&["Red"], false), question(&[], false)]);
        let replies = replied(&two, &["1", "as you like"], &[]).unwrap();
        assert_eq!(
            (replies[0].joined(), replies[1].joined()),
            ("Red".into(), "as you like".into())
        );
        assert!(replied(&two, &["1"], &[]).unwrap_err().0.contains("2 questions and got 1"));
    }

    #[test]
    fn a_form_takes_fields_and_an_approval_takes_neither() {
        let form = Ask::Form { server: "s".into(), message: "m".into(), schema: None, url: None };
        let Ok(Said::Form { content }) = said(&form, &words(&["a=1", "b=x=y", "c=\"2\""]), &[])
        else {
            panic!("not a form");
        };
        assert_eq!(
            serde_json::to_value(content).unwrap(),
            serde_json::json!({"a":1,"b":"x=y","c":"2"})
        );
        assert!(said(&form, &words(&["nonsense"]), &[]).is_err());
        let plan = Ask::Plan { plan: "p".into() };
        assert!(said(&plan, &words(&["yes"]), &[]).unwrap_err().1.contains("musher approve RUN"));
    }
}
