//! A set of three bytes in a row, for a quick look: a "no" is certain, a "yes" needs a closer one.

/// Bytes of a gram.
pub(super) const GRAM: usize = 3;
/// So few of all bits are set that a wrong "yes" is rare.
const BITS_PER_GRAM: usize = 32;
const MIN_BITS: usize = 1 << 12;
/// A set takes no more than 64 KiB, whatever the secrets are.
const MAX_BITS: usize = 1 << 19;

/// A set of bytes.
#[derive(Debug, Default)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(super) fn add(&mut self, byte: u8) {
        self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
    }

    #[inline]
    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] & (1 << (byte % 64)) != 0
    }
}

#[derive(Debug)]
pub(super) struct GramSet {
    bits: Box<[u64]>,
    shift: u32,
}

/// The gram at a place.
#[inline]
pub(super) fn gram(text: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([text[at], text[at + 1], text[at + 2], 0])
}

/// What stands in a set for the first two bytes of a text. No gram is like it.
#[inline]
pub(super) fn beginning(text: &[u8]) -> u32 {
    u32::from_le_bytes([text[0], text[1], 0, 1])
}

impl GramSet {
    /// All grams of some texts, and their beginnings.
    pub(super) fn of(texts: impl Iterator<Item = impl AsRef<[u8]>> + Clone) -> Self {
        let count: usize = texts.clone().map(|text| text.as_ref().len()).sum();
        let size = (count * BITS_PER_GRAM).next_power_of_two().clamp(MIN_BITS, MAX_BITS);
        let mut set =
            Self { bits: vec![0; size / 64].into(), shift: u32::BITS - size.trailing_zeros() };
        for text in texts {
            for bytes in text.as_ref().windows(GRAM) {
                set.add(gram(bytes, 0));
            }
            set.add(beginning(text.as_ref()));
        }
        set
    }

    fn add(&mut self, gram: u32) {
        let (word, bit) = self.place(gram);
        self.bits[word] |= bit;
    }

    #[inline]
    fn place(&self, gram: u32) -> (usize, u64) {
        let hash = gram.wrapping_mul(0x9E37_79B1) >> self.shift;
        ((hash / 64) as usize, 1 << (hash % 64))
    }

    #[inline]
    pub(super) fn has(&self, gram: u32) -> bool {
        let (word, bit) = self.place(gram);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.bits)
    }
}
