//! Avro object container files: Hudi keeps commit metadata and service plans in them.
//!
//! ```text
//! "Obj" 01 | metadata: map<bytes> (avro.schema, avro.codec) | sync marker, 16 bytes
//! block*:  count (long) | size (long) | size bytes, compressed | sync marker
//! ```
//! Records of a block have no framing of their own: one scan finds where each ends, a second decodes the wanted fields.
//! Layout: the Avro specification, "Object Container Files". Codecs `null` and `deflate`.

use std::borrow::Cow;
use std::io::Read as _;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::arrow_types::ArrowMapping;
use super::container_header::{Codec, ContainerHeader, MAGIC};
use super::decoder::{Datum, Decoder};
use super::lane::Lane;
use super::program::{DecodeProgram, RequestedColumn};
use super::schema::Schema;
use super::skip::{skip, skip_lane};
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Bytes that one block may unpack to.
const MAX_BLOCK: u64 = 1 << 30;
/// Records without any bytes that a block may claim to hold.
const MAX_EMPTY: usize = 65_536;

/// An opened container: its header is read, its blocks are not.
#[derive(Debug, Clone)]
pub struct Container<'a> {
    schema: Schema,
    codec: Codec,
    entries: Vec<(&'a [u8], &'a [u8])>,
    sync: [u8; 16],
    blocks: Cursor<'a>,
}

impl<'a> Container<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// `CorruptLog` where the bytes are no container; `Unsupported` where the codec is another than `null` and
    /// `deflate`, by name; what [`Schema::parse`] says of the schema.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(MAGIC.len()).ok() != Some(MAGIC.as_slice()) {
            return Err(
                Error::corrupt("invalid Avro container: it does not begin with the magic \"Obj\" 01").at_offset(0)
            );
        }
        let (mut schema, mut codec, mut entries) = (None, Codec::Null, Vec::new());
        metadata(&mut cursor, |key, value| {
            entries.push((key, value));
            match key {
                b"avro.schema" => schema = Some(Schema::parse(text(value)?)?),
                b"avro.codec" => codec = Codec::named(text(value)?)?,
                _ => {}
            }
            Ok(())
        })?;
        let schema =
            schema.ok_or_else(|| Error::corrupt("invalid Avro container: avro.schema is missing in its metadata"))?;
        let sync = cursor.array()?;
        Ok(Self { schema, codec, entries, sync, blocks: cursor })
    }

    /// The header, with which the same file can be written again.
    #[must_use]
    pub fn header(&self) -> ContainerHeader {
        let owned = |(key, value): &(&[u8], &[u8])| (key.to_vec(), value.to_vec());
        let entries = self.entries.iter().map(owned).collect();
        ContainerHeader { schema: self.schema.clone(), codec: self.codec, entries, sync: self.sync }
    }

    /// The bytes of the one record that the container holds.
    ///
    /// # Errors
    /// `CorruptLog` if a block is damaged; `InvalidTable` if there is not exactly one record.
    pub fn only_datum(&self) -> Result<Cow<'a, [u8]>> {
        let mut records = 0_usize;
        let mut datum = Cow::Borrowed([].as_slice());
        self.each_block(|stored, count| {
            records = records.saturating_add(count);
            if count == 1 {
                datum = unpack(stored, self.codec)?;
            }
            Ok(())
        })?;
        if records != 1 {
            return Err(Error::invalid_table(format!("invalid metadata file: expected one record, found {records}")));
        }
        Ok(datum)
    }

    /// The writer's schema.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Reads all records into one batch: the named top-level fields in that order, or all of them. A wanted field that
    /// the schema lacks is an error; look with [`Container::schema`] first.
    ///
    /// # Errors
    /// `CorruptLog` where a block is damaged; `InvalidArgument` for a field that is not there.
    pub fn read(&self, columns: Option<&[&str]>, types: ArrowMapping) -> Result<RecordBatch> {
        let program = match columns {
            Some(names) => {
                let wants: Vec<RequestedColumn> =
                    names.iter().map(|name| RequestedColumn::Value((*name).to_owned())).collect();
                DecodeProgram::compile(&self.schema, &self.schema, &wants, types)?
            }
            None => DecodeProgram::compile_all(&self.schema, &self.schema, types)?,
        };
        let mut decoder = Decoder::new(Arc::new(program));
        self.each_block(|stored, count| self.block(stored, count, &mut decoder))?;
        decoder.finish()
    }

    /// Calls `visit` with the stored bytes of each block and the number of its records.
    fn each_block(&self, mut visit: impl FnMut(&'a [u8], usize) -> Result<()>) -> Result<()> {
        let mut cursor = self.blocks;
        while cursor.remaining() > 0 {
            let at = cursor.position() as u64;
            let count = count(cursor.varint()?, "records").map_err(|error| error.at_offset(at))?;
            let size = count_of_bytes(&mut cursor)?;
            let stored = cursor.take(size)?;
            visit(stored, count).map_err(|error| error.offset_from(at))?;
            if cursor.array::<16>()? != self.sync {
                return Err(
                    Error::corrupt("invalid Avro container: a block does not end with the sync marker").at_offset(at)
                );
            }
        }
        Ok(())
    }

    fn block(&self, packed: &[u8], count: usize, decoder: &mut Decoder) -> Result<()> {
        let content = unpack(packed, self.codec)?;
        let whole = skip(self.schema.root());
        let most = if whole.is_empty() { MAX_EMPTY } else { content.len() };
        if count > most {
            return Err(Error::corrupt(format!(
                "invalid Avro container: {count} records do not fit in a block of {} bytes",
                content.len()
            )));
        }
        let mut lane = Lane::new(&content);
        let mut datums = Vec::with_capacity(count);
        for _ in 0..count {
            let at = lane.at();
            skip_lane(&whole, &mut lane)?;
            let (at, len) = (u32::try_from(at), u32::try_from(lane.at() - at));
            let (Ok(at), Ok(len)) = (at, len) else {
                return Err(Error::corrupt("invalid Avro container: a block of more than 4 GiB"));
            };
            datums.push(Datum { at, len });
        }
        decoder.decode(&content, &datums)
    }
}

