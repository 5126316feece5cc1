//! What people see: stories, runs, asks, usage and facts, as they were committed.

use musher::journal::{
    AskPhase, AsksQuery, RunsQuery, StoriesQuery, StoryPhase, StoryRunsView, UsageBy, Views,
    WhichAsks, WhichRuns, WhichStories,
};
use musher::pool::{RunName, Wish};
use musher_core::pool::{CommandReply, PoolInput, RunReport, TextKey};
use musher_core::{ClosedBy, LedgerEntry, Outcome, RunId, RunPhaseKind, Spend, Tokens, Usd};

use crate::rig::{Home, NOON, Rig, agent, prompt, seen, start, story};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A pool, with views of its journal.
fn scene() -> (Home, Rig, Views) {
    let home = Home::new();
    let rig = home.begin();
    let views = home.open().views();
    (home, rig, views)
}

fn usage(model: &str, input: u64, cost: Option<f64>) -> RunReport {
    let tokens = Tokens { input, output: 1, ..Tokens::default() };
    let spend = Spend::costing(tokens, cost.map(Usd::from_dollars));
    RunReport::Usage { model: Some(model.into()), entry: spend.into() }
}

#[test]
fn a_story_tells_its_title_its_runs_its_asks_and_its_cost() {
    let (_home, mut rig, views) = scene();
    let subject = rig.add_story("subject");
    let past = rig.live_run(&subject, "ann");
    rig.hear(past, 1, usage("m", 10, Some(0.1)));
    rig.end_run(past, 2, Outcome::Completed);
    let live = rig.live_run(&subject, "ann");
    rig.hear(live, 1, usage("m", 10, Some(0.2)));
    rig.hear(live, 2, RunReport::AskOpened { ask: "ask".into(), settled: false });
    rig.state();
    let whole = views.story(&subject).unwrap().unwrap();
    assert_eq!(whole.text.as_deref(), Some("Text."));
    let view = whole.story;
    assert_eq!(view.title.as_deref(), Some("Title of subject"));
    assert_eq!(view.state, StoryPhase::Open);
    assert_eq!(view.runs, StoryRunsView { all: 2, live: 1 });
    assert_eq!(view.open_asks, 1);
    assert_eq!((view.spent.input, view.spent.cost_usd), (20, Some(0.3)), "sums of money are exact");
    assert_eq!((view.created_at, view.updated_at), (NOON, NOON));
    assert_eq!(views.story(&story("nowhere")).unwrap(), None);
}

#[test]
fn archived_stories_are_shown_on_request_and_pages_follow_each_other() {
    let (_home, mut rig, views) = scene();
    for n in 1..=5 {
        rig.add_story(&format!("story-{n}"));
    }
    rig.reply(Wish::ArchiveStory { story: story("story-3") }).unwrap();
    let names = |query: &StoriesQuery| -> (Vec<String>, Option<u64>) {
        let page = views.stories(query).unwrap();
        (page.stories.into_iter().map(|story| story.id.to_string()).collect(), page.next)
    };
    let (all, next) = names(&StoriesQuery::default());
    assert_eq!(
        (all.as_slice(), next),
        (["story-5", "story-4", "story-2", "story-1"].map(String::from).as_slice(), None)
    );
    let which = WhichStories::Archived;
    assert_eq!(names(&StoriesQuery { which, ..StoriesQuery::default() }).0, ["story-3"]);
    let mut query = StoriesQuery { which: WhichStories::All, limit: Some(2), before: None };
    let mut seen = Vec::new();
    loop {
        let (page, next) = names(&query);
        seen.extend(page);
        query.before = next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["story-5", "story-4", "story-3", "story-2", "story-1"]);
}

