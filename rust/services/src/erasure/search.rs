//! Reads files in search of values: decoded columns and statistics, and bytes where they are plain.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bytes::Bytes;
use memchr::memmem;

use super::distinct::Distinct;
use super::values::{ErasedValues, is_text};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, meta_columns};
use mortice_formats::base_file::{BaseFile, open};
use mortice_formats::log::LogFile;
use mortice_storage::{FileSource, Storage};
use mortice_table::split::{AFTER, BEFORE};
use mortice_table::timeline::Timeline;

/// Bytes that are in memory at once.
const WINDOW: u64 = 8 << 20;
const BATCH_ROWS: usize = 65_536;
/// The column of keys in the deletes of a log.
const DELETED_KEY: &str = "record_key";

/// Reads files of a table. Returns those that have values of erased rows, and how.
///
/// # Errors
/// Those of reading the files.
pub fn search_files<'a>(
    storage: &dyn Storage,
    paths: impl IntoIterator<Item = &'a str>,
    erased: &ErasedValues,
) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for path in paths {
        if let Some(why) = found_in(&storage.open(path)?, path, erased)? {
            found.push((path.to_owned(), why));
        }
    }
    Ok(found)
}

/// Returns how a file has a value; none if it has none.
fn found_in(source: &Arc<dyn FileSource>, path: &str, erased: &ErasedValues) -> Result<Option<String>> {
    let plain = plain_strings(source.as_ref(), erased.strings())?;
    let in_folder = |folder: &str| path.split('/').rev().skip(1).any(|part| part == folder);
    let (mut is_explained, mut column) = (false, None);
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_log = LogFileName::parse(name).is_some();
    let is_base = !is_log && [".parquet", ".orc"].iter().any(|end| path.ends_with(end));
    if is_base && !in_folder("history") {
        column = column_of_base(source, erased)?;
        is_explained = column.is_none() && !plain.is_empty() && is_in_other_values(source, &plain)?;
    } else if (is_log || name.contains(".log.")) && !in_folder("metadata") {
        column = column_of_log(source, erased)?;
    }
    let bytes = || (!plain.is_empty() && !is_explained).then(|| format!("the bytes of {} values", plain.len()));
    Ok(column.map(|name| format!("column '{name}'")).or_else(bytes))
}

/// Returns the strings that the bytes of a file contain.
fn plain_strings<'a>(source: &dyn FileSource, strings: &'a [Vec<u8>]) -> Result<Vec<&'a [u8]>> {
    let finders: Vec<_> = strings.iter().map(|text| (text.as_slice(), memmem::Finder::new(text))).collect();
    let longest = strings.iter().map(|text| to_u64(text.len())).max().unwrap_or(0);
    let (mut found, mut start) = (vec![false; strings.len()], 0);
    while start < source.len() && !finders.is_empty() {
        // A text that begins in one window may end in the next.
        let end = start.saturating_add(WINDOW).saturating_add(longest).min(source.len());
        let bytes: Bytes = source.read(start..end)?;
        for (is_found, (_, finder)) in found.iter_mut().zip(&finders) {
            *is_found = *is_found || finder.find(&bytes).is_some();
        }
        start = start.saturating_add(WINDOW);
    }
    Ok(found.iter().zip(&finders).filter(|(is_found, _)| **is_found).map(|(_, (text, _))| *text).collect())
}

fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Returns a column of a base file that has a value.
fn column_of_base(source: &Arc<dyn FileSource>, erased: &ErasedValues) -> Result<Option<String>> {
    let fields = open(Arc::clone(source))?.fields().unwrap_or_default();
    for (name, values) in erased.by_column() {
        let Some((_, field)) = fields.find(name) else { continue };
        for batch in columns_of_base(open(Arc::clone(source))?, vec![Arc::clone(field)])? {
            if is_in_first(&batch?, values)? {
                return Ok(Some(name.to_owned()));
            }
        }
    }
    Ok(None)
}

fn columns_of_base(
    file: Box<dyn BaseFile>,
    fields: Vec<Arc<Field>>,
) -> Result<impl Iterator<Item = Result<RecordBatch>>> {
    file.batches(&Arc::new(Schema::new(fields)), BatchLimit::with_rows(BATCH_ROWS))
}

fn is_in_first(batch: &RecordBatch, values: &Distinct) -> Result<bool> {
    batch.columns().first().map_or(Ok(false), |column| values.is_in(column))
}

/// Whether values of other columns, or of rows that remain, contain the strings.
fn is_in_other_values(source: &Arc<dyn FileSource>, strings: &[&[u8]]) -> Result<bool> {
    let file = open(Arc::clone(source))?;
    let fields = file.fields().unwrap_or_default();
    let fields: Vec<_> = fields.iter().filter(|field| has_text(field.data_type())).map(Arc::clone).collect();
    let mut left: Vec<_> = strings.iter().map(memmem::Finder::new).collect();
    for batch in columns_of_base(file, fields)? {
        for column in batch?.columns() {
            let column = texts_of(column)?;
            left.retain(|text| !column.as_binary::<i32>().iter().flatten().any(|value| text.find(value).is_some()));
        }
    }
    Ok(left.is_empty())
}

fn has_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        || matches!(kind, DataType::Dictionary(_, values) if is_text(values))
}

fn texts_of(column: &ArrayRef) -> Result<ArrayRef> {
    let unfit = |error: ArrowError| Error::internal("strings are bytes").caused_by(error);
    let plain = match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values).map_err(unfit)?,
        _ => Arc::clone(column),
    };
    cast(&plain, &DataType::Binary).map_err(unfit)
}

