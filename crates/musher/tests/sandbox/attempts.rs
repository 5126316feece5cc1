//! Attempts to get out, each one line of shell that says so if it succeeds.

use musher_sandbox::{Sandbox, SandboxNetwork};

use crate::lab::Lab;

/// What an attempt prints when it has got out.
pub(crate) const OUT: &str = "ESCAPED";

/// One attempt.
#[derive(Clone, Copy)]
pub(crate) struct Attempt {
    /// Run inside.
    pub(crate) line: &'static str,
    /// Run on the machine afterwards, to see an effect.
    pub(crate) after: &'static str,
    /// Who can do it without a sandbox, which shows that the line does what it should.
    pub(crate) control: Control,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Anybody,
    /// Others are held by what they are.
    Superuser,
    /// It would do harm, or means nothing outside.
    Nobody,
}

impl Attempt {
    pub(crate) fn is_held(self) {
        for network in [SandboxNetwork::Host, SandboxNetwork::None] {
            let lab = Lab::new();
            let sandbox = Sandbox { network, ..lab.sandbox.clone() };
            let inside = lab.inside_of(&sandbox, self.line);
            let inside = format!("{inside}\n{}", lab.outside(self.after));
            assert!(!inside.contains(OUT), "it got out: {inside}");
            let lab = Lab::new();
            let sandbox = Sandbox { network, ..lab.sandbox.clone() };
            let kept = lab.keep(&sandbox);
            let inside = format!("{}\n{}", lab.enter(&kept, self.line), lab.outside(self.after));
            assert!(!inside.contains(OUT), "as a guest it got out: {inside}");
            assert!(lab.enter(&kept, "echo still there").contains("still there"), "{inside}");
        }
        let superuser = rustix::process::geteuid().is_root();
        if self.control == Control::Anybody || (self.control == Control::Superuser && superuser) {
            let lab = Lab::new();
            let outside = format!("{}\n{}", lab.outside(self.line), lab.outside(self.after));
            assert!(outside.contains(OUT), "the line proves nothing: {outside}");
        }
    }
}

