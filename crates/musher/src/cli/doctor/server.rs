//! The server: whether it runs, answers, is of this version, and would take its runners with it when it ends.

use super::super::place::WorkLocation;
use super::super::runners;
use crate::diagnostics::{Diagnostic, unit};
use musher_client::api::ApiProject;

const OURS: &str = env!("CARGO_PKG_VERSION");

pub(super) async fn diagnose(place: &WorkLocation) -> Vec<Diagnostic> {
    let home = place.home().ok().flatten();
    let server = home.as_ref().and_then(|home| home.server());
    let mut diagnostics = vec![match place.client_if_any() {
        Ok(Some(client)) => match client.read::<ApiProject>(&["project"], &[]).await {
            Ok(project) => judge(client.url(), &project.version),
            Err(error) => {
                Diagnostic::bad("server", error.to_string(), "restart it; its agents keep working")
            }
        },
        Ok(None) => {
            let alive = home.as_ref().map_or(0, |home| runners::alive(home).len());
            not_running(alive)
        }
        Err(error) => {
            let fix = error.hint().unwrap_or_default().to_owned();
            Diagnostic::bad("server", error.to_string(), fix)
        }
    }];
    let user_home = place.environment.get("HOME").map(std::path::PathBuf::from);
    diagnostics.push(unit::diagnose(server.map(|server| server.pid), user_home.as_deref()));
    diagnostics
}

fn judge(url: &str, version: &str) -> Diagnostic {
    match version == OURS {
        true => Diagnostic::ok("server", format!("{url} answers, version {version}")),
        false => Diagnostic::warn(
            "server",
            format!("{url} is version {version}, and this is {OURS}"),
            "restart the server with this version; its agents keep working",
        ),
    }
}

fn not_running(alive: usize) -> Diagnostic {
    let fix = "start it with `musher serve`";
    match alive {
        0 => Diagnostic::warn("server", "no server runs for this project", fix),
        alive => Diagnostic::warn(
            "server",
            format!(
                "no server runs for this project, and {alive} of its runners keep working without one"
            ),
            fix,
        ),
    }
}
