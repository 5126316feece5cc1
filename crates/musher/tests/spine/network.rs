//! The network of a strict sandbox: which hosts are reached, who is asked about a new one and for how long the answer holds, what is
//! told of it, and the way through a company's proxy.

mod company;

use std::net::SocketAddr;

use musher_core::{ClosedBy, EventKind, HostDecider, HostTraffic};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::rig::{Project, Server};
use crate::sandbox::{of_line_with, printed};

/// A server on an address of the machine that no program takes for its own, which says its name to everybody.
pub(crate) async fn neighbour() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.2:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).await.is_ok() {
                    head.push(byte[0]);
                }
                let answer =
                    b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nNEIGHBOUR";
                let _left = stream.write_all(answer).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn in_a_strict_sandbox_only_allowed_hosts_are_reached_and_only_through_the_proxy() {
    let (allowed, other) = (neighbour().await, neighbour().await);
    let line = format!(
        "curl -sS http://{allowed}/ && echo ' PLAIN'\ncurl -sS -p http://{allowed}/ && echo ' TUNNEL'\n\
         curl -sS --socks5-hostname 127.0.0.1:1080 --noproxy '' http://{allowed}/ && echo ' SOCKS'\n\
         curl -sS -o refusal -w 'STATUS %{{http_code}}\\n' http://{other}/; cat refusal\n\
         curl -sS -p http://{other}/ || echo NOTUNNEL\n\
         curl -sS --socks5-hostname 127.0.0.1:1080 http://{other}/ || echo NOSOCKS\n\
         curl -sS --noproxy '*' --max-time 5 http://{allowed}/ || echo NODIRECT\n\
         getent hosts example.com || echo NODNS\n\
         for h in 2130706433 127.1 0x7f000001 localhost 'user@{allowed}'; do curl -s -o /dev/null -w 'ODD %{{http_code}}\\n' -x http://127.0.0.1:3128 --noproxy '' http://$h:{}/; done",
        allowed.port()
    );
    let sandbox = format!("profile = 'strict'\nhosts = ['{allowed}']\n");
    let project = of_line_with(&line, &sandbox);
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    server.until_over(&run).await;
    let told = printed(&project, &run);
    for word in [
        "NEIGHBOUR PLAIN",
        "NEIGHBOUR TUNNEL",
        "NEIGHBOUR SOCKS",
        "STATUS 403",
        "is not among the hosts",
        "NOTUNNEL",
        "NOSOCKS",
        "NODIRECT",
        "NODNS",
    ] {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    assert!(!told.contains("ODD 200"), "{told}");
}

/// A project with two agents that speak to a new host twice. The name stands for no address, so that an allowed connection fails in another
/// way than a refused one.
fn curious() -> Project {
    let line = "curl -s -o /dev/null -w 'FIRST %{http_connect}\\n' https://new.invalid/; curl -s -o /dev/null -w 'SECOND %{http_connect}\\n' https://new.invalid/";
    let project = of_line_with(line, "profile = 'strict'\n");
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let other = "[[agent]]\nname = 'other'\nruntime = 'script'\ncommand = './work.toml'\n[sandbox]";
    std::fs::write(&file, text.replace("[sandbox]", other)).unwrap();
    project
}

async fn start(server: &Server, agent: &str) -> String {
    let story = server.post("/stories", &json!({ "title": "Work" })).await;
    let path = format!("/stories/{}/start", story["story"].as_str().unwrap());
    let run = server.post(&path, &json!({ "agent": agent })).await;
    run["run"].as_str().unwrap().to_owned()
}

/// Answers the next ask of a run, which is about the host.
async fn answer(server: &Server, run: &str, answer: Json) {
    let ask = server.until_ask(run).await;
    let shown = server.get("/asks").await.to_string();
    assert!(shown.contains("https://new.invalid/"), "{shown}");
    server.post(&format!("/runs/{run}/asks/{ask}/answer"), &json!({ "answer": answer })).await;
}

fn always(holds_for: &str) -> Json {
    let rule = "fetch(https://new.invalid/*)";
    json!({ "decision": "allow_always", "rule": rule, "for": holds_for })
}

/// How many asks of a run waited for a person.
fn waited(project: &Project, run: &str) -> usize {
    let waits = |kind: &EventKind| matches!(kind, EventKind::AskOpened { settled: false, .. });
    project.events(run).iter().filter(|event| waits(&event.kind)).count()
}

/// What the log says of a host at last.
fn traffic(project: &Project, run: &str, host: &str) -> HostTraffic {
    let told = project.events(run).into_iter().filter_map(|event| match event.kind {
        EventKind::Network(report) => Some(report.hosts),
        _ => None,
    });
    told.flatten().rfind(|known| known.host == host).unwrap()
}

/// Starts a run of an agent that is not to ask, and sees that it reaches the host.
async fn reaches_unasked(project: &Project, server: &Server, agent: &str) {
    let run = start(server, agent).await;
    server.until_over(&run).await;
    assert_eq!(waited(project, &run), 0, "{agent} asked");
    let told = printed(project, &run);
    assert!(told.contains("FIRST 502") && told.contains("SECOND 502"), "{told}");
}

/// Starts a run of an agent that is to ask, and refuses it.
async fn asks_first(project: &Project, server: &Server, agent: &str) {
    let run = start(server, agent).await;
    answer(server, &run, json!({ "decision": "deny", "reason": "no" })).await;
    server.until_over(&run).await;
    let told = printed(project, &run);
    assert!(told.contains("FIRST 403") && told.contains("SECOND 403"), "{told}");
}

#[tokio::test]
async fn a_new_host_is_asked_about_once_and_the_answer_holds_for_the_run() {
    let project = curious();
    let server = project.serve().await;
    let run = start(&server, "coder").await;
    answer(&server, &run, always("run")).await;
    server.until_over(&run).await;
    let told = printed(&project, &run);
    assert!(told.contains("FIRST 502") && told.contains("SECOND 502"), "{told}");
    assert_eq!(waited(&project, &run), 1);
    assert_eq!(server.get("/local").await["grants"], json!([]), "nothing is saved");
    asks_first(&project, &server, "coder").await;
}

#[tokio::test]
async fn a_host_that_is_allowed_once_is_asked_about_again() {
    let project = curious();
    let server = project.serve().await;
    let run = start(&server, "coder").await;
    let first = server.until_ask(&run).await;
    answer(&server, &run, json!({ "decision": "allow" })).await;
    while server.until_ask(&run).await == first {}
    answer(&server, &run, json!({ "decision": "deny", "reason": "enough" })).await;
    server.until_over(&run).await;
    let told = printed(&project, &run);
    assert!(told.contains("FIRST 502") && told.contains("SECOND 403"), "{told}");
    assert_eq!(waited(&project, &run), 2);
    let host = traffic(&project, &run, "new.invalid:443");
    assert_eq!((host.figures.failed, host.figures.refused), (1, 1));
    assert_eq!(host.by, Some(HostDecider::Person));
}

#[tokio::test]
async fn a_host_that_an_agent_is_granted_is_known_to_its_later_runs_and_to_no_other_agents() {
    let project = curious();
    let server = project.serve().await;
    let run = start(&server, "coder").await;
    answer(&server, &run, always("agent")).await;
    server.until_over(&run).await;
    reaches_unasked(&project, &server, "coder").await;
    asks_first(&project, &server, "other").await;
}

#[tokio::test]
async fn a_host_that_the_project_is_granted_is_known_to_every_agent_until_it_is_taken_back() {
    let project = curious();
    let server = project.serve().await;
    let run = start(&server, "coder").await;
    server.until_ask(&run).await;
    let shown = project.cli(&["asks", &run]).await;
    assert!(shown.contains("--for run|agent|project"), "{shown}");
    let said = project.cli(&["approve", &run, "--always", "--for", "project"]).await;
    assert!(said.contains("every agent may fetch(https://new.invalid/*) from now on"), "{said}");
    server.until_over(&run).await;
    let kept = std::fs::read_to_string(project.state().join("local.toml")).unwrap();
    assert!(kept.contains("agent = \"*\""), "{kept}");
    reaches_unasked(&project, &server, "other").await;
    let rule = "fetch(https://new.invalid/*)";
    let said = project.cli(&["grants", "revoke", "*", rule]).await;
    assert!(said.contains("every agent asks again"), "{said}");
    asks_first(&project, &server, "other").await;
}

#[tokio::test]
async fn connections_to_a_host_that_is_being_asked_about_are_held_together() {
    let line = "for n in 1 2 3; do curl -s -o /dev/null -w 'GOT %{http_connect}\\n' https://new.invalid/ & done; wait";
    let project = of_line_with(line, "profile = 'strict'\n");
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    server.until_ask(&run).await;
    answer(&server, &run, always("run")).await;
    server.until_over(&run).await;
    let told = printed(&project, &run);
    assert_eq!(told.matches("GOT 502").count(), 3, "{told}");
    assert_eq!(waited(&project, &run), 1);
}

#[tokio::test]
async fn what_passed_between_an_agent_and_its_hosts_is_told_by_the_log_the_api_and_the_terminal() {
    let (allowed, other) = (neighbour().await, neighbour().await);
    let line = format!(
        "for n in 1 2 3 4 5 6 7 8 9 10; do curl -s http://{allowed}/; done; curl -s http://{other}/"
    );
    let project = of_line_with(&line, &format!("profile = 'strict'\nhosts = ['{allowed}']\n"));
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    server.until_over(&run).await;
    let host = traffic(&project, &run, &allowed.to_string());
    assert_eq!((host.figures.connections, host.figures.refused), (10, 0), "{host:?}");
    assert!(host.figures.sent > 500 && host.figures.received >= 90, "{host:?}");
    assert_eq!((host.by, host.rule), (Some(HostDecider::Hosts), Some(allowed.to_string())));
    let host = traffic(&project, &run, &other.to_string());
    assert_eq!((host.figures.connections, host.figures.refused), (0, 1), "{host:?}");
    let events = project.events(&run);
    let told = events.iter().filter(|event| matches!(event.kind, EventKind::Network(_))).count();
    assert!((1..=4).contains(&told), "{told} events for eleven connections");
    assert!(matches!(events.last().unwrap().kind, EventKind::SessionEnded(_)));

    let network = server.get(&format!("/runs/{run}/network")).await;
    assert_eq!((&network["profile"], &network["proxied"]), (&json!("strict"), &json!(true)));
    assert_eq!(network["hosts"][0]["connections"], 10, "{network:#}");
    let shown = project.cli(&["show", &run]).await;
    assert!(shown.contains("CONNECTIONS") && shown.contains(&allowed.to_string()), "{shown}");
    let json: Json = serde_json::from_str(&project.cli(&["show", &run, "--json"]).await).unwrap();
    assert_eq!(json["network"]["hosts"][1]["refused"], 1, "{json:#}");
}

#[tokio::test]
async fn a_new_host_that_nobody_answers_for_is_refused_when_the_deadline_of_asks_passes() {
    let line = "curl -s -o /dev/null -w 'FIRST %{http_connect}\\n' https://new.invalid/";
    let project = of_line_with(line, "profile = 'strict'\n");
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[sandbox]", "ask_deadline = '1s'\n[sandbox]")).unwrap();
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    server.until_over(&run).await;
    assert!(printed(&project, &run).contains("FIRST 403"), "{}", printed(&project, &run));
    let host = traffic(&project, &run, "new.invalid:443");
    assert_eq!(host.by, Some(HostDecider::Deadline));
    let closed = project.events(&run).into_iter().find_map(|event| match event.kind {
        EventKind::AskClosed { by, .. } => Some(by),
        _ => None,
    });
    assert_eq!(closed, Some(ClosedBy::Deadline));
}

#[tokio::test]
async fn a_new_host_that_nobody_may_be_asked_about_is_refused() {
    let line = "curl -s -o /dev/null -w 'FIRST %{http_connect}\\n' https://new.invalid/";
    let project = of_line_with(line, "profile = 'strict'\n");
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let unattended = "rules = { deny = ['fetch'] }\n[sandbox]";
    std::fs::write(&file, text.replace("[sandbox]", unattended)).unwrap();
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    server.until_over(&run).await;
    assert!(printed(&project, &run).contains("FIRST 403"), "{}", printed(&project, &run));
}