#[test]
fn a_run_tells_where_it_is_and_how_it_ended() {
    let (_home, mut rig, views) = scene();
    let subject = rig.add_story("subject");
    let run = rig.start_run(&subject, "ann");
    let phase = || views.run(run).unwrap().unwrap().phase;
    assert_eq!(phase(), RunPhaseKind::Preparing);
    rig.tell(PoolInput::Prepared { run, head: "abc".into() });
    rig.state();
    assert_eq!(phase(), RunPhaseKind::Starting);
    rig.tell(PoolInput::RunnerUp { run });
    rig.state();
    assert_eq!(phase(), RunPhaseKind::Live);
    rig.hear(run, 1, RunReport::Session { session: "session".into() });
    let error = musher_core::ErrorInfo::new(musher_core::ErrorClass::Auth, "no key");
    let outcome = Outcome::Failed;
    rig.hear(run, 2, RunReport::Ended { outcome, error: Some(error.clone()), session: None });
    rig.state();
    assert_eq!(phase(), RunPhaseKind::Finishing);
    rig.tell(PoolInput::Finished { run, commit: Some("def".into()), error: None });
    rig.state();
    let view = views.run(run).unwrap().unwrap();
    assert_eq!((view.phase, view.outcome), (RunPhaseKind::Over, Some(outcome)));
    assert_eq!((view.kind.as_str(), view.of, view.parked), ("fresh", None, false));
    assert_eq!(view.branch.as_deref(), Some("musher/subject/1"));
    assert_eq!((view.head.as_deref(), view.commit.as_deref()), (Some("abc"), Some("def")));
    assert_eq!(view.session, Some("session".into()));
    assert_eq!(view.error, Some(error));
    assert_eq!((view.queued_at, view.ended_at), (NOON, Some(NOON)));
    assert_eq!(view.spent.cost_usd, Some(0.0), "no model was called");
    assert_eq!(views.run(RunId::minted(99)).unwrap(), None);
}

#[test]
fn runs_that_are_not_over_come_first_and_the_others_page_by_page() {
    let (_home, mut rig, views) = scene();
    let (one, two) = (rig.add_story("one"), rig.add_story("two"));
    let live = rig.live_run(&one, "ann");
    for _ in 0..5 {
        let run = rig.live_run(&two, "bob");
        rig.end_run(run, 1, Outcome::Completed);
    }
    rig.state();
    let ids = |query: &RunsQuery| -> (Vec<u64>, Option<RunId>) {
        let page = views.runs(query).unwrap();
        (page.runs.into_iter().map(|run| run.id.number()).collect(), page.next)
    };
    let mut query = RunsQuery { limit: Some(2), ..RunsQuery::default() };
    let (first, next) = ids(&query);
    assert_eq!((first, next), (vec![1, 6, 5], Some(RunId::minted(5))));
    query.before = next;
    let (second, next) = ids(&query);
    assert_eq!((second, next), (vec![4, 3], Some(RunId::minted(3))));
    query.before = next;
    assert_eq!(ids(&query), (vec![2], None));
    let which = WhichRuns::Live;
    assert_eq!(ids(&RunsQuery { which, ..RunsQuery::default() }), (vec![1], None));
    let of_two = RunsQuery { story: Some(two.clone()), ..RunsQuery::default() };
    assert_eq!(ids(&of_two).0, [6, 5, 4, 3, 2]);
    let of_ann = RunsQuery { agent: Some(agent("ann")), ..RunsQuery::default() };
    assert_eq!(ids(&of_ann).0, [live.number()]);
    let latest = |name: Option<&str>| {
        let name = name.map(agent);
        views.latest_run(&two, name.as_ref()).unwrap().map(|run| run.id.number())
    };
    assert_eq!((latest(None), latest(Some("bob")), latest(Some("ann"))), (Some(6), Some(6), None));
}

#[test]
fn open_asks_are_listed_with_their_story_and_closed_ones_tell_what_closed_them() {
    let (_home, mut rig, views) = scene();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    for (seq, ask) in [(1, "first"), (2, "second"), (3, "third")] {
        rig.hear(run, seq, RunReport::AskOpened { ask: ask.into(), settled: false });
    }
    let by = ClosedBy::Deadline;
    rig.hear(run, 4, RunReport::AskClosed { ask: "first".into(), by, command: None });
    let answer = musher_core::Answer::always(None);
    let (of, ask) = (RunName::Id(run), "second".into());
    drop(rig.wish(Wish::Answer { run: of, ask, answer, seen: seen() }).unwrap());
    let open = views.asks(&AsksQuery::default()).unwrap();
    let told: Vec<_> = open.iter().map(|ask| (ask.ask.as_str(), ask.state, ask.seq)).collect();
    assert_eq!(told, [("second", AskPhase::Offered, Some(2)), ("third", AskPhase::Open, Some(3))]);
    assert!(open.iter().all(|ask| ask.story == subject && ask.agent == agent("ann")));
    let query = AsksQuery { which: WhichAsks::All, run: Some(run), ..AsksQuery::default() };
    let all = views.asks(&query).unwrap();
    assert_eq!(
        (all[0].state, all[0].by, all[0].closed_at),
        (AskPhase::Closed, Some(by), Some(NOON))
    );
    let elsewhere = AsksQuery { story: Some(story("elsewhere")), ..AsksQuery::default() };
    assert_eq!(views.asks(&elsewhere).unwrap(), []);
}

