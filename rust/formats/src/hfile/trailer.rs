//! The trailer: the last 4096 bytes of an HFile.
//!
//! ```text
//! "TRABLK"$ · length (varint) · TrailerProto · zeros · minor version (1 byte), major version (3 bytes)
//! ```
//! | field of TrailerProto | what it says |
//! |---|---|
//! | 1, 2 | offsets of the file info and of the load-on-open section, which begins with the root index |
//! | 5, 8 | entries of the root index; levels of the index, the root counted |
//! | 7 | cells in the file |
//! | 9, 10 | offsets of the first and the last data block; -1 and 0 where there is none |
//! | 11, 12, 13 | comparator, codec, encryption key |
//!
//! HBase writes minor version 3, Hudi's own writer (since 1.1) 0. Layout: HBase's `FixedFileTrailer`, `HFile.proto`.

use super::codec::Codec;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};
use mortice_base::protobuf::{FieldValue, delimited, fields};

/// Bytes of the trailer.
pub(super) const TRAILER: u64 = 4096;
const MAGIC: &[u8; 8] = b"TRABLK\"$";
const MAJOR: u32 = 3;
/// The minor version of Hudi's own writer.
const NATIVE_MINOR: u8 = 0;
/// Bytes of the smallest cell: two lengths, and the key of an empty row (`cell`).
const LEAST_CELL: u64 = 8 + 2;
/// Levels that an index may have. Five of HBase's smallest chunks, 16 entries, would do for any file of Hudi's.
const MAX_LEVELS: u64 = 16;

/// Where things are, how many, in which codec. Offsets lie before the trailer, the file info's not before the
/// section's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) file_info: u64,
    pub(super) load_on_open: u64,
    pub(super) root_entries: u64,
    pub(super) levels: u64,
    pub(super) entry_count: u64,
    pub(super) first_block: Option<u64>,
    pub(super) last_block: Option<u64>,
    pub(super) codec: Codec,
    /// Whether Hudi's own writer wrote the file, not HBase.
    pub(super) is_native: bool,
}

/// Fields as they are stored, not yet validated.
#[derive(Default)]
struct Raw {
    numbers: [Option<u64>; 13],
    comparator: Option<String>,
    encrypted: bool,
}

