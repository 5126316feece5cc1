//! Without a server every verb that needs one says so, and says what to do.

use crate::musher::Place;

#[test]
fn six_is_for_a_server_that_does_not_run_and_the_fix_is_to_start_one() {
    let place = Place::repository();
    for args in [
        &["story", "list"][..],
        &["story", "add", "x"],
        &["start", "s1"],
        &["show", "r1"],
        &["logs", "r1"],
        &["logs", "-f", "r1"],
        &["prompt", "r1", "x"],
        &["take-back", "r1"],
        &["take-back", "r1", "abcd"],
        &["steer", "r1", "x"],
        &["interrupt", "r1"],
        &["model", "r1", "x"],
        &["mode", "r1", "x"],
        &["stop", "r1"],
        &["kill", "r1"],
        &["resume", "r1"],
        &["retry", "r1"],
        &["fork", "r1"],
        &["asks"],
        &["approve", "r1"],
        &["deny", "r1"],
        &["answer", "r1", "x"],
        &["diff", "r1"],
        &["merge", "s1"],
        &["usage"],
        &["wait", "--until", "done"],
    ] {
        for more in [&[][..], &["--json"]] {
            let args = [args, more].concat();
            let ran = place.run(&args);
            assert_eq!(ran.code, Some(6), "{args:?}: {ran:?}");
            assert!(
                ran.err.contains("no server runs") && ran.err.contains("musher serve"),
                "{ran:?}"
            );
            assert_eq!(ran.out, "", "{args:?}");
        }
    }
}

#[test]
fn without_a_server_and_without_runs_there_are_no_runs() {
    let place = Place::repository();
    for args in [&["ps"][..], &["ps", "--all"]] {
        let ran = place.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        assert!(
            ran.out.starts_with("No active runs") && ran.out.contains("musher serve"),
            "{ran:?}"
        );
    }
    let ran = place.run(&["ps", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.out, "{\"runs\":[],\"server\":false}\n");
}

#[test]
fn a_server_that_is_named_must_be_reachable_and_have_a_token() {
    let place = Place::repository();
    let ran = place.run(&["ps", "--url", "http://127.0.0.1:1"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("no token") && ran.err.contains("MUSHER_TOKEN"), "{ran:?}");
    let with = |url: &str| {
        let output = place.musher(&["ps"]).env("MUSHER_URL", url).env("MUSHER_TOKEN", "t").output();
        crate::musher::Ran::from(output.unwrap())
    };
    let ran = with("http://127.0.0.1:1");
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.err.contains("http://127.0.0.1:1 cannot be reached"), "{ran:?}");
    let ran = with("https://127.0.0.1:1");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("http://"), "{ran:?}");
}

#[test]
fn two_is_for_what_is_typed_wrong_and_for_a_folder_without_a_repository() {
    let place = Place::new();
    for (args, says) in [
        (&["show", "R1"][..], "`r12`, `STORY` or `STORY/AGENT`"),
        (&["start", "../x"], "story id"),
        (&["wait", "r1"], "--until"),
        (&["stop"], "RUN"),
        (&["story", "edit", "s1"], "--title"),
        (&["ps"], "not in a git repository"),
        (&["init"], "not in a git repository"),
        (&["logs", "r1", "--after", "x"], "--after"),
        (&["ps", "-C", "/no/such"], "/no/such"),
    ] {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.err.contains(says), "{args:?} should say `{says}`: {}", ran.err);
    }
}
