//! The repository's own settings: which of them git may see when an agent could have written them.

use super::call::Call;
use super::error::GitError;

/// The settings of the repository that a call may see. An agent can write all of them, so none may name a program, hide a
/// change or decide what is kept: they say in which form objects and references are stored, and which files a fresh
/// worktree leaves out.
const HARMLESS: &[&str] = &[
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "extensions.objectformat",
    "extensions.refstorage",
    "index.sparse",
];

/// Settings of a remote that say where missing objects come from. Whatever comes is checked against its name.
const OF_REMOTES: &[&str] = &["promisor", "partialclonefilter"];

/// How the address of a remote may begin. Others are commands to git, or could be.
const ADDRESSES: &[&str] = &["https://", "http://", "ssh://", "git://", "file:///", "/"];

/// Whose settings a call heeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsTrust {
    /// For writing files that nobody has worked on: what is missing may be fetched. Filters of the user's own work.
    User,
    /// Nothing is fetched. Filters of the user's own work.
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
    pub(super) fn passes(&self, trust: SettingsTrust) -> bool {
        self.is_one_of(HARMLESS)
            || self.shares_with_a_group()
            || (trust == SettingsTrust::User && self.says_where_from())
    }

    /// Whether a group may write what is made; nobody else ever may.
    fn shares_with_a_group(&self) -> bool {
        let value = self.value.as_deref();
        self.key == b"core.sharedrepository" && matches!(value, Some(b"group" | b"true" | b"1"))
    }

    /// Whether it says where missing objects come from.
    fn says_where_from(&self) -> bool {
        if self.key == b"extensions.partialclone" {
            return true;
        }
        let Some(rest) = self.key.strip_prefix(b"remote.") else {
            return false;
        };
        let name = rest.iter().rposition(|b| *b == b'.').map_or(rest, |dot| &rest[dot + 1..]);
        match name {
            b"url" => self.value.as_deref().is_some_and(is_address),
            name => OF_REMOTES.iter().any(|known| known.as_bytes() == name),
        }
    }

    /// Whether it says how references are stored, which concerns only those who read them.
    pub(super) fn is_of_references(&self) -> bool {
        self.key == b"extensions.refstorage"
    }

    /// The filter that it is about, if it names a program for one.
    pub(super) fn of_filter(&self) -> Option<&[u8]> {
        let rest = self.key.strip_prefix(b"filter.")?;
        let dot = rest.iter().rposition(|b| *b == b'.')?;
        matches!(&rest[dot + 1..], b"clean" | b"smudge" | b"process").then(|| &rest[..dot])
    }

    pub(super) fn says(&self, key: &[u8], value: &[u8]) -> bool {
        self.key == key && self.value.as_deref() == Some(value)
    }

    /// Whether it says that objects are fetched when they are needed.
    pub(super) fn is_partial_clone(&self) -> bool {
        let promisor = self.key.starts_with(b"remote.") && self.key.ends_with(b".promisor");
        self.key == b"extensions.partialclone" || promisor
    }

    /// The value of a setting, if this is it and has one.
    pub(super) fn value_of(&self, key: &[u8]) -> Option<&[u8]> {
        self.value.as_deref().filter(|_| self.key == key)
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

/// Whether a remote is a place and not a command.
pub(super) fn is_address(url: &[u8]) -> bool {
    let known = ADDRESSES.iter().any(|start| url.starts_with(start.as_bytes()));
    // A user and a host, as for `ssh`, which must not look like an option of it.
    let host = url.iter().position(|b| *b == b':').map(|colon| &url[..colon]);
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"@._-".contains(b);
    let named = host
        .is_some_and(|host| !host.is_empty() && !host.starts_with(b"-") && host.iter().all(plain));
    known || (named && !url.windows(2).any(|two| two == b"::" || two == b"//"))
}

/// Reads the settings that stand in a file of the repository, in their order. What the file includes is not read.
pub(super) async fn of_file(call: Call, text: Vec<u8>) -> Result<Vec<Setting>, GitError> {
    let call = call.args(["config", "--file", "-", "--list", "-z", "--no-includes"]);
    parse(&call.input(text).run().await?.stdout)
}

pub(super) fn parse(list: &[u8]) -> Result<Vec<Setting>, GitError> {
    let setting = |entry: &[u8]| {
        let (key, value) = match entry.iter().position(|b| *b == b'\n') {
            Some(at) => (&entry[..at], Some(entry[at + 1..].to_vec())),
            None => (entry, None),
        };
        match key.contains(&b'.') {
            true => Ok(Setting { key: key.to_vec(), value }),
            false => Err(GitError::unexpected("config", entry)),
        }
    };
    list.split(|b| *b == 0).filter(|entry| !entry.is_empty()).map(setting).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn settings_are_read_and_written_as_they_were() {
        let settings = parse(b"core.bare\nfalse\0a.B\\c.d\0").unwrap();
        assert_eq!(settings[0].written().unwrap(), b"[core]\n\tbare = \"false\"\n");
        assert_eq!(settings[1].written().unwrap(), b"[a \"B\\\\c\"]\n\td\n");
    }

    #[test]
    fn a_remote_that_is_a_command_does_not_pass() {
        let url = |value: &str| {
            let setting = Setting { key: b"remote.o.url".to_vec(), value: Some(value.into()) };
            setting.passes(SettingsTrust::User)
        };
        for address in ["https://h/x", "ssh://h/x", "git@host:team/x.git", "/srv/x", "file:///x"] {
            assert!(url(address), "{address}");
        }
        for command in ["ext::sh -c x", "-oProxyCommand=x:y", "fd::17", "x", "foo::https://h", ""] {
            assert!(!url(command), "{command}");
        }
    }

    #[test]
    fn no_setting_that_names_a_program_or_hides_a_change_ever_passes() {
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
            "core.autocrlf",
            "core.eol",
            "core.filemode",
            "core.ignorecase",
            "core.symlinks",
            "merge.renames",
            "merge.default",
            "trailer.x.command",
            "interactive.difffilter",
            "browser.x.cmd",
        ];
        for key in programs {
            let setting = Setting { key: key.into(), value: Some(b"x".to_vec()) };
            assert!(!setting.passes(SettingsTrust::Hardened), "{key}");
            assert!(!setting.passes(SettingsTrust::User), "{key}");
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
