//! Records as an HFile data block (`HoodieHfileDataBlock`); the content's layout is described in
//! [`crate::log::content::hfile_data`].

use chrono::Utc;

use super::block_bytes::{BlockBuilder, BlockBytes};
use super::block_header::BlockHeader;
use crate::hfile::HFileWriter;
use crate::log::layout::BlockType;
use mortice_base::error::Result;

/// A block of records that are encoded by `schema`, Avro JSON, each under its key: in the order of the keys' bytes,
/// each key once. The field of the key is empty in the records, since readers put the key there.
///
/// # Errors
/// As for [`HFileWriter::append`] and [`HFileWriter::finish`]; `InvalidArgument` for a block of 2 GiB or more.
pub fn hfile_block<'a>(
    records: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    schema: &str,
    header: &BlockHeader,
) -> Result<BlockBytes> {
    let mut file = HFileWriter::new(schema, Utc::now().timestamp_millis());
    let mut count = 0_u64;
    for (key, record) in records {
        file.append(key.as_bytes(), record)?;
        count += 1;
    }
    let header = header.clone().with_schema(schema);
    let mut block = BlockBuilder::new(BlockType::HfileData, &header)?;
    block.content().extend(file.finish()?);
    block.finish(Some(count))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::filter::KeyFilter;
    use crate::log::ForwardScan;
    use crate::log::content::hfile_data::as_avro;
    use mortice_avro::Schema;
    use mortice_storage::{FileSource, MemoryFile};

    const SCHEMA: &str =
        r#"{"type":"record","name":"r","fields":[{"name":"key","type":"string"},{"name":"n","type":"int"}]}"#;

    #[test]
    fn records_are_read_again_with_their_keys() {
        let header = BlockHeader::new(&"20240101000000000".into());
        let block = hfile_block([("a", &[0, 2][..]), ("b", &[0, 4])], SCHEMA, &header).unwrap();
        assert_eq!((block.kind(), block.records()), (BlockType::HfileData, Some(2)));
        let source: Arc<dyn FileSource> = Arc::new(MemoryFile::new("log", block.bytes().to_vec()));
        let found = ForwardScan::new(Arc::clone(&source)).next().unwrap().unwrap();
        let schema = Schema::parse(SCHEMA).unwrap();
        let content = as_avro(&source, &found.content, &schema, Some("key"), &KeyFilter::All).unwrap();
        assert_eq!(&content[..], b"\0\0\0\x03\0\0\0\x02\0\0\0\x03\x02a\x02\0\0\0\x03\x02b\x04");
    }
}
