//! A slot that has served one story and is made ready for another, beside a new worktree.
//!
//! A story that is archived leaves its slot, which is turned to the base then, while nobody waits. `warm` is what the next
//! story waits for, and `whole` is both together.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use musher_core::SlotId;
use musher_git::worktree::{SlotFiles, SlotStart, WorktreeSlots};
use musher_git::{Branch, Git, GitEnv, RecoveryName};
use tempfile::TempDir;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::place::{file_name, git, write_files};

pub const ROW: Row = Row {
    name: "worktree",
    about: "a recycled slot of a repository of 20,000 files: 200 edited and 100 added, committed",
    measures: &[
        Measure::beside("warm", "recycled, start", "ms", "git worktree add", Bar::RatioAtMost(0.1)),
        Measure::beside(
            "whole",
            "recycled, with what went before",
            "ms",
            "git worktree add",
            Bar::None,
        ),
        Measure::beside("fresh", "made anew", "ms", "git worktree add", Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const FILES: u64 = 20_000;
const EDITED: u64 = 200;
const ADDED: u64 = 100;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let files = bench.setup.effort.of(FILES);
    let top = TempDir::new_in(&bench.setup.folder)?;
    let repo = top.path().join("repo");
    std::fs::create_dir(&repo)?;
    git(&repo, &["init", "-q", "-b", "main"])?;
    write_files(&repo, files)?;
    git(&repo, &["add", "."])?;
    git(&repo, &["commit", "-qm", "first"])?;
    let env = GitEnv::default()
        .with("PATH", std::env::var_os("PATH").unwrap_or_default())
        .with("HOME", top.path());
    let opened = Git::open(&repo, env, &top.path().join("scratch")).await?;
    let slots = WorktreeSlots::new(opened, &top.path().join("slots"), SlotFiles::default())?;
    let main = Branch::new("main")?;
    let base = SlotStart::Base { branch: main.clone() };
    let mut round = 0;
    while bench.another_round()? {
        round += 1;
        let slot = SlotId(round);
        let first = Branch::new(format!("musher/first-{round}/1"))?;
        let began = Instant::now();
        let made = slots.prepare(slot, &first, &base).await?;
        let fresh = began.elapsed().as_secs_f64() * 1e3;
        ensure!(made.fresh, "the first worktree of a slot was not made anew");
        work(&made.path, files, round)?;
        let next = Branch::new(format!("musher/next-{round}/1"))?;
        let (mut warm, mut whole, mut added) = (0.0, 0.0, 0.0);
        for side in bench.order() {
            // What the preparation has written is on its way to the disk, and no part of either.
            rustix::fs::sync();
            let began = Instant::now();
            match side {
                Side::Ours => {
                    let kept = slots.release(slot, &RecoveryName::of(&first), &main).await?;
                    let left = began.elapsed().as_secs_f64() * 1e3;
                    ensure!(kept.is_some(), "the work in the slot was not kept");
                    rustix::fs::sync();
                    let began = Instant::now();
                    let ready = slots.prepare(slot, &next, &base).await?;
                    warm = bench.slow.lengthen(began).as_secs_f64() * 1e3;
                    whole = left + warm;
                    ensure!(!ready.fresh, "the slot was made anew instead of recycled");
                }
                Side::Baseline => {
                    let path = top.path().join(format!("tree-{round}"));
                    let at = path.to_str().context("a path of ours is text")?;
                    let name = format!("tree-{round}");
                    git(&repo, &["worktree", "add", "-q", "-b", &name, at, "main"])?;
                    added = began.elapsed().as_secs_f64() * 1e3;
                }
            }
        }
        bench.pair("warm", warm, added)?;
        bench.pair("whole", whole, added)?;
        bench.pair("fresh", fresh, added)?;
    }
    Ok(())
}

/// What an agent leaves: commits, and a little that is in none.
fn work(tree: &Path, files: u64, round: u32) -> anyhow::Result<()> {
    let edited = EDITED.min(files / 2);
    for nth in 0..edited {
        std::fs::write(tree.join(file_name(nth * (files / edited))), format!("edited {round}\n"))?;
    }
    std::fs::create_dir_all(tree.join("added"))?;
    for nth in 0..ADDED {
        std::fs::write(tree.join(format!("added/{nth}")), format!("added {round}\n"))?;
    }
    git(tree, &["add", "."])?;
    git(tree, &["commit", "-qm", "work"])?;
    std::fs::write(tree.join(file_name(1)), "dirty\n")?;
    Ok(std::fs::write(tree.join("untracked"), "untracked\n")?)
}
