//! A systemd unit that would kill the runners together with the server, found by reading its files.

use std::path::{Path, PathBuf};

use super::diagnostic::Diagnostic;

const NAME: &str = "systemd";
/// Where units of the system are, the strongest last.
const SYSTEM: &[&str] = &[
    "/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/run/systemd/system",
    "/etc/systemd/system",
];
const USER: &[&str] = &["/usr/lib/systemd/user", "/run/systemd/user", "/etc/systemd/user"];

/// Looks at the unit in which the server runs; without a server, at the one in which we run.
pub(crate) fn diagnose(server: Option<u32>, home: Option<&Path>) -> Diagnostic {
    let process = server.map_or("self".to_owned(), |pid| pid.to_string());
    let groups = std::fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let Some(unit) = Unit::of(&groups) else {
        return Diagnostic::ok(NAME, "no unit would end the runners together with the server");
    };
    judge(&unit, kill_mode(&unit.folders(home), &unit.name).as_deref())
}

fn judge(unit: &Unit, mode: Option<&str>) -> Diagnostic {
    let name = &unit.name;
    match mode {
        Some(mode @ ("process" | "none")) => {
            Diagnostic::ok(NAME, format!("{name} leaves the runners alone (KillMode={mode})"))
        }
        // Nothing written means `control-group`.
        mode => Diagnostic::bad(
            NAME,
            format!(
                "{name} kills the runners together with the server (KillMode={})",
                mode.unwrap_or("control-group")
            ),
            format!(
                "write KillMode=process and Delegate=yes below [Service] of {name}, then reload systemd"
            ),
        ),
    }
}

/// A service of systemd.
#[derive(Debug, PartialEq, Eq)]
struct Unit {
    name: String,
    of_user: bool,
}

impl Unit {
    /// The service that a process is in, by its control groups.
    fn of(groups: &str) -> Option<Self> {
        let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        let is_manager = |part: &str| part.starts_with("user@") && part.ends_with(".service");
        let of_user = path.split('/').any(is_manager);
        let mut services =
            path.split('/').filter(|part| part.ends_with(".service") && !is_manager(part));
        services.next_back().map(|name| Self { name: name.to_owned(), of_user })
    }

    fn folders(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let listed = if self.of_user { USER } else { SYSTEM };
        let own = home.filter(|_| self.of_user).map(|home| home.join(".config/systemd/user"));
        listed.iter().map(PathBuf::from).chain(own).collect()
    }
}

/// What the unit's files say about `KillMode`; drop-ins are heard after the unit itself.
fn kill_mode(folders: &[PathBuf], unit: &str) -> Option<String> {
    // `name@instance.service` comes from the file `name@.service`.
    let template = unit.split_once('@').map(|(name, _)| format!("{name}@.service"));
    let names: Vec<&str> = template.as_deref().into_iter().chain([unit]).collect();
    let mut mode = None;
    for name in &names {
        let strongest = folders.iter().rev().map(|folder| folder.join(name));
        let text = strongest.filter_map(|path| std::fs::read_to_string(path).ok()).next();
        mode = text.as_deref().and_then(setting).or(mode);
    }
    let mut drop_ins: Vec<PathBuf> = Vec::new();
    for name in &names {
        for folder in folders {
            let entries = std::fs::read_dir(folder.join(format!("{name}.d")));
            let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
            drop_ins.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "conf")));
        }
    }
    drop_ins.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    for path in drop_ins {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        mode = setting(&text).or(mode);
    }
    mode
}

/// The last `KillMode` of a file.
fn setting(text: &str) -> Option<String> {
    let mut section = "";
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some((key, value)) = line.split_once('=')
            && key.trim() == "KillMode"
            && section == "[Service]"
        {
            found = Some(value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::diagnostic::DiagnosticVerdict;
    use super::*;

    #[test]
    fn the_unit_that_is_shipped_leaves_the_runners_alone() {
        let shipped = include_str!("../../../../contrib/musher.service");
        assert_eq!(setting(shipped).as_deref(), Some("process"));
        assert!(shipped.lines().any(|line| line == "Delegate=yes"));
    }

    #[test]
    fn the_service_of_a_process_is_told_by_its_control_group() {
        let unit = |path: &str| Unit::of(&format!("1:name=x:/y\n0::{path}\n"));
        let of = |name: &str, of_user| Some(Unit { name: name.into(), of_user });
        assert_eq!(unit("/system.slice/musher.service"), of("musher.service", false));
        let user = "/user.slice/user-1000.slice/user@1000.service/app.slice";
        assert_eq!(unit(&format!("{user}/m.service")), of("m.service", true));
        assert_eq!(unit(&format!("{user}/run-r1.scope")), None);
        assert_eq!(unit("/user.slice/user-1000.slice/session-3.scope"), None);
        assert_eq!(unit("/"), None);
        assert_eq!(Unit::of(""), None);
    }

    #[test]
    fn a_drop_in_is_heard_after_the_unit_and_an_instance_after_its_template() {
        let folder = tempfile::tempdir().unwrap();
        let (weak, strong) = (folder.path().join("usr"), folder.path().join("etc"));
        fs::create_dir_all(&weak).unwrap();
        fs::create_dir_all(strong.join("m.service.d")).unwrap();
        let folders = [weak.clone(), strong.clone()];
        assert_eq!(kill_mode(&folders, "m.service"), None);
        fs::write(weak.join("m.service"), "[Unit]\nKillMode=none\n[Service]\nKillMode=mixed\n")
            .unwrap();
        assert_eq!(kill_mode(&folders, "m.service").as_deref(), Some("mixed"));
        fs::write(strong.join("m.service"), "[Service]\nExecStart=x\n").unwrap();
        assert_eq!(kill_mode(&folders, "m.service"), None, "the stronger file replaces the weaker");
        let drop_in = strong.join("m.service.d/kill.conf");
        fs::write(drop_in, "[Service]\n# KillMode=none\nKillMode = process\n").unwrap();
        assert_eq!(kill_mode(&folders, "m.service").as_deref(), Some("process"));
        fs::write(weak.join("t@.service"), "[Service]\nKillMode=process\n").unwrap();
        assert_eq!(kill_mode(&folders, "t@one.service").as_deref(), Some("process"));
    }

    #[test]
    fn only_a_unit_that_leaves_the_runners_alone_is_right() {
        let unit = Unit { name: "m.service".into(), of_user: false };
        assert_eq!(judge(&unit, Some("process")).verdict, DiagnosticVerdict::Ok);
        assert_eq!(judge(&unit, Some("mixed")).verdict, DiagnosticVerdict::Bad);
        assert_eq!(judge(&unit, None).verdict, DiagnosticVerdict::Bad);
    }
}
