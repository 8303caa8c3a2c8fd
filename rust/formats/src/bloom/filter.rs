//! A Bloom filter that is read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::bits::Bits;
use super::hash::{HashKind, Hashing};
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// The version in a header. A positive number in its place is the number of hashes of an older layout.
const VERSION: i32 = -1;

/// More hashes per key than the lowest possible rate of false positives takes: a few bytes must not make a test of a
/// key endless.
const MAX_HASHES: u32 = 2048;

/// Kinds of filters (`BloomFilterTypeCode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BloomType {
    /// One row of bits.
    Simple,
    /// Rows of bits, each for so many keys.
    #[default]
    DynamicV0,
}

impl BloomType {
    /// By its name in `hoodie.bloom.index.filter.type` and in footers, in any case.
    ///
    /// # Errors
    /// `InvalidArgument` for other names.
    pub fn parse(name: &str) -> Result<Self> {
        [Self::Simple, Self::DynamicV0].into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name)).ok_or_else(
            || {
                let message = format!("Bloom filter type {name:?} is not supported (supported: SIMPLE, DYNAMIC_V0)");
                Error::invalid_argument(message)
            },
        )
    }

    /// The name in footers and in the metadata table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simple => "SIMPLE",
            Self::DynamicV0 => "DYNAMIC_V0",
        }
    }
}

/// A Bloom filter of record keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomFilter {
    pub(super) kind: BloomType,
    pub(super) hashing: Hashing,
    /// Keys per row, and keys in the last row; 0 for a simple filter.
    pub(super) counts: [u32; 2],
    pub(super) rows: Vec<Bits>,
}

impl BloomFilter {
    /// Parses the text of a filter, as footers and the metadata table have it.
    ///
    /// # Errors
    /// `InvalidTable` if the text is no such filter.
    pub fn parse(text: &str, kind: BloomType) -> Result<Self> {
        let damaged =
            |error: Error| error.with_kind(mortice_base::ErrorKind::InvalidTable).with_offset_in("the Bloom filter");
        let bytes = STANDARD
            .decode(text.trim_ascii())
            .map_err(|error| Error::invalid_table("invalid Bloom filter: not base64").caused_by(error))?;
        let mut cursor = Cursor::new(&bytes);
        let filter = Self::read(&mut cursor, kind).map_err(damaged)?;
        if cursor.remaining() > 0 {
            return Err(Error::invalid_table(format!(
                "invalid Bloom filter: {} bytes follow its end",
                cursor.remaining()
            )));
        }
        Ok(filter)
    }

    fn read(cursor: &mut Cursor<'_>, kind: BloomType) -> Result<Self> {
        let hashing = read_header(cursor)?;
        if kind == BloomType::Simple {
            return Ok(Self { kind, hashing, counts: [0; 2], rows: vec![Bits::read(cursor, hashing.bits)?] });
        }
        let counts = [read_count(cursor)?, read_count(cursor)?];
        let count = read_count(cursor)?;
        let mut rows = Vec::new();
        for _ in 0..count {
            if read_header(cursor)? != hashing {
                return Err(Error::invalid_table("invalid Bloom filter: its rows differ in size or hash function"));
            }
            rows.push(Bits::read(cursor, hashing.bits)?);
        }
        Ok(Self { kind, hashing, counts, rows })
    }

    /// The kind of filter.
    #[must_use]
    pub const fn kind(&self) -> BloomType {
        self.kind
    }

    /// Returns false only if the key was never added. No filter has the empty key.
    #[must_use]
    pub fn may_contain(&self, key: &str) -> bool {
        let mut scratch = Vec::new();
        !key.is_empty()
            && self.rows.iter().any(|row| self.hashing.all(key.as_bytes(), &mut scratch, |bit| row.is_set(bit)))
    }

    /// The text, byte for byte as Hudi writes it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::with_capacity(self.rows.iter().map(|row| row.bytes().len() + 13).sum::<usize>() + 25);
        if self.kind == BloomType::DynamicV0 {
            write_header(&self.hashing, &mut bytes);
            let [per_row, in_last] = self.counts;
            bytes.extend(per_row.to_be_bytes());
            bytes.extend(in_last.to_be_bytes());
            bytes.extend((self.rows.len() as u32).to_be_bytes());
        }
        for row in &self.rows {
            write_header(&self.hashing, &mut bytes);
            bytes.extend(row.bytes());
        }
        STANDARD.encode(bytes)
    }
}

