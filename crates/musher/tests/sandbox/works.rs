//! What must work inside as it does outside.

use musher_sandbox::{Sandbox, SandboxNetwork};

use crate::lab::{BRANCH, Lab};

#[test]
fn git_works_inside_with_branches_stashes_tags_and_settings() {
    let lab = Lab::new();
    let told = lab.inside(
        "set -e; echo x > new; git add new; git commit -qm one; git commit --amend -qm two; \
         echo y >> new; git stash -q; git stash pop -q; git tag t; git branch wip; git add -A; git commit -qm three; git rebase -q main; \
         git gc -q; git config x.y z; git log --format=%an%ae -1; git status --short; echo WORKS",
    );
    assert!(told.contains("WORKS") && told.contains("Adaada@example.org"), "{told}");
}

#[test]
fn threads_pipes_children_terminals_and_loopback_work_inside() {
    let lab = Lab::new();
    let told = lab.inside(
        "set -e; (sleep 0.01 & wait); script -qc 'tty' /dev/null | grep -q pts; \
         perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die; \
         my $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $l->sockport) or die;'; \
         python3 -c 'import threading, multiprocessing; t = threading.Thread(target=print, args=[\"thread\"]); t.start(); t.join()'; \
         ln -s a b; mkfifo p; chmod 755 .; cp -a /usr/share/misc . 2>/dev/null || true; echo WORKS",
    );
    assert!(told.contains("WORKS"), "{told}");
}

#[test]
fn an_exit_code_and_a_signal_come_out() {
    let lab = Lab::new();
    assert!(lab.inside("exit 7").ends_with("[exit status: 7]"));
    assert!(lab.inside("kill -9 $$").ends_with("[exit status: 137]"));
}

#[test]
fn background_processes_end_with_the_program() {
    let lab = Lab::new();
    lab.inside("setsid sleep 31338 & sleep 0.1");
    let left = lab.outside("pgrep -f 'sleep 3133[8]' && echo LEFT");
    assert!(!left.contains("LEFT"), "{left}");
}

#[test]
fn a_place_that_is_named_can_be_read_or_written_and_no_other() {
    let lab = Lab::new();
    let mut sandbox = lab.sandbox.clone();
    let other = lab.path("home/other-repo");
    sandbox.mounts.push(musher_sandbox::Mount::read(&other));
    let line = "cat $HOME/other-repo/README; echo x > $HOME/other-repo/README && echo WROTE";
    let told = lab.inside_of(&sandbox, line);
    assert!(told.contains("secret") && !told.contains("WROTE"), "{told}");
    sandbox.mounts.push(musher_sandbox::Mount::write(&other));
    assert!(lab.inside_of(&sandbox, line).contains("WROTE"));
}

#[test]
fn without_a_network_nothing_but_the_own_loopback_is_there() {
    let lab = Lab::new();
    let mut sandbox = lab.sandbox.clone();
    sandbox.network = SandboxNetwork::None;
    let told = lab.inside_of(
        &sandbox,
        "ls /sys/class/net 2>/dev/null; cat /proc/net/dev | tail -n +3 | cut -d: -f1",
    );
    let names: Vec<&str> =
        told.lines().map(str::trim).filter(|line| !line.starts_with('[')).collect();
    assert_eq!(names, ["lo"], "{told}");
}

#[test]
fn without_a_network_no_service_of_the_machine_is_reached_by_tcp_or_udp() {
    let lab = Lab::new();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let line = format!(
        "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => {}) and print \"ESCAPED\"; \
         my $u = IO::Socket::INET->new(Proto => \"udp\", PeerAddr => \"127.0.0.1\", PeerPort => {}); $u and $u->send(\"x\")'",
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port()
    );
    let sandbox = Sandbox { network: SandboxNetwork::None, ..lab.sandbox.clone() };
    let told = lab.inside_of(&sandbox, &line);
    assert!(!told.contains("ESCAPED") && udp.recv(&mut [0; 8]).is_err(), "{told}");
    let told = lab.outside(&line);
    assert!(told.contains("ESCAPED") && udp.recv(&mut [0; 8]).is_ok(), "{told}");
}

#[test]
fn what_is_committed_is_on_the_storys_branch_and_on_no_other() {
    let lab = Lab::new();
    let told =
        lab.inside("echo x > new && git add new && git commit -qm 'by the agent' && echo DONE");
    assert!(told.contains("DONE"), "{told}");
    let diff = lab.block_on(lab.slots.snapshot(crate::lab::SLOT)).unwrap();
    assert_eq!(lab.git(&["log", "-1", "--format=%s", BRANCH]), "by the agent");
    assert_eq!(lab.git(&["rev-parse", BRANCH]), diff.to_string());
    assert_eq!(lab.git(&["rev-parse", "main"]), lab.main);
    assert_eq!(lab.git(&["-C", lab.worktree().to_str().unwrap(), "status", "--short"]), "");
}
