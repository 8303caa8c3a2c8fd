//! Record keys of files, read from them: Hudi 1.2 does the same for the record index.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_formats::base_file;
use mortice_formats::filter::KeyFilter;
use mortice_formats::log::{BlockKind, BlockType, HeaderKey, LogFile};
use mortice_storage::Storage;

const BATCH_ROWS: usize = 64 * 1024;

/// Hands the record keys of a base file to `take`.
pub(in crate::metadata_upkeep) fn keys_of_base_file(
    place: &dyn Storage,
    path: &str,
    take: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let in_file = |error: Error| error.in_file(place.full_path(path));
    let file = base_file::open(place.open(path)?)?;
    if !file.has_column(meta_columns::RECORD_KEY) {
        return Err(in_file(Error::unsupported(
            "the base file has no record keys (hoodie.populate.meta.fields=false): such a table can have no record index",
        )));
    }
    let wanted = Arc::new(Schema::new(vec![Field::new(meta_columns::RECORD_KEY, DataType::Utf8, true)]));
    for batch in file.batches(&wanted, BatchLimit::with_rows(BATCH_ROWS))? {
        for key in keys(&batch?).map_err(in_file)?.iter() {
            take(key.ok_or_else(|| in_file(Error::invalid_table("a row without a record key")))?)?;
        }
    }
    Ok(())
}

/// The column of record keys of a batch that has nothing else.
fn keys(batch: &RecordBatch) -> Result<StringArray> {
    let keys = batch.columns().first().and_then(|column| column.as_string_opt::<i32>());
    keys.cloned().ok_or_else(|| Error::invalid_table("record keys are not strings"))
}

/// Hands the keys of the delete blocks that `instant` wrote to a log file to `take`, and those of rows whose
/// `_hoodie_operation` is a delete. A row that an update replaces (`-U`) leaves its key in the index, as in Hudi
/// (`HoodieOperation.isUpdateBefore`).
pub(in crate::metadata_upkeep) fn deleted_keys_of_log(
    place: &dyn Storage,
    path: &str,
    instant: &RequestedTime,
    take: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let log = LogFile::new(place.open(path)?);
    for block in log.blocks(false) {
        let block = block?;
        if let Some(damage) = block.damage() {
            let message = format!("a log file that was just written is damaged: {}", damage.reason);
            return Err(Error::corrupt(message).in_file(place.full_path(path)).at_offset(damage.offset));
        }
        let is_of_commit = block.header.instant_time().is_some_and(|time| time == instant.as_str());
        if !is_of_commit {
            continue;
        }
        if block.kind != BlockKind::Sound(BlockType::Delete) {
            if block.header.get(HeaderKey::Schema).is_some_and(|schema| schema.contains(meta_columns::OPERATION)) {
                take_deleted_rows(&log.records(&block, &KeyFilter::All)?, take)?;
            }
            continue;
        }
        let deletes = log.deletes(&block)?;
        let keys = deletes.column_by_name("record_key").and_then(|keys| keys.as_string_opt::<i32>());
        let keys = keys.ok_or_else(|| Error::internal("deleted keys are not strings"))?;
        keys.iter().flatten().try_for_each(&mut *take)?;
    }
    Ok(())
}

