//! A real container engine and an image for it, where this machine has one that answers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use musher_sandbox::{ContainerBackend, ContainerEngine, SandboxBackend, try_out};

/// What the image has of the machine's programs.
const PROGRAMS: &[&str] = &[
    "cat", "chmod", "cp", "curl", "cut", "date", "dirname", "env", "git", "grep", "head",
    "hostname", "id", "ln", "ls", "mkdir", "mknod", "mount", "mv", "perl", "rm", "sh", "sleep",
    "stat", "tail", "touch", "tr", "umount", "unshare", "wc",
];

/// An engine that answers, with an image of its own, which is removed again.
pub(crate) struct Engine {
    folder: tempfile::TempDir,
    pub(crate) container: ContainerBackend,
}

impl Engine {
    /// The engine of this machine, or why it was not tried.
    pub(crate) fn of_this_machine(helper: &Path) -> Result<Self, String> {
        let image = format!("localhost/musher-test-{}:1", std::process::id());
        let vars = musher_runtime::Environment::of_this_process();
        let container =
            ContainerBackend::of(&image, |name| vars.get(name)).map_err(|why| why.to_string())?;
        let folder = tempfile::tempdir().unwrap();
        let mut engine = Self { folder, container };
        if engine.container.engine == ContainerEngine::Podman {
            engine.around_hybrid_groups();
        }
        engine.import(helper)?;
        let backend = SandboxBackend::Container(engine.container.clone());
        let scratch = tempfile::tempdir().unwrap();
        try_out(&backend, helper, scratch.path()).map_err(|why| why.to_string())?;
        Ok(engine)
    }

    /// crun refuses control groups of both versions at once, and limits that this machine does not grant; both are about the machine
    /// and not about the sandbox.
    fn around_hybrid_groups(&mut self) {
        let program = self.folder.path().join("podman");
        // Another place, because the script may stand in the program's own.
        let real = self.folder.path().join("real-podman");
        fs::copy(&self.container.program, &real).unwrap();
        let real = real.display();
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = run ]; then shift; set -- run --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 \"$@\"; fi\n\
             [ -d /sys/fs/cgroup/unified ] || exec {real} \"$@\"\n\
             exec unshare -m sh -c 'umount /sys/fs/cgroup/unified; exec {real} \"$@\"' sh \"$@\"\n"
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        self.container.program = program;
    }

    /// An image of a few of the machine's programs, because none can be fetched.
    fn import(&self, helper: &Path) -> Result<(), String> {
        let root = self.folder.path().join("root");
        for folder in ["etc", "proc", "sys", "dev", "tmp", "run", "var/tmp", "usr/bin"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for name in ["bin", "sbin", "lib", "lib64"] {
            if let Ok(link) = fs::read_link(Path::new("/").join(name)) {
                fs::create_dir_all(root.join(&link)).unwrap();
                std::os::unix::fs::symlink(link, root.join(name)).unwrap();
            }
        }
        let found = PROGRAMS.iter().map(|name| Path::new("/usr/bin").join(name));
        for program in found.chain([helper.to_owned()]).filter(|path| path.exists()) {
            let listed = Command::new("ldd").arg(&program).output().unwrap().stdout;
            let listed = String::from_utf8_lossy(&listed).into_owned();
            let libraries = listed.split_whitespace().filter(|word| word.starts_with('/'));
            let own = program.starts_with("/usr").then_some(program.clone());
            for path in libraries.map(PathBuf::from).chain(own) {
                let to = root.join(path.strip_prefix("/").unwrap());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(&path, to).unwrap();
            }
        }
        let perl = "cp -rL --parents $(perl -e 'print join \" \", grep { -d } @INC') \"$0\"";
        Command::new("sh").args(["-c", perl]).arg(&root).stderr(Stdio::null()).status().unwrap();
        fs::write(root.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\n").unwrap();
        let line = "tar -C \"$0\" -c . | \"$1\" import - \"$2\"";
        let mut import = Command::new("sh");
        import.args(["-c", line]).arg(&root).arg(&self.container.program).arg(self.image());
        let imported = import.output().unwrap();
        match imported.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&imported.stderr).into_owned()),
        }
    }

    fn image(&self) -> &str {
        &self.container.image
    }

    /// The names of all containers of a run.
    pub(crate) fn named(&self, mark: &str) -> String {
        let filter = format!("name=^{}", ContainerBackend::name(mark, ""));
        let own = format!("ancestor={}", self.container.image);
        let mut ask = Command::new(&self.container.program);
        ask.args(["ps", "--all", "--quiet", "--filter", &filter, "--filter", &own]);
        let told = ask.output().unwrap();
        String::from_utf8(told.stdout).unwrap()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // What a test leaves, such as a run that was started again.
        let left = "for c in $(\"$0\" ps -aq --filter ancestor=\"$1\"); do \"$0\" rm -f $c || \"$0\" rm -f $c; done";
        let mut clear = Command::new("sh");
        clear.args(["-c", left]).arg(&self.container.program).arg(self.image());
        clear.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
        let mut remove = Command::new(&self.container.program);
        remove.args(["rmi", "--force", self.image()]);
        remove.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
    }
}
