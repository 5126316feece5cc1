//! What stories ask for: others before them, a priority, a budget, an agent, branches of their own.

use super::scene::{Scene, agent, story};
use crate::pool::{
    Action, CommandReply, Fact, MAX_STORY_LINKS, PRIORITY_AGE_MS, PoolCommand, Refusal, RunReport,
    WholeStory,
};
use crate::{
    BranchName, Outcome, Priority, RunId, RunPhase, Spend, StoryId, StorySpec, StorySpecChange,
    Tokens, Usd, Wait,
};

/// A team with one place, and the stories `s1` to `s3`.
fn scene() -> Scene {
    let mut scene = Scene::with_story();
    scene.add_story().unwrap();
    scene.add_story().unwrap();
    scene.team.limits.runs = 1;
    scene
}

fn edit(id: &str, spec: StorySpecChange) -> PoolCommand {
    PoolCommand::EditStory { story: story(id), title: None, text: None, context: None, spec }
}

fn after(ids: &[&str]) -> StorySpecChange {
    let after = ids.iter().map(|id| story(id)).collect();
    StorySpecChange { after: Some(after), ..StorySpecChange::default() }
}

fn priority(number: u8) -> StorySpecChange {
    let priority = Priority::try_from(number).ok();
    StorySpecChange { priority, ..StorySpecChange::default() }
}

fn branch(name: &str) -> StorySpecChange {
    let branch = Some(Some(BranchName::parse(name).unwrap()));
    StorySpecChange { branch, ..StorySpecChange::default() }
}

fn whole(id: &str, after: &[&str]) -> WholeStory {
    let spec =
        StorySpec { after: after.iter().map(|id| story(id)).collect(), ..StorySpec::default() };
    let (title, text, context) = (id.to_owned(), String::new(), Default::default());
    WholeStory { id: story(id), title, text, context, spec }
}

fn waits(scene: &Scene, run: RunId) -> Option<Wait> {
    let run = &scene.state.runs[&run];
    (run.phase == RunPhase::Queued).then(|| run.wait.clone())
}

fn finish(id: &str) -> PoolCommand {
    PoolCommand::FinishStory { story: story(id) }
}

#[test]
fn a_run_waits_until_the_stories_before_its_own_are_done() {
    let mut scene = scene();
    scene.reply(edit("s2", after(&["s1"]))).unwrap();
    let run = scene.start("s2", "ada");
    assert_eq!(waits(&scene, run), Some(Wait::After { story: story("s1") }));
    scene.reply(finish("s1")).unwrap();
    assert_eq!(waits(&scene, run), None, "{:?}", scene.state.runs[&run].phase);
}

#[test]
fn a_story_that_was_archived_unfinished_is_named_and_one_that_was_done_holds_nobody_up() {
    let mut scene = scene();
    scene.reply(edit("s2", after(&["s1"]))).unwrap();
    let run = scene.start("s2", "ada");
    scene.reply(PoolCommand::ArchiveStory { story: story("s1") }).unwrap();
    assert_eq!(waits(&scene, run), Some(Wait::AfterArchived { story: story("s1") }));
    scene.reply(edit("s2", after(&[]))).unwrap();
    assert_eq!(waits(&scene, run), None);

    let mut scene = self::scene();
    scene.reply(finish("s1")).unwrap();
    scene.reply(PoolCommand::ArchiveStory { story: story("s1") }).unwrap();
    assert_eq!(scene.reply(edit("s2", after(&["s1"]))), Ok(CommandReply::Done));
    let run = scene.start("s2", "ada");
    assert_eq!(waits(&scene, run), None);
}

#[test]
fn a_cycle_is_refused_and_named_and_nothing_changes() {
    let mut scene = scene();
    scene.reply(edit("s2", after(&["s1"]))).unwrap();
    scene.reply(edit("s3", after(&["s2"]))).unwrap();
    let decision = scene.tell(edit("s1", after(&["s3"])));
    let cycle: Vec<StoryId> = ["s1", "s3", "s2", "s1"].map(story).into();
    let refusal = Refusal::AfterCycle { cycle };
    assert_eq!(decision.reply, Some(Err(refusal.clone())));
    assert_eq!(decision.facts, []);
    assert!(refusal.to_string().ends_with("s1 after s3 after s2 after s1"), "{refusal}");
    let own = scene.reply(edit("s1", after(&["s1"])));
    assert_eq!(own, Err(Refusal::AfterCycle { cycle: ["s1", "s1"].map(story).into() }));
    assert_eq!(
        scene.reply(edit("s1", after(&["nobody"]))),
        Err(Refusal::NoSuchStory { story: story("nobody") })
    );
}

