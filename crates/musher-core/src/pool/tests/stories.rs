//! The rules of stories, and of the texts that come with them.

use super::scene::{Scene, start, story};
use crate::pool::{
    Action, CommandReply, Fact, PoolCommand, PoolInput, Refusal, RefusalClass, SecretPlace, TextKey,
};
use crate::{BranchRef, Outcome, RunRef, StoryId, StoryState};

fn add(id: Option<&str>, title: &str, text: &str) -> PoolCommand {
    PoolCommand::AddStory {
        id: id.map(story),
        title: title.into(),
        text: text.into(),
        context: Default::default(),
        spec: Default::default(),
    }
}

fn archive(id: &str) -> PoolCommand {
    PoolCommand::ArchiveStory { story: story(id) }
}

fn merge(branch: Option<u32>) -> PoolCommand {
    PoolCommand::MergeStory { story: story("s1"), branch, with_secrets: true }
}

#[test]
fn ids_are_minted_around_those_that_people_gave_and_never_given_twice() {
    let mut scene = Scene::new();
    let given = |id: &str| Ok(CommandReply::Story(story(id)));
    assert_eq!(scene.reply(add(Some("s2"), "Two", "")), given("s2"));
    assert_eq!(scene.add_story(), given("s1"));
    assert_eq!(scene.add_story(), given("s3"));
    let exists = |id: &str| Err(Refusal::StoryExists { story: story(id) });
    assert_eq!(scene.reply(add(Some("s1"), "One", "")), exists("s1"));
    assert_eq!(scene.reply(archive("s3")), Ok(CommandReply::Done));
    assert_eq!(scene.reply(add(Some("s3"), "Three", "")), exists("s3"));
    assert_eq!(scene.add_story(), given("s4"));
    assert_eq!(scene.reply(start("s3", "ada")), Err(Refusal::StoryArchived { story: story("s3") }));
}

#[test]
fn texts_from_people_are_checked_and_titles_trimmed() {
    let mut scene = Scene::new();
    let decision = scene.tell(add(None, "  Paint the door \n", "Red.\nTwice."));
    let title = (TextKey::StoryTitle(story("s1")), "Paint the door".to_owned());
    assert_eq!(decision.texts[0], title);
    let most = "ä".repeat(200);
    assert!(scene.reply(add(None, &most, &"x".repeat(256 * 1024))).is_ok());
    let bad = [
        add(None, " \t ", ""),
        add(None, &format!("{most}ä"), ""),
        add(None, "a\u{1b}[31m", ""),
        add(None, "two\nlines", ""),
        add(None, "ok", "nul\0"),
        add(None, "ok", &"x".repeat(256 * 1024 + 1)),
    ];
    for command in bad {
        let decision = scene.tell(command);
        let refusal = decision.reply.unwrap().unwrap_err();
        assert_eq!((refusal.code(), refusal.class()), ("bad_text", RefusalClass::Invalid));
        assert!(decision.facts.is_empty() && decision.texts.is_empty());
    }
    for (model, prompt) in [(None, Some(" ")), (Some(""), None), (Some("a b"), None)] {
        let (model, prompt) = (model.map(str::to_owned), prompt.map(str::to_owned));
        let command = PoolCommand::StartRun {
            story: story("s1"),
            agent: None,
            model,
            prompt,
            options: Default::default(),
        };
        assert_eq!(scene.reply(command).unwrap_err().code(), "bad_text");
    }
}

#[test]
fn a_story_with_runs_is_neither_done_nor_archived_nor_merged_under_them() {
    let mut scene = Scene::with_story();
    let run = scene.live("s1", "ada");
    let refusal = Refusal::StoryBusy { story: story("s1"), runs: vec![run] };
    assert_eq!(refusal.to_string(), "story s1 has active runs: r1");
    let busy = Err(refusal);
    assert_eq!(scene.reply(PoolCommand::FinishStory { story: story("s1") }), busy);
    assert_eq!(scene.reply(archive("s1")), busy);
    assert_eq!(scene.reply(merge(None)), busy);
}

