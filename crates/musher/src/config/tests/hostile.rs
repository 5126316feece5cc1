//! Files that no person would write: clear errors, never a panic, never a wait.

use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;

fn refused(text: impl AsRef<[u8]>) -> String {
    load_text(text).unwrap_err().to_string()
}

#[test]
fn a_file_that_is_too_long_is_not_read_to_its_end() {
    let text = "# a comment\n".repeat(1_000_000);
    assert!(refused(text).contains("longer than 256 KiB"));
}

#[test]
fn bytes_that_are_not_text_are_placed() {
    assert!(refused(b"a = 1\nb = \"\xff\"").contains("project.toml:2:6: this is not UTF-8"));
    assert!(refused("a = \"\0\"").contains("project.toml:1:"));
    assert!(refused([0; 1000]).contains("project.toml:1:"));
}

#[test]
fn a_flood_of_brackets_dots_and_quotes_is_refused() {
    for piece in [
        "[", "[[", "{", "=", "\"", "'", "a.", "a\n", "a=[", "a={a=", "a=1\n", "[a]\n", "\n\"", "\\",
    ] {
        let text = piece.repeat(50_000 / piece.len());
        assert!(!refused(&text).is_empty(), "{piece}");
        let text = format!("{LEAST}args = {text}");
        assert!(!refused(&text).is_empty(), "{piece}");
    }
    let deep = format!("{LEAST}args = {}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(refused(deep).contains("nested too deeply"));
    assert!(refused(format!("[{}a]", "a.".repeat(100_000))).contains("nested too deeply"));
}

#[test]
fn a_template_that_would_break_the_engine_is_refused() {
    let fill = |start: &str, piece: &str, end: &str| {
        format!("{start}{}{end}", piece.repeat(60_000 / piece.len()))
    };
    for prompt in [
        fill("{{ ", "-", "1 }}"),
        fill("{{ ", "not ", "1 }}"),
        fill("{{ ", "(", ""),
        fill("{{ ", "[", ""),
        fill("{{ ", "{1:", ""),
        fill("{{ branch", ".a", " }}"),
        fill("{{ branch", "[0]", " }}"),
        fill("{{ branch", "|trim", " }}"),
        fill("{{ branch", "()", " }}"),
        fill("{{ 1", "+1", " }}"),
        fill("{{ 1", " if 1 else 1", " }}"),
        fill("{% if 1 %}", "{% elif 1 %}", "{% endif %}"),
        fill("", "{% if 1 %}", ""),
        fill("", "{{", ""),
        fill("", "{%", ""),
        fill("{% if ", "not ", "1 %}{% endif %}"),
        "{{ 'a' * 100000000 }}".into(),
    ] {
        let said = refused(format!("{LEAST}prompt = '''{prompt}'''\n"));
        assert!(said.contains("project.toml:4:"), "{prompt:.40}: {said:.300}");
    }
}

#[test]
fn the_deepest_template_that_is_let_through_is_read() {
    let branches = format!("{}{}", "{% elif 1 %}".repeat(50), "{% endif %}".repeat(20));
    let value = format!("{{{{ {}branch{} }}}}", "(".repeat(48), ")".repeat(48));
    let other = format!("{{{{ {}1 }}}}", "-".repeat(97));
    for value in [value, other] {
        let prompt = format!("{}{value}{branches}", "{% if 1 %}".repeat(20));
        let project = good(format!("{LEAST}prompt = '''{prompt}'''\n"));
        assert!(project.agents[0].render(&CONTEXT).is_ok());
    }
}

#[test]
fn a_template_of_very_many_lines_is_read() {
    let text = format!("{LEAST}prompt = '''{}{{{{ branch }}}}'''\n", "\n".repeat(200_000));
    assert!(good(&text).agents[0].render(&CONTEXT).unwrap().prompt.ends_with("musher/s-1/1"));
    let errors = load_text(text.replace("{{ branch }}", "{{ brunch }}")).unwrap_err();
    assert_eq!(errors.problems[0].place.as_ref().unwrap().line, 200_004);
}

#[test]
fn a_prompt_file_stays_inside_the_repository() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let folder = repo(format!("{LEAST}prompt_file = \"link\"\n"));
    let link = folder.path().join(".musher/link");
    let said = || load(folder.path(), RUNTIMES).map(|_| ()).map_err(|errors| errors.to_string());

    symlink(outside.path().join("secret"), &link).unwrap();
    assert!(said().unwrap_err().contains("a link leads out of the repository"));
    fs::remove_file(&link).unwrap();
    symlink("prompts/review.md", &link).unwrap();
    assert_eq!(said(), Ok(()), "a link inside is as good as a file");
    fs::remove_file(&link).unwrap();
    symlink("link", &link).unwrap();
    assert!(said().unwrap_err().contains("cannot be read"));
    fs::remove_file(&link).unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join(".git/config"), "x").unwrap();
    symlink("../.git/config", &link).unwrap();
    assert!(said().unwrap_err().contains("git's own files"));
}

