//! `musher init`: the first project file.

use std::fs;
use std::os::unix::fs::symlink;

use crate::musher::{Place, Ran};

#[test]
fn the_first_project_file_is_right_trusted_and_says_what_comes_next() {
    let place = Place::repository();
    let ran = place.run(&["init"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in ["is written and trusted", "musher serve", "musher story add"] {
        assert!(ran.out.contains(words), "{ran:?}");
    }
    let text = fs::read_to_string(place.project_file()).unwrap();
    assert!(text.contains("base_branch = \"main\""), "{text}");
    let trust = place.run(&["trust", "--show", "--json"]);
    assert_eq!(trust.lines()[0]["was"], "trusted", "{trust:?}");
    assert_eq!(place.git(&["status", "--short"]), "?? .musher/\n", "nothing else is left");
}

#[test]
fn a_program_that_can_play_an_agent_is_found_with_its_version_and_not_run() {
    let place = Place::repository();
    let (bin, package) = (place.home.path().join("bin"), place.home.path().join("package"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("package.json"), r#"{"version":"7.8.9"}"#).unwrap();
    let program = place.program("touch $HOME/was-run");
    fs::rename(program, package.join("cli.js")).unwrap();
    symlink(package.join("cli.js"), bin.join("claude")).unwrap();
    let output = place
        .musher(&["init", "--json"])
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .output();
    let ran = Ran::from(output.unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = &ran.lines()[0];
    assert_eq!(document["found"][0]["runtime"], "claude-code");
    assert_eq!(document["found"][0]["version"], "7.8.9");
    assert!(!place.home.path().join("was-run").exists());
    let text = fs::read_to_string(place.project_file()).unwrap();
    assert!(text.contains("runtime = \"claude-code\" # found here in version 7.8.9"), "{text}");
}

#[test]
fn agents_are_confined_from_the_first_project_file_on_where_the_machine_can_do_it() {
    let place = Place::repository();
    let bin = place.home.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::rename(place.program("exit 1"), bin.join("claude")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let ran = Ran::from(place.musher(&["init"]).env("PATH", &path).output().unwrap());
    let text = fs::read_to_string(place.project_file()).unwrap();
    assert!(text.contains("\nprofile = \"workspace\"\n"), "{text}");
    let next = "Next:\n  musher login coder\n  musher serve";
    assert!(ran.out.contains("Agents are confined") && ran.out.contains(next), "{ran:?}");
    let doctor = Ran::from(place.musher(&["doctor"]).env("PATH", &path).output().unwrap());
    assert!(doctor.out.contains("agent coder has no login in its sandbox"), "{doctor:?}");
    let key = ("ANTHROPIC_API_KEY", "sk-of-a-test");
    let doctor =
        Ran::from(place.musher(&["doctor"]).env("PATH", &path).env(key.0, key.1).output().unwrap());
    assert!(!doctor.out.contains("has no login"), "{doctor:?}");
}

#[test]
fn a_project_file_that_is_there_is_left_as_it_is() {
    let place = Place::repository();
    fs::create_dir(place.work.path().join(".musher")).unwrap();
    fs::write(place.project_file(), "mine").unwrap();
    let ran = place.run(&["init"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("already there") && ran.err.contains("fix:"), "{ran:?}");
    assert_eq!(fs::read_to_string(place.project_file()).unwrap(), "mine");
}

#[test]
fn a_link_in_the_place_of_the_folder_leads_nowhere() {
    let place = Place::repository();
    let elsewhere = place.home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, place.work.path().join(".musher")).unwrap();
    let ran = place.run(&["init"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_model_whose_key_is_set_is_offered_by_the_name_of_the_variable_and_never_by_its_value() {
    let place = Place::repository();
    let (first, second) = ("sk-secret-4711-of-a-test", "secret-4712-of-a-test");
    let output = place
        .musher(&["init", "--json"])
        .env("OPENAI_API_KEY", first)
        .env("GOOGLE_API_KEY", second)
        .env("ANTHROPIC_API_KEY", "")
        .env("PATH", "/usr/bin:/bin")
        .output();
    let ran = Ran::from(output.unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = ran.lines()[0]["found"].clone();
    let keys: Vec<_> =
        found.as_array().unwrap().iter().map(|f| (&f["runtime"], &f["key"])).collect();
    let named = |runtime: &str, key: &str| (runtime.into(), key.into());
    let wanted: [(serde_json::Value, serde_json::Value); 2] =
        [named("openai", "OPENAI_API_KEY"), named("gemini", "GOOGLE_API_KEY")];
    assert_eq!(keys, wanted.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>(), "{found:#}");
    let text = fs::read_to_string(place.project_file()).unwrap();
    assert!(text.contains("runtime = \"openai\""), "{text}");
    for secret in [first, second] {
        assert!(!text.contains(secret) && !ran.out.contains(secret) && !ran.err.contains(secret));
    }
    // What was written can be served as it is.
    assert_eq!(place.run(&["trust", "--show", "--json"]).lines()[0]["was"], "trusted");
}
