//! What compatible servers do differently, and what the formats allow but few servers do.

macro_rules! quirks {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// One oddity of a server; a marker names it in `quirk=a,b`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Quirk {
            $($(#[$doc])* $variant,)*
        }

        impl Quirk {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

quirks! {
    /// Tool calls come without their index.
    NoIndex = "no-index",
    NullIndex = "null-index",
    /// Every tool call says that it is the first.
    ZeroIndex = "zero-index",
    NoId = "no-id",
    NullId = "null-id",
    EmptyId = "empty-id",
    /// Arguments are an object instead of a string.
    ArgsObject = "args-object",
    /// Arguments come in one piece.
    ArgsWhole = "args-whole",
    /// Arguments are an empty string, which stands for an empty object.
    ArgsEmpty = "args-empty",
    ArgsMissing = "args-missing",
    /// The name stands in every piece of a call.
    NameRepeated = "name-repeated",
    /// The finish reason denies that there are calls.
    FinishStop = "finish-stop",
    FinishMissing = "no-finish",
    /// Thoughts come as `reasoning` instead of `reasoning_content`.
    Reasoning = "reasoning",
    ThinkTags = "think-tags",
    UsageEvery = "usage-every",
    UsageNever = "usage-never",
    /// Usage comes with the last piece of content.
    UsageLast = "usage-last",
    /// Usage comes without being asked for.
    UsageUnasked = "usage-unasked",
    /// `stream_options` is refused.
    NoStreamOptions = "no-stream-options",
    /// The `system` role is refused.
    NoSystem = "no-system",
    /// Tools are refused.
    NoTools = "no-tools",
    /// Error answers are a 200 with the error inside.
    Error200 = "error-200",
    NoDone = "no-done",
    /// The answer comes whole although a stream was asked for.
    NoStream = "no-stream",
    /// No key is asked for.
    Keyless = "keyless",
    /// Lines end with a carriage return and a line feed.
    Crlf = "crlf",
    /// Comments stand between the events.
    Comments = "comments",
    /// The data of an event is spread over many lines.
    Multiline = "multiline",
    /// No blank stands after the colon.
    Tight = "tight",
    /// Events, parts and fields that nobody has documented.
    Unknown = "unknown",
    /// The first line begins with a byte order mark.
    Bom = "bom",
    /// A stream that breaks off says so by a failed response.
    FailedResponse = "failed-response",
    /// A stream that breaks off says so by an error inside an error event.
    NestedError = "nested-error",
    /// Thoughts come raw instead of as a summary.
    RawReasoning = "raw-reasoning",
    /// The last message about usage has nulls in it.
    UsageNulls = "usage-nulls",
    /// A signature comes in a part of its own that holds nothing else.
    BareSignature = "bare-signature",
}

#[derive(Debug, Clone, Default)]
pub(super) struct Quirks(Vec<Quirk>);

impl Quirks {
    /// Reads a list of names; the first that is unknown is the error.
    pub(super) fn read(names: &str) -> Result<Self, String> {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let quirks = names.map(|name| Quirk::named(name).ok_or_else(|| name.to_owned()));
        quirks.collect::<Result<Vec<_>, _>>().map(Self)
    }

    pub(super) fn has(&self, quirk: Quirk) -> bool {
        self.0.contains(&quirk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quirk_that_nobody_knows_is_named() {
        let quirks = Quirks::read("no-index, crlf").unwrap();
        assert!(quirks.has(Quirk::NoIndex) && quirks.has(Quirk::Crlf));
        assert!(!quirks.has(Quirk::NoId));
        assert_eq!(Quirks::read("crlf,nonsense").unwrap_err(), "nonsense");
    }
}
