//! Which image a file is, by its first bytes: every vendor takes these four kinds and refuses a wrong word for them.

/// An image that models see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageType {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageType {
    /// Bytes from the beginning that tell which one it is.
    pub const HEAD_BYTES: usize = 12;

    /// The image that begins like this, if it is one.
    pub fn of_bytes(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }

    /// The image that a media type means; parameters and case do not matter.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        let plain = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        [Self::Png, Self::Jpeg, Self::Gif, Self::WebP]
            .into_iter()
            .find(|image| image.media_type() == plain)
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// Whether a text has the form of a media type.
pub(super) fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(fits)
    };
    let plain = text.split(';').next().unwrap_or_default().trim();
    let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    printable && plain.split_once('/').is_some_and(|(kind, sub)| token(kind) && token(sub))
}
