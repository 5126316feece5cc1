//! Every reason for which a file is refused, before anything runs.

use std::os::unix::fs::symlink;
use std::path::Path;

use musher_core::{AttachmentForm, ErrorInfo};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::*;
use crate::{Capabilities, Environment, SessionSpec};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more of it";

struct Store {
    files: TempDir,
    work: TempDir,
}

impl Store {
    fn new() -> Self {
        Self { files: TempDir::new().unwrap(), work: TempDir::new().unwrap() }
    }

    fn put(&self, name: &str, media_type: &str, bytes: &[u8]) -> Attachment {
        let file = self.named(name, media_type);
        std::fs::write(&file.path, bytes).unwrap();
        file
    }

    fn named(&self, name: &str, media_type: &str) -> Attachment {
        let path = self.files.path().canonicalize().unwrap().join(name);
        Attachment { path, name: name.into(), media_type: media_type.into() }
    }

    fn check(
        &self,
        attachments: Vec<Attachment>,
        images: bool,
    ) -> Result<CheckedAttachments, AttachmentError> {
        let spec = SessionSpec::new("go", self.work.path(), Environment::default());
        let spec = SessionSpec { attachments, ..spec };
        CheckedAttachments::of(&spec, Capabilities { images, ..Capabilities::default() })
    }

    /// What a person is told of a file that is refused.
    fn refusal(&self, file: Attachment) -> ErrorInfo {
        self.check(vec![file], true).unwrap_err().into()
    }
}

#[track_caller]
fn assert_told(error: &ErrorInfo, code: &str, words: &[&str]) {
    assert_eq!(error.code.as_deref(), Some(code), "{error:?}");
    assert!(error.hint.as_deref().is_some_and(|hint| !hint.is_empty()), "{error:?}");
    for word in words {
        assert!(error.message.contains(word), "no `{word}` in `{}`", error.message);
    }
}

#[test]
fn a_file_that_is_not_there_is_refused_by_name() {
    let store = Store::new();
    let error = store.refusal(store.named("gone.png", "image/png"));
    assert_told(&error, "attachment_missing", &["gone.png"]);
}

