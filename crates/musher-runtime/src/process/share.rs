//! How a process shares the processors with others: how readily it yields to them, and how much its run gets beside other runs.

use std::io;

use tracing::info;

use super::cgroup::{self, Cgroup};
use super::limits;

/// The share of the processors that a process gets when others want them too. By default it is one among equals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessorShare {
    /// How much nicer than us it is to everything else on the machine.
    pub(crate) niceness: u8,
    /// The weight of its run beside others, where control groups give one; 100 is the usual one.
    pub(crate) weight: Option<u16>,
}

impl ProcessorShare {
    /// Gives the run of this group its weight. Not every machine lets us, and then niceness has to do.
    pub(super) fn weigh(self, tree: Option<&Cgroup>) {
        let Some(weight) = self.weight else { return };
        if let Err(cause) = set(tree, weight) {
            info!(weight, %cause, "the run has no processor weight of its own");
        }
    }
}

fn set(tree: Option<&Cgroup>, weight: u16) -> io::Result<()> {
    let unsupported = |why: &str| io::Error::new(io::ErrorKind::Unsupported, why.to_owned());
    let tree = tree.ok_or_else(|| unsupported("it has no control group"))?;
    let base = cgroup::base_folder().ok_or_else(|| unsupported("there are no control groups"))?;
    if !limits::enable(&base, "cpu") {
        return Err(unsupported("the groups of runs have no controller for processors"));
    }
    std::fs::write(tree.outermost().join("cpu.weight"), weight.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::mark::RunMark;
    use super::*;

    #[test]
    fn a_weight_is_that_of_the_run_or_it_is_told_why_there_is_none() {
        let error = set(None, 200).unwrap_err().to_string();
        assert!(error.contains("no control group"), "{error}");
        let Some(tree) = Cgroup::make(&RunMark::new(None)) else { return };
        match set(Some(&tree), 200) {
            Ok(()) => {
                let set = std::fs::read_to_string(tree.outermost().join("cpu.weight")).unwrap();
                assert_eq!(set.trim(), "200");
            }
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}
