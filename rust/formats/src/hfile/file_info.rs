//! The file info: keys and values about the file, the schema of its values among them.
//!
//! ```text
//! "PBUF" · length (varint) · InfoProto: repeated field 1, a message of 1: key, 2: value
//! ```
//! Layout: HBase's `HFileInfo`, `HFile.proto`.

use bytes::Bytes;

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};
use mortice_base::protobuf::{FieldValue, delimited, fields};

const MAGIC: &[u8; 4] = b"PBUF";
/// The value of `KEY_VALUE_VERSION` under which each cell ends in a sequence number (`HFileWriterImpl`).
const WITH_SEQUENCE: &[u8] = &1_i32.to_be_bytes();

/// Keys and values, in the order of the file.
#[derive(Debug, Clone)]
pub(super) struct FileInfo {
    entries: Vec<(Bytes, Bytes)>,
    schema: Option<String>,
}

impl FileInfo {
    /// Reads the payload of the file info block.
    pub(super) fn parse(payload: &Bytes) -> Result<Self> {
        let mut cursor = Cursor::new(payload);
        if cursor.take(MAGIC.len())? != MAGIC {
            return Err(Error::corrupt("invalid HFile file info: it does not begin with PBUF").at_offset(0));
        }
        let message = delimited(&mut cursor)?;
        let base = (cursor.position() - message.len()) as u64;
        let mut entries = Vec::new();
        fields(message, |number, value| {
            if let (1, FieldValue::Bytes(pair)) = (number, value) {
                let (key, value) = entry(pair).map_err(|error| error.with_offset_in("an entry"))?;
                entries.push((payload.slice_ref(key), payload.slice_ref(value)));
            }
            Ok(())
        })
        .map_err(|error| error.offset_from(base))?;
        let mut info = Self { entries, schema: None };
        info.check()?;
        let schema = info.get("schema").map(|schema| String::from_utf8(schema.to_vec()));
        info.schema =
            schema.transpose().map_err(|_| Error::corrupt("invalid HFile file info: the schema is not UTF-8"))?;
        Ok(info)
    }

    /// The value under a key.
    pub(super) fn get(&self, key: &str) -> Option<&[u8]> {
        self.entries.iter().find(|(name, _)| name == key.as_bytes()).map(|(_, value)| value.as_ref())
    }

    /// The value under `schema`.
    pub(super) fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// Whether each cell ends in a sequence number, which then is 0 and takes one byte.
    pub(super) fn cells_have_sequence(&self) -> bool {
        self.get("KEY_VALUE_VERSION") == Some(WITH_SEQUENCE)
    }

    fn check(&self) -> Result<()> {
        if self.get("MAX_MEMSTORE_TS_KEY").is_some_and(|number| number.iter().any(|byte| *byte != 0)) {
            return Err(Error::unsupported(
                "unsupported HFile: MAX_MEMSTORE_TS_KEY is above 0, as only HBase writes it",
            ));
        }
        if self.get("hfile.MAX_TAGS_LEN").is_some() {
            return Err(Error::unsupported("unsupported HFile: cells have tags, as only HBase writes them"));
        }
        Ok(())
    }
}

/// A key and its value; either may be missing where it is empty.
fn entry(pair: &[u8]) -> Result<(&[u8], &[u8])> {
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    fields(pair, |number, found| {
        match (number, found) {
            (1, FieldValue::Bytes(bytes)) => key = bytes,
            (2, FieldValue::Bytes(bytes)) => value = bytes,
            _ => {}
        }
        Ok(())
    })?;
    Ok((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    fn info(entries: &[(&str, &[u8])]) -> Bytes {
        let mut message = Vec::new();
        for (key, value) in entries {
            let mut pair = vec![0x0a, key.len() as u8];
            pair.extend(key.as_bytes());
            pair.extend([0x12, value.len() as u8]);
            pair.extend(*value);
            message.extend([0x0a, pair.len() as u8]);
            message.extend(pair);
        }
        let mut bytes = b"PBUF".to_vec();
        bytes.push(message.len() as u8);
        bytes.extend(message);
        bytes.into()
    }

    #[test]
    fn values_are_found_under_their_keys() {
        let info = FileInfo::parse(&info(&[("schema", b"\"string\""), ("KEY_VALUE_VERSION", &[0, 0, 0, 1])])).unwrap();
        assert_eq!(info.schema(), Some("\"string\""));
        assert_eq!(info.get("schema"), Some(b"\"string\"".as_slice()));
        assert_eq!(info.get("else"), None);
        assert!(info.cells_have_sequence());
    }

    #[test]
    fn a_pair_without_value_has_an_empty_one() {
        let found = FileInfo::parse(&Bytes::from_static(b"PBUF\x05\x0a\x03\x0a\x01k")).unwrap();
        assert_eq!(found.get("k"), Some(b"".as_slice()));
        assert!(!found.cells_have_sequence());
    }

    #[test]
    fn what_changes_the_cells_is_refused_by_name() {
        for (key, value) in [("MAX_MEMSTORE_TS_KEY", [0, 0, 0, 0, 0, 0, 0, 9]), ("hfile.MAX_TAGS_LEN", [0; 8])] {
            let error = FileInfo::parse(&info(&[(key, &value)])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
    }

    #[test]
    fn damage_is_an_error_with_its_place() {
        assert_eq!(FileInfo::parse(&Bytes::from_static(b"PBUG\x00")).unwrap_err().location().offset, Some(0));
        assert!(FileInfo::parse(&Bytes::from_static(b"PBUF\x09")).is_err());
        let in_second = FileInfo::parse(&Bytes::from_static(b"PBUF\x07\x0a\x01\x08\x0a\x02\x0a\x09")).unwrap_err();
        assert_eq!(in_second.location().offset, Some(5), "the first entry is cut short already: {in_second}");
        let in_second = FileInfo::parse(&Bytes::from_static(b"PBUF\x06\x0a\x00\x0a\x02\x0a\x09")).unwrap_err();
        assert_eq!(in_second.location().offset, Some(7), "{in_second}");
        assert!(FileInfo::parse(&info(&[("schema", &[0xff, 0xfe])])).is_err());
    }
}