#[test]
fn a_done_story_takes_no_runs_until_it_is_reopened() {
    let mut scene = Scene::with_story();
    scene.reply(PoolCommand::FinishStory { story: story("s1") }).unwrap();
    let refusal = scene.reply(start("s1", "ada")).unwrap_err();
    assert_eq!(refusal, Refusal::StoryDone { story: story("s1"), merged: None });
    assert_eq!(refusal.hint(), "reopen it first: `musher story reopen s1`");
    scene.reply(PoolCommand::ReopenStory { story: story("s1") }).unwrap();
    scene.start("s1", "ada");
}

#[test]
fn a_branch_that_adds_secrets_is_merged_only_when_the_person_says_so() {
    let mut scene = Scene::with_story();
    let run = scene.live("s1", "ada");
    scene.end(run, Outcome::Completed);
    let branch = BranchRef::plain(story("s1"), 1);
    let ask =
        |with_secrets| PoolCommand::MergeStory { story: story("s1"), branch: None, with_secrets };
    let searched = |scene: &mut Scene, result| {
        let decision = scene.tell(ask(false));
        let command = scene.last_command();
        let search = Action::SearchSecrets { command: command.clone(), branch: branch.clone() };
        assert_eq!(decision.actions, [search]);
        assert_eq!(scene.state.owed(), decision.actions);
        scene.put(PoolInput::Searched { command, story: story("s1"), result })
    };
    let place = SecretPlace { path: "a.txt".into(), line: 2, name: "KEY".into() };
    let refused = searched(&mut scene, Ok(vec![place.clone()]));
    assert!(refused.actions.is_empty(), "{refused:?}");
    let refusal = Refusal::SecretsFound { branch: branch.clone(), places: vec![place] };
    assert!(refusal.to_string().contains("line 2 of a.txt holds KEY"), "{refusal}");
    assert_eq!(refused.settled, [(scene.last_command(), Err(refusal))]);
    // What could not be searched is not known to be free of secrets.
    let unknown = searched(&mut scene, Err("a pipe is in the way".into()));
    assert!(matches!(&unknown.settled[..], [(_, Err(Refusal::MergeFailed { .. }))]));
    let clean = searched(&mut scene, Ok(Vec::new()));
    let command = scene.last_command();
    assert_eq!(clean.actions, [Action::Merge { command: command.clone(), branch: branch.clone() }]);
    scene.put(PoolInput::Merged { command, story: story("s1"), result: Err("a conflict".into()) });
    let told = scene.tell(ask(true));
    assert_eq!(told.actions, [Action::Merge { command: scene.last_command(), branch }]);
}

#[test]
fn merges_are_carried_out_one_after_the_other_in_the_order_in_which_they_were_asked_for() {
    let mut scene = Scene::with_story();
    scene.add_story().unwrap();
    scene.add_story().unwrap();
    let names = ["s1", "s2", "s3"];
    for name in names {
        let run = scene.live(name, "ada");
        scene.end(run, Outcome::Completed);
    }
    let ask = |name: &str, with_secrets| PoolCommand::MergeStory {
        story: story(name),
        branch: None,
        with_secrets,
    };
    let merge = |command: &crate::CommandId, name: &str| Action::Merge {
        command: command.clone(),
        branch: BranchRef::plain(story(name), 1),
    };
    // The first is still searched when the others could be merged at once.
    scene.tell(ask("s1", false));
    let first = scene.last_command();
    assert!(scene.tell(ask("s2", true)).actions.is_empty(), "it waits for the first");
    let second = scene.last_command();
    assert!(scene.tell(ask("s3", true)).actions.is_empty(), "it waits for both");
    let third = scene.last_command();
    assert_eq!(scene.state.owed().len(), 1, "a server that begins again keeps the order");

    let searched =
        PoolInput::Searched { command: first.clone(), story: story("s1"), result: Ok(Vec::new()) };
    assert_eq!(scene.put(searched).actions, [merge(&first, "s1")]);
    assert_eq!(scene.state.owed(), [merge(&first, "s1")]);
    let merged = |command: &crate::CommandId, name: &str, result| PoolInput::Merged {
        command: command.clone(),
        story: story(name),
        result,
    };
    let failed = scene.put(merged(&first, "s1", Err("a conflict".into())));
    assert_eq!(failed.actions, [merge(&second, "s2")], "an end of any kind lets the next go on");
    let done = scene.put(merged(&second, "s2", Ok("abc".into())));
    assert_eq!(done.actions, [merge(&third, "s3")]);
    assert!(scene.put(merged(&third, "s3", Ok("def".into()))).actions.is_empty());
}