/// Goes through the header's map.
fn metadata<'a>(cursor: &mut Cursor<'a>, mut entry: impl FnMut(&'a [u8], &'a [u8]) -> Result<()>) -> Result<()> {
    loop {
        let claimed = cursor.varint()?;
        if claimed == 0 {
            return Ok(());
        }
        if claimed < 0 {
            cursor.varint()?;
        }
        // Each entry takes two bytes at least, so that the bytes end before a false count does.
        for _ in 0..claimed.unsigned_abs() {
            let size = count_of_bytes(cursor)?;
            let key = cursor.take(size)?;
            let size = count_of_bytes(cursor)?;
            entry(key, cursor.take(size)?)?;
        }
    }
}

fn count_of_bytes(cursor: &mut Cursor<'_>) -> Result<usize> {
    let at = cursor.position() as u64;
    count(cursor.varint()?, "bytes").map_err(|error| error.at_offset(at))
}

fn count(claimed: i64, what: &str) -> Result<usize> {
    usize::try_from(claimed).map_err(|_| Error::corrupt(format!("invalid Avro container: a block of {claimed} {what}")))
}

fn text(bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes)
        .map_err(|error| Error::corrupt("invalid Avro container: its metadata is not UTF-8").caused_by(error))
}

fn unpack(packed: &[u8], codec: Codec) -> Result<Cow<'_, [u8]>> {
    if codec == Codec::Null {
        return Ok(Cow::Borrowed(packed));
    }
    let mut content = Vec::new();
    flate2::read::DeflateDecoder::new(packed)
        .take(MAX_BLOCK + 1)
        .read_to_end(&mut content)
        .map_err(|error| Error::corrupt("invalid Avro container: a block cannot be decompressed").caused_by(error))?;
    if content.len() as u64 > MAX_BLOCK {
        return Err(Error::corrupt("invalid Avro container: a block decompresses to more than 1 GiB"));
    }
    Ok(Cow::Owned(content))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    use super::*;
    use mortice_base::error::ErrorKind;

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[{"name":"s","type":"string"},{"name":"n","type":"long"},
        {"name":"m","type":{"type":"map","values":{"type":"array","items":"int"}}}]}"#;

    fn sized(bytes: &[u8], out: &mut Vec<u8>) {
        // Two-byte varint: enough for lengths to 8191.
        let zigzag = bytes.len() as u64 * 2;
        out.extend([zigzag as u8 | 0x80, (zigzag >> 7) as u8]);
        out.extend(bytes);
    }

    /// A container of two blocks with one record each.
    fn container(codec: &str) -> Vec<u8> {
        let mut out = b"Obj\x01\x04".to_vec();
        sized(b"avro.schema", &mut out);
        sized(SCHEMA.as_bytes(), &mut out);
        sized(b"avro.codec", &mut out);
        sized(codec.as_bytes(), &mut out);
        out.push(0);
        out.extend([7; 16]);
        for record in [b"\x02a\x06\x00", b"\x02b\x08\x00"] {
            let packed = match codec {
                "deflate" => {
                    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                    encoder.write_all(record).unwrap();
                    encoder.finish().unwrap()
                }
                _ => record.to_vec(),
            };
            out.push(2);
            sized(&packed, &mut out);
            out.extend([7; 16]);
        }
        out
    }

    #[test]
    fn blocks_of_both_codecs_become_one_batch() {
        for codec in ["null", "deflate"] {
            let bytes = container(codec);
            let container = Container::open(&bytes).unwrap();
            let batch = container.read(Some(&["n", "s"]), ArrowMapping::Table).unwrap();
            assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[3, 4]);
            assert_eq!(batch.column(1).as_string::<i32>().value(1), "b");
            assert_eq!(container.read(None, ArrowMapping::File).unwrap().num_columns(), 3);
            assert_eq!(
                container.read(Some(&["x"]), ArrowMapping::File).unwrap_err().kind(),
                ErrorKind::InvalidArgument
            );
        }
    }

    #[test]
    fn other_codecs_are_refused_by_name() {
        let error = Container::open(&container("zstandard")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("zstandard"), "{error}");
    }

    #[test]
    fn no_damage_makes_it_panic_and_no_cut_goes_unseen() {
        for codec in ["null", "deflate"] {
            let whole = container(codec);
            let read = |bytes: &[u8]| Container::open(bytes).and_then(|one| one.read(None, ArrowMapping::Table));
            let header = whole.len() - read_blocks(&whole);
            for len in 0..whole.len() {
                let rows = read(&whole[..len]).map(|batch| batch.num_rows());
                // Between two blocks, a truncated file looks like a complete one.
                let between = rows.as_ref().is_ok_and(|rows| *rows < 2) && len >= header;
                assert!(rows.is_err() || between, "{len} of {}", whole.len());
                for byte in [0, 1, 0x7f, 0xff] {
                    let mut damaged = whole.clone();
                    damaged[len] = byte;
                    let _ = read(&damaged);
                }
            }
        }
    }

    fn read_blocks(bytes: &[u8]) -> usize {
        Container::open(bytes).unwrap().blocks.remaining()
    }
}
