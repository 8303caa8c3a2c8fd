//! The header (and footer) map of a block: strings by ordinals of keys.

use std::borrow::Cow;

use bytes::Bytes;

use super::layout::HeaderKey;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// A block's header, with values as bytes of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    entries: Vec<(i32, Bytes)>,
}

impl Header {
    /// Reads a map from the beginning of `bytes`; returns it and its length in bytes. Lengths are compared with the
    /// available bytes before anything is allocated.
    pub(super) fn read(bytes: &Bytes) -> Result<(Self, usize)> {
        let mut cursor = Cursor::new(bytes);
        let count = cursor.i32_be()?;
        // An entry takes at least eight bytes, so a larger count is invalid.
        let most = i64::try_from(cursor.remaining() / 8).unwrap_or(i64::MAX);
        if count < 0 || i64::from(count) > most {
            return Err(Error::corrupt(format!("invalid number of entries {count}: at most {most} fit")).at_offset(0));
        }
        let mut entries = Vec::new();
        for _ in 0..count {
            let at = cursor.position() as u64;
            let (key, len) = (cursor.i32_be()?, cursor.i32_be()?);
            let Ok(len) = usize::try_from(len) else {
                return Err(Error::corrupt(format!("invalid length {len} of a header value")).at_offset(at));
            };
            let start = cursor.position();
            cursor.skip(len)?;
            entries.push((key, bytes.slice(start..cursor.position())));
        }
        Ok((Self { entries }, cursor.position()))
    }

    /// Appends the value of a key.
    pub(super) fn push(&mut self, key: HeaderKey, value: Bytes) {
        self.entries.push((key as i32, value));
    }

    /// Returns the value of a key; of repeated keys the last one.
    #[must_use]
    pub fn get(&self, key: HeaderKey) -> Option<Cow<'_, str>> {
        self.bytes(key).map(|value| String::from_utf8_lossy(value))
    }

    /// Returns the bytes of a key's value.
    #[must_use]
    pub fn bytes(&self, key: HeaderKey) -> Option<&Bytes> {
        self.entries.iter().rev().find(|(ordinal, _)| *ordinal == key as i32).map(|(_, value)| value)
    }

    /// Returns the instant that wrote the block, as stored in the file.
    #[must_use]
    pub fn instant_time(&self) -> Option<Cow<'_, str>> {
        self.get(HeaderKey::InstantTime)
    }

    /// Returns the requested time of the instant that wrote the block; `None` if the header has none, or a string that
    /// is not a time.
    #[must_use]
    pub fn requested_time(&self) -> Option<RequestedTime> {
        RequestedTime::parse(str::from_utf8(self.bytes(HeaderKey::InstantTime)?).ok()?)
    }

    /// Returns the ordinals of all keys.
    pub fn keys(&self) -> impl Iterator<Item = i32> + '_ {
        self.entries.iter().map(|(ordinal, _)| *ordinal)
    }

    /// Returns ordinals that no release has.
    pub fn unknown_keys(&self) -> impl Iterator<Item = i32> + '_ {
        self.keys().filter(|ordinal| HeaderKey::name_of(*ordinal).is_none())
    }

    /// Returns all entries with Hudi's names of the keys; an unknown ordinal is named `UNKNOWN_<ordinal>`.
    pub fn named(&self) -> impl Iterator<Item = (Cow<'static, str>, Cow<'_, str>)> + '_ {
        self.entries.iter().map(|(ordinal, value)| {
            let name =
                HeaderKey::name_of(*ordinal).map_or_else(|| Cow::Owned(format!("UNKNOWN_{ordinal}")), Cow::Borrowed);
            (name, String::from_utf8_lossy(value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(i32, &str)]) -> Bytes {
        let mut bytes = i32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
        for (key, value) in entries {
            bytes.extend(key.to_be_bytes());
            bytes.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
            bytes.extend(value.as_bytes());
        }
        bytes.into()
    }

    #[test]
    fn reads_a_map_and_its_length() {
        let bytes = map(&[(0, "001"), (77, "?"), (0, "002")]);
        let (header, len) = Header::read(&bytes).unwrap();
        assert_eq!(len, bytes.len());
        assert_eq!(
            (header.instant_time().unwrap().as_ref(), header.requested_time().unwrap().as_str()),
            ("002", "002")
        );
        assert_eq!(header.get(HeaderKey::Schema), None);
        assert_eq!(header.unknown_keys().collect::<Vec<_>>(), [77]);
        assert_eq!(header.named().nth(1).unwrap().0, "UNKNOWN_77");
    }

    #[test]
    fn lengths_are_not_believed() {
        for bytes in [&[0, 0][..], &[0x7f, 0xff, 0xff, 0xff], &[0xff; 4], &[0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0, 0, 0]] {
            assert!(Header::read(&Bytes::copy_from_slice(bytes)).is_err());
        }
        let whole = map(&[(0, "001"), (2, "x")]);
        for len in 0..whole.len() {
            assert!(Header::read(&whole.slice(..len)).is_err(), "{len}");
        }
    }
}
