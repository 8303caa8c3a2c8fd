//! Content of a Parquet data block (`HoodieParquetDataBlock`): a complete Parquet file; empty if the block has no
//! records. It is read like a base file. A native log is such a content, too, in the format that its name has.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, SchemaRef};
use arrow_select::concat::concat_batches;

use crate::base_file::{self, BaseBatches, BaseFile};
use crate::filter::KeyFilter;
use mortice_avro::Schema;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{FieldNames, LogFileName};
use mortice_storage::{FileSource, SectionSource};

/// Returns the record count of a block; reads only the footer.
pub fn record_count(file: &Arc<dyn FileSource>, content: &Range<u64>) -> Result<u64> {
    Ok(open(file, content)?.map_or(0, |file| file.row_count()))
}

/// Returns false if the statistics of a block exclude all required keys; reads only the footer. `column` is that of the
/// keys.
///
/// # Errors
/// Those of reading.
pub fn may_have_keys(
    file: &Arc<dyn FileSource>,
    content: &Range<u64>,
    column: &str,
    wanted: &KeyFilter,
) -> Result<bool> {
    let KeyFilter::Keys(keys) = wanted else { return Ok(true) };
    let Some(file) = open(file, content)? else { return Ok(false) };
    let Some(bounds) = file.bounds(&Field::new(column, DataType::Utf8, true)) else { return Ok(true) };
    let (Some(least), Some(greatest)) = (bounds.least.as_string_opt::<i32>(), bounds.greatest.as_string_opt::<i32>())
    else {
        return Ok(true);
    };
    let may_be_within = |bounds: (Option<&str>, Option<&str>)| match bounds {
        (Some(least), Some(greatest)) => {
            let first = keys.partition_point(|key| key.as_slice() < least.as_bytes());
            keys.get(first).is_some_and(|key| key.as_slice() <= greatest.as_bytes())
        }
        _ => !keys.is_empty(),
    };
    Ok(least.iter().zip(greatest).any(may_be_within))
}

/// Returns the fewest rows of a batch within a limit, but for the last ones.
///
/// # Errors
/// Those of reading.
pub fn least_batch_rows(
    file: &Arc<dyn FileSource>,
    content: &Range<u64>,
    wanted: &SchemaRef,
    (table, names): (&Schema, &FieldNames),
    limit: BatchLimit,
) -> Result<usize> {
    let Some(file) = open(file, content)? else { return Ok(limit.rows()) };
    let file = base_file::read_as(file, table, names).map_err(as_log_error)?;
    file.least_batch_rows(wanted, limit).map_err(as_log_error)
}

/// Compares the schema in the header of a block with the columns of its file, which has a checksum.
///
/// # Errors
/// `CorruptLog` if the names of columns differ; those of reading the footer.
pub fn check_names(file: &Arc<dyn FileSource>, content: &Range<u64>, header: &Schema) -> Result<()> {
    let Some(fields) = open(file, content)?.and_then(|file| file.fields()) else { return Ok(()) };
    let in_file: BTreeSet<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    let in_header: BTreeSet<&str> = header.fields().iter().map(|field| field.name.as_str()).collect();
    match in_file.symmetric_difference(&in_header).next() {
        None => Ok(()),
        Some(name) => {
            let (one, other) = if in_file.contains(name) {
                ("file", "SCHEMA in its header")
            } else {
                ("SCHEMA in its header", "file")
            };
            Err(Error::corrupt(format!("invalid parquet block: the {one} has a column {name}, the {other} does not")))
        }
    }
}

/// Returns the records in batches within a limit, with the columns and types of `wanted`. `table` is the
/// schema that declares them; `names` are the column names in the block.
pub fn batches(
    file: &Arc<dyn FileSource>,
    content: &Range<u64>,
    wanted: &SchemaRef,
    (table, names): (&Schema, &FieldNames),
    limit: BatchLimit,
) -> Result<BaseBatches> {
    let Some(file) = open(file, content)? else { return Ok(Box::new(std::iter::empty())) };
    let file = base_file::read_as(file, table, names).map_err(as_log_error)?;
    let rows = file.row_count();
    let batches = file.batches(wanted, limit).map_err(as_log_error)?;
    let mut read = 0_u64;
    // The row count of the footer is compared with the rows that were read: no row of a block may be lost silently.
    Ok(Box::new(batches.map(Some).chain(std::iter::once(None)).filter_map(move |batch| match batch {
        Some(Ok(batch)) => {
            read += batch.num_rows() as u64;
            Some(Ok(batch))
        }
        Some(Err(error)) => {
            read = rows;
            Some(Err(as_log_error(error)))
        }
        None if read == rows => None,
        None => Some(Err(Error::corrupt(format!("invalid parquet block: expected {rows} rows, found {read}")))),
    })))
}

/// Returns all records as one batch.
pub fn records(
    file: &Arc<dyn FileSource>,
    content: &Range<u64>,
    wanted: &SchemaRef,
    table: &Schema,
) -> Result<RecordBatch> {
    let all = batches(file, content, wanted, (table, FieldNames::identity()), BatchLimit::with_rows(64 * 1024))?
        .collect::<Result<Vec<_>>>()?;
    concat_batches(wanted, &all)
        .map_err(|error| Error::corrupt("batches of a parquet block cannot be concatenated").caused_by(error))
}

fn open(file: &Arc<dyn FileSource>, content: &Range<u64>) -> Result<Option<Box<dyn BaseFile>>> {
    if content.is_empty() {
        return Ok(None);
    }
    let section = Arc::new(SectionSource::new(Arc::clone(file), content.clone())?);
    let name = file.path().rsplit('/').next().and_then(LogFileName::parse);
    let open = if name.is_some_and(|name| name.is_native()) { base_file::open } else { base_file::open_parquet };
    open(section).map(Some).map_err(as_log_error)
}

/// Damage in this file is damage of a log.
pub(in crate::log) fn as_log_error(error: Error) -> Error {
    if error.kind() == ErrorKind::InvalidTable { error.with_kind(ErrorKind::CorruptLog) } else { error }
}