/// Hands the keys of rows whose `_hoodie_operation` is a delete to `take`.
fn take_deleted_rows(rows: &RecordBatch, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    let Some(operations) = rows.column_by_name(meta_columns::OPERATION) else { return Ok(()) };
    let strings = |column: Option<&ArrayRef>| column.and_then(|column| column.as_string_opt::<i32>()).cloned();
    let found = strings(Some(operations)).zip(strings(rows.column_by_name(meta_columns::RECORD_KEY)));
    let (operations, keys) =
        found.ok_or_else(|| Error::internal("operations or keys of log records are not strings"))?;
    for (key, operation) in keys.iter().zip(&operations) {
        if let Some(key) = key.filter(|_| operation == Some("D")) {
            take(key)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use mortice_avro as avro;
    use mortice_base::error::ErrorKind;
    use mortice_formats::log::writer::{
        BlockBytes, BlockHeader, DeleteColumns, PartitionPath, avro_blocks, delete_block,
    };
    use mortice_storage::LocalStorage;
    use parquet::arrow::ArrowWriter;

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[
        {"name":"_hoodie_record_key","type":["null","string"],"default":null},
        {"name":"_hoodie_operation","type":["null","string"],"default":null}]}"#;

    fn strings(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    fn rows(columns: &[(&str, &[Option<&str>])]) -> RecordBatch {
        let columns = columns.iter().map(|(name, values)| (*name, strings(values), true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn base_keys(rows: &RecordBatch) -> Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("f.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
        writer.write(rows).unwrap();
        writer.close().unwrap();
        let place = LocalStorage::new(&folder.path().to_string_lossy(), true);
        let mut found = Vec::new();
        let take = &mut |key: &str| {
            found.push(key.to_owned());
            if key == "stop" { Err(Error::internal("as the taker says")) } else { Ok(()) }
        };
        keys_of_base_file(&place, "f.parquet", take)?;
        Ok(found)
    }

    #[test]
    fn all_keys_of_a_base_file_are_taken_in_their_order() {
        let keys: Vec<String> = (0..BATCH_ROWS + 3).map(|number| format!("k{number}")).collect();
        let column: Vec<Option<&str>> = keys.iter().map(|key| Some(key.as_str())).collect();
        let found = base_keys(&rows(&[("other", &column), (meta_columns::RECORD_KEY, &column)])).unwrap();
        assert_eq!(found, keys);
    }

    #[test]
    fn a_base_file_whose_rows_have_no_keys_is_refused() {
        let error = base_keys(&rows(&[("id", &[Some("a")])])).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("f.parquet"), "{error}");
        let error = base_keys(&rows(&[(meta_columns::RECORD_KEY, &[Some("a"), None])])).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidTable && error.to_string().contains("f.parquet"), "{error}");
        let error = base_keys(&rows(&[(meta_columns::RECORD_KEY, &[Some("stop"), Some("b")])])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }

    fn instant(minute: u8) -> RequestedTime {
        RequestedTime::from(format!("202601010{minute:02}000000").as_str())
    }

    fn deletes(minute: u8, keys: &[Option<&str>]) -> BlockBytes {
        let batch = rows(&[("id", keys)]);
        let columns = DeleteColumns {
            record_key: "id".to_owned(),
            partition_path: PartitionPath::Constant("p".to_owned()),
            ordering: Vec::new(),
        };
        let header = BlockHeader::new(&instant(minute)).with_schema(SCHEMA);
        delete_block(&batch.schema(), &mut std::iter::once(Ok(batch)), &columns, &header).unwrap()
    }

    /// A block of rows with their operations, or without any.
    fn records(minute: u8, keys: &[Option<&str>], operations: Option<&[Option<&str>]>) -> BlockBytes {
        let mut columns = vec![(meta_columns::RECORD_KEY, keys)];
        columns.extend(operations.map(|operations| (meta_columns::OPERATION, operations)));
        let batch = rows(&columns);
        let text = match operations {
            Some(_) => SCHEMA.to_owned(),
            None => SCHEMA.replace(
                r#",
        {"name":"_hoodie_operation","type":["null","string"],"default":null}"#,
                "",
            ),
        };
        let schema = avro::Schema::parse(&text).unwrap();
        let header = BlockHeader::new(&instant(minute));
        let blocks =
            avro_blocks(&batch.schema(), &mut std::iter::once(Ok(batch.clone())), &schema, &header, 1 << 20).unwrap();
        blocks.into_iter().next().unwrap()
    }

    fn log_keys(blocks: &[BlockBytes], damage: impl Fn(&mut Vec<u8>), minute: u8) -> Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes: Vec<u8> = blocks.iter().flat_map(BlockBytes::bytes).copied().collect();
        damage(&mut bytes);
        std::fs::write(folder.path().join("log"), bytes).unwrap();
        let place = LocalStorage::new(&folder.path().to_string_lossy(), true);
        let mut found = Vec::new();
        deleted_keys_of_log(&place, "log", &instant(minute), &mut |key| {
            found.push(key.to_owned());
            Ok(())
        })?;
        Ok(found)
    }

    /// Up to version 7 a log may have blocks of several commits; a key that an earlier one deleted may be there again.
    #[test]
    fn keys_that_another_commit_deleted_are_left_out() {
        let blocks = [
            deletes(1, &[Some("a"), Some("b")]),
            deletes(2, &[Some("c")]),
            records(2, &[Some("d"), Some("e"), Some("f"), Some("g")], Some(&[Some("D"), Some("-U"), Some("I"), None])),
            records(1, &[Some("h")], Some(&[Some("D")])),
            records(2, &[Some("i")], None),
            deletes(2, &[]),
            deletes(2, &[Some("ü"), Some("c")]),
        ];
        let of = |minute| log_keys(&blocks, |_| {}, minute).unwrap();
        assert_eq!(of(2), ["c", "d", "ü", "c"]);
        assert_eq!(of(1), ["a", "b", "h"]);
        assert!(of(3).is_empty());
    }

    /// Readers skip a damaged block: the keys that it deletes would stay in the index.
    #[test]
    fn a_log_that_is_damaged_is_refused() {
        let blocks = [deletes(2, &[Some("a")]), deletes(2, &[Some("b")])];
        for cut in [1, 9, 20] {
            let error = log_keys(&blocks, |bytes| bytes.truncate(bytes.len() - cut), 2).unwrap_err();
            assert!(error.kind() == ErrorKind::CorruptLog && error.to_string().contains("log"), "{cut}: {error}");
        }
        // Blocks of others are no reason to skip the damage: where the next one begins is not known.
        let error = log_keys(&blocks, |bytes| bytes.truncate(bytes.len() - 1), 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptLog);
    }

    #[test]
    fn a_column_that_is_not_of_strings_has_no_keys() {
        let numbers: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        assert_eq!(keys(&batch).unwrap_err().kind(), ErrorKind::InvalidTable);
        let batch = rows(&[("key", &[Some("a"), None])]);
        assert_eq!(keys(&batch).unwrap().len(), 2);
    }
}
