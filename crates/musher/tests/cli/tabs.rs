//! What keeps the pages of a project alive: its port over restarts, and links that sign a browser in.

use std::net::TcpListener;
use std::process::Stdio;

use crate::server::{Served, until};

const IDLE: &str = "[[step]]\nsay = 'Hi.'";

fn port(served: &Served) -> u16 {
    let link = served.json(&["open"])["url"].as_str().unwrap().to_owned();
    let address = link.strip_prefix("http://127.0.0.1:").unwrap();
    address.split('/').next().unwrap().parse().unwrap()
}

#[test]
fn the_port_of_a_project_is_remembered_over_restarts() {
    let mut served = Served::playing(IDLE);
    let first = port(&served);
    for _ in 0..2 {
        served.kill_server();
        served.serve();
        assert_eq!(port(&served), first);
    }
}

#[test]
fn a_port_that_another_program_has_taken_is_said_and_another_one_is_remembered() {
    let mut served = Served::playing(IDLE);
    let first = port(&served);
    served.kill_server();
    let other = TcpListener::bind(("127.0.0.1", first)).unwrap();
    let mut child = served
        .place
        .musher(&["serve"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    until("the server says so", || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut errors, &mut line).unwrap();
        said += &line;
        said.contains("Ctrl-C")
    });
    let words = format!("Another program has taken port {first} of this project");
    assert!(said.replace('\n', " ").contains(&words), "{said}");
    let second = port(&served);
    assert_ne!(second, first);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(other);
    served.serve();
    assert_eq!(port(&served), second, "pages were opened there since");
}

#[test]
fn open_starts_the_browser_with_a_link_that_signs_one_browser_in_once() {
    let served = Served::playing(IDLE);
    let seen = served.place.home.path().join("seen");
    let browser = served.place.program(&format!("printf %s \"$1\" > {}", seen.display()));
    let opened = served.place.musher(&["open"]).env("BROWSER", &browser).output().unwrap();
    assert!(opened.status.success(), "{opened:?}");
    assert_eq!(opened.stdout, b"", "the link is for the browser");
    until("the browser", || seen.exists());
    until("the link", || std::fs::read_to_string(&seen).unwrap().contains('#'));
    let link = std::fs::read_to_string(&seen).unwrap();
    let (url, code) = link.split_once("/#").unwrap();
    let redeem = || {
        let body = serde_json::json!({ "code": code }).to_string();
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "-H", "content-type: application/json", "-d", &body]);
        let reply = curl.arg(format!("{url}/api/v1/token")).output().unwrap();
        String::from_utf8(reply.stdout).unwrap()
    };
    assert!(redeem().contains("\"token\""));
    let again = redeem();
    assert!(again.contains("wrong_code") && again.contains("musher open"), "{again}");
    let printed = served.does(&["open", "--print"]).out;
    assert!(printed.starts_with(url) && !printed.contains(code), "each link is another one");
    // Without a browser the link is printed.
    let none = served.place.musher(&["open"]).env("BROWSER", "/no/such/browser").output().unwrap();
    assert!(String::from_utf8(none.stdout).unwrap().starts_with(url));
}
