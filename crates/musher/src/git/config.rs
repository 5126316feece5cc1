//! The repository's own settings: which of them git may see when an agent could have written them.

use super::call::Call;
use super::error::GitError;

/// Settings that only say how bytes lie on disk. No other setting of the repository is seen by a hardened call, so that
/// none can name a program: filters, merge and diff drivers, hooks, monitors, helpers, or whatever a later git adds.
const HARMLESS: &[&str] = &[
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "extensions.objectformat",
    "index.sparse",
    "merge.directoryrenames",
    "merge.renamelimit",
    "merge.renames",
];

/// Settings that a stand-in for the repository's folder must not have: they say where files lie or what else to read.
const MISPLACED: &[&str] = &[
    "core.bare",
    "core.repositoryformatversion",
    "core.worktree",
    "extensions.refstorage",
    "extensions.relativeworktrees",
    "extensions.worktreeconfig",
    "lfs.storage",
];

/// Whose settings a call heeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// The user's settings, and the repository's as they were when it was opened. Filters work.
    User,
    /// An agent has worked there: the user's settings, and of the repository's only how bytes lie on disk.
    Hardened,
}

/// One setting of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// Section and name in small letters, whatever is between them as it was written.
    key: Vec<u8>,
    /// `None` for a name without a value, which means true.
    value: Option<Vec<u8>>,
}

impl Setting {
    fn is_one_of(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| key.as_bytes() == self.key)
    }

    /// Whether a call with this trust may see it.
    pub(super) fn passes(&self, trust: Trust) -> bool {
        let fits = !self.is_one_of(MISPLACED)
            && !self.key.starts_with(b"include.")
            && !self.key.starts_with(b"includeif.");
        match trust {
            Trust::User => fits,
            Trust::Hardened => self.is_one_of(HARMLESS),
        }
    }

    pub(super) fn says(&self, key: &[u8], value: &[u8]) -> bool {
        self.key == key && self.value.as_deref() == Some(value)
    }

    pub(super) fn is_extension(&self) -> bool {
        self.key.starts_with(b"extensions.")
    }

    /// The setting as it stands in a file; `None` if its key has no section.
    pub(super) fn written(&self) -> Option<Vec<u8>> {
        let first = self.key.iter().position(|b| *b == b'.')?;
        let last = self.key.iter().rposition(|b| *b == b'.')?;
        let mut text = b"[".to_vec();
        text.extend(&self.key[..first]);
        if first < last {
            text.extend(b" \"");
            escape(&self.key[first + 1..last], &mut text);
            text.push(b'"');
        }
        text.extend(b"]\n\t");
        text.extend(&self.key[last + 1..]);
        if let Some(value) = &self.value {
            text.extend(b" = \"");
            escape(value, &mut text);
            text.push(b'"');
        }
        text.push(b'\n');
        Some(text)
    }
}

fn escape(value: &[u8], text: &mut Vec<u8>) {
    for byte in value {
        match byte {
            b'\n' => text.extend(b"\\n"),
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            byte => text.push(*byte),
        }
    }
}

/// Reads the settings that stand in the repository's own files, in their order.
pub(super) async fn of_repository(call: Call) -> Result<Vec<Setting>, GitError> {
    let call = call.args(["config", "--list", "-z", "--show-scope"]);
    parse(&call.run().await?.stdout)
}

fn parse(list: &[u8]) -> Result<Vec<Setting>, GitError> {
    let mut settings = Vec::new();
    let mut fields = list.split(|b| *b == 0);
    loop {
        let scope = match fields.next() {
            None | Some([]) => return Ok(settings),
            Some(scope) => scope,
        };
        let Some(entry) = fields.next() else {
            return Err(GitError::unexpected("config", scope));
        };
        if !matches!(scope, b"local" | b"worktree") {
            continue;
        }
        let (key, value) = match entry.iter().position(|b| *b == b'\n') {
            Some(at) => (&entry[..at], Some(entry[at + 1..].to_vec())),
            None => (entry, None),
        };
        settings.push(Setting { key: key.to_vec(), value });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_repositorys_own_settings_are_taken() {
        let list =
            b"global\0user.name\nx\0local\0core.bare\nfalse\0worktree\0a.B\\c.d\0command\0x.y\nz\0";
        let settings = parse(list).unwrap();
        assert_eq!(settings.len(), 2);
        assert_eq!(settings[0].written().unwrap(), b"[core]\n\tbare = \"false\"\n");
        assert_eq!(settings[1].written().unwrap(), b"[a \"B\\\\c\"]\n\td\n");
    }

    #[test]
    fn no_setting_that_names_a_program_passes_when_hardened() {
        let programs = [
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "merge.x.driver",
            "diff.x.textconv",
            "diff.x.command",
            "diff.external",
            "core.fsmonitor",
            "core.hookspath",
            "core.sshcommand",
            "core.gitproxy",
            "core.pager",
            "core.editor",
            "core.askpass",
            "core.attributesfile",
            "core.excludesfile",
            "core.worktree",
            "core.alternaterefscommand",
            "gpg.program",
            "gpg.ssh.program",
            "gpg.ssh.defaultkeycommand",
            "credential.helper",
            "credential.https://x.helper",
            "remote.origin.uploadpack",
            "remote.origin.vcs",
            "uploadpack.packobjectshook",
            "submodule.x.update",
            "protocol.ext.allow",
            "url.ext::sh.insteadof",
            "include.path",
            "includeif.gitdir:/.path",
            "alias.status",
            "sequence.editor",
            "pager.diff",
            "lfs.customtransfer.x.path",
            "extensions.worktreeconfig",
            "extensions.partialclone",
            "trailer.x.command",
            "interactive.difffilter",
            "browser.x.cmd",
        ];
        for key in programs {
            let setting = Setting { key: key.into(), value: Some(b"x".to_vec()) };
            assert!(!setting.passes(Trust::Hardened), "{key}");
        }
    }

    proptest! {
        #[test]
        fn any_list_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for setting in parse(&bytes).unwrap_or_default() {
                setting.written();
            }
        }
    }
}