#[test]
fn usage_is_summed_by_run_story_agent_model_and_day_and_what_is_unknown_stays_unknown() {
    let (_home, mut rig, views) = scene();
    let (one, two) = (rig.add_story("one"), rig.add_story("two"));
    let (anns, bobs) = (rig.live_run(&one, "ann"), rig.live_run(&two, "bob"));
    rig.hear(anns, 1, usage("big", 100, Some(0.1)));
    rig.hear(anns, 2, usage("small", 10, Some(0.2)));
    rig.state();
    rig.clock.store(NOON + DAY_MS, std::sync::atomic::Ordering::SeqCst);
    rig.hear(bobs, 1, usage("big", 1, None));
    rig.hear(bobs, 2, usage("big", u64::MAX, Some(0.5)));
    rig.state();
    let told = |by| -> Vec<(String, u64, Option<f64>, f64)> {
        let rows = views.usage(by, 0).unwrap().into_iter();
        rows.map(|row| {
            let spent = row.spent;
            (row.key.unwrap(), spent.output, spent.cost_usd, spent.known_cost_usd)
        })
        .collect()
    };
    let ann = |key: &str| (key.to_owned(), 2, Some(0.3), 0.3);
    let bob = |key: &str| (key.to_owned(), 2, None, 0.5);
    assert_eq!(told(UsageBy::Run), [ann("r1"), bob("r2")]);
    assert_eq!(told(UsageBy::Story), [ann("one"), bob("two")]);
    assert_eq!(told(UsageBy::Agent), [ann("ann"), bob("bob")]);
    let day = NOON - NOON % DAY_MS;
    assert_eq!(told(UsageBy::Day), [ann(&day.to_string()), bob(&(day + DAY_MS).to_string())]);
    let models = told(UsageBy::Model);
    assert_eq!(models, [("big".into(), 3, None, 0.6), ("small".into(), 1, Some(0.2), 0.2)]);
    let late = views.usage(UsageBy::Agent, NOON + 1).unwrap();
    assert_eq!(late.len(), 1);
    assert!(late[0].spent.input > 1 << 62, "a figure beyond all measure is cut and never wraps");
}

#[test]
fn facts_are_read_from_a_number_as_they_stand() {
    let (_home, mut rig, views) = scene();
    let subject = rig.add_story("subject");
    rig.start_run(&subject, "ann");
    let all = views.facts_after(0, 100).unwrap();
    let numbers: Vec<_> = all.iter().map(|fact| fact.n).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(all[0].body, r#"{"type":"story_added","story":"subject"}"#);
    assert_eq!(views.facts_after(1, 1).unwrap(), all[1..2]);
    assert_eq!(views.facts_after(3, 100).unwrap(), []);
}

#[test]
fn the_texts_of_people_are_beside_the_facts_and_never_in_them() {
    let (_home, mut rig, views) = scene();
    let subject = rig.add_story("subject");
    let wish = Wish::StartRun {
        story: subject.clone(),
        agent: None,
        model: None,
        prompt: Some("A secret plan.".into()),
        options: Default::default(),
    };
    let Ok(CommandReply::Run(run)) = rig.reply(wish) else { panic!() };
    let text = |key: TextKey| views.text(&key).unwrap();
    assert_eq!(text(TextKey::Prompt(run)).as_deref(), Some("A secret plan."));
    assert_eq!(text(TextKey::StoryText(subject)).as_deref(), Some("Text."));
    assert_eq!(text(TextKey::Prompt(RunId::minted(99))), None);
    let facts = views.facts_after(0, 100).unwrap();
    assert!(facts.iter().all(|fact| !fact.body.contains("secret")));
}

#[test]
fn many_readers_at_once_never_hold_up_the_pool() {
    let (_home, mut rig, views) = scene();
    let subject = rig.add_story("subject");
    rig.reply(start(&subject, "ann")).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            let views = views.clone();
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_eq!(views.runs(&RunsQuery::default()).unwrap().runs.len(), 1);
                }
            });
        }
        for n in 0..20 {
            rig.add_story(&format!("more-{n}"));
        }
    });
    assert_eq!(views.stories(&StoriesQuery::default()).unwrap().stories.len(), 21);
}

