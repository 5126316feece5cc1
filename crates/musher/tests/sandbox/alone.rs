//! What rules of Landlock alone hold, and what they do not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use musher_runtime::tools::{CommandSpec, CommandTools, ToolCall, ToolHost};
use musher_runtime::{Containment, Environment};
use musher_sandbox::Sandbox;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::attempts::{self, Attempt, OUT};
use crate::lab::{BRANCH, Lab, SLOT};
use crate::more_attempts;

/// Attempts that get out: it is written down that nothing holds them.
const OPEN: &[&str] = &[
    "a_folder_that_editors_run_things_from_cannot_be_changed",
    "a_forged_object_is_not_believed",
    "a_socket_of_the_persons_session_is_not_reached",
    "no_command_line_of_another_process_is_read",
    "no_mode_and_no_time_outside_is_changed",
    "the_pointer_is_not_covered_from_above",
    "the_objects_are_not_written_through_another_name",
    "the_repositorys_objects_cannot_be_deleted",
    "the_worktrees_entry_cannot_be_changed",
    "the_worktrees_way_to_its_repository_cannot_be_changed",
];

/// Attempts that are about something which is not there, or that ask in a way that means nothing; some are made below in another way.
const ELSEWHERE: &[&str] = &[
    "no_device_is_made_or_there",
    "no_process_of_the_machine_is_killed",
    "nobody_becomes_the_superuser",
    "nothing_is_typed_into_a_terminal",
    "privileges_are_not_gained_by_a_program",
    "shared_memory_of_the_machine_is_not_there",
    "the_first_process_inside_is_out_of_reach",
    "the_helper_is_not_replaced",
];

/// Those that mean nothing elsewhere, made so that they mean something.
const OWN: &[&str] = &[
    "kill -9 $VICTIM && echo ESCAPED; kill -STOP $VICTIM && echo ESCAPED",
    "for d in kvm fuse sda vda mem kmsg; do (exec 3</dev/$d) && echo ESCAPED; done; mknod b b 254 0 && echo ESCAPED; mknod c c 1 3 && echo ESCAPED; rm -f b c",
    "grep -q 'NoNewPrivs:.1' /proc/self/status || echo ESCAPED; grep -e CapPrm -e CapEff -e CapAmb -e CapInh /proc/self/status | grep -v '0000000000000000$' && echo ESCAPED",
    "perl -MErrno -e 'my $x = \"x\"; $! = 0; ioctl(STDIN, 0x5412, $x); print \"ESCAPED $!\" unless $!{EPERM} || $!{ENOTTY}'",
    "cat /proc/1/environ && echo ESCAPED; ls /proc/1/root/ && echo ESCAPED; ls /proc/$PPID/cwd/ && echo ESCAPED",
    "truncate -s 0 $STATE/token; cat /etc/ssl/private/* && echo ESCAPED; cat /root/.bashrc && echo ESCAPED; ls /home && echo ESCAPED; ls /tmp && echo ESCAPED",
    "h=$HELPER; (echo x >> $h) && echo ESCAPED; mv $h $h.x && echo ESCAPED; ln $h linked && echo ESCAPED",
    "git push -q . HEAD:refs/heads/other && echo ESCAPED; git tag escaped && echo ESCAPED; git config --local a.b c && echo ESCAPED; git worktree add -q $HOME/w && echo ESCAPED",
];

fn all() -> impl Iterator<Item = &'static (&'static str, Attempt)> {
    attempts::ALL.iter().chain(more_attempts::ALL)
}

