//! Many stories over many files.

use std::fmt::Write as _;

use musher_git::Commit;
use musher_git::queue::LandOutcome;

use super::super::lab::Lab;
use super::{build, landing, tip};

const FILES: usize = 20_000;
const STORIES: usize = 100;

/// A repository of many files, written by git's own import: a story each changes a file and adds one.
fn many(lab: &Lab, stories: usize) -> Vec<Commit> {
    let who = "Ada <ada@example.org> 1700000000 +0000";
    let mut text = String::new();
    let data = |text: &mut String, bytes: &str| {
        writeln!(text, "data {}\n{bytes}", bytes.len()).unwrap();
    };
    writeln!(text, "commit refs/heads/main\nmark :1\ncommitter {who}").unwrap();
    data(&mut text, "many");
    for n in 0..FILES {
        writeln!(text, "M 100644 inline d{}/e{}/f{n}", n % 40, n % 1000).unwrap();
        data(&mut text, &format!("file {n}\n1\n2\n3\n"));
    }
    for story in 0..stories {
        let n = story * 97;
        writeln!(text, "commit refs/heads/s{story}\ncommitter {who}").unwrap();
        data(&mut text, "story");
        writeln!(text, "from :1\nM 100644 inline d{}/e{}/f{n}", n % 40, n % 1000).unwrap();
        data(&mut text, &format!("file {n}\n1\n2\n3\nof story {story}\n"));
        writeln!(text, "M 100644 inline new/of/s{story}").unwrap();
        data(&mut text, "new\n");
    }
    let input = lab.path("import");
    std::fs::write(&input, text).unwrap();
    let import = format!("git fast-import --quiet < '{}'", input.display());
    let done = std::process::Command::new("sh")
        .args(["-c", &import])
        .current_dir(lab.repo())
        .env("HOME", lab.path("home"))
        .status()
        .unwrap();
    assert!(done.success());
    (0..stories).map(|story| lab.tip(&format!("s{story}"))).collect()
}

#[tokio::test]
async fn octopus_of_100_stories_over_20000_files() {
    let lab = Lab::empty();
    let heads = many(&lab, STORIES);
    // Nobody has the files of the base, which would take longer to write than all of this.
    lab.git(["switch", "-q", "--orphan", "elsewhere"]);
    lab.commit("elsewhere");
    let base = lab.tip("main");
    let git = lab.open().await;
    let batch = build(&git, &base, &heads.iter().collect::<Vec<_>>()).await;
    assert_eq!(batch.commits().count(), STORIES);
    let tested = tip(&batch);
    assert_eq!(git.land(&landing(&base, &tested)).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.git(["status", "--porcelain"]), "");
    assert_eq!(lab.files_of(&tested.commit).len(), FILES + STORIES);
    let merges = lab.git(["rev-list", "--first-parent", "--merges", "--count", "main"]);
    assert_eq!(merges, STORIES.to_string());
    for head in &heads {
        assert!(git.contains(&tested.commit, head).await.unwrap());
    }
}
