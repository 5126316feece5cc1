//! What holds what: one line of the sandbox is taken away, and an attempt that was held gets out.

use std::ffi::OsString;
use std::path::Path;

use crate::attempts::OUT;
use crate::lab::Lab;

/// Arguments of bubblewrap with one change.
type Change = fn(&Lab, &[OsString]) -> Vec<OsString>;

fn gets_out(change: Change, line: &str, after: &str) {
    let lab = Lab::new();
    let held = format!("{}{}", lab.inside(line), lab.outside(after));
    assert!(!held.contains(OUT), "it was not held before: {held}");
    let args = change(&lab, &lab.arguments(&lab.sandbox, line));
    let out = format!("{}{}", lab.inside_with(&args), lab.outside(after));
    assert!(out.contains(OUT), "the line holds nothing: {out}");
}

/// Takes away the arguments that begin with these, as many as there are.
fn without(args: &[OsString], gone: &[&str]) -> Vec<OsString> {
    changed(args, gone, &[])
}

fn changed(args: &[OsString], from: &[&str], to: &[&str]) -> Vec<OsString> {
    let at = args.windows(from.len()).position(|window| window == from);
    let at = at.unwrap_or_else(|| panic!("{from:?} is not among {args:?}"));
    let mut args = args.to_vec();
    args.splice(at..at + from.len(), to.iter().map(OsString::from));
    args
}

/// Starts the program without the helper.
fn without_helper(lab: &Lab, args: &[OsString]) -> Vec<OsString> {
    let helper = lab.sandbox.helper.to_str().unwrap();
    changed(args, &["--", helper, "inside", "--"], &["--"])
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

#[test]
fn without_a_namespace_of_processes_those_of_the_machine_are_seen() {
    let line = "cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' ' | grep '3133[7]' && echo ESCAPED";
    gets_out(|_, args| without(args, &["--unshare-pid"]), line, "");
}

#[test]
fn without_a_namespace_of_ipc_shared_memory_is_seen() {
    let line = "ipcs -m | grep $(printf 0x%x $KEY) && echo ESCAPED";
    let made = "perl -e 'shmget($ENV{KEY}, 64, 01600)'";
    let lab = Lab::new();
    lab.outside(made);
    assert!(!lab.inside(line).contains(OUT));
    let args = without(&lab.arguments(&lab.sandbox, line), &["--unshare-ipc"]);
    assert!(lab.inside_with(&args).contains(OUT));
}

#[test]
fn with_the_persons_home_its_keys_are_read() {
    let line = "cat $HOME/.ssh/id_ed25519 && echo ESCAPED";
    let change: Change = |lab, args| {
        let (own, home) = (text(&lab.sandbox.home), text(lab.path("home")));
        changed(args, &["--bind", &own, &home], &["--bind", &home, &home])
    };
    gets_out(change, line, "");
}

#[test]
fn with_the_machines_temporary_files_the_state_directory_is_read() {
    let change: Change = |lab, args| {
        let own = text(&lab.sandbox.tmp);
        changed(args, &["--bind", &own, "/tmp"], &["--bind", "/tmp", "/tmp"])
    };
    gets_out(change, "cat $STATE/token && echo ESCAPED", "");
}

#[test]
fn with_the_repositorys_git_folder_a_hook_is_left_in_it() {
    let change: Change = |lab, args| {
        let own = text(lab.path("state/sandboxes/1/git"));
        let git = text(lab.repo().join(".git"));
        let args = changed(args, &["--bind", &own, &git], &["--bind", &git, &git]);
        let (objects, shared) = (format!("{git}/objects"), format!("{git}/shared"));
        without(&args, &["--ro-bind", &objects, &shared])
    };
    let after = "test -e $GIT/hooks/pre-commit && echo ESCAPED";
    gets_out(change, "mkdir -p $GIT/hooks; echo x > $GIT/hooks/pre-commit", after);
}

#[test]
fn with_writable_objects_the_repository_is_lost() {
    let change: Change = |lab, args| {
        let git = text(lab.repo().join(".git"));
        let (objects, shared) = (format!("{git}/objects"), format!("{git}/shared"));
        changed(args, &["--ro-bind", &objects, &shared], &["--bind", &objects, &shared])
    };
    gets_out(change, "rm -rf $GIT/shared/*", "git -C $REPO log --oneline || echo ESCAPED");
}

#[test]
fn with_a_writable_pointer_the_worktree_leads_elsewhere() {
    let change: Change = |lab, args| {
        let pointer = text(lab.worktree().join(".git"));
        without(args, &["--ro-bind", &pointer, &pointer])
    };
    let after = "[ \"$(cat $WT/.git)\" = \"$POINTER\" ] || echo ESCAPED";
    gets_out(change, "rm -f .git; echo gitdir: /tmp/e > .git", after);
}

#[test]
fn with_a_writable_folder_of_the_editor_its_tasks_are_changed() {
    let change: Change = |lab, args| {
        let folder = text(lab.worktree().join(".vscode"));
        without(args, &["--ro-bind", &folder, &folder])
    };
    let after = "grep -q secret $WT/.vscode/tasks.json || echo ESCAPED";
    gets_out(change, "echo x > .vscode/tasks.json", after);
}

#[test]
fn without_the_helper_a_folder_that_was_left_open_is_read() {
    gets_out(without_helper, "cat /proc/self/fd/7/token && echo ESCAPED", "");
}

#[test]
fn without_the_helper_an_abstract_socket_is_reached() {
    let line = "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack(\"S a*\", 1, \"\\0$ENV{ABSTRACT}\")) and print \"ESCAPED\"'";
    gets_out(without_helper, line, "");
}

#[test]
fn without_the_helper_a_setuid_file_is_left() {
    gets_out(without_helper, "cp /bin/sh s && chmod 4755 s && echo ESCAPED; rm -f s", "");
}

#[test]
fn without_the_helper_a_core_may_be_left() {
    gets_out(without_helper, "[ $(ulimit -Hc) = 0 ] || echo ESCAPED", "");
}

#[test]
fn without_the_helper_keys_of_the_kernel_are_asked_for() {
    let line = "perl -MErrno -e 'for (250) { $! = 0; syscall($_, 0, -3, 0, 0, 0); print \"ESCAPED $!\" unless $!{EPERM} }'";
    gets_out(without_helper, line, "");
}

#[test]
fn with_namespaces_of_its_own_one_is_made() {
    let change: Change = |lab, args| {
        let args = without(args, &["--disable-userns"]);
        let helper = lab.sandbox.helper.to_str().unwrap();
        changed(&args, &[helper, "inside", "--"], &[helper, "inside", "--nested", "--"])
    };
    gets_out(change, "unshare -Ur true && echo ESCAPED", "");
}

#[test]
fn with_all_of_etc_the_superusers_sandbox_reads_the_passwords() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let change: Change = |_, args| {
        changed(args, &["--remount-ro", "/"], &["--ro-bind", "/etc", "/etc", "--remount-ro", "/"])
    };
    gets_out(change, "cat /etc/shadow && echo ESCAPED", "");
}

#[test]
fn with_a_writable_proc_sys_the_superusers_sandbox_sets_the_kernel() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let change: Change = |_, args| without(args, &["--ro-bind", "/proc/sys", "/proc/sys"]);
    gets_out(change, "(: >> /proc/sys/kernel/core_pattern) && echo ESCAPED", "");
}
