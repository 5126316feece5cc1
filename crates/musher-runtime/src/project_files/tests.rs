//! What is noticed of the files that a program would execute, in folders with everything that can stand in their place.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

const FILES: &[ProjectFile] = &[
    ProjectFile::executes(".tool/settings.json"),
    ProjectFile::executes(".tool/hooks/**"),
    ProjectFile::executes(".servers.json"),
    ProjectFile::executes("**/.tool/skills/**"),
    ProjectFile::obeys("**/RULES.md"),
    ProjectFile::obeys(".tool/hooks/notes.md"),
];

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn look(folder: &Path) -> Snapshot {
    Snapshot::of_folder(folder, FILES).unwrap()
}

fn paths(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.files().map(|(path, _)| path).collect()
}

#[test]
fn what_is_executed_is_seen_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(look(at).is_empty());
    for path in [
        ".tool/settings.json",
        ".tool/hooks/a/b.sh",
        ".servers.json",
        ".tool/other",
        "RULES.md",
        "src/x",
    ] {
        write(at, path, path);
    }
    let seen = look(at);
    assert_eq!(paths(&seen), [".servers.json", ".tool/hooks/a/b.sh", ".tool/settings.json"]);
    assert!(seen.odd().next().is_none());
    let text = seen.files().next().unwrap().1.text.as_deref();
    assert_eq!(text, Some(".servers.json"));
}

#[test]
fn every_change_is_noticed_and_an_unchanged_folder_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, ".tool/settings.json", "{}");
    let before = look(at);
    assert!(before.is_same(&look(at)) && before.without_texts().is_same(&look(at)));
    write(at, ".tool/settings.json", "{ }");
    write(at, ".tool/hooks/new", "x");
    let now = look(at);
    let verbs = |changed: &[Changed]| -> Vec<(String, &str)> {
        changed.iter().map(|file| (file.path.clone(), file.verb())).collect()
    };
    let wanted =
        [(".tool/hooks/new".to_owned(), "added"), (".tool/settings.json".to_owned(), "changed")];
    assert_eq!(verbs(&before.changed(&now)), wanted);
    let edit = before.changed(&now)[1].edit().unwrap();
    assert_eq!((edit.old.as_deref(), edit.new.as_str()), (Some("{}"), "{ }"));
    fs::remove_file(at.join(".tool/settings.json")).unwrap();
    assert_eq!(now.changed(&look(at))[0].verb(), "removed");
}

#[test]
fn a_link_a_pipe_a_folder_and_a_huge_file_are_seen_for_what_they_are_and_never_agreed_to() {
    type Plant = fn(&Path);
    let plants: [(&str, &str, Plant); 7] = [
        (".tool", "a link to elsewhere", |at| symlink("elsewhere", at.join(".tool")).unwrap()),
        (".servers.json", "a link to /etc/passwd", |at| {
            symlink("/etc/passwd", at.join(".servers.json")).unwrap();
        }),
        (".servers.json", "a pipe", |at| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mkfifoat(rustix::fs::CWD, at.join(".servers.json"), mode).unwrap();
        }),
        (".servers.json", "more than", |at| {
            fs::File::create(at.join(".servers.json"))
                .unwrap()
                .set_len(MAX_PROJECT_FILE_SIZE_BYTES + 1)
                .unwrap();
        }),
        (".tool/hooks", "a link to /bin", |at| {
            fs::create_dir(at.join(".tool")).unwrap();
            symlink("/bin", at.join(".tool/hooks")).unwrap();
        }),
        (".tool/hooks/\u{fffd}", "no text", |at| {
            fs::create_dir_all(at.join(".tool/hooks")).unwrap();
            fs::write(at.join(".tool/hooks").join(std::ffi::OsStr::from_bytes(b"\xff")), "x")
                .unwrap();
        }),
        (".tool/hooks", "too much in it", |at| {
            fs::create_dir_all(at.join(".tool/hooks")).unwrap();
            (0..2_001).for_each(|n| fs::write(at.join(format!(".tool/hooks/{n}")), "").unwrap());
        }),
    ];
    for (path, what, plant) in plants {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path());
        let seen = look(folder.path());
        let odd: Vec<_> = seen.odd().collect();
        assert!(
            odd.iter().any(|(at, is)| *at == path && is.contains(what)),
            "{path} {what}: {odd:?}"
        );
        let trust = ProjectTrust { trusted: vec![seen.clone()], ..ProjectTrust::default() };
        assert!(!trust.trusts(&seen), "{path} {what}");
    }
}