fn read_header(cursor: &mut Cursor<'_>) -> Result<Hashing> {
    let version = cursor.i32_be()?;
    let (count, kind) = match version {
        VERSION => (cursor.i32_be()?, HashKind::from_code(u8::from_be_bytes(cursor.array()?))?),
        1.. => (version, HashKind::Jenkins),
        _ => return Err(Error::invalid_table(format!("invalid Bloom filter: unknown version {version}"))),
    };
    let bits = cursor.i32_be()?;
    match (u32::try_from(count), u32::try_from(bits)) {
        (Ok(count @ 1..=MAX_HASHES), Ok(bits @ 1..)) => Ok(Hashing { kind, count, bits }),
        _ => Err(Error::invalid_table(format!("invalid Bloom filter: {bits} bits with {count} hashes per key"))),
    }
}

fn write_header(hashing: &Hashing, out: &mut Vec<u8>) {
    out.extend(VERSION.to_be_bytes());
    out.extend(hashing.count.to_be_bytes());
    out.push(hashing.kind.code());
    out.extend(hashing.bits.to_be_bytes());
}

fn read_count(cursor: &mut Cursor<'_>) -> Result<u32> {
    let count = cursor.i32_be()?;
    u32::try_from(count).map_err(|_| Error::invalid_table(format!("invalid Bloom filter: count {count}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_filters_are_errors() {
        let parse = |bytes: &[u8], kind| BloomFilter::parse(&STANDARD.encode(bytes), kind).unwrap_err();
        let header = |count: i32, hash: u8, bits: i32| {
            [&(-1_i32).to_be_bytes()[..], &count.to_be_bytes(), &[hash], &bits.to_be_bytes()].concat()
        };
        for (bytes, word) in [
            (vec![], "found 0"),
            (header(0, 1, 8), "0 hashes"),
            (header(1, 1, 0), "0 bits"),
            (header(-1, 1, 8), "-1 hashes"),
            (header(i32::MAX, 1, 8), "hashes per key"),
            (header(1, 2, 8), "hash function 2"),
            ((-2_i32).to_be_bytes().to_vec(), "version -2"),
            // Nothing is allocated for bits that are not there.
            (header(1, 1, i32::MAX), "found 0"),
            ([header(1, 1, 8), vec![0, 0]].concat(), "1 bytes follow its end"),
        ] {
            let error = parse(&bytes, BloomType::Simple);
            assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidTable, "{error}");
            assert!(error.to_string().contains(word), "{error}");
        }
        let rows = |rows: i32, row: Vec<u8>| {
            [header(1, 1, 8), vec![0, 0, 0, 1, 0, 0, 0, 1], rows.to_be_bytes().to_vec(), row].concat()
        };
        for (bytes, word) in [
            (rows(i32::MAX, vec![]), "found 0"),
            (rows(-1, vec![]), "count -1"),
            (rows(1, [header(2, 1, 8), vec![0]].concat()), "differ"),
        ] {
            let error = parse(&bytes, BloomType::DynamicV0);
            assert!(error.to_string().contains(word), "{error}");
        }
        assert!(BloomFilter::parse("!", BloomType::Simple).is_err());
        assert_eq!(BloomType::parse("dynamic_v0").unwrap(), BloomType::DynamicV0);
        assert!(BloomType::parse("RIBBON").is_err());
    }

    /// The layout before versions: the number of hashes in the place of the version, Jenkins without its code.
    #[test]
    fn filters_without_a_version_are_read() {
        let bytes = [&2_i32.to_be_bytes()[..], &8_i32.to_be_bytes(), &[0xff]].concat();
        let filter = BloomFilter::parse(&STANDARD.encode(bytes), BloomType::Simple).unwrap();
        assert_eq!(filter.hashing, Hashing { kind: HashKind::Jenkins, count: 2, bits: 8 });
        assert!(filter.may_contain("a") && !filter.may_contain(""));
    }
}
