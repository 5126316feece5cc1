//! Promise 5: one run for a story and an agent, and nothing left of a start that fails.

use super::scene::{Scene, agent, start};
use crate::pool::{Action, CommandReply, Fact, PoolCommand, PoolInput, Refusal, Slot, TextKey};
use crate::{
    Actor, CommandId, ErrorClass, ErrorInfo, Outcome, RunId, RunOptions, RunPhase, SlotId,
    WorktreeStart,
};

#[test]
fn promise_5_a_thousand_double_starts_give_one_run_and_a_clear_refusal_each() {
    for round in 0..1_000 {
        let mut scene = Scene::with_story();
        let mut ids = ["first", "second"];
        if round % 2 == 1 {
            ids.reverse();
        }
        let replies = ids.map(|id| {
            let id = CommandId::parse(id).unwrap();
            scene
                .put(PoolInput::Command { id, by: Actor::POOL, command: start("s1", "ada") })
                .reply
                .unwrap()
        });
        let [Ok(CommandReply::Run(run)), Err(refusal)] = replies else { panic!("{replies:?}") };
        let pair = scene.state.runs[&run].plan.clone();
        assert_eq!(
            refusal,
            Refusal::AlreadyRunning { run, story: pair.story, agent: agent("ada") }
        );
        assert!(refusal.to_string().contains(&run.to_string()), "{refusal}");
        assert_eq!(scene.state.runs.len(), 1);
    }
}

#[test]
fn a_refused_start_changes_nothing() {
    let mut scene = Scene::with_story();
    scene.start("s1", "ada");
    let before = scene.state.clone();
    let decision = scene.tell(start("s1", "ada"));
    assert!(decision.facts.is_empty() && decision.actions.is_empty() && decision.texts.is_empty());
    assert_eq!(scene.state, before);
}

#[test]
fn promise_5_a_start_that_fails_half_way_leaves_nothing_behind_and_says_why() {
    let missing = || ErrorInfo::new(ErrorClass::Unavailable, "the program is not there");
    for spawned in [false, true] {
        let mut scene = Scene::with_story();
        let run = scene.start("s1", "ada");
        let decision = if spawned {
            scene.put(PoolInput::Prepared { run, head: "abc".into() });
            scene.put(PoolInput::SpawnFailed { run, error: missing() })
        } else {
            scene.put(PoolInput::PrepareFailed { run, error: missing() })
        };
        let [Fact::RunEnded { outcome: Outcome::Failed, error: Some(error), .. }] =
            &decision.facts[..]
        else {
            panic!("{decision:?}")
        };
        assert_eq!(error.message, "the program is not there");
        assert!(matches!(decision.actions[..], [Action::Release { slot: SlotId(1), .. }]));
        assert!(scene.state.runs.is_empty());
        scene.released(1, "s1");
        assert_eq!(scene.state.slots[&SlotId(1)], Slot::Free);
        scene.start("s1", "ada");
    }
}

#[test]
fn a_start_without_an_agent_takes_the_first_of_the_team() {
    let mut scene = Scene::with_story();
    let command = PoolCommand::StartRun {
        story: super::scene::story("s1"),
        agent: None,
        model: Some("big".into()),
        prompt: None,
        options: Default::default(),
    };
    let Ok(CommandReply::Run(run)) = scene.reply(command) else { panic!() };
    let plan = &scene.state.runs[&run].plan;
    assert_eq!((plan.agent.as_str(), plan.model.as_deref()), ("ada", Some("big")));
}

#[test]
fn a_worktree_is_kept_from_run_to_run_and_recycled_after_the_story_is_archived() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.end(first, Outcome::Completed);
    let decision = scene.tell(start("s1", "bob"));
    assert!(decision.actions.iter().any(|action| matches!(
        action,
        Action::Prepare { slot: SlotId(1), start: WorktreeStart::Keep, branch, .. } if branch.n == 1
    )));
    let second = RunId::minted(2);
    scene.go_live(second);
    scene.end(second, Outcome::Completed);
    let archived = scene.tell(PoolCommand::ArchiveStory { story: super::scene::story("s1") });
    assert!(matches!(archived.actions[..], [Action::Release { slot: SlotId(1), .. }]));
    scene.released(1, "s1");
    scene.add_story().unwrap();
    let decision = scene.tell(start("s2", "ada"));
    assert!(matches!(
        decision.actions[..],
        [Action::Prepare { slot: SlotId(1), start: WorktreeStart::Fresh, .. }]
    ));
}

#[test]
fn a_run_waits_for_a_place_and_then_starts_by_itself() {
    let mut scene = Scene::with_story();
    scene.team.limits.runs = 1;
    let first = scene.live("s1", "ada");
    let second = scene.start("s1", "bob");
    assert_eq!(scene.state.runs[&second].phase, RunPhase::Queued);
    let decision = scene.end(first, Outcome::Completed);
    assert!(matches!(decision.actions[..], [Action::Prepare { run, .. }] if run == second));
}

#[test]
fn an_agent_that_left_the_team_fails_its_waiting_runs_rather_than_let_them_hang() {
    let mut scene = Scene::with_story();
    scene.team.limits.runs = 0;
    let run = scene.start("s1", "bob");
    scene.team = super::scene::team(&["ada"]);
    let decision = scene.put(PoolInput::Begun);
    let [Fact::RunEnded { run: ended, outcome: Outcome::Failed, error: Some(error), .. }] =
        &decision.facts[..]
    else {
        panic!("{decision:?}")
    };
    assert_eq!(*ended, run);
    assert_eq!(error.message, "agent bob is not in the project file any more");
}

#[test]
fn what_a_start_gives_its_run_is_kept_beside_the_facts_and_never_in_them() {
    let mut scene = Scene::with_story();
    let with = |options| PoolCommand::StartRun {
        story: super::scene::story("s1"),
        agent: None,
        model: None,
        prompt: None,
        options,
    };
    let set = |name: &str, value: String| RunOptions {
        set: [(name.to_owned(), value)].into(),
        ..RunOptions::default()
    };
    let rules = vec!["execute".parse().unwrap(); 257];
    for bad in [
        set("2nd", "x".into()),
        set("a-b", "x".into()),
        set("", "x".into()),
        set("a", "\0".into()),
        set("a", "x".repeat(16 * 1024 + 1)),
        RunOptions { mode: Some("two words".into()), ..RunOptions::default() },
        RunOptions { effort: Some(String::new()), ..RunOptions::default() },
        RunOptions { system_prompt: Some(" ".into()), ..RunOptions::default() },
        RunOptions { deny: rules, ..RunOptions::default() },
    ] {
        assert!(matches!(scene.reply(with(bad)), Err(Refusal::BadText { .. })));
    }
    let options = RunOptions {
        system_prompt: Some("A private rule.".into()),
        ..set("ticket", "T-42".into())
    };
    let decision = scene.tell(with(options.clone()));
    let [(TextKey::Options(kept_under), kept)] = &decision.texts[..] else {
        panic!("{decision:?}")
    };
    assert_eq!(*kept_under, RunId::minted(1));
    assert_eq!(serde_json::from_str::<RunOptions>(kept).unwrap(), options);
    let facts = serde_json::to_string(&decision.facts).unwrap();
    assert!(!facts.contains("private") && !facts.contains("T-42"), "{facts}");
}
