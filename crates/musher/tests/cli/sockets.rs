//! Runs go on without a server, and can be listed and ended without one.

use crate::server::Served;

#[test]
fn runs_are_listed_and_ended_without_a_server() {
    let mut served = Served::playing("[[step]]\nhang = true");
    let (one, two, three) = (served.start("one"), served.start("two"), served.start("three"));
    for run in [&one, &two, &three] {
        crate::server::until("the run", || served.json(&["show", run])["phase"] == "live");
    }
    served.kill_server();
    let listed = served.does(&["ps"]);
    assert!(listed.out.contains("● working  r1   s1     coder"), "{listed:?}");
    assert!(listed.err.contains("No server runs"), "{listed:?}");
    let runs = served.json(&["ps"]);
    assert_eq!(
        (runs["server"].as_bool(), runs["runs"].as_array().unwrap().len()),
        (Some(false), 3)
    );
    served.refuses(&["story", "list"], 6, &["3 runners are alive", "musher serve", "musher ps"]);
    served.refuses(&["stop", "s9"], 2, &["no live run s9"]);
    assert_eq!(served.does(&["stop", "s1/coder"]).out, "s1/coder has ended: stopped\n");
    assert_eq!(served.does(&["kill", &two]).out, "r2 has ended: stopped\n");
    let ended = served.does(&["kill", "--all", "--json"]).lines();
    assert_eq!((ended.len(), ended[0]["run"].as_str()), (1, Some(three.as_str())));
    assert_eq!(served.does(&["kill", "--all"]).out, "No active runs.\n");
    let none = served.does(&["ps"]).out;
    assert!(none.contains("No active runs") && none.contains("musher serve"), "{none}");
}
