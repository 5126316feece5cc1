//! Files that are copied from the main checkout.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use musher_git::RelPath;
use musher_git::worktree::{SlotFiles, WorktreeSlots};

use super::lab::{Lab, SLOT, author, branch, from_main, read, rel};

async fn ready(lab: &Lab, copy: Vec<RelPath>) -> WorktreeSlots {
    let slots = lab.slots_with(SlotFiles { keep: Vec::new(), copy }).await;
    slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap();
    slots
}

#[tokio::test]
async fn listed_files_are_copied_with_their_permissions_and_go_into_no_commit() {
    let lab = Lab::new();
    lab.write(".env", "KEY=1\n");
    lab.write("conf/local/x.toml", "x\n");
    fs::set_permissions(lab.repo().join(".env"), PermissionsExt::from_mode(0o600)).unwrap();
    symlink("conf/local/x.toml", lab.repo().join("inside")).unwrap();
    let slots = ready(&lab, vec![rel(".env"), rel("conf/local/x.toml"), rel("inside")]).await;
    slots.copy_files(SLOT).unwrap();
    slots.copy_files(SLOT).unwrap();
    let at = slots.path(SLOT);
    assert_eq!(read(&at, ".env"), "KEY=1\n");
    assert_eq!(fs::metadata(at.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(read(&at, "conf/local/x.toml"), "x\n");
    assert!(fs::symlink_metadata(at.join("inside")).unwrap().is_file());
    let finished = slots.finish(SLOT, &branch("musher/story/1"), "x", &author()).await.unwrap();
    assert_eq!(finished, None);
}

#[tokio::test]
async fn a_missing_file_a_folder_and_a_link_out_are_told_by_name() {
    let lab = Lab::new();
    symlink("/etc/passwd", lab.repo().join("out")).unwrap();
    symlink("/etc", lab.repo().join("etc")).unwrap();
    symlink(".git", lab.repo().join("inner")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, lab.repo().join("pipe"), 0o600.into()).unwrap();
    for (file, why) in [
        ("missing", "there is no such file"),
        ("dir", "no plain file"),
        ("pipe", "no plain file"),
        ("out", "link out of the checkout"),
        ("etc/passwd", "link out of the checkout"),
        ("inner/config", "git's own files"),
    ] {
        let slots = lab.slots_with(SlotFiles { keep: Vec::new(), copy: vec![rel(file)] }).await;
        slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap();
        let error = slots.copy_files(SLOT).unwrap_err().to_string();
        assert!(error.starts_with(file) && error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn a_link_in_the_worktree_never_leads_a_copy_elsewhere() {
    let lab = Lab::new();
    fs::create_dir(lab.path("outside")).unwrap();
    lab.write("conf/x", "secret\n");
    let slots = ready(&lab, vec![rel("conf/x")]).await;
    symlink(lab.path("outside"), slots.path(SLOT).join("conf")).unwrap();
    let error = slots.copy_files(SLOT).unwrap_err().to_string();
    assert!(error.contains("conf is no folder there"), "{error}");
    assert_eq!(fs::read_dir(lab.path("outside")).unwrap().count(), 0);
    // A link in the place of the file itself is replaced and not written through.
    fs::remove_file(slots.path(SLOT).join("conf")).unwrap();
    fs::create_dir(slots.path(SLOT).join("conf")).unwrap();
    symlink(lab.path("outside/x"), slots.path(SLOT).join("conf/x")).unwrap();
    slots.copy_files(SLOT).unwrap();
    assert_eq!(fs::read_dir(lab.path("outside")).unwrap().count(), 0);
    assert_eq!(read(&slots.path(SLOT), "conf/x"), "secret\n");
}