#[test]
fn a_commit_and_a_folder_with_the_same_files_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut commit = Snapshot::default();
    for path in
        [".tool/settings.json", ".tool/hooks/x", "README.md", ".tools/settings.json", "RULES.md"]
    {
        write(folder.path(), path, "text");
        commit.add(FILES, path, FoundFile::Bytes(b"text".to_vec()));
    }
    assert!(commit.is_same(&look(folder.path())), "{commit:?}");
    let mut linked = Snapshot::default();
    linked.add(FILES, ".tool", FoundFile::Odd("a link".into()));
    linked.add(FILES, ".tooling", FoundFile::Odd("a link".into()));
    assert_eq!(paths(&linked), [".tool"]);
}

#[test]
fn execution_goes_before_obedience_and_both_are_known_in_any_folder() {
    for (path, effect) in [
        (".tool/settings.json", Some(FileEffect::Executes)),
        ("a/b/.tool/settings.json", Some(FileEffect::Executes)),
        (".tool/hooks/notes.md", Some(FileEffect::Executes)),
        ("RULES.md", Some(FileEffect::Obeys)),
        ("docs/RULES.md", Some(FileEffect::Obeys)),
        ("src/main.rs", None),
    ] {
        assert_eq!(effect_of(FILES, path), effect, "{path}");
    }
    assert_eq!(executed_roots(FILES), [".servers.json", ".tool"]);
}

#[test]
fn what_is_executed_in_any_folder_is_seen_in_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for path in [
        ".tool/skills/a",
        "x/y/.tool/skills/b/c",
        "x/.tool/settings.json",
        "x/.tool/other",
        "skills/d",
        "x/.git/.tool/skills/e",
    ] {
        write(at, path, path);
    }
    symlink("elsewhere", at.join("y.tool")).unwrap();
    fs::create_dir(at.join("z")).unwrap();
    symlink("elsewhere", at.join("z/.tool")).unwrap();
    let seen = look(at);
    assert_eq!(
        paths(&seen),
        [".tool/skills/a", "x/.git/.tool/skills/e", "x/y/.tool/skills/b/c", "z/.tool"]
    );
    assert_eq!(seen.odd().collect::<Vec<_>>(), [("z/.tool", "a link to elsewhere")]);
    assert_eq!(seen, seen.only(FILES));
    assert_eq!(executed_roots(FILES), [".servers.json", ".tool"]);
}

#[test]
fn a_link_to_a_folder_outside_is_never_agreed_to_and_one_inside_is_nothing_new() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = folder.path();
    write(outside.path(), "file", "");
    write(at, "x/y/file", "");
    symlink("y", at.join("x/inside")).unwrap();
    symlink("..", at.join("x/above")).unwrap();
    symlink(outside.path().join("file"), at.join("x/file")).unwrap();
    symlink("nowhere", at.join("x/nowhere")).unwrap();
    assert!(look(at).is_empty(), "{:?}", look(at));
    symlink(outside.path(), at.join("x/outside")).unwrap();
    let seen = look(at);
    let odd: Vec<_> = seen.odd().collect();
    assert!(matches!(odd[..], [("x/outside", what)] if what.contains("folder outside")), "{odd:?}");
}

#[test]
fn a_folder_that_the_repository_ignores_by_its_name_is_not_looked_through() {
    let skill = "a/stuff/b/.tool/skills/c";
    for (ignores, seen) in [
        ("stuff\n", false),
        ("stuff/\n# no\n\n", false),
        ("", true),
        ("st*\n", false),
        ("/stuff\n", true),
        ("/a\n", false),
        ("[s]tuff\n", true),
        ("b/stuff\n", true),
        ("stuff\n!stuff\n", true),
        ("stuff\n!s*\n", true),
        ("stuff\n!a/**\n", true),
        ("stuff\n!other\n", false),
        ("s*\n!other\n", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        write(at, skill, "");
        write(at, ".gitignore", ignores);
        assert_eq!(paths(&look(at)), [skill], "without a repository nothing is ignored");
        write(at, ".git", "gitdir: x");
        assert_eq!(!look(at).is_empty(), seen, "{ignores:?}");
        // A folder between says otherwise, unless it is ignored itself.
        write(at, "a/.gitignore", "!stuff/\n");
        assert_eq!(look(at).is_empty(), ignores == "/a\n", "{ignores:?}");
    }
}
