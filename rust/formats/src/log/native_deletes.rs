//! The deleted keys of a native log: rows of the record key and the ordering columns, which have the types of the table
//! and are null for a delete by commit time (`HoodieSchemas.createDeleteLogSchema`).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};

use super::content::deleted::{DeletedKey, DeletedKeys, StoredOrdering};
use super::content::parquet_data::as_log_error;
use super::native;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{LogFileName, meta_columns};
use mortice_storage::FileSource;

/// The number of rows that are decoded at a time.
const ROWS: usize = 64 * 1024;

/// The largest value of a column of milliseconds that delete records have in milliseconds; others are microseconds
/// (`OrderingValueEngineTypeConverter`).
const MOST_MILLIS: i64 = 9_999_999_999_999;

/// Returns the deleted keys of a native log, in order, all of which are in `partition`.
///
/// # Errors
/// `CorruptLog` without record keys, with nested columns, or with other rows than its footer says; `Unsupported` for an
/// ordering column of another type; those of reading.
pub(super) fn read(source: &Arc<dyn FileSource>, name: &LogFileName, partition: Option<&str>) -> Result<DeletedKeys> {
    let file = native::open(source, name)?;
    let rows = file.row_count();
    let fields = file.fields().ok_or_else(|| Error::internal("a native log of deleted keys without columns"))?;
    let is_key = |name: &str| name == meta_columns::RECORD_KEY;
    if !fields.iter().any(|field| is_key(field.name()) && *field.data_type() == DataType::Utf8) {
        let message = format!("invalid native log of deleted keys: no column {} of strings", meta_columns::RECORD_KEY);
        return Err(Error::corrupt(message));
    }
    let wanted = Arc::new(Schema::new(fields));
    let (mut text, mut deleted) = (Vec::new(), Vec::new());
    let partition = partition.map(|partition| appended(&mut text, partition.as_bytes())).transpose()?;
    for batch in file.batches(&wanted, BatchLimit::with_rows(ROWS)).map_err(as_log_error)? {
        add_batch(&batch.map_err(as_log_error)?, partition.as_ref(), &mut text, &mut deleted)?;
    }
    if deleted.len() as u64 != rows {
        let message = format!("invalid native log of deleted keys: expected {rows} rows, found {}", deleted.len());
        return Err(Error::corrupt(message));
    }
    Ok(DeletedKeys { text: text.into(), deleted })
}

fn add_batch(
    batch: &RecordBatch,
    partition: Option<&Range<u32>>,
    text: &mut Vec<u8>,
    deleted: &mut Vec<DeletedKey>,
) -> Result<()> {
    let keys = batch.column_by_name(meta_columns::RECORD_KEY).and_then(|keys| keys.as_string_opt::<i32>());
    let keys = keys.ok_or_else(|| Error::internal("a batch of deleted keys without their column"))?;
    let schema = batch.schema();
    let ordering = schema.fields().iter().zip(batch.columns());
    let ordering: Vec<&ArrayRef> =
        ordering.filter(|(field, _)| field.name() != meta_columns::RECORD_KEY).map(|(_, column)| column).collect();
    deleted.reserve(batch.num_rows());
    for (row, key) in keys.iter().enumerate() {
        let key = key.map(|key| appended(text, key.as_bytes())).transpose()?;
        let values = ordering.iter().map(|column| value_at(column, row, text)).collect::<Result<Vec<_>>>()?;
        deleted.push(DeletedKey { key, partition: partition.cloned(), ordering: ordering_of(values) });
    }
    Ok(())
}

/// Returns the ordering value of the values of all ordering columns. The null of an only column is no ordering value,
/// so that the delete is one by commit time. Of several columns each null is the default, also if all are null: such a
/// delete loses against greater values (measured: Hudi 1.3.0-SNAPSHOT, `OrderingValues.create`).
fn ordering_of(mut values: Vec<StoredOrdering>) -> StoredOrdering {
    if values.len() <= 1 {
        return values.pop().unwrap_or(StoredOrdering::None);
    }
    let default = |value| if value == StoredOrdering::None { StoredOrdering::Int(0) } else { value };
    StoredOrdering::Array(values.into_iter().map(default).collect())
}

/// Returns the value of a row in the class in which readers have the values of data records: days for dates,
/// microseconds for timestamps.
fn value_at(column: &ArrayRef, row: usize, text: &mut Vec<u8>) -> Result<StoredOrdering> {
    if column.is_null(row) {
        return Ok(StoredOrdering::None);
    }
    Ok(match column.data_type() {
        DataType::Boolean => StoredOrdering::Boolean(column.as_boolean().value(row)),
        DataType::Int32 => StoredOrdering::Int(column.as_primitive::<Int32Type>().value(row)),
        DataType::Date32 => StoredOrdering::Int(column.as_primitive::<Date32Type>().value(row)),
        DataType::Int64 => StoredOrdering::Long(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => StoredOrdering::Float(column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => StoredOrdering::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => StoredOrdering::Text(appended(text, column.as_string::<i32>().value(row).as_bytes())?),
        DataType::Binary => StoredOrdering::Bytes(appended(text, column.as_binary::<i32>().value(row))?),
        DataType::FixedSizeBinary(_) => {
            StoredOrdering::Bytes(appended(text, column.as_fixed_size_binary().value(row))?)
        }
        DataType::Decimal128(_, scale) => StoredOrdering::Decimal {
            unscaled: column.as_primitive::<Decimal128Type>().value(row),
            scale: i32::from(*scale),
        },
        DataType::Time32(TimeUnit::Millisecond) => {
            StoredOrdering::TimeMicros(i64::from(column.as_primitive::<Time32MillisecondType>().value(row)) * 1000)
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            StoredOrdering::TimeMicros(column.as_primitive::<Time64MicrosecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let millis = column.as_primitive::<TimestampMillisecondType>().value(row);
            StoredOrdering::Long(if millis <= MOST_MILLIS { millis } else { millis.saturating_mul(1000) })
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            StoredOrdering::Long(column.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            StoredOrdering::Long(column.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1000))
        }
        other if other.is_nested() => {
            let message =
                format!("invalid native log of deleted keys: a column of {other}, which no ordering field is");
            return Err(Error::corrupt(message));
        }
        other => return Err(Error::unsupported(format!("unsupported type {other} of an ordering column of deletes"))),
    })
}

/// Appends bytes to the text of a block. Returns their range.
fn appended(text: &mut Vec<u8>, bytes: &[u8]) -> Result<Range<u32>> {
    let end = text.len().checked_add(bytes.len()).and_then(|end| u32::try_from(end).ok());
    let (Ok(start), Some(end)) = (u32::try_from(text.len()), end) else {
        let message = "unsupported native log: its deleted keys have 4 GiB of strings or more";
        return Err(Error::new(ErrorKind::MemoryLimit, message));
    };
    text.extend_from_slice(bytes);
    Ok(start..end)
}