/// Runs what is to be tried on a few threads, and gives what each says that is wrong.
pub(crate) fn each<T: Sync>(
    all: &[T],
    attempt: impl Fn(&T) -> Option<String> + Sync,
) -> Vec<String> {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let said = attempt(one);
                    wrong.lock().unwrap().extend(said);
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// A line as a run would start it, with its private home and its own place for temporary files.
fn at_home(sandbox: &Sandbox, line: &str) -> String {
    let (home, tmp) = (sandbox.home_inside().display(), sandbox.tmp_inside().display());
    format!("export HOME={home} TMPDIR={tmp}; {}", line.replace("/tmp/", "$TMPDIR/"))
}

/// What an attempt says inside, with the private home; and what is seen of it afterwards.
fn tried(line: &str, after: &str) -> String {
    let lab = Lab::new();
    let alone = lab.alone();
    let inside = lab.inside_of(&alone, &at_home(&alone, line));
    seen(&lab, &inside, after)
}

/// The same with the home of the person, which many attempts are about.
fn tried_in_the_persons_home(line: &str, after: &str) -> String {
    let lab = Lab::new();
    let inside = lab.inside_of(&lab.alone(), line);
    seen(&lab, &inside, after)
}

fn seen(lab: &Lab, inside: &str, after: &str) -> String {
    let token = "[ \"$(cat $STATE/token)\" = secret ] || echo ESCAPED";
    format!("{inside}\n{}\n{}", lab.outside(after), lab.outside(token))
}

#[test]
fn landlock_alone_holds_every_attempt_but_those_that_are_known() {
    let known = |name: &str| OPEN.contains(&name) || ELSEWHERE.contains(&name);
    let held: Vec<_> = all().filter(|(name, _)| !known(name)).collect();
    assert_eq!(held.len() + OPEN.len() + ELSEWHERE.len(), all().count(), "one is not known");
    let mut out = each(&held, |(name, attempt)| {
        let told = tried(attempt.line, attempt.after)
            + &tried_in_the_persons_home(attempt.line, attempt.after);
        told.contains(OUT).then(|| format!("{name} got out: {told}"))
    });
    out.extend(each(OWN, |line| {
        let told = tried(line, "kill -0 $VICTIM || echo ESCAPED");
        told.contains(OUT).then(|| format!("{line} got out: {told}"))
    }));
    assert!(out.is_empty(), "{}", out.join("\n\n"));
}

#[test]
fn what_landlock_alone_does_not_hold_is_known() {
    let open: Vec<_> = all().filter(|(name, _)| OPEN.contains(name)).collect();
    let held = each(&open, |(name, attempt)| {
        let told = tried(attempt.line, attempt.after);
        (!told.contains(OUT)).then(|| format!("{name} is held: {told}"))
    });
    assert!(held.is_empty(), "{}", held.join("\n\n"));
}

#[test]
fn with_landlock_alone_work_is_committed_on_the_storys_branch_and_on_no_other() {
    let lab = Lab::new();
    let alone = lab.alone();
    let line = "set -e; echo x > new; git add new; git commit -qm one; git commit --amend -qm two; \
                git rebase -q main; git log --format=%an%ae -1; echo y > left; ! git update-ref refs/heads/main HEAD; echo DONE";
    let told = lab.inside_of(&alone, &at_home(&alone, line));
    assert!(told.contains("DONE") && told.contains("Adaada@example.org"), "{told}");
    lab.block_on(lab.slots.snapshot(SLOT)).unwrap();
    assert_eq!(lab.git(&["log", "--format=%s", BRANCH]), "two\nfirst");
    assert_eq!(lab.git(&["rev-parse", "main"]), lab.main);
    // Then the same slot in namespaces, and back: nothing is lost on the way.
    let enclosed = lab.block_on(lab.slots.enclose(SLOT)).unwrap();
    lab.inside_of(&enclosed, "git add left; git commit -qm three");
    let alone = lab.alone();
    let told = lab
        .inside_of(&alone, &at_home(&alone, "git log --format=%s; git status --short; echo END"));
    assert!(told.contains("three\ntwo\nfirst\nEND"), "{told}");
}

#[test]
fn with_landlock_alone_threads_terminals_children_and_loopback_work() {
    let lab = Lab::new();
    let told = lab.inside_of(
        &lab.alone(),
        "set -e; (sleep 0.01 & wait); script -qc 'tty' /dev/null | grep -q pts; \
         perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die; \
         my $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $l->sockport) or die;'; \
         python3 -c 'import threading; t = threading.Thread(target=print, args=[\"thread\"]); t.start(); t.join()'; \
         ln -s a b; mkfifo p; mkdir d; echo x > d/x; mv d/x y; truncate -s 9 y; kill -0 $$; echo WORKS",
    );
    assert!(told.contains("WORKS"), "{told}");
}

#[test]
fn with_landlock_alone_a_place_that_is_named_can_be_read_or_written_and_no_other() {
    let lab = Lab::new();
    let mut sandbox = lab.alone();
    let other = lab.path("home/other-repo");
    sandbox.mounts.push(musher_sandbox::Mount::read(&other));
    let line = "cat $HOME/other-repo/README; echo x > $HOME/other-repo/README && echo WROTE";
    let told = lab.inside_of(&sandbox, line);
    assert!(told.contains("secret") && !told.contains("WROTE"), "{told}");
    sandbox.mounts.push(musher_sandbox::Mount::write(&other));
    assert!(lab.inside_of(&sandbox, line).contains("WROTE"));
}

#[test]
fn with_landlock_alone_each_command_of_a_model_is_held_and_has_the_private_home() {
    let lab = Lab::new();
    let alone = lab.alone();
    let home = alone.home.clone();
    lab.block_on(async {
        let tools = CommandTools::new(CommandSpec {
            folder: lab.worktree(),
            environment: Environment::from_vars([("PATH".into(), "/usr/bin:/bin".into())]),
            hidden: Vec::new(),
            mark: None,
            containment: Containment::default(),
            sandbox: Some(Arc::new(alone)),
        });
        let run = async |line: &str| {
            let call = ToolCall::new("call", "run_command", json!({ "command": line }));
            tools.call(call, &CancellationToken::new()).await.text
        };
        let line =
            format!("cat {}/token; echo $HOME $TMPDIR; kill -9 $$", lab.path("state").display());
        let told = run(&line).await;
        assert!(told.contains("Permission denied"), "{told}");
        assert!(told.contains(home.to_str().unwrap()), "{told}");
        assert!(told.contains("sandboxes/1/tmp") && told.contains("ended by signal 9"), "{told}");
        let told = run("echo z > z; git add z; git commit -qm 'of a model' && echo DONE").await;
        assert!(told.contains("DONE"), "{told}");
        assert!(tools.close().await.is_empty());
    });
    assert_eq!(lab.git(&["log", "-1", "--format=%s", BRANCH]), "of a model");
}
