//! What a run in a sandbox adds to its host: sockets that are shown inside, the proxy, and a secret.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use musher_runtime::{SessionHandle, SessionSpec};
use musher_sandbox::{Mount, PROXY_SOCKETS, SandboxBackend, SandboxNetwork};
use tokio::net::UnixListener;
use tokio_util::task::TaskTracker;

use crate::runner::folder::{self, RunFolder, TOOLS_INSIDE};
use crate::runner::proxy::{BadUpstream, Protocol, Proxy, ProxyPlan, Upstreams};
use crate::runner::secret::Secret;
use crate::runner::socket::{self, SocketContext};
use crate::runner::spec::RunSpec;

/// Where connections come in from inside of a sandbox.
pub(super) struct SandboxListeners {
    /// Good for the run's own tools alone.
    tools: UnixListener,
    proxy: Option<ProxyListeners>,
}

/// Where connections to other hosts come in.
struct ProxyListeners {
    /// For HTTP and for SOCKS.
    listeners: [UnixListener; 2],
    hosts: Vec<String>,
    plan: Option<ProxyPlan>,
}

impl SandboxListeners {
    /// Finds out how the proxy reaches the internet, and lets it say in the run's log what it counts. The variables are those of the
    /// server and of the agent; what they hold is written down nowhere.
    pub(super) fn plan_proxy(&mut self, session: &mut SessionSpec) -> Result<(), BadUpstream> {
        if let Some(proxy) = &mut self.proxy {
            let plan = ProxyPlan::new(Upstreams::of(&session.environment)?);
            session.reports = Some(plan.reports());
            proxy.plan = Some(plan);
        }
        Ok(())
    }

    /// Serves all of them until the run is over.
    pub(super) fn serve(self, door: &SocketContext, session: &SessionHandle, tasks: &TaskTracker) {
        tasks.spawn(socket::serve_sandbox(self.tools, door.clone(), tasks.clone()));
        if let Some(ProxyListeners { listeners: [http, socks], hosts, plan: Some(plan) }) =
            self.proxy
        {
            let proxy = Proxy::new(plan, &hosts, session.clone(), tasks.clone());
            let over = door.tools.clone();
            tasks.spawn(proxy.clone().report(over.clone()));
            tasks.spawn(proxy.clone().serve(http, Protocol::Http, over.clone()));
            tasks.spawn(proxy.serve(socks, Protocol::Socks, over));
        }
    }
}

/// The folder in which the agent finds the socket of the run's own tools.
pub(super) fn reached_at(spec: &RunSpec, path: &Path) -> PathBuf {
    match spec.sandbox.as_ref().map(|sandbox| &sandbox.backend) {
        None => path.to_owned(),
        Some(SandboxBackend::Namespaces | SandboxBackend::Container(_)) => TOOLS_INSIDE.into(),
        Some(SandboxBackend::Landlock) => folder::tools(path),
    }
}

/// Opens the socket that is shown inside of the sandbox, if the run has one. The control socket is not, because
/// over it the agent could answer its own asks.
pub(super) fn open_sandbox_door(
    spec: &mut RunSpec,
    path: &Path,
) -> io::Result<Option<SandboxListeners>> {
    let Some(sandbox) = &mut spec.sandbox else { return Ok(None) };
    let folder = std::path::absolute(folder::tools(path))?;
    std::fs::create_dir_all(&folder)?;
    let sockets = RunFolder::open(&folder)?;
    let tools = sockets.listen()?;
    let proxy = match sandbox.network {
        SandboxNetwork::Host | SandboxNetwork::None => None,
        SandboxNetwork::Proxy => {
            let [http, socks] = PROXY_SOCKETS.map(|name| sockets.listen_as(name));
            let hosts = sandbox.hosts.clone();
            Some(ProxyListeners { listeners: [http?, socks?], hosts, plan: None })
        }
    };
    sandbox.mounts.push(Mount::read(folder).at(TOOLS_INSIDE));
    Ok(Some(SandboxListeners { tools, proxy }))
}

/// Writes down the secret of the control socket, if the run is in a sandbox. An agent without one could read it, and older builds,
/// which take such runs over, would not know it.
pub(super) fn demand(spec: &RunSpec, folder: &RunFolder) -> io::Result<Option<Arc<Secret>>> {
    if spec.sandbox.is_none() {
        return Ok(None);
    }
    let secret = Secret::mint()?;
    folder.demand(&secret)?;
    Ok(Some(Arc::new(secret)))
}
