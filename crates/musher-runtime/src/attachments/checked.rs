//! The files of a session after they were looked at: what is sent as an image, what is named, and what may be read.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use musher_core::{AttachmentForm, Rule, SentAttachment};
use musher_os::untrusted;
use musher_sandbox::Mount;

use super::media::is_media_type;
use super::{
    Attachment, AttachmentError, ImageType, MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, MAX_IMAGE_BYTES,
    MAX_IMAGES_TOTAL_BYTES, MAX_LABEL_BYTES, PromptImage,
};
use crate::{Capabilities, SessionSpec};

/// What stands before the list of files in a prompt.
const LIST_TITLE: &str = "Attached files (read-only):";

/// A file that was looked at.
#[derive(Debug, Clone)]
struct CheckedFile {
    sent: SentAttachment,
    /// Its path without links.
    path: PathBuf,
    image: Option<PromptImage>,
}

/// The files of a session.
#[derive(Debug, Default)]
pub(crate) struct CheckedAttachments {
    /// Those of the prompt with which a session begins.
    first: Vec<CheckedFile>,
    /// Those of the prompt with which an earlier session goes on.
    resumed: Vec<CheckedFile>,
}

/// The files that go with one prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptFiles(Vec<CheckedFile>);

impl CheckedAttachments {
    /// Looks at every file of a session; the first one that cannot be given refuses them all.
    pub(crate) fn of(spec: &SessionSpec, can: Capabilities) -> Result<Self, AttachmentError> {
        let more = spec.resume.as_ref().map_or(&[][..], |resume| &resume.attachments);
        let count = spec.attachments.len() + more.len();
        if count > MAX_ATTACHMENTS {
            return Err(AttachmentError::TooMany { count });
        }
        let look = |files: &[Attachment]| -> Result<Vec<CheckedFile>, AttachmentError> {
            files.iter().map(|file| check(file, &spec.cwd, can)).collect()
        };
        let checked = Self { first: look(&spec.attachments)?, resumed: look(more)? };
        let images = checked.all().filter(|file| file.image.is_some());
        let bytes = images.map(|file| file.sent.bytes).sum();
        if bytes > MAX_IMAGES_TOTAL_BYTES {
            return Err(AttachmentError::ImagesTooLarge { bytes });
        }
        Ok(checked)
    }

    fn all(&self) -> impl Iterator<Item = &CheckedFile> {
        self.first.iter().chain(&self.resumed)
    }

    /// Lets the agent read these files and no others, by its rules and in its sandbox. Our own tools are told of
    /// them by [`Self::paths`].
    pub(crate) fn open_to(&self, spec: &mut SessionSpec) {
        let paths = self.paths();
        if paths.is_empty() {
            return;
        }
        if let Some(sandbox) = &mut spec.sandbox {
            Arc::make_mut(sandbox).mounts.extend(paths.iter().map(Mount::read));
        }
        // A path that a pattern could not name without naming others is asked about.
        let plain =
            |path: &&PathBuf| !path.to_string_lossy().contains(['*', '?', '[', '(', ')', '\\']);
        let rules = paths.iter().filter(plain);
        let rules = rules.filter_map(|path| format!("read({})", path.display()).parse().ok());
        spec.rules.allow.extend(rules.collect::<Vec<Rule>>());
    }

    /// The files that the agent may read though they are outside of its folder.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.all().map(|file| file.path.clone()).collect()
    }

    /// Whether the agent is given any as an image.
    pub(crate) fn has_images(&self) -> bool {
        self.all().any(|file| file.image.is_some())
    }

    /// Those of the first prompt of a session that begins here.
    pub(crate) fn of_fresh(&self) -> PromptFiles {
        PromptFiles(self.all().cloned().collect())
    }

    /// Those of the prompt with which an earlier session goes on. What it began with it was given before.
    pub(crate) fn of_resumed(&self) -> PromptFiles {
        PromptFiles(self.resumed.clone())
    }
}

