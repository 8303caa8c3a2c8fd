//! Native logs of table version 10, each of which is one block.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use mortice::log::{Block, ForwardScan, LogFile, NATIVE_LOG_METADATA, backward};
use mortice::storage::FileSource;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::logs::{ask_everything, framed};
use super::memory::memory_named;

const CONTENTS: [&str; 3] = ["log", "deletes", "cdc"];
const FORMATS: [&str; 4] = ["parquet", "hfile", "orc", "lance"];
const KEYS: [&str; 3] = ["a", "b", "c"];

/// A native log. The first byte selects what the name says of content and format; from 128 on, the others are not the
/// file, but the header in the metadata of a Parquet file of three rows. The file is one block or an error, the same
/// backwards and in windows; the block covers it; what the block says can be asked for.
pub fn native(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let (content, format) = (CONTENTS[usize::from(kind % 3)], FORMATS[usize::from(kind / 3 % 4)]);
    if *kind < 128 {
        return check(data, content, format);
    }
    let Ok(header) = std::str::from_utf8(data) else { return };
    check(&three_rows(header), content, "parquet");
}

fn check(data: &[u8], content: &str, format: &str) {
    let file = |window| memory_named(&format!("/t/f-0_1-0-1_20250409161256974_2.{content}.{format}"), data, window);
    let (blocks, failed) = framed(ForwardScan::new(file(0)));
    assert!(blocks.len() + usize::from(failed) == 1, "a native log gave {blocks:?}");
    assert!(framed(ForwardScan::new(file(4096))) == (blocks.clone(), failed), "another block by windows");
    assert!(framed(backward(file(0))) == (blocks.clone(), failed), "another block backwards");
    blocks.iter().for_each(|block| check_block(file(0), block));
}

fn check_block(file: Arc<dyn FileSource>, block: &Block) {
    assert!(block.is_native && (block.offset, block.end) == (0, file.len()) && block.content == (0..file.len()));
    assert!(block.header.instant_time().is_some(), "a block without its instant");
    let log = LogFile::new(file);
    ask_everything(&log, block);
    if let (Ok(Some(positions)), Ok(Some(rows))) = (log.positions(block), log.record_count(block)) {
        assert!(positions.len() as u64 == rows, "positions of other rows");
    }
}

/// Returns a Parquet file of three deleted keys with this header.
fn three_rows(header: &str) -> Vec<u8> {
    let columns: [(&str, ArrayRef); 2] = [
        ("_hoodie_record_key", Arc::new(StringArray::from(KEYS.to_vec()))),
        ("ts", Arc::new(Int64Array::from(vec![Some(7), None, Some(0)]))),
    ];
    let rows = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let entry = KeyValue::new(NATIVE_LOG_METADATA.to_owned(), Some(header.to_owned()));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![entry])).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).expect("a writer");
    writer.write(&rows).expect("rows are written");
    writer.into_inner().expect("a file")
}
