//! More attempts, against what is peculiar to this sandbox: its filter, its helper, its git folder and its mounts.

use crate::attempts::attempts;
use crate::lab::Lab;

attempts! {
    #[test]
    fn calls_of_the_other_convention_are_refused() {
        Nobody,
        "perl -e 'my $s = syscall(0x40000000 | 41, 17, 3, 0); print \"ESCAPED\" if $s >= 0'"
    }
    #[test]
    fn a_setuid_file_is_not_made_by_a_newer_call() {
        Nobody,
        "cp /bin/sh s; perl -MErrno -e 'my $how = pack(\"QQQ\", 0102, 04755, 0); my $p = \"made\"; syscall(437, -100, $p, $how, 24) >= 0 and print \"ESCAPED\"; my $s = \"s\"; syscall(452, -100, $s, 04755, 0) == 0 and print \"ESCAPED\"'; rm -f s made"
    }
    #[test]
    fn a_setuid_file_is_not_made_when_it_is_created() {
        Anybody,
        "perl -MFcntl -e 'sysopen(my $f, \"made\", O_CREAT | O_WRONLY, 04755) and print \"ESCAPED\"'; rm -f made"
    }
    #[test]
    fn a_setuid_node_is_not_made() {
        Anybody,
        "perl -e 'my $p = \"made\"; syscall(133, $p, 0104755, 0) == 0 and print \"ESCAPED\"'; rm -f made"
    }
    #[test]
    fn a_newer_way_to_start_a_process_makes_no_namespace() {
        Anybody,
        "perl -MErrno -e 'my $a = pack(\"Q11\", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0); my $p = syscall(435, $a, 88); exit 0 if $p == 0; print \"ESCAPED\" if $p > 0'"
    }
    #[test]
    fn the_namespaces_of_others_are_not_entered() {
        Superuser,
        "perl -MFcntl -e 'sysopen(my $f, \"/proc/self/ns/uts\", O_RDONLY) or exit; syscall(308, fileno($f), 0) == 0 and print \"ESCAPED\"'"
    }
    #[test]
    fn the_root_is_not_changed() {
        Superuser,
        "chroot / true && echo ESCAPED"
    }
    #[test]
    fn mounts_are_not_changed_by_newer_calls() {
        Nobody,
        "perl -e 'my $x = \"tmpfs\"; for (428, 429, 430, 442) { syscall($_, $x, 0, 0, 0) >= 0 and print \"ESCAPED $_\" }'"
    }
    #[test]
    fn memory_of_another_process_is_not_read() {
        Nobody,
        "perl -e 'my $b = \"\\0\" x 64; my $v = pack(\"PQ\", $b, 64); syscall(310, $ENV{VICTIM} + 0, $v, 1, $v, 1, 0) > 0 and print \"ESCAPED\"'"
    }
    #[test]
    fn a_process_of_the_machine_has_no_number_inside() {
        Anybody,
        "perl -e 'my $f = syscall(434, $ENV{VICTIM} + 0, 0); $f >= 0 and syscall(424, $f, 0, 0, 0) == 0 and print \"ESCAPED\"'"
    }
    #[test]
    fn the_first_process_is_not_traced() {
        Nobody,
        "perl -e 'syscall(101, 16, 1, 0, 0) == 0 and print \"ESCAPED\"'; head -c 1 /proc/1/mem && echo ESCAPED"
    }
    #[test]
    fn the_map_of_users_is_not_written() {
        Nobody,
        "(echo '0 0 1' > /proc/self/uid_map) && echo ESCAPED"
    }
    #[test]
    fn the_helper_is_not_replaced() {
        Nobody,
        "h=$(tr '\\0' '\\n' < /proc/1/cmdline | grep -x '.*/musher' | head -1); test -n \"$h\" || echo ESCAPED; (echo x >> $h) && echo ESCAPED; mv $h $h.x && echo ESCAPED; rm -f $h && echo ESCAPED"
    }
    #[test]
    fn the_objects_are_not_written_through_another_name() {
        Anybody,
        "d=$(ls -d $GIT/shared $GIT/objects 2>/dev/null | head -1); touch $d/made; ls $GIT/shared/made 2>/dev/null && echo ESCAPED",
        after "test -e $GIT/objects/made && echo ESCAPED; rm -f $GIT/objects/made"
    }
    #[test]
    fn the_git_folder_is_not_moved_away() {
        Nobody,
        "mv $GIT $GIT.x && echo ESCAPED; mv $REPO $REPO.x; rmdir $GIT/shared && echo ESCAPED",
        after "git -C $REPO log --oneline || echo ESCAPED"
    }
    #[test]
    fn the_pointer_is_not_covered_from_above() {
        Anybody,
        "p=$(dirname $WT); mv $p $p.x; mkdir -p $WT; echo gitdir: /tmp/e > $WT/.git",
        after "[ \"$(cat $WT/.git)\" = \"$POINTER\" ] || echo ESCAPED"
    }
    #[test]
    fn a_name_of_the_machine_is_not_changed() {
        Superuser,
        "n=$(hostname); hostname musher-escape", after "[ $(hostname) = musher-escape ] && echo ESCAPED && hostname -F /etc/hostname"
    }
    #[test]
    fn the_state_directory_is_not_listed() {
        Anybody,
        "ls $STATE | grep -x token && echo ESCAPED; ls $STATE/runs && echo ESCAPED"
    }
    #[test]
    fn temporary_files_are_not_shared() {
        Nobody,
        "echo x > /tmp/musher-escape-$VICTIM", after "test -e /tmp/musher-escape-$VICTIM && echo ESCAPED"
    }
    #[test]
    fn the_home_is_another_one() {
        Nobody,
        "echo 'echo ESCAPED' > $HOME/.bashrc; echo '[alias]x=y' > $HOME/.gitconfig",
        after "grep -q x=y $HOME/.gitconfig && echo ESCAPED; test -e $HOME/.bashrc && echo ESCAPED"
    }
    #[test]
    fn privileges_are_not_gained_by_a_program() {
        Nobody,
        "grep -q 'NoNewPrivs:.1' /proc/self/status || echo ESCAPED; grep Cap /proc/self/status | grep -v '0000000000000000$' && echo ESCAPED"
    }
    #[test]
    fn a_trace_of_the_kernel_is_not_read() {
        Superuser,
        "dmesg | head -1 | grep . && echo ESCAPED; cat /proc/kcore | head -c 1 | grep -c . | grep 1 && echo ESCAPED"
    }
    #[test]
    fn a_timer_of_the_machine_is_not_set() {
        Nobody,
        "date -s 2001-01-01 && echo ESCAPED"
    }
    #[test]
    fn no_priority_above_others_is_taken() {
        Superuser,
        "renice -n -5 $$ && echo ESCAPED"
    }
}

