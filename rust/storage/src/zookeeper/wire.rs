//! Values of requests and responses (Jute): big-endian integers, and strings and bytes with their lengths.

use mortice_base::error::{Error, ErrorKind, Result};

/// A request, or a response of a test.
#[derive(Debug, Clone, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn int(mut self, value: i32) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn long(mut self, value: i64) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn boolean(mut self, value: bool) -> Self {
        self.0.push(u8::from(value));
        self
    }

    pub(super) fn bytes(self, value: &[u8]) -> Self {
        // What is longer than any packet is refused by the server.
        let mut written = self.int(i32::try_from(value.len()).unwrap_or(i32::MAX));
        written.0.extend_from_slice(value);
        written
    }

    pub(super) fn text(self, value: &str) -> Self {
        self.bytes(value.as_bytes())
    }

    /// The values of another one.
    pub(super) fn then(mut self, other: Self) -> Self {
        self.0.extend_from_slice(&other.0);
        self
    }

    /// The value, after its length.
    pub(super) fn packet(self) -> Vec<u8> {
        let mut packet = i32::try_from(self.0.len()).unwrap_or(i32::MAX).to_be_bytes().to_vec();
        packet.extend_from_slice(&self.0);
        packet
    }
}

/// The rest of a response.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(unreadable)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn int(&mut self) -> Result<i32> {
        let bytes = self.take(4)?;
        bytes.try_into().map(i32::from_be_bytes).map_err(|_| unreadable())
    }

    pub(super) fn long(&mut self) -> Result<i64> {
        let bytes = self.take(8)?;
        bytes.try_into().map(i64::from_be_bytes).map_err(|_| unreadable())
    }

    /// Bytes; none are those of length -1.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        match self.int()? {
            -1 => Ok(&[]),
            len => self.take(usize::try_from(len).map_err(|_| unreadable())?),
        }
    }

    pub(super) fn text(&mut self) -> Result<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| unreadable())
    }

    pub(super) fn strings(&mut self) -> Result<Vec<String>> {
        let count = self.int()?.max(0);
        (0..count).map(|_| self.text()).collect()
    }
}

pub(super) fn unreadable() -> Error {
    Error::new(ErrorKind::Io, "a response of ZooKeeper cannot be read; is the address that of another service?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_written() {
        let packet = Writer::default().int(-7).long(1 << 40).text("ü").bytes(&[1]).int(-1).int(1).text("a").packet();
        let mut reader = Reader(&packet[4..]);
        assert_eq!((reader.int().unwrap(), reader.long().unwrap()), (-7, 1 << 40));
        assert_eq!((reader.text().unwrap(), reader.bytes().unwrap()), ("ü".to_owned(), &[1_u8][..]));
        assert_eq!((reader.bytes().unwrap(), reader.strings().unwrap()), (&[][..], vec!["a".to_owned()]));
        assert!(reader.0.is_empty() && reader.int().is_err());
    }

    #[test]
    fn lengths_are_checked() {
        for wrong in [&[0x7f, 0xff, 0xff, 0xff][..], &[0xff, 0xff, 0xff, 0xfe], &[0, 0, 0, 2, 0xff]] {
            assert!(Reader(wrong).text().is_err());
            assert!(Reader(wrong).strings().is_err() || wrong[0] == 0xff);
        }
        assert!(Reader(&[0, 0, 0, 1, 0xff]).text().is_err(), "not UTF-8");
    }
}