#[test]
fn a_link_a_pipe_and_a_folder_in_the_place_of_a_file_are_refused_without_being_opened() {
    let store = Store::new();
    let link = store.named("link.txt", "text/plain");
    symlink("/etc/passwd", &link.path).unwrap();
    let pipe = store.named("pipe.txt", "text/plain");
    mknodat(CWD, &pipe.path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let folder = store.named("folder.txt", "text/plain");
    std::fs::create_dir(&folder.path).unwrap();
    for file in [link, pipe, folder] {
        let name = file.name.clone();
        assert_told(&store.refusal(file), "attachment_unreadable", &[&name, "not a plain file"]);
    }
}

#[test]
fn a_file_that_the_agent_could_change_is_refused() {
    let store = Store::new();
    let path = store.work.path().join("mine.txt");
    std::fs::write(&path, "x").unwrap();
    let file = Attachment { path, name: "mine.txt".into(), media_type: "text/plain".into() };
    assert_told(&store.refusal(file), "bad_attachment_path", &["mine.txt", "the folder that"]);
}

#[test]
fn a_media_type_that_is_not_that_of_the_bytes_is_refused() {
    let store = Store::new();
    for (told, bytes, found) in [
        ("image/jpeg", PNG, "image/png"),
        ("image/png", &b"<svg/>"[..], "none of PNG"),
        ("text/plain", b"GIF89a...", "image/gif"),
        ("IMAGE/PNG; x=y", b"RIFF....WEBPVP8 ", "image/webp"),
        ("image/webp", b"\xff\xd8\xff\xe0....", "image/jpeg"),
    ] {
        let error = store.refusal(store.put("shot", told, bytes));
        assert_told(&error, "attachment_wrong_type", &["shot", told, found]);
    }
    let error = store.refusal(store.put("shot", "png", PNG));
    assert_told(&error, "bad_attachment_name", &["shot", "png"]);
}

#[test]
fn too_large_a_file_and_too_large_an_image_are_refused_with_their_bounds() {
    let store = Store::new();
    let grown = |name: &str, media_type: &str, bytes: u64| {
        let file = store.put(name, media_type, PNG);
        std::fs::File::options().write(true).open(&file.path).unwrap().set_len(bytes).unwrap();
        file
    };
    let error = store.refusal(grown("a.png", "image/png", MAX_IMAGE_BYTES + 1));
    assert_told(&error, "attachment_too_large", &["a.png", "3932161", "3932160"]);
    let four = (0..4).map(|n| grown(&format!("{n}.png"), "image/png", MAX_IMAGE_BYTES)).collect();
    let error: ErrorInfo = store.check(four, true).unwrap_err().into();
    assert_told(&error, "attachment_too_large", &["images", "together"]);

    let large = store.put("log.txt", "text/plain", b"x");
    let opened = std::fs::File::options().write(true).open(&large.path).unwrap();
    opened.set_len(MAX_ATTACHMENT_BYTES + 1).unwrap();
    assert_told(&store.refusal(large), "attachment_too_large", &["log.txt", "67108864"]);
}

#[test]
fn an_image_is_a_file_like_others_where_the_runtime_takes_none() {
    let store = Store::new();
    let file = store.put("a.png", "image/png", PNG);
    let opened = std::fs::File::options().write(true).open(&file.path).unwrap();
    opened.set_len(MAX_IMAGE_BYTES + 1).unwrap();
    let checked = store.check(vec![file], false).unwrap().of_fresh();
    assert_eq!(checked.sent()[0].how, AttachmentForm::Path);
    assert!(checked.images().is_empty());
}

#[test]
fn too_many_files_and_names_that_could_forge_the_list_are_refused() {
    let store = Store::new();
    let many = (0..=MAX_ATTACHMENTS).map(|n| store.put(&format!("{n}"), "text/plain", b"x"));
    let error: ErrorInfo = store.check(many.collect(), true).unwrap_err().into();
    assert_told(&error, "too_many_attachments", &["21", "20"]);
    for name in ["", " ", "a\n- b: /etc/passwd", "a\u{1b}[2J", &"x".repeat(256)] {
        let file = Attachment { name: name.into(), ..store.put("x", "text/plain", b"x") };
        assert_told(&store.refusal(file), "bad_attachment_name", &[]);
    }
    for path in ["notes.txt", "/tmp/../etc/passwd", "/tmp/a\nb"] {
        let path = Path::new(path).to_owned();
        let file = Attachment { path, name: "x".into(), media_type: "text/plain".into() };
        assert_told(&store.refusal(file), "bad_attachment_path", &["`x`"]);
    }
}

#[test]
fn an_image_that_was_swapped_is_not_sent() {
    let store = Store::new();
    let file = store.put("a.png", "image/png", PNG);
    let images = store.check(vec![file.clone()], true).unwrap().of_fresh().images();
    assert!(images[0].base64().is_ok());
    std::fs::write(&file.path, "SECRET=1").unwrap();
    assert!(images[0].base64().unwrap_err().to_string().contains("no image"));
    std::fs::remove_file(&file.path).unwrap();
    symlink("/etc/passwd", &file.path).unwrap();
    assert!(images[0].base64().unwrap_err().to_string().contains("not a plain file"));
}

#[test]
fn the_prompt_names_each_file_with_its_path() {
    let store = Store::new();
    let files =
        vec![store.put("a.png", "image/png", PNG), store.put("notes.txt", "text/plain", b"x")];
    let [image, notes] = [0, 1].map(|n| files[n].path.display().to_string());
    let named = store.check(files, true).unwrap().of_fresh().named_in("Do it.");
    assert_eq!(
        named,
        format!(
            "Do it.\n\nAttached files (read-only):\n- a.png: {image} (image, shown with this message)\n- notes.txt: {notes}"
        )
    );
    assert_eq!(PromptFiles::default().named_in("Do it."), "Do it.");
}