impl PromptFiles {
    /// What the record says of them.
    pub(crate) fn sent(&self) -> Vec<SentAttachment> {
        self.0.iter().map(|file| file.sent.clone()).collect()
    }

    pub(crate) fn images(&self) -> Vec<PromptImage> {
        self.0.iter().filter_map(|file| file.image.clone()).collect()
    }

    /// The prompt as the agent is given it: with the name and the path of each file. Images have theirs too, so that an
    /// agent can also use the file.
    pub(crate) fn named_in(&self, prompt: &str) -> String {
        if self.0.is_empty() {
            return prompt.to_owned();
        }
        let line = |file: &CheckedFile| {
            let shown = match file.sent.how {
                AttachmentForm::Image => " (image, shown with this message)",
                AttachmentForm::Path | AttachmentForm::Unknown => "",
            };
            format!("- {}: {}{shown}", file.sent.name, file.path.display())
        };
        let lines: Vec<String> = self.0.iter().map(line).collect();
        format!("{prompt}\n\n{LIST_TITLE}\n{}", lines.join("\n"))
    }
}

/// Looks at one file, and decides how it is given.
fn check(
    file: &Attachment,
    folder: &Path,
    can: Capabilities,
) -> Result<CheckedFile, AttachmentError> {
    let Attachment { path, name, media_type } = file;
    let shown = |text: &str| !text.trim().is_empty() && !text.chars().any(char::is_control);
    if !shown(name) || name.len() > MAX_LABEL_BYTES {
        return Err(AttachmentError::BadName { name: name.escape_debug().to_string() });
    }
    if !is_media_type(media_type) || media_type.len() > MAX_LABEL_BYTES {
        let media_type = media_type.escape_debug().to_string();
        return Err(AttachmentError::BadMediaType { name: name.clone(), media_type });
    }
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let bad = || AttachmentError::BadPath { name: name.clone(), path: path.clone() };
    if !path.is_absolute() || climbs || !path.to_str().is_some_and(shown) {
        return Err(bad());
    }
    let opened = untrusted::open(path).map_err(|unfit| AttachmentError::unfit(name, unfit))?;
    let unreadable = |cause| {
        let (name, path) = (name.clone(), path.clone());
        AttachmentError::Unreadable { name, path, cause }
    };
    let real = path.canonicalize().map_err(unreadable)?;
    if !real.to_str().is_some_and(shown) {
        return Err(bad());
    }
    let folder = folder.canonicalize();
    if folder.is_ok_and(|folder| real.starts_with(folder)) {
        return Err(AttachmentError::InFolder { name: name.clone(), path: path.clone() });
    }
    let bytes = opened.metadata().map_err(unreadable)?.len();
    let mut head = Vec::new();
    let wanted = ImageType::HEAD_BYTES as u64;
    opened.take(wanted).read_to_end(&mut head).map_err(unreadable)?;
    let (told, found) = (ImageType::of_media_type(media_type), ImageType::of_bytes(&head));
    if told != found {
        let found = found.map_or("none of PNG, JPEG, GIF and WebP", ImageType::media_type);
        let told = media_type.clone();
        return Err(AttachmentError::WrongType { name: name.clone(), told, found });
    }
    let image = found.filter(|_| can.images);
    match image {
        Some(_) if bytes > MAX_IMAGE_BYTES => {
            return Err(AttachmentError::ImageTooLarge { name: name.clone(), bytes });
        }
        None if bytes > MAX_ATTACHMENT_BYTES => {
            let most = MAX_ATTACHMENT_BYTES;
            return Err(AttachmentError::TooLarge { name: name.clone(), bytes, most });
        }
        Some(_) | None => {}
    }
    let how = if image.is_some() { AttachmentForm::Image } else { AttachmentForm::Path };
    let (name, media_type) = (name.clone(), media_type.clone());
    let image = image.map(|kind| PromptImage::new(&name, real.clone(), kind));
    Ok(CheckedFile { sent: SentAttachment { name, media_type, bytes, how }, path: real, image })
}
