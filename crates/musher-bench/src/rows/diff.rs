//! What a run changes, asked of the server when that is 5,000 files, beside git itself.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::ensure;
use musher::runner::spec::RunSpec;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::fetch::fetch;
use crate::stage::place::{Place, file_name};

pub const ROW: Row = Row {
    name: "diff",
    about: "a change of 5,000 files that is not committed",
    measures: &[
        Measure::beside("whole", "with its lines", "ms", "git diff --numstat -p", Bar::None),
        Measure::beside("numbers", "numbers of each file", "ms", "git diff --numstat", Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const FILES: u64 = 5_000;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let files = bench.setup.effort.of(FILES);
    let place = Place::with_files(&bench.setup, &bench.setup.programs.worker, files)?;
    let run = place.begin("[[work lines=1]] [[work hang=1]]").await?;
    place.until_logged(&run, 3).await?;
    let work = RunSpec::read(&place.folder(&run))?.cwd;
    for nth in 0..files {
        change(&work, nth, 0)?;
    }
    let mut round = 0;
    while bench.another_round()? {
        for (key, path, args) in [
            ("whole", "", &["diff", "--numstat", "-p", "HEAD"][..]),
            ("numbers", "?files=only", &["diff", "--numstat", "HEAD"]),
        ] {
            // Something is new each time, so that no answer from before can do.
            round += 1;
            change(&work, round % files, round)?;
            let (mut ours, mut git) = (0.0, 0.0);
            for side in bench.order() {
                let began = Instant::now();
                match side {
                    Side::Ours => {
                        let path = format!("/api/v1/runs/{run}/diff{path}");
                        fetch(&place.address, &path, &place.token).await?;
                        ours = bench.slow.lengthen(began).as_secs_f64() * 1e3;
                    }
                    Side::Baseline => {
                        ask_git(&work, args)?;
                        git = began.elapsed().as_secs_f64() * 1e3;
                    }
                }
            }
            bench.pair(key, ours, git)?;
        }
    }
    Ok(())
}

/// Changes two lines of a file and adds one.
fn change(work: &Path, nth: u64, round: u64) -> anyhow::Result<()> {
    let path = work.join(file_name(nth));
    let text = std::fs::read_to_string(&path)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    ensure!(lines.len() > 20, "{} is too short", path.display());
    for at in [3, 15] {
        lines[at] = format!("changed in round {round}, file {nth}, line {at}");
    }
    lines.push(format!("added in round {round}"));
    Ok(std::fs::write(path, lines.join("\n") + "\n")?)
}

fn ask_git(work: &Path, args: &[&str]) -> anyhow::Result<()> {
    let git = Command::new("git").args(args).current_dir(work).stderr(Stdio::inherit()).output()?;
    ensure!(git.status.success() && !git.stdout.is_empty(), "git {args:?} failed");
    Ok(())
}
