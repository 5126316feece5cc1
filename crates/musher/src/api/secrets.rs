//! The secrets of runs, for the views that show what agents have written.

use musher_core::RunId;
use musher_runtime::Secrets;

use super::Api;
use super::problem::ProblemReply;
use crate::secrets;

impl Api {
    /// What must not be seen of some runs.
    pub(super) async fn secrets(&self, runs: &[RunId]) -> Result<Secrets, ProblemReply> {
        let (api, runs) = (self.clone(), runs.to_vec());
        let found = self.blocking(move || {
            let token = Some(api.access.owner_token());
            secrets::of_runs(&api.checked.environment, token, api.bus.logs(), &runs)
        });
        Ok(found.await?)
    }
}
