//! Record keys of files, read from them: Hudi 1.2 does the same for the record index.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_formats::base_file;
use mortice_formats::filter::KeyFilter;
use mortice_formats::log::{BlockKind, BlockType, HeaderKey, LogFile};
use mortice_storage::Storage;

const BATCH_ROWS: usize = 64 * 1024;

/// Hands the record keys of a base file to `take`.
///
/// # Errors
/// `InvalidTable` for a row without a key; what reading the file and `take` may fail with.
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
    for batch in file.batches(&wanted, BATCH_ROWS)? {
        for key in keys(&batch?).map_err(in_file)?.iter() {
            take(key.ok_or_else(|| in_file(Error::invalid_table("a row without a record key")))?)?;
        }
    }
    Ok(())
}

/// The column of record keys of a batch that has nothing else.
pub(in crate::metadata_upkeep) fn keys(batch: &RecordBatch) -> Result<StringArray> {
    let keys = batch.columns().first().and_then(|column| column.as_string_opt::<i32>());
    keys.cloned().ok_or_else(|| Error::invalid_table("record keys are not strings"))
}

/// Hands the keys of the delete blocks that `instant` wrote to a log file to `take`, and those of rows whose `_hoodie_operation` is a delete.
/// A row that an update replaces (`-U`) leaves its key in the index, as in Hudi (`HoodieOperation.isUpdateBefore`).
///
/// # Errors
/// `CorruptLog` if the file is damaged; what reading the file and `take` may fail with.
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
