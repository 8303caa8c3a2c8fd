//! Bytes in runs, and bits in such bytes.
//!
//! | control byte | what follows |
//! |---|---|
//! | 0 … 127 | a byte, which comes that often and three times more |
//! | -1 … -128 | as many bytes, as they are |
//!
//! Bits are stored in bytes from the highest down.

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::stream::Stream;
use mortice_base::error::{Error, Result};

/// Bytes in runs.
#[derive(Debug, Default)]
pub(super) struct ByteRuns {
    stream: Stream,
    run: Vec<u8>,
    used: usize,
}

impl ByteRuns {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, ..Self::default() }
    }

    /// The next bytes, as many as are left of a run and at most `count`.
    fn some(&mut self, count: usize) -> Result<&[u8]> {
        if self.used == self.run.len() {
            let run = &mut self.run;
            run.clear();
            self.used = 0;
            self.stream.read(|cursor| {
                let control = cursor.u8()?;
                if control < 0x80 {
                    run.resize(usize::from(control) + 3, cursor.u8()?);
                } else {
                    run.extend_from_slice(cursor.take(256 - usize::from(control))?);
                }
                Ok(())
            })?;
        }
        let from = self.used;
        self.used = from.saturating_add(count).min(self.run.len());
        self.run.get(from..self.used).ok_or_else(|| Error::internal("a byte run beyond its end"))
    }

    /// The next `count` bytes.
    pub(super) fn read(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let left = count - bytes.len();
            bytes.extend_from_slice(self.some(left)?);
        }
        Ok(bytes)
    }
}

/// Bits in runs of bytes.
#[derive(Debug)]
pub(super) struct BitRuns {
    bytes: ByteRuns,
    byte: u8,
    /// Bits of `byte` that are left.
    left: usize,
}

impl BitRuns {
    pub(super) fn new(stream: Stream) -> Self {
        Self { bytes: ByteRuns::new(stream), byte: 0, left: 0 }
    }

    /// The next `count` bits.
    pub(super) fn read(&mut self, count: usize) -> Result<BooleanBuffer> {
        let mut bits = BooleanBufferBuilder::new(0);
        while bits.len() < count {
            if self.left == 0 {
                let byte = self.bytes.some(1)?.first().copied();
                self.byte = byte.ok_or_else(|| Error::internal("an empty byte run"))?;
                self.left = 8;
            }
            let some = self.left.min(count - bits.len());
            for _ in 0..some {
                bits.append(self.byte & 0x80 != 0);
                self.byte <<= 1;
            }
            self.left -= some;
        }
        Ok(bits.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(bytes: &'static [u8]) -> Stream {
        Stream::new(bytes::Bytes::from_static(bytes))
    }

    #[test]
    fn runs_and_literals() {
        let mut runs = ByteRuns::new(stream(&[0x61, 0x00, 0xfe, 0x44, 0x45]));
        assert_eq!(runs.read(99).unwrap(), [0; 99]);
        assert_eq!(runs.read(3).unwrap(), [0, 0x44, 0x45]);
        assert!(runs.read(1).is_err());
    }

    #[test]
    fn bits_from_the_highest_down() {
        let mut bits = BitRuns::new(stream(&[0xff, 0x80, 0x00, 0xa0]));
        assert_eq!(bits.read(3).unwrap().iter().collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(bits.read(5 + 24).unwrap().count_set_bits(), 3 * 2);
        assert!(bits.read(1).is_err());
    }
}
