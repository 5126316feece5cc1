//! What stories ask for, by commands and by Markdown files.

use std::fs;

use crate::server::{Served, until};

const IDLE: &str = "[[step]]\nrun = 'echo hi > made.txt'";

#[test]
fn a_run_waits_for_the_story_before_its_own_and_says_so() {
    let served = Served::playing(IDLE);
    served.does(&["story", "add", "The API", "--id", "api"]);
    served.does(&["story", "add", "The page", "--id", "page", "--after", "api", "--priority", "4"]);
    let shown = served.does(&["story", "show", "page"]).out;
    assert!(shown.contains("priority 4, after api"), "{shown}");
    served.does(&["start", "page"]);
    let run = served.json(&["show", "r1"]);
    assert_eq!(run["phase"], "queued", "{run:#}");
    let ps = served.does(&["ps"]).out;
    assert!(ps.contains("story api must be done first"), "{ps}");
    let cycle = "stories would wait for each other: api after page after api";
    served.refuses(&["story", "edit", "api", "--after", "page"], 2, &[cycle, "take one of them"]);
    served.refuses(&["story", "edit", "api"], 2, &["nothing is to be changed"]);
    served.refuses(&["story", "edit", "api", "--budget", "much"], 2, &["no amount of dollars"]);
    served.does(&["story", "done", "api"]);
    until("it is over", || served.json(&["show", "r1"])["phase"] == "over");
}

#[test]
fn a_story_has_the_base_and_the_branch_that_it_names() {
    let served = Served::playing(IDLE);
    served.place.git(&["branch", "release/2"]);
    served.place.git(&["branch", "taken", "HEAD"]);
    let add = ["story", "add", "Fix", "--base", "release/2", "--branch", "fix/login"];
    served.does(&add);
    served.does(&["start", "s1"]);
    served.does(&["wait", "r1", "--until", "done", "--timeout", "60s"]);
    assert_eq!(served.json(&["show", "r1"])["branch"], "fix/login");
    served.refuses(&["story", "edit", "s1", "--branch", "other"], 2, &["has a branch already"]);
    let diff = served.does(&["diff", "r1"]).out;
    assert!(diff.contains("+++ b/made.txt"), "{diff}");
    let before = served.place.git(&["rev-parse", "HEAD"]);
    served.does(&["merge", "s1", "--branch", "1"]);
    assert_eq!(served.place.git(&["rev-parse", "HEAD"]), before, "its own base alone moves");
    assert!(served.place.git(&["ls-tree", "--name-only", "release/2"]).contains("made.txt"));
}

#[test]
fn a_branch_of_somebody_else_is_neither_used_nor_moved_nor_deleted() {
    let served = Served::playing(IDLE);
    let empty =
        ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--allow-empty", "-qm", "own"];
    served.place.git(&["switch", "-qc", "mine"]);
    served.place.git(&empty);
    let tip = served.place.git(&["rev-parse", "mine"]);
    served.place.git(&["switch", "-q", "-"]);
    served.does(&["story", "add", "Fix", "--branch", "mine"]);
    served.does(&["start", "s1"]);
    until("it is over", || served.json(&["show", "r1"])["phase"] == "over");
    let why = served.json(&["show", "r1"])["error"].to_string();
    assert!(why.contains("there is a branch mine already"), "{why}");
    served.does(&["story", "edit", "s1", "--branch", "better"]);
    served.does(&["start", "s1"]);
    until("it is over", || served.json(&["show", "r2"])["phase"] == "over");
    assert_eq!(served.json(&["show", "r2"])["branch"], "better");
    assert_eq!(served.place.git(&["rev-parse", "mine"]), tip);
    // Nor does an agent work on the base itself, whether or not somebody has it checked out.
    let base = served.place.git(&["branch", "--show-current"]);
    let base = base.trim();
    let before = served.place.git(&["rev-parse", base]);
    served.place.git(&["switch", "-q", "mine"]);
    served.does(&["story", "add", "Own", "--branch", base]);
    served.does(&["start", "s2"]);
    until("it is over", || served.json(&["show", "r3"])["phase"] == "over");
    assert_eq!(served.json(&["show", "r3"])["outcome"], "failed");
    assert_eq!(served.place.git(&["rev-parse", base]), before);
}