/// Returns a column of the records and deletes of a log that has a value.
fn column_of_log(source: &Arc<dyn FileSource>, erased: &ErasedValues) -> Result<Option<String>> {
    let log = LogFile::new(Arc::clone(source));
    for block in log.blocks(false) {
        let block = block?;
        let kind = block.type_name();
        let is_delete = kind.contains("DELETE");
        let batches: Box<dyn Iterator<Item = Result<RecordBatch>>> = if is_delete {
            Box::new(std::iter::once(log.deletes(&block)))
        } else if kind.contains("DATA") {
            log.record_batches(&block, BatchLimit::with_rows(BATCH_ROWS))?.1
        } else {
            continue;
        };
        for batch in batches {
            let batch = batch?;
            for (name, values) in erased.by_column() {
                let stored =
                    if is_delete { (name == meta_columns::RECORD_KEY).then_some(DELETED_KEY) } else { Some(name) };
                let column = stored.and_then(|stored| batch.column_by_name(stored));
                for column in column.into_iter().chain(images(&batch, name)) {
                    if values.is_in(column)? {
                        return Ok(Some(name.to_owned()));
                    }
                }
            }
        }
    }
    Ok(None)
}

/// The column in the rows before and after a change, of a change log.
fn images<'a>(batch: &'a RecordBatch, name: &'a str) -> impl Iterator<Item = &'a ArrayRef> {
    let rows = [BEFORE, AFTER].into_iter().filter_map(|image| batch.column_by_name(image)?.as_struct_opt());
    rows.filter_map(move |rows| rows.column_by_name(name))
}

/// Returns whether strings and binary values of records, also within other columns, contain a value: records of the
/// metadata table, which are compressed in its files.
///
/// # Errors
/// Those of the batches.
pub fn is_in_records(batches: impl IntoIterator<Item = Result<RecordBatch>>, erased: &ErasedValues) -> Result<bool> {
    let strings: Vec<_> = erased.strings().iter().map(memmem::Finder::new).collect();
    for batch in batches {
        for column in batch?.columns() {
            if contains(column, &strings)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn contains(column: &ArrayRef, strings: &[memmem::Finder<'_>]) -> Result<bool> {
    let all = |columns: &[&ArrayRef]| -> Result<bool> {
        for column in columns {
            if contains(column, strings)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match column.data_type() {
        DataType::Struct(_) => all(&column.as_struct().columns().iter().collect::<Vec<_>>()),
        DataType::List(_) => contains(column.as_list::<i32>().values(), strings),
        DataType::LargeList(_) => contains(column.as_list::<i64>().values(), strings),
        DataType::Map(_, _) => all(&[column.as_map().keys(), column.as_map().values()]),
        kind if is_text(kind) || has_text(kind) => {
            let column = texts_of(column)?;
            Ok(column
                .as_binary::<i32>()
                .iter()
                .flatten()
                .any(|value| strings.iter().any(|text| text.find(value).is_some())))
        }
        _ => Ok(false),
    }
}

/// Returns which instants, active and archived, have values in their metadata.
pub(super) fn instants_with(timeline: &Timeline, erased: &ErasedValues) -> Result<Vec<String>> {
    let strings: Vec<_> = erased.strings().iter().map(memmem::Finder::new).collect();
    let mut found = Vec::new();
    for instant in timeline.archived()?.iter().chain(timeline.instants()) {
        // What cannot be read is bytes of a file, which have been searched.
        for content in [timeline.metadata(instant), timeline.plan(instant)].into_iter().flatten().flatten() {
            let content = content.to_string();
            if strings.iter().any(|text| text.find(content.as_bytes()).is_some()) {
                found.push(format!("the {} {}", instant.action, instant.requested_time));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
    use arrow_schema::{DataType, Field};
    use mortice_storage::{StorageOptions, open_file_store};

    use super::{WINDOW, is_in_records, search_files};
    use crate::erasure::ErasedValues;

    fn erased(value: &str) -> ErasedValues {
        let values: ArrayRef = Arc::new(StringArray::from(vec![value]));
        ErasedValues::from_columns([("name".to_owned(), values)]).unwrap()
    }

    #[test]
    fn a_text_across_two_windows_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut content = vec![b'.'; usize::try_from(WINDOW).unwrap() - 3];
        content.extend(b"alice-key...");
        std::fs::write(folder.path().join("copy.tmp"), content).unwrap();
        std::fs::write(folder.path().join("empty.tmp"), b"").unwrap();
        let store = open_file_store(folder.path().to_str().unwrap(), &StorageOptions::new()).unwrap();
        let paths = ["copy.tmp", "empty.tmp"];
        let found = search_files(store.as_ref(), paths, &erased("alice-key")).unwrap();
        assert_eq!(found, [("copy.tmp".to_owned(), "the bytes of 1 values".to_owned())]);
        assert!(search_files(store.as_ref(), paths, &erased("bob-key")).unwrap().is_empty());
    }

    #[test]
    fn texts_within_columns_of_records_are_found() {
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some("Bobby"), None]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let field = |name, kind| Arc::new(Field::new(name, kind, true));
        let bounds = StructArray::from(vec![(field("least", DataType::Utf8), names)]);
        let columns: [(&str, ArrayRef); 2] = [("n", numbers), ("bounds", Arc::new(bounds))];
        let records = RecordBatch::try_from_iter(columns).unwrap();
        assert!(is_in_records([Ok(records.clone())], &erased("Bobby")).unwrap());
        assert!(!is_in_records([Ok(records)], &erased("Alice")).unwrap());
    }
}
