//! One row of bits.

use mortice_base::cursor::Cursor;
use mortice_base::error::Result;

/// Bits in bytes, the lowest bit of a byte first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits(Vec<u8>);

impl Bits {
    /// `bits` bits, none of them set.
    pub(super) fn new(bits: u32) -> Self {
        Self(vec![0; byte_len(bits)])
    }

    /// Reads as many bits.
    pub(super) fn read(cursor: &mut Cursor<'_>, bits: u32) -> Result<Self> {
        Ok(Self(cursor.take(byte_len(bits))?.to_vec()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn set(&mut self, bit: u32) {
        if let Some(byte) = self.0.get_mut(bit as usize / 8) {
            *byte |= 1 << (bit % 8);
        }
    }

    pub(super) fn is_set(&self, bit: u32) -> bool {
        self.0.get(bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }
}

const fn byte_len(bits: u32) -> usize {
    (bits as usize).div_ceil(8)
}
