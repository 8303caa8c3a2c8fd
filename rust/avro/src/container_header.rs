//! The header of an Avro object container file, and the file that is written with it.
//!
//! Java's `DataFileWriter` writes the records of one metadata file as one block. Hudi sets no codec, and then Java
//! writes no `avro.codec` entry. A header that was read keeps its entries in their order, so that an unchanged record
//! gives the bytes of the file that it was read from.

use std::io::Write as _;

use super::binary::{write_bytes, write_long};
use super::schema::Schema;
use mortice_base::error::{Error, Result};

pub(super) const MAGIC: &[u8; 4] = b"Obj\x01";

/// How the blocks of a container are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Null,
    Deflate,
}

impl Codec {
    pub(super) fn named(name: &str) -> Result<Self> {
        match name {
            "null" => Ok(Self::Null),
            "deflate" => Ok(Self::Deflate),
            other => Err(Error::unsupported(format!("unsupported Avro codec {other} (supported: null, deflate)"))),
        }
    }
}

/// Schema, codec, further entries and sync marker of a container.
#[derive(Debug, Clone)]
pub struct ContainerHeader {
    pub(super) schema: Schema,
    pub(super) codec: Codec,
    pub(super) entries: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) sync: [u8; 16],
}

impl ContainerHeader {
    /// The header that Hudi writes: the schema alone, without compression. The sync marker should not occur in the
    /// records by accident; a hash of them will do.
    #[must_use]
    pub fn new(schema: Schema, sync: [u8; 16]) -> Self {
        let entries = vec![(b"avro.schema".to_vec(), schema.json().as_bytes().to_vec())];
        Self { schema, codec: Codec::Null, entries, sync }
    }

    /// The schema of the records.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The file that holds one record, given as a datum of the schema.
    ///
    /// # Errors
    /// `Io` if compression fails.
    pub fn write(&self, datum: &[u8]) -> Result<Vec<u8>> {
        let mut out = MAGIC.to_vec();
        if !self.entries.is_empty() {
            // No Vec has more items than an i64 counts.
            write_long(self.entries.len() as i64, &mut out);
            for (key, value) in &self.entries {
                write_bytes(key, &mut out);
                write_bytes(value, &mut out);
            }
        }
        out.push(0);
        out.extend_from_slice(&self.sync);
        write_long(1, &mut out);
        match self.codec {
            Codec::Null => write_bytes(datum, &mut out),
            Codec::Deflate => {
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                let compressed = encoder.write_all(datum).and_then(|()| encoder.finish());
                write_bytes(&compressed.map_err(|error| Error::io("an Avro block was not deflated", error))?, &mut out);
            }
        }
        out.extend_from_slice(&self.sync);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Container;

    #[test]
    fn a_container_is_read_and_written_again() {
        let schema = Schema::parse(r#"{"type":"record","name":"r","fields":[{"name":"s","type":"string"}]}"#).unwrap();
        let mut header = ContainerHeader::new(schema, [7; 16]);
        for codec in [Codec::Null, Codec::Deflate] {
            if codec == Codec::Deflate {
                header.codec = codec;
                header.entries.push((b"avro.codec".to_vec(), b"deflate".to_vec()));
                header.entries.push((b"writer".to_vec(), b"\xff".to_vec()));
            }
            let bytes = header.write(b"\x04ab").unwrap();
            let container = Container::open(&bytes).unwrap();
            assert_eq!(container.only_datum().unwrap(), b"\x04ab".as_slice());
            assert_eq!(container.header().write(b"\x04ab").unwrap(), bytes);
        }
    }
}
