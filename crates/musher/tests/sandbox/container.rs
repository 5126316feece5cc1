//! A sandbox that is a container: what it holds, what works in it, and what is left of it. Without an engine that answers, nothing of
//! this is tried, and the tests say so.

use musher_sandbox::{CommandMounts, ContainerBackend, Sandbox, SandboxBackend, SandboxNetwork};

use crate::attempts::{self, OUT};
use crate::engine::Engine;
use crate::lab::{BRANCH, Lab, SLOT};
use crate::more_attempts;

/// Attempts that mean something else in an image, or that are about the two processes of bubblewrap.
const ELSEWHERE: &[&str] =
    &["control_groups_are_not_there", "nobody_becomes_the_superuser", "the_helper_is_not_replaced"];

/// The engine, or nothing with a word about it.
fn engine() -> Option<Engine> {
    match Engine::of_this_machine(&crate::lab::musher()) {
        Ok(engine) => Some(engine),
        Err(why) => {
            eprintln!("not tried: no container engine of this machine answers ({why})");
            None
        }
    }
}

fn contained(lab: &Lab, engine: &Engine) -> Sandbox {
    let backend = SandboxBackend::Container(engine.container.clone());
    lab.block_on(lab.slots.enclose_by(SLOT, &backend)).unwrap()
}

#[test]
fn where_an_engine_answers_every_attempt_is_held_in_a_container_too() {
    let Some(engine) = engine() else { return };
    let lab = Lab::new();
    let line = "perl -MSocket -MErrno -MFcntl -MIO::Handle -e 'print \"PERL \"' && git --version && unshare --version";
    let told = lab.inside_of(&contained(&lab, &engine), line);
    assert!(
        told.contains("PERL git") && told.contains("unshare from"),
        "they show nothing: {told}"
    );
    let all = attempts::ALL.iter().chain(more_attempts::ALL);
    let all: Vec<_> = all.filter(|(name, _)| !ELSEWHERE.contains(name)).collect();
    let out = crate::alone::each(&all, |(name, attempt)| {
        let lab = Lab::new();
        let inside = lab.inside_of(&contained(&lab, &engine), attempt.line);
        let told = format!("{inside}\n{}", lab.outside(attempt.after));
        told.contains(OUT).then(|| format!("{name} got out: {told}"))
    });
    assert!(out.is_empty(), "{}", out.join("\n\n"));
}

#[test]
fn where_an_engine_answers_work_in_a_container_comes_over_and_belongs_to_its_user() {
    let Some(engine) = engine() else { return };
    let lab = Lab::new();
    let sandbox = contained(&lab, &engine);
    let line = "set -e; echo x > new; git add new; git commit -qm one; echo y > left; echo z > $HOME/note; echo t > /tmp/note; \
                git log --format=%an%ae -1; id -u; echo DONE";
    let told = lab.inside_of(&sandbox, line);
    assert!(told.contains("DONE") && told.contains("Adaada@example.org"), "{told}");
    lab.block_on(lab.slots.snapshot(SLOT)).unwrap();
    assert_eq!(lab.git(&["log", "--format=%s", BRANCH]), "one\nfirst");
    for path in [lab.worktree().join("new"), sandbox.home.join("note"), sandbox.tmp.join("note")] {
        let owner = std::os::unix::fs::MetadataExt::uid(&path.metadata().unwrap());
        assert_eq!(owner, rustix::process::geteuid().as_raw(), "{}", path.display());
    }
    assert!(lab.inside_of(&sandbox, "exit 7").ends_with("[exit status: 7]"));
    assert!(lab.inside_of(&sandbox, "kill -9 $$").ends_with("[exit status: 137]"));
    let strict = Sandbox { network: SandboxNetwork::None, ..sandbox };
    let told = lab.inside_of(&strict, "tail -n +3 /proc/net/dev | cut -d: -f1");
    assert!(told.trim_start().starts_with("lo") && !told.contains("eth"), "{told}");
}

#[test]
fn where_an_engine_answers_a_git_that_is_held_up_leaves_no_container() {
    let Some(engine) = engine() else { return };
    let lab = Lab::new();
    let sandbox = contained(&lab, &engine);
    let pipe = "perl -MPOSIX -e 'mkfifo($ARGV[0], 0600) and print \"MADE\"' $(git rev-parse --git-common-dir)/refs/heads/pipe";
    let told = lab.inside_of(&sandbox, pipe);
    assert!(told.contains("MADE"), "{told}");
    let error = lab.block_on(lab.slots.snapshot(SLOT)).unwrap_err().to_string();
    assert!(error.contains("for-each-ref"), "{error}");
    // The removal is not waited for.
    let removed = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        engine.named("git").is_empty()
    });
    assert!(removed, "{}", engine.named("git"));
}

#[test]
fn where_an_engine_answers_containers_that_are_left_are_found_by_the_mark_and_removed() {
    let Some(engine) = engine() else { return };
    let lab = Lab::new();
    let sandbox = contained(&lab, &engine);
    let mark = format!("{:032x}", std::process::id());
    let more = CommandMounts {
        name: Some(ContainerBackend::name(&mark, "1")),
        ..CommandMounts::default()
    };
    let args = ["-c".into(), "echo up; exec sleep 600".into()];
    let command = sandbox.command("/bin/sh".as_ref(), &args, &lab.worktree(), &more).unwrap();
    let mut client = std::process::Command::new(&command.program)
        .args(command.plain_args())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut up = String::new();
    let out = client.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut up).unwrap();
    assert_eq!(up, "up\n");
    // As a runner that is killed leaves it.
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(
        !engine.named(&mark).is_empty(),
        "it is gone with its client, so the test shows nothing"
    );
    engine.container.remove(&mark).unwrap();
    assert_eq!(engine.named(&mark), "");
    engine.container.remove(&mark).unwrap();
}
