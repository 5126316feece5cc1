//! A strict sandbox behind the proxy of a company, and what of a company reaches a sandbox.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::{neighbour, traffic};
use crate::rig::Project;
use crate::sandbox::{of_line_with, printed};

/// What the proxy of a company does.
#[derive(Debug, Clone, Copy)]
enum Company {
    Connects,
    /// Wants a user and a password, as they are sent.
    Wants(&'static str),
    Refuses,
    Hangs,
}

/// `me:pa55word`, as it is sent.
const LOGIN: &str = "bWU6cGE1NXdvcmQ=";

/// The proxy of a company. Every name leads to one server.
async fn company(does: Company) -> SocketAddr {
    let site = neighbour().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(stream, does, site));
        }
    });
    address
}

async fn serve(mut client: TcpStream, does: Company, site: SocketAddr) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && client.read_exact(&mut byte).await.is_ok() {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let refusal = match does {
        Company::Connects => None,
        Company::Wants(login) => {
            let told = head.contains(&format!("Basic {login}"));
            (!told).then_some("407 Proxy Authentication Required")
        }
        Company::Refuses => Some("403 Forbidden"),
        Company::Hangs => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            None
        }
    };
    if let Some(refusal) = refusal {
        let answer = format!("HTTP/1.1 {refusal}\r\ncontent-length: 0\r\n\r\n");
        let _left = client.write_all(answer.as_bytes()).await;
        return;
    }
    let mut far = TcpStream::connect(site).await.unwrap();
    if head.starts_with("CONNECT far.invalid:443 ") {
        let _left = client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
    } else if head.starts_with("GET http://plain.invalid/page HTTP/1.1") {
        let _left = far.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    } else {
        return;
    }
    let _left = copy_bidirectional(&mut client, &mut far).await;
}

const HOSTS: &str = "profile = 'strict'\nhosts = ['far.invalid', 'plain.invalid:80', 'near.invalid', 'localhost:80']\n";

/// What a run prints that speaks to hosts behind a company's proxy.
async fn behind(proxy: &str, line: &str) -> (Project, String, String) {
    let mut project = of_line_with(line, HOSTS);
    project.vars.push(("HTTPS_PROXY".into(), proxy.into()));
    project.vars.push(("http_proxy".into(), proxy.into()));
    project.vars.push(("NO_PROXY".into(), "near.invalid".into()));
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    server.until_over(&run).await;
    let told = printed(&project, &run);
    (project, run, told)
}

#[tokio::test]
async fn a_strict_sandbox_goes_through_the_proxy_of_the_company_and_around_it_where_it_is_told() {
    let proxy = company(Company::Connects).await;
    let line = "curl -sS -p http://far.invalid:443/ && echo ' TUNNEL'\n\
        curl -sS http://plain.invalid/page && echo ' PLAIN'\n\
        curl -sS --socks5-hostname 127.0.0.1:1080 --noproxy '' http://far.invalid:443/ && echo ' SOCKS'\n\
        curl -s -o /dev/null -w 'NEAR %{http_connect}\\n' https://near.invalid/\n\
        curl -s -o /dev/null -w 'INWARD %{http_code}\\n' --noproxy '' -x http://127.0.0.1:3128 http://localhost/";
    let (project, run, told) = behind(&format!("http://{proxy}"), line).await;
    for word in ["NEIGHBOUR TUNNEL", "NEIGHBOUR PLAIN", "NEIGHBOUR SOCKS", "NEAR 502", "INWARD 403"]
    {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    let far = traffic(&project, &run, "far.invalid:443");
    assert_eq!(far.figures.connections, 2, "{far:?}");
    assert!(far.figures.received > 0, "{far:?}");
}

#[tokio::test]
async fn the_login_of_a_companys_proxy_is_used_outside_and_never_seen_inside_or_in_the_log() {
    let proxy = company(Company::Wants(LOGIN)).await;
    let line = "curl -sS -p http://far.invalid:443/ && echo ' TUNNEL'\n\
        curl -sS http://plain.invalid/page && echo ' PLAIN'\nenv";
    let (project, run, told) = behind(&format!("http://me:pa55word@{proxy}"), line).await;
    assert!(told.contains("NEIGHBOUR TUNNEL") && told.contains("NEIGHBOUR PLAIN"), "{told}");
    assert!(told.contains("HTTPS_PROXY=http://127.0.0.1:3128"), "{told}");
    let folder = project.run_folder(&run);
    for file in walk(&folder).into_iter().chain([project.server_log()]) {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("pa55word"), "{} holds the password", file.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files.extend(walk(&entry.path())),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}

#[tokio::test]
async fn what_a_companys_proxy_refuses_is_told_in_words() {
    let line = "curl -s -o /dev/null -w 'TUNNEL %{http_connect}\\n' -D head https://far.invalid/; cat head; curl -s http://plain.invalid/page";
    for (does, login, says) in [
        (Company::Wants(LOGIN), "", "wants a user and a password"),
        (Company::Wants(LOGIN), "me:wrong-word@", "does not take the user and the password"),
        (Company::Refuses, "", "it refused: 403 Forbidden"),
    ] {
        let proxy = company(does).await;
        let (_, _, told) = behind(&format!("http://{login}{proxy}"), line).await;
        assert!(told.contains("TUNNEL 502") && told.contains(says), "{says}: {told}");
        assert!(!told.contains("wrong-word"), "{told}");
    }
}

#[tokio::test]
async fn a_companys_proxy_that_says_nothing_is_given_up() {
    let proxy = company(Company::Hangs).await;
    let line = "curl -s -o /dev/null -w 'TUNNEL %{http_connect}\\n' -D head https://far.invalid/; cat head";
    let (_, _, told) = behind(&format!("http://{proxy}"), line).await;
    assert!(told.contains("TUNNEL 502") && told.contains("did not answer in"), "{told}");
}

#[tokio::test]
async fn a_proxy_that_strict_cannot_go_through_keeps_a_run_from_starting_and_is_told_in_words() {
    let mut project = of_line_with("true", HOSTS);
    project.vars.push(("ALL_PROXY".into(), "socks5://me:pa55word@127.0.0.1:1".into()));
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "failed", "{over:#}");
    let error = over["error"].to_string();
    assert!(error.contains("ALL_PROXY names a proxy that is spoken to by socks5://"), "{error}");
    assert!(!error.contains("pa55word"), "{error}");
}

#[tokio::test]
async fn the_proxies_and_certificates_of_a_company_reach_a_workspace() {
    let mut project = of_line_with(
        "echo \"PROXY $HTTPS_PROXY $no_proxy\"; cat \"$SSL_CERT_FILE\" \"$NODE_EXTRA_CA_CERTS\"",
        "profile = 'workspace'\n",
    );
    let certificate = project.top().join("company.pem");
    std::fs::write(&certificate, "COMPANY\n").unwrap();
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let env = "env = { NODE_EXTRA_CA_CERTS = { from = 'NODE_EXTRA_CA_CERTS' } }\n[sandbox]";
    std::fs::write(&file, text.replace("[sandbox]", env)).unwrap();
    for name in ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"] {
        project.vars.push((name.into(), certificate.display().to_string()));
    }
    project.vars.push(("HTTPS_PROXY".into(), "http://proxy.example:3128".into()));
    project.vars.push(("no_proxy".into(), "near.example".into()));
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    server.until_over(&run).await;
    let told = printed(&project, &run);
    assert!(told.contains("PROXY http://proxy.example:3128 near.example"), "{told}");
    assert_eq!(told.matches("COMPANY").count(), 2, "{told}");
}
