//! Names and paths from outside, held against git itself.

use musher_git::{Branch, RecoveryName};
use proptest::prop_assert;
use proptest::test_runner::TestRunner;

use super::lab::Lab;

#[test]
fn every_name_that_is_taken_is_one_for_git_too() {
    let lab = Lab::new();
    let letters = "[-a./@{}~^:?*\\[\\\\ \\x00-\\x1f\\x7f\u{202e}\u{e9}lockHEAD]{1,12}";
    let mut runner = TestRunner::deterministic();
    let judged = runner.run(&letters, |name| {
        let Ok(branch) = Branch::new(name.clone()) else {
            return Ok(());
        };
        prop_assert!(RecoveryName::new(name).is_ok());
        let checked = lab.try_git(&lab.repo(), ["check-ref-format", "--branch", branch.as_str()]);
        prop_assert!(checked.status.success(), "{branch}");
        Ok(())
    });
    judged.unwrap();
}

#[tokio::test]
async fn a_branch_with_an_odd_name_works_like_any_other() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    for (n, name) in
        (1..).zip(["caf\u{e9}/x", "a@b", "x{1}", "%41", "$(touch x)", "a;b|c&d", "'\"`"])
    {
        // A blank is not taken by git either.
        let Ok(branch) = Branch::new(name) else {
            assert!(name.contains(' '), "{name}");
            continue;
        };
        let slot = musher_core::SlotId(n);
        let ready = slots.prepare(slot, &branch, &super::lab::from_main()).await.unwrap();
        assert_eq!(lab.at(&ready.path, "HEAD"), lab.tip("main"));
        assert_eq!(slots.git().tip(&branch).await.unwrap(), Some(ready.head));
    }
}
