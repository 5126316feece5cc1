//! The programs of agents as they were last looked at: looking reads files, and a slow disk must not hold up a reply.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::Watch;
use crate::diagnostics::{Fitness, Need, Program};

/// How long what was found counts.
const PROGRAM_CACHE_MAX_AGE: Duration = Duration::from_secs(10);
/// Nobody waits longer for a look.
const PROGRAM_CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Programs that are remembered; the team names far fewer.
const MAX_CACHED_PROGRAMS: usize = 256;

/// Whether a program can play its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FitnessNow {
    Ok,
    /// It is there, and nobody has tried this version.
    Untested,
    Missing,
}

impl From<Fitness> for FitnessNow {
    fn from(fitness: Fitness) -> Self {
        match fitness {
            Fitness::Ok => Self::Ok,
            Fitness::Untested => Self::Untested,
            Fitness::Missing => Self::Missing,
        }
    }
}

/// What was found, by what was needed.
#[derive(Debug, Default)]
pub(crate) struct Programs(Mutex<HashMap<Need, Look>>);

/// One look, which may still be under way.
#[derive(Debug)]
struct Look {
    begun: Instant,
    found: watch::Receiver<Option<Program>>,
}

impl Look {
    /// One that is under way is waited for, however long ago it began: a second one would hang as well.
    fn counts(&self) -> bool {
        let under_way = self.found.borrow().is_none() && self.found.has_changed().is_ok();
        under_way || self.begun.elapsed() < PROGRAM_CACHE_MAX_AGE
    }
}

impl Watch {
    /// What is known of a program; it is looked for if that was long ago.
    pub(crate) async fn program(&self, need: Need) -> Program {
        let mut found = self.look(&need);
        let looked =
            tokio::time::timeout(PROGRAM_CHECK_TIMEOUT, found.wait_for(Option::is_some)).await;
        match looked {
            Ok(Ok(found)) => found.clone().unwrap_or_else(|| unseen(&need)),
            Ok(Err(_)) | Err(_) => unseen(&need),
        }
    }

    fn look(&self, need: &Need) -> watch::Receiver<Option<Program>> {
        let mut looks = self.programs.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = looks.get(need).filter(|look| look.counts()) {
            return look.found.clone();
        }
        looks.retain(|_, look| look.counts());
        if looks.len() >= MAX_CACHED_PROGRAMS {
            looks.clear();
        }
        let (sender, found) = watch::channel(None);
        let (watch, wanted) = (self.clone(), need.clone());
        self.tasks.spawn_blocking(move || sender.send_replace(Some(wanted.look(&watch.checked))));
        looks.insert(need.clone(), Look { begun: Instant::now(), found: found.clone() });
        found
    }
}

fn unseen(need: &Need) -> Program {
    Program {
        runtime: need.runtime.clone(),
        place: None,
        version: None,
        fitness: Fitness::Untested,
        says: format!("the program of {} could not be looked at in time", need.runtime),
        fix: Some("see whether the disk that it is on answers".to_owned()),
    }
}