#[test]
fn stories_are_exported_and_imported_again_without_a_change() {
    let served = Served::playing(IDLE);
    let top = served.place.work.path();
    let folder = top.join("stories");
    fs::create_dir(&folder).unwrap();
    let page = "---\nafter: [api]\nlabels: [ui]\nbudget_usd: 2.5\n---\n# The page\n\n- [ ] It is shown (person)\n";
    fs::write(folder.join("page.md"), page).unwrap();
    fs::write(folder.join("api.md"), "# The API\n\nText.\n").unwrap();
    let folder = folder.to_str().unwrap();
    let import = served.does(&["story", "import", folder]).out;
    assert_eq!(import, "added: api, page\n");
    assert_eq!(served.does(&["story", "import", folder]).out, "unchanged: api, page\n");
    let shown = served.json(&["story", "show", "page"]);
    assert_eq!(shown["criteria"][0]["by"], "person", "{shown:#}");
    assert_eq!((&shown["budget_usd"], &shown["after"][0]), (&2.5.into(), &"api".into()));
    let copy = top.join("copy");
    served.does(&["story", "export", "--all", "--to", copy.to_str().unwrap()]);
    let again = served.does(&["story", "import", copy.to_str().unwrap()]).out;
    assert_eq!(again, "unchanged: api, page\n");
    assert!(served.does(&["story", "export", "page"]).out.contains("# The page"));
    fs::write(copy.join("api.md"), "---\nid: api\nafter: [page]\n---\n# The API\n").unwrap();
    fs::write(copy.join("more.md"), "# More\n").unwrap();
    let differs = ["story", "import", copy.to_str().unwrap()];
    served.refuses(&differs, 2, &["say something else already: api", "--update"]);
    let refused = ["story", "import", copy.to_str().unwrap(), "--update"];
    served.refuses(&refused, 2, &["wait for each other"]);
    assert!(!served.does(&["story", "list"]).out.contains("more"), "all of them or none");
    fs::write(copy.join("api.md"), "---\nprio: 3\n---\n# The API\n").unwrap();
    served.refuses(&refused, 2, &["api.md", "prio"]);
}

#[test]
fn many_titles_and_templates_make_stories() {
    let served = Served::playing(IDLE);
    let top = served.place.work.path();
    fs::write(top.join("list.txt"), "Paint the door\n\nMow the lawn\n").unwrap();
    let list = top.join("list.txt");
    let import = served.does(&["story", "import", "--lines", list.to_str().unwrap()]).out;
    assert_eq!(import, "added: paint-the-door, mow-the-lawn\n");
    served.does(&["story", "edit", "paint-the-door", "--text", "Red."]);
    let import = served.does(&["story", "import", "--lines", list.to_str().unwrap()]).out;
    assert_eq!(import, "unchanged: paint-the-door, mow-the-lawn\n");
    assert_eq!(served.json(&["story", "show", "paint-the-door"])["text"], "Red.");
    let templates = top.join(".musher/stories");
    fs::create_dir_all(&templates).unwrap();
    fs::write(templates.join("bug.md"), "---\npriority: 4\nlabels: [bug]\n---\n# Bug\n\nSteps:\n")
        .unwrap();
    served.does(&["story", "add", "It crashes", "--template", "bug", "--id", "crash"]);
    let shown = served.json(&["story", "show", "crash"]);
    assert_eq!((&shown["title"], &shown["priority"]), (&"It crashes".into(), &4.into()));
    assert_eq!((&shown["labels"][0], &shown["text"]), (&"bug".into(), &"Steps:".into()));
    let unknown = ["story", "add", "x", "--template", "none"];
    served.refuses(&unknown, 2, &["there is no template `none`", "there are: bug"]);
}