#[test]
fn a_merge_is_offered_then_settled_and_ends_the_story() {
    let mut scene = Scene::with_story();
    assert_eq!(scene.reply(merge(None)), Err(Refusal::NothingToMerge { story: story("s1") }));
    let run = scene.live("s1", "ada");
    scene.end(run, Outcome::Completed);
    let decision = scene.tell(merge(None));
    let command = scene.last_command();
    assert_eq!(decision.reply, Some(Ok(CommandReply::Offered)));
    let branch = BranchRef::plain(story("s1"), 1);
    assert_eq!(decision.actions, [Action::Merge { command: command.clone(), branch }]);
    assert_eq!(scene.state.owed(), decision.actions);

    let under_way = Err(Refusal::MergeUnderWay { story: story("s1") });
    assert_eq!(scene.reply(start("s1", "ada")), under_way);
    assert_eq!(scene.reply(archive("s1")), under_way);
    assert_eq!(scene.reply(merge(None)), under_way);

    let merged =
        |result| PoolInput::Merged { command: command.clone(), story: story("s1"), result };
    let failed = scene.put(merged(Err("a conflict in door.rs".into())));
    assert!(matches!(&failed.settled[..], [(_, Err(Refusal::MergeFailed { .. }))]));
    assert_eq!(scene.put(merged(Ok("abc".into()))), Default::default());

    scene.tell(merge(None));
    let (command, result) = (scene.last_command(), Ok("abc".into()));
    let done = scene.put(PoolInput::Merged { command, story: story("s1"), result });
    assert!(matches!(done.facts[..], [Fact::StoryMerged { .. }]));
    let state = &scene.state.stories[&story("s1")].state;
    assert_eq!(*state, StoryState::Done { merged: Some("abc".into()) });
}

#[test]
fn a_story_with_several_branches_is_merged_by_name() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.name_session(first, 1, "x");
    scene.reply(PoolCommand::Fork { run: RunRef::Live(first), text: None, turn: None }).unwrap();
    let second = crate::RunId::minted(2);
    scene.go_live(second);
    scene.end(first, Outcome::Completed);
    scene.end(second, Outcome::Completed);
    let which = Refusal::WhichBranch { story: story("s1"), branches: vec![1, 2] };
    assert_eq!(scene.reply(merge(None)), Err(which));
    let unknown = Refusal::NoSuchBranch { story: story("s1"), branch: 3 };
    assert_eq!(scene.reply(merge(Some(3))), Err(unknown));
    assert_eq!(scene.reply(merge(Some(2))), Ok(CommandReply::Offered));
}

#[test]
fn an_unknown_story_is_named_as_such() {
    let mut scene = Scene::new();
    let missing: StoryId = story("nowhere");
    let refusal = scene.reply(start("nowhere", "ada")).unwrap_err();
    assert_eq!(refusal, Refusal::NoSuchStory { story: missing });
    assert_eq!(refusal.class(), RefusalClass::NotFound);
    assert_eq!(refusal.to_string(), "there is no story nowhere");
}

#[test]
fn the_code_of_a_refusal_is_the_one_it_is_written_with() {
    let refusals = [
        Refusal::NoAgents,
        Refusal::StoryDone { story: story("s1"), merged: None },
        Refusal::AlreadyRunning {
            run: crate::RunId::minted(1),
            story: story("s1"),
            agent: super::scene::agent("ada"),
        },
    ];
    for refusal in refusals {
        let json = serde_json::to_value(&refusal).unwrap();
        assert_eq!(json["code"], refusal.code());
        assert_eq!(serde_json::from_value::<Refusal>(json).unwrap(), refusal);
    }
}