#[test]
fn only_so_many_processes_live_at_once_as_were_allowed() {
    if rustix::process::geteuid().is_root() {
        // The kernel does not count the processes of the superuser.
        return;
    }
    let lab = Lab::new();
    let mut sandbox = lab.sandbox.clone();
    sandbox.limits.processes = Some(40);
    let bomb = "for n in $(seq 100); do sleep 5 & done 2>/dev/null; ls -d /proc/[0-9]* | wc -l";
    let told = lab.inside_of(&sandbox, &format!("{bomb}; true"));
    let count = told.lines().find_map(|line| line.trim().parse::<u32>().ok());
    assert!(count.is_none_or(|count| count <= 42), "{told}");
    let told = lab.inside_of(&lab.sandbox, &format!("{bomb}; true"));
    assert!(told.lines().any(|line| line.trim().parse::<u32>().is_ok_and(|n| n > 90)), "{told}");
}

#[test]
fn a_link_in_the_way_of_a_mount_is_refused() {
    let lab = Lab::new();
    let mut sandbox = lab.sandbox.clone();
    sandbox.mounts.push(musher_sandbox::Mount::read("/usr/bin").at(lab.path("home/tools/bin")));
    assert!(lab.inside_of(&sandbox, "ls $HOME/tools/bin/env").contains("/env"));
    lab.inside("rm -rf $HOME/tools && ln -s /oldroot/tmp $HOME/tools");
    let args = ["-c".into(), "true".into()];
    let more = musher_sandbox::CommandMounts::default();
    let refused = sandbox.command("/bin/sh".as_ref(), &args, &lab.worktree(), &more);
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("a link is in the way of a mount"), "{told}");
}