#[test]
fn the_urgent_story_goes_first_and_one_that_has_waited_long_goes_before_it() {
    let mut scene = scene();
    scene.reply(edit("s3", priority(4))).unwrap();
    let running = scene.live("s1", "ada");
    let (usual, urgent) = (scene.start("s2", "ada"), scene.start("s3", "ada"));
    scene.end(running, Outcome::Completed);
    assert_eq!((waits(&scene, urgent), waits(&scene, usual)), (None, Some(Wait::Place)));

    let mut scene = self::scene();
    scene.reply(edit("s3", priority(4))).unwrap();
    let running = scene.live("s1", "ada");
    let usual = scene.start("s2", "ada");
    scene.now += 3 * PRIORITY_AGE_MS;
    let urgent = scene.start("s3", "ada");
    scene.end(running, Outcome::Completed);
    assert_eq!((waits(&scene, urgent), waits(&scene, usual)), (Some(Wait::Place), None));
}

#[test]
fn the_runs_of_a_story_spend_its_budget_and_then_wait_for_more() {
    let mut scene = scene();
    let usd = Usd::from_dollars;
    let budget = |dollars| StorySpecChange {
        budget: Some(Some(usd(dollars))),
        ..StorySpecChange::default()
    };
    scene.reply(edit("s1", budget(2.0))).unwrap();
    let first = scene.live("s1", "ada");
    assert_eq!(scene.state.runs[&first].budget, Some(usd(2.0)));
    let entry = Spend::costing(Tokens::default(), Some(usd(2.0))).into();
    scene.hear(first, 1, RunReport::Usage { model: None, entry });
    scene.end(first, Outcome::Completed);
    let second = scene.start("s1", "ada");
    assert_eq!(waits(&scene, second), Some(Wait::StoryBudget { cap: usd(2.0) }));
    scene.reply(edit("s1", budget(3.0))).unwrap();
    assert_eq!(scene.state.runs[&second].budget, Some(usd(1.0)));
    assert!(matches!(scene.reply(edit("s2", budget(0.0))), Err(Refusal::BadText { .. })));
}

#[test]
fn a_story_names_its_agent_and_its_branch() {
    let mut scene = scene();
    let bob = StorySpecChange { agent: Some(Some(agent("bob"))), ..branch("fix/login") };
    scene.reply(edit("s1", bob)).unwrap();
    let start = PoolCommand::StartRun {
        story: story("s1"),
        agent: None,
        model: None,
        prompt: None,
        options: Default::default(),
    };
    let decision = scene.tell(start);
    let Some(Action::Prepare { run, plan, branch: made, .. }) = decision.actions.first() else {
        panic!("{decision:?}");
    };
    assert_eq!((plan.agent.as_str(), made.to_string().as_str()), ("bob", "fix/login"));
    scene.go_live(*run);
    assert_eq!(
        scene.reply(edit("s1", branch("fix/other"))),
        Err(Refusal::BranchMade { story: story("s1") })
    );
    assert_eq!(scene.reply(edit("s1", priority(3))), Ok(CommandReply::Done));
    let taken = scene.reply(edit("s2", branch("fix/login")));
    assert!(matches!(&taken, Err(Refusal::BadText { why, .. }) if why.contains("s1")), "{taken:?}");
    let nobody = StorySpecChange { agent: Some(Some(agent("eve"))), ..StorySpecChange::default() };
    assert!(matches!(scene.reply(edit("s2", nobody)), Err(Refusal::NoSuchAgent { .. })));
}

#[test]
fn stories_are_put_all_or_none_and_twice_is_once() {
    let mut scene = Scene::new();
    let put = |stories: Vec<WholeStory>| PoolCommand::PutStories { stories };
    let both = vec![whole("web", &["api"]), whole("api", &[])];
    assert_eq!(scene.reply(put(both.clone())), Ok(CommandReply::Done));
    let folded = scene.state.clone();
    let again = scene.tell(put(both));
    assert_eq!(scene.state, folded);
    assert!(!again.facts.iter().any(|fact| matches!(fact, Fact::StorySpecSet { .. })), "{again:?}");
    let circle = put(vec![whole("new", &["web"]), whole("api", &["new"])]);
    assert!(matches!(scene.reply(circle), Err(Refusal::AfterCycle { .. })));
    assert_eq!(scene.state, folded, "nothing of it was taken");
    let twice = put(vec![whole("new", &[]), whole("new", &[])]);
    assert!(matches!(scene.reply(twice), Err(Refusal::BadText { .. })));
    assert!(matches!(scene.reply(put(vec![whole("r1", &[])])), Err(Refusal::BadText { .. })));
    scene.reply(PoolCommand::ArchiveStory { story: story("web") }).unwrap();
    let archived = scene.reply(put(vec![whole("web", &[])]));
    assert_eq!(archived, Err(Refusal::StoryArchived { story: story("web") }));
}

#[test]
fn a_story_cannot_come_after_more_than_people_can_oversee() {
    let mut scene = scene();
    let many: Vec<String> = (0..=MAX_STORY_LINKS).map(|n| format!("x{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(matches!(scene.reply(edit("s1", after(&many))), Err(Refusal::BadText { .. })));
}