macro_rules! attempts {
    ($(#[test] fn $name:ident() { $control:ident, $line:expr $(, after $after:expr)? })*) => {
        /// All of them, by name.
        pub(crate) const ALL: &[(&str, $crate::attempts::Attempt)] = &[$((
            stringify!($name),
            $crate::attempts::Attempt {
                line: $line,
                after: concat!("true; ", $($after)?),
                control: $crate::attempts::Control::$control,
            },
        )),*];
        $(
            #[test]
            fn $name() {
                let (_, attempt) =
                    ALL.iter().find(|(name, _)| *name == stringify!($name)).unwrap();
                attempt.is_held();
            }
        )*
    };
}
pub(crate) use attempts;

attempts! {
    #[test]
    fn the_token_the_journal_and_other_runs_cannot_be_read() {
        Anybody,
        "for f in token journal.db runs/r9/spec.json; do cat $STATE/$f && echo ESCAPED; done"
    }
    #[test]
    fn other_worktrees_are_not_there() {
        Anybody,
        "ls $STATE/worktrees | grep -qx 9 && echo ESCAPED; cat $STATE/worktrees/9/README && echo ESCAPED"
    }
    #[test]
    fn the_persons_keys_and_logins_are_not_there() {
        Anybody,
        "for f in .ssh/id_ed25519 .aws/credentials .config/gh/hosts.yml .netrc .npmrc .claude/.credentials.json .codex/auth.json; do cat $HOME/$f && echo ESCAPED; done"
    }
    #[test]
    fn the_persons_checkout_and_other_repositories_are_not_there() {
        Anybody,
        "cat $REPO/README && echo ESCAPED; ls $HOME/other-repo && echo ESCAPED"
    }
    #[test]
    fn a_hook_reaches_no_git_of_the_person() {
        Anybody,
        "mkdir -p $GIT/hooks; echo x > $GIT/hooks/pre-commit",
        after "test -e $GIT/hooks/pre-commit && echo ESCAPED"
    }
    #[test]
    fn a_setting_reaches_no_git_of_the_person() {
        Anybody,
        "git config core.fsmonitor /bin/x; echo '[a]b=c' >> $GIT/config",
        after "grep -e fsmonitor -e b=c $GIT/config && echo ESCAPED"
    }
    #[test]
    fn no_other_branch_moves() {
        Anybody,
        "git commit --allow-empty -qm x; git update-ref refs/heads/main HEAD",
        after "[ $(git -C $REPO rev-parse main) = $MAIN ] || echo ESCAPED"
    }
    #[test]
    fn a_forged_object_is_not_believed() {
        Anybody,
        "git init -q /tmp/f-$$; echo forged > /tmp/f-$$/x; f=$(git -C /tmp/f-$$ hash-object -w x); o=$(git rev-parse main:README); \
         for d in objects shared; do t=$GIT/$d/$(echo $o | cut -c1-2); mkdir -p $t; rm -f $t/*; \
         cp /tmp/f-$$/.git/objects/$(echo $f | cut -c1-2)/* $t/$(echo $o | cut -c3-); done; rm -rf /tmp/f-$$",
        after "git -C $REPO show main:README | grep forged && echo ESCAPED"
    }
    #[test]
    fn the_repositorys_objects_cannot_be_deleted() {
        Anybody,
        "rm -rf $GIT/objects/* $GIT/shared/*",
        after "git -C $REPO log --oneline || echo ESCAPED"
    }
    #[test]
    fn the_worktrees_way_to_its_repository_cannot_be_changed() {
        Anybody,
        "rm -f .git; mv .git x; echo gitdir: /tmp/e > .git; mv $WT $WT.x",
        after "[ \"$(cat $WT/.git)\" = \"$POINTER\" ] || echo ESCAPED"
    }
    #[test]
    fn the_worktrees_entry_cannot_be_changed() {
        Anybody,
        "echo /tmp/e > $ENTRY/commondir; echo '[x]' > $ENTRY/config.worktree",
        after "grep /tmp/e $ENTRY/commondir && echo ESCAPED; test -e $ENTRY/config.worktree && echo ESCAPED"
    }
    #[test]
    fn nothing_outside_is_written() {
        Nobody,
        "for f in /usr /etc / $STATE $REPO /var; do touch $f/musher-escape; done",
        after "for f in /usr /etc / $STATE $REPO /var; do test -e $f/musher-escape && echo ESCAPED; done"
    }
    #[test]
    fn no_process_of_the_machine_is_killed() {
        Nobody,
        "kill -9 $VICTIM; kill -9 -1",
        after "kill -0 $VICTIM || echo ESCAPED"
    }
    #[test]
    fn no_process_of_the_machine_is_looked_into() {
        Anybody,
        "cat /proc/$VICTIM/environ && echo ESCAPED; ls /proc/$VICTIM/root && echo ESCAPED; \
         perl -e 'syscall(101, 16, $ENV{VICTIM} + 0, 0, 0) == 0 and print \"ESCAPED\"'"
    }
    #[test]
    fn no_environment_of_another_process_is_read() {
        Anybody,
        "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep secret-of-the-vict[i]m && echo ESCAPED"
    }
    #[test]
    fn no_command_line_of_another_process_is_read() {
        Anybody,
        "cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' ' | grep '3133[7]' && echo ESCAPED"
    }
    #[test]
    fn the_first_process_leads_nowhere() {
        Nobody,
        "for p in 1 self; do for w in root cwd/../..; do cat /proc/$p/$w$STATE/token && echo ESCAPED; done; done"
    }
    #[test]
    fn an_abstract_socket_of_the_machine_is_not_reached() {
        Anybody,
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack(\"S a*\", 1, \"\\0$ENV{ABSTRACT}\")) and print \"ESCAPED\"'"
    }
    #[test]
    fn a_socket_of_the_persons_session_is_not_reached() {
        Anybody,
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un($ENV{BUS})) and print \"ESCAPED\"'"
    }
    #[test]
    fn nobody_becomes_the_superuser() {
        Superuser,
        "perl -e 'syscall(105, 0) == 0 and print \"ESCAPED\"'; su -c 'echo ESCAPED' </dev/null"
    }
    #[test]
    fn no_setuid_file_is_left() {
        Anybody,
        "cp /bin/sh s && chmod 4755 s && echo ESCAPED; perl -e 'chmod(04755, \"s\") and print \"ESCAPED\"'; rm -f s"
    }
    #[test]
    fn no_device_is_made_or_there() {
        Superuser,
        "mknod b b 254 0 && echo ESCAPED; for d in kvm fuse sda vda mem; do test -e /dev/$d && echo ESCAPED; done; rm -f b"
    }
    #[test]
    fn no_namespace_is_made() {
        Anybody,
        "unshare -Urm true && echo ESCAPED"
    }
    #[test]
    fn nothing_is_mounted_or_unmounted() {
        Nobody,
        "mount -t tmpfs x /tmp && echo ESCAPED; umount /proc && echo ESCAPED; mount -o remount,rw / && echo ESCAPED; umount $HOME && echo ESCAPED"
    }
    #[test]
    fn control_groups_are_not_there() {
        Anybody,
        "ls /sys/fs/cgroup && echo ESCAPED"
    }
    #[test]
    fn calls_that_reach_past_namespaces_are_refused() {
        Superuser,
        "perl -MErrno -e 'for (425, 426, 427, 321, 298, 323, 304, 303) { $! = 0; syscall($_, 0, 0, 0, 0, 0); print \"ESCAPED $_ $!\\n\" unless $!{EPERM} }'"
    }
    #[test]
    fn keys_of_the_machine_are_not_reached() {
        Anybody,
        "perl -MErrno -e 'for (248, 249, 250) { $! = 0; syscall($_, 0, 0, 0, 0, 0); print \"ESCAPED $_ $!\\n\" unless $!{EPERM} }'"
    }
    #[test]
    fn shared_memory_of_the_machine_is_not_there() {
        Nobody,
        "perl -e 'defined shmget($ENV{KEY}, 64, 0) and print \"ESCAPED\"'"
    }
    #[test]
    fn sockets_of_other_families_are_refused() {
        Superuser,
        "perl -MErrno -e 'for (40, 17, 38) { $! = 0; my $s = syscall(41, $_, 3, 0); print \"ESCAPED $_ $!\\n\" unless $s < 0 && $!{EPERM} }'"
    }
    #[test]
    fn settings_of_the_kernel_are_not_writable() {
        Superuser,
        "for f in kernel/core_pattern kernel/hostname vm/drop_caches; do (: >> /proc/sys/$f) && echo ESCAPED; done; (: >> /proc/sysrq-trigger) && echo ESCAPED"
    }
    #[test]
    fn no_link_leads_out() {
        Anybody,
        "ln -s $STATE/token t; cat t && echo ESCAPED; ln $STATE/token u && echo ESCAPED; rm -f t u"
    }
    #[test]
    fn a_folder_that_editors_run_things_from_cannot_be_changed() {
        Anybody,
        "echo x > .vscode/tasks.json; mv .vscode x; rm -rf .vscode",
        after "grep -q secret $WT/.vscode/tasks.json || echo ESCAPED"
    }
    #[test]
    fn no_mode_and_no_time_outside_is_changed() {
        Anybody,
        "chmod 777 $STATE; touch -d 2001-01-01 $STATE/token",
        after "[ $(stat -c %a $STATE) = 700 ] || echo ESCAPED; [ $(stat -c %Y $STATE/token) -gt 1000000000 ] || echo ESCAPED"
    }
    #[test]
    fn a_folder_that_was_left_open_is_closed() {
        Anybody,
        "cat /proc/self/fd/7/token && echo ESCAPED"
    }
    #[test]
    fn nothing_is_typed_into_a_terminal() {
        Nobody,
        "perl -MErrno -e 'my $x = \"x\"; for my $f (0) { $! = 0; ioctl(STDIN, 0x5412, $x); print \"ESCAPED $!\" unless $!{EPERM} || $!{ENOTTY} }'; (exec 3</dev/tty) && echo ESCAPED"
    }
    #[test]
    fn the_first_process_inside_is_out_of_reach() {
        Nobody,
        "cat /proc/1/environ >/dev/null && echo ESCAPED; kill -9 1; kill -STOP 1; \
         grep 'State:.[TZX]' /proc/1/status && echo ESCAPED"
    }
    #[test]
    fn no_core_is_left() {
        Anybody,
        "[ $(ulimit -Hc) = 0 ] || echo ESCAPED"
    }
    #[test]
    fn the_machines_passwords_are_not_there() {
        Superuser,
        "cat /etc/shadow && echo ESCAPED"
    }
}