#[test]
fn a_prompt_file_is_text_of_a_bounded_length() {
    let folder = repo(format!("{LEAST}prompt_file = \"mine\"\n"));
    let path = folder.path().join(".musher/mine");
    for (bytes, part) in [
        (b"one\n\xff".to_vec(), "is not UTF-8 (line 2)"),
        (b"one\n\0".to_vec(), "holds a NUL character (line 2)"),
        (vec![b'a'; (1 << 20) + 1], "longer than 1024 KiB"),
    ] {
        fs::write(&path, bytes).unwrap();
        let said = load(folder.path(), RUNTIMES).unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    }
    fs::write(&path, vec![b'a'; 1 << 20]).unwrap();
    assert!(load(folder.path(), RUNTIMES).is_ok());
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".musher")).unwrap();
    let mode = rustix::fs::Mode::RUSR;
    let path = folder.path().join(PROJECT_FILE);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(load(folder.path(), RUNTIMES).unwrap_err().to_string().contains("it is not a file"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(load(folder.path(), RUNTIMES).unwrap_err().to_string().contains("it is not a file"));
}

/// A good file with a few stretches of it replaced.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..4),
        "[\\[\\]{}=\"'.,#%a-z_\n \\\\]{0,8}".prop_map(String::into_bytes),
        proptest::sample::select(vec![
            "{{", "}}", "{%", "%}", "\"\"\"", "'''", "\u{feff}", "é", "\\u0000"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let change = (0..MOST.len(), 0..40_usize, piece);
    proptest::collection::vec(change, 1..6).prop_map(|changes| {
        let mut bytes = MOST.as_bytes().to_vec();
        for (at, length, piece) in changes {
            let at = at.min(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, piece);
        }
        bytes
    })
}

/// Whatever was read, what is said about it can be shown, and what is good can be used.
fn bear(bytes: &[u8]) {
    thread_local! {
        static REPO: tempfile::TempDir = repo("");
    }
    let loaded = REPO.with(|folder| {
        fs::write(folder.path().join(PROJECT_FILE), bytes).unwrap();
        load(folder.path(), RUNTIMES)
    });
    match loaded {
        Ok(project) => {
            for agent in &project.agents {
                let _ = agent.render(&CONTEXT);
            }
        }
        Err(errors) => {
            assert!(!errors.problems.is_empty());
            assert!(errors.to_string().starts_with(".musher/"), "{errors}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_bytes_are_borne(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        bear(&bytes);
    }

    #[test]
    fn a_good_file_with_anything_in_it_is_borne(bytes in mutated()) {
        bear(&bytes);
    }

    #[test]
    fn any_prompt_is_borne(prompt in "([a-z.|'\"\\\\(){}%#\\-+~\n é]|\\{\\{|\\}\\}|\\{%|%\\}|if |else|endif|raw|story|\\.id){0,40}") {
        let written = toml::Value::String(prompt).to_string();
        bear(format!("{LEAST}prompt = {written}\n").as_bytes());
    }

    #[test]
    fn an_offset_in_any_string_is_found_again(text in "[a-z\"'\\\\\t\n\r é\u{1f}]{0,40}", at in 0..40_usize) {
        let written = toml::Value::String(text.clone()).to_string();
        let at = text.floor_char_boundary(at.min(text.len()));
        let found = source::offset_in_raw(&written, &text, at);
        prop_assert!(written.is_char_boundary(found), "{written} {found}");
        if let Some(c) = text[at..].chars().next().filter(char::is_ascii_lowercase) {
            prop_assert!(written[found..].starts_with(c), "{written} {found}");
        }
    }
}
