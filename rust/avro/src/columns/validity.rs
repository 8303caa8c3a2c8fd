//! Bits of a column as they come: null masks and booleans, sixty-four at a time where rows are read in lockstep.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use super::super::lanes::full;

/// A growing row of bits.
#[derive(Default)]
pub(super) struct BitBuffer {
    words: Vec<u64>,
    last: u64,
    filled: usize,
    ones: usize,
}

impl BitBuffer {
    pub(super) fn reserve(&mut self, bits: usize) {
        self.words.reserve(bits / 64 + 1);
    }

    pub(super) fn len(&self) -> usize {
        self.words.len() * 64 + self.filled
    }

    /// Appends one bit.
    #[inline]
    pub(super) fn push(&mut self, bit: bool) {
        self.last |= u64::from(bit) << self.filled;
        self.ones += usize::from(bit);
        self.filled += 1;
        if self.filled == 64 {
            self.words.push(self.last);
            (self.last, self.filled) = (0, 0);
        }
    }

    /// Appends the low `count` bits of a word, at most 64; the others must be 0.
    #[inline]
    pub(super) fn push_word(&mut self, word: u64, count: usize) {
        self.ones += word.count_ones() as usize;
        self.last |= word << self.filled;
        let filled = self.filled + count;
        if filled < 64 {
            self.filled = filled;
            return;
        }
        self.words.push(self.last);
        // What did not fit; all of it did where the last word was empty.
        self.last = if self.filled == 0 { 0 } else { word >> (64 - self.filled) };
        self.filled = filled - 64;
    }

    /// Appends the same bit `count` times.
    pub(super) fn push_run(&mut self, bit: bool, mut count: usize) {
        while count > 0 {
            let some = count.min(64);
            self.push_word(if bit { full(some) } else { 0 }, some);
            count -= some;
        }
    }

    /// The bits; empty again afterwards.
    pub(super) fn take(&mut self) -> BooleanBuffer {
        let bits = std::mem::take(self);
        let len = bits.len();
        let mut words = bits.words;
        if bits.filled > 0 {
            words.push(bits.last);
        }
        BooleanBuffer::new(Buffer::from_vec(words), 0, len)
    }

    /// The bits as a null mask, none where all are set; empty again afterwards.
    pub(super) fn take_nulls(&mut self) -> Option<NullBuffer> {
        let nulls = self.len() - self.ones;
        let bits = self.take();
        (nulls > 0).then(|| NullBuffer::new(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bits_mix_at_any_offset() {
        for offset in 0..130 {
            let mut bits = BitBuffer::default();
            let mut want = Vec::new();
            for index in 0..offset {
                bits.push(index % 3 == 0);
                want.push(index % 3 == 0);
            }
            for count in [64, 1, 63, 17, 64] {
                let word = 0xdead_beef_0bad_f00d & full(count);
                bits.push_word(word, count);
                want.extend((0..count).map(|bit| word >> bit & 1 == 1));
            }
            bits.push_run(true, 70);
            want.extend([true; 70]);
            assert_eq!(bits.len(), want.len());
            assert_eq!(bits.take().iter().collect::<Vec<_>>(), want);
        }
    }
}