fn counted(entry: LedgerEntry) -> RunReport {
    RunReport::Usage { model: Some("m".into()), entry }
}

fn tokens(input: u64) -> Tokens {
    Tokens { input, ..Tokens::default() }
}

#[test]
fn promise_20_what_a_total_tells_later_settles_the_sums_that_hold_both_and_no_other() {
    let (_home, mut rig, views) = scene();
    let subject = rig.add_story("subject");
    let first = rig.live_run(&subject, "ann");
    rig.hear(first, 1, RunReport::Session { session: "x".into() });
    rig.hear(first, 2, counted(Spend::unpriced(tokens(100)).into()));
    rig.end_run(first, 3, Outcome::Stopped);
    let of = |run| views.run(run).unwrap().unwrap().spent;
    rig.state();
    assert_eq!((of(first).cost_usd, of(first).input), (None, 100));
    let totals = views.session_lineage(&"x".into()).unwrap().totals;
    assert_eq!(totals["m"], Spend::unpriced(tokens(100)));

    let Ok(CommandReply::Run(second)) = rig.reply(prompt(first, "More.")) else { panic!("no run") };
    rig.tell(PoolInput::Prepared { run: second, head: "abc".into() });
    rig.tell(PoolInput::RunnerUp { run: second });
    rig.hear(second, 1, RunReport::Session { session: "x".into() });
    let cost = |dollars| Some(Usd::from_dollars(dollars));
    let earlier = Spend::costing(tokens(0), cost(0.5));
    let spend = Spend::costing(tokens(10), cost(0.75));
    let entry = LedgerEntry { spend, earlier: Some(earlier), cut: false, settles: true };
    rig.hear(second, 2, counted(entry));
    rig.state();
    assert_eq!(of(first).cost_usd, None, "nobody knows which part was the first run's");
    assert_eq!(of(second).cost_usd, Some(0.75));
    let story = views.story(&subject).unwrap().unwrap().story.spent;
    assert_eq!((story.cost_usd, story.input), (Some(0.75), 110), "together they are known");
    let totals = views.session_lineage(&"x".into()).unwrap().totals;
    assert_eq!(totals["m"], Spend::costing(tokens(110), cost(0.75)));
}

#[test]
fn promise_20_what_was_cut_is_marked_is_in_no_total_and_is_never_settled() {
    let (_home, mut rig, views) = scene();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    rig.hear(run, 1, RunReport::Session { session: "x".into() });
    let known = Spend::costing(tokens(100), Some(Usd::from_dollars(0.5)));
    rig.hear(run, 2, counted(known.into()));
    let part = Spend::costing(tokens(40), Some(Usd::from_dollars(0.25))).as_estimate();
    rig.hear(run, 3, counted(LedgerEntry { cut: true, ..part.into() }));
    rig.state();
    let spent = views.run(run).unwrap().unwrap().spent;
    assert_eq!((spent.input, spent.cost_usd, spent.estimated), (140, Some(0.75), true));
    let lineage = views.session_lineage(&"x".into()).unwrap();
    assert_eq!((lineage.totals["m"], &lineage.cut["m"]), (known, &vec![part]));
    let unknown = Spend::unpriced(tokens(1)).plus(known);
    rig.hear(run, 4, counted(LedgerEntry { cut: true, ..unknown.into() }));
    rig.state();
    let spent = views.run(run).unwrap().unwrap().spent;
    assert_eq!((spent.cost_usd, spent.known_cost_usd), (None, 1.25), "the known part is kept");
}