impl Raw {
    fn read(message: &[u8]) -> Result<Self> {
        let mut raw = Self::default();
        fields(message, |number, value| {
            match (number, value) {
                (11, FieldValue::Bytes(name)) => raw.comparator = Some(String::from_utf8_lossy(name).into_owned()),
                (13, FieldValue::Bytes(key)) => raw.encrypted = !key.is_empty(),
                (number, FieldValue::Number(value)) => {
                    let slot = usize::try_from(number).ok().and_then(|number| raw.numbers.get_mut(number));
                    if let Some(slot) = slot {
                        *slot = Some(value);
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(raw)
    }

    fn number(&self, field: usize) -> Option<u64> {
        self.numbers.get(field).copied().flatten()
    }

    fn needed(&self, field: usize, name: &str) -> Result<u64> {
        self.number(field).ok_or_else(|| Error::corrupt(format!("invalid HFile trailer: {name} is missing")))
    }
}

impl Trailer {
    /// Reads the trailer of a file in which it begins at `at`. Offsets of errors are within the trailer.
    pub(super) fn parse(bytes: &[u8], at: u64) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(MAGIC.len())? != MAGIC {
            let message =
                format!("invalid HFile: expected a trailer that begins with TRABLK\"$ in the last {TRAILER} bytes");
            return Err(Error::corrupt(message).at_offset(0));
        }
        let is_native = minor_version(bytes)? == NATIVE_MINOR;
        let message = delimited(&mut cursor)?;
        let base = (cursor.position() - message.len()) as u64;
        let raw = Raw::read(message).map_err(|error| error.offset_from(base))?;
        Self::checked(&raw, at, is_native).map_err(|error| error.at_offset(base))
    }

    fn checked(raw: &Raw, at: u64, is_native: bool) -> Result<Self> {
        if raw.encrypted {
            return Err(Error::unsupported("unsupported HFile: it is encrypted"));
        }
        if let Some(name) = raw.comparator.as_ref().filter(|name| name.contains("Meta")) {
            return Err(Error::unsupported(format!("unsupported HFile comparator {name} (supported: order by bytes)")));
        }
        let load_on_open = raw.needed(2, "the offset of the load-on-open section")?;
        let file_info = raw.needed(1, "the offset of the file info")?;
        if load_on_open > file_info || file_info >= at {
            let message = format!(
                "invalid HFile trailer: load-on-open section at {load_on_open}, file info at {file_info}, trailer at {at}"
            );
            return Err(Error::corrupt(message));
        }
        let levels = raw.number(8).unwrap_or(1);
        if levels == 0 || levels > MAX_LEVELS {
            return Err(Error::corrupt(format!(
                "invalid HFile trailer: the index has {levels} levels (expected 1 to {MAX_LEVELS})"
            )));
        }
        let root_entries = raw.needed(5, "the number of index entries")?;
        let entry_count = raw.needed(7, "the number of entries")?;
        if (root_entries == 0) != (entry_count == 0) {
            let message = format!("invalid HFile trailer: {entry_count} entries, but {root_entries} index entries");
            return Err(Error::corrupt(message));
        }
        let codec = raw.number(12).map_or(Ok(Codec::Plain), Codec::from_id)?;
        let most = load_on_open.saturating_mul(codec.most_ratio()) / LEAST_CELL;
        if entry_count > most {
            let message = format!(
                "invalid HFile trailer: {entry_count} entries in {load_on_open} bytes of data, at most {most} fit"
            );
            return Err(Error::corrupt(message));
        }
        let (first_block, last_block) = (raw.number(9), raw.number(10));
        Ok(Self {
            file_info,
            load_on_open,
            root_entries,
            levels,
            entry_count,
            first_block,
            last_block,
            codec,
            is_native,
        })
    }
}

/// Refuses all major versions but ours, and returns the minor version.
fn minor_version(bytes: &[u8]) -> Result<u8> {
    let [minor, major @ ..] = bytes.last_chunk::<4>().copied().unwrap_or_default();
    let version = major.into_iter().fold(0_u32, |version, byte| version << 8 | u32::from(byte));
    if version == MAJOR {
        return Ok(minor);
    }
    let message = format!("unsupported HFile version {version} (supported: {MAJOR})");
    Err(Error::unsupported(message).at_offset(TRAILER - 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    /// A trailer of these fields, each a varint, and of these bytes.
    fn trailer(numbers: &[(u8, u64)], strings: &[(u8, &[u8])]) -> Vec<u8> {
        let mut message = Vec::new();
        for (field, number) in numbers {
            message.push(field << 3);
            let mut rest = *number;
            while rest >= 0x80 {
                message.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            message.push(rest as u8);
        }
        for (field, text) in strings {
            message.extend([field << 3 | 2, text.len() as u8]);
            message.extend(*text);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.push(message.len() as u8);
        bytes.extend(message);
        bytes.resize(4092, 0);
        bytes.extend([3, 0, 0, 3]);
        bytes
    }

    const SOUND: [(u8, u64); 8] = [(1, 900), (2, 800), (5, 2), (7, 40), (8, 1), (9, 0), (10, 400), (12, 1)];

    fn changed(field: u8, value: u64) -> Vec<u8> {
        let numbers: Vec<_> = SOUND.iter().map(|(f, v)| (*f, if *f == field { value } else { *v })).collect();
        trailer(&numbers, &[])
    }

    #[test]
    fn a_sound_trailer_is_read() {
        let parsed = Trailer::parse(&trailer(&SOUND, &[(11, b"org.apache.hudi.X")]), 1000).unwrap();
        let expected = Trailer {
            file_info: 900,
            load_on_open: 800,
            root_entries: 2,
            levels: 1,
            entry_count: 40,
            first_block: Some(0),
            last_block: Some(400),
            codec: Codec::Gz,
            is_native: false,
        };
        assert_eq!(parsed, expected);
        let mut native = trailer(&SOUND, &[]);
        native[4092] = 0;
        assert!(Trailer::parse(&native, 1000).unwrap().is_native);
    }

    #[test]
    fn places_outside_of_the_file_and_contradictions_are_damage() {
        let cases = [
            (1, 1000),
            (1, 700),
            (2, 901),
            (5, 0),
            (7, 0),
            (8, 0),
            (8, 17),
            (7, 1 << 20),
            (1, u64::MAX),
            (2, u64::MAX),
        ];
        for (field, value) in cases {
            let error = Trailer::parse(&changed(field, value), 1000).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptLog, "{field} {value}: {error}");
        }
        assert_eq!(Trailer::parse(&[0; 4096], 1000).unwrap_err().kind(), ErrorKind::CorruptLog);
        assert_eq!(Trailer::parse(&trailer(&SOUND[1..], &[]), 1000).unwrap_err().kind(), ErrorKind::CorruptLog);
    }

    #[test]
    fn what_is_not_supported_is_refused_by_name() {
        let refused = |bytes: &[u8], name: &str| {
            let error = Trailer::parse(bytes, 1000).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains(name), "{error}");
        };
        refused(&changed(12, 3), "SNAPPY");
        refused(&trailer(&SOUND, &[(13, b"k")]), "encrypted");
        refused(&trailer(&SOUND, &[(11, b"a.MetaCellComparator")]), "MetaCellComparator");
        let mut older = trailer(&SOUND, &[]);
        older[4095] = 2;
        refused(&older, "version 2");
    }
}
