//! The five meta columns of rows that are written (`HoodieAvroUtils.addHoodieKeyToRecord`,
//! `addCommitMetadataToRecord`).

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema as ArrowSchema};

use super::write_token::WriteToken;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};

/// Where the meta columns of rows come from.
#[derive(Debug, Clone, Copy)]
pub enum MetaColumns<'a> {
    /// They are computed. The batch has none; these are its record keys, one for each row.
    Computed {
        /// The record keys.
        record_keys: &'a StringArray,
    },
    /// The batch has all five. The file name alone is replaced, as in a file that is rewritten.
    Kept,
    /// The table stores none (`hoodie.populate.meta.fields=false`).
    Absent,
}

/// What the meta columns of a file's rows have in common.
#[derive(Debug, Clone)]
pub(super) struct FileMeta {
    pub(super) instant: RequestedTime,
    pub(super) token: WriteToken,
    pub(super) partition: String,
    /// `_hoodie_file_name`: a base file's name, or the file id in log records.
    pub(super) file_name: String,
}

impl FileMeta {
    /// A batch with its meta columns in front. Sequence numbers count from `first`.
    pub(super) fn complete(&self, data: &RecordBatch, meta: MetaColumns<'_>, first: u64) -> Result<RecordBatch> {
        match meta {
            MetaColumns::Computed { record_keys } => {
                check_keys(data, record_keys)?;
                let own = [
                    repeated(self.instant.as_str(), data.num_rows()),
                    self.sequence_numbers(data.num_rows(), first),
                    Arc::new(record_keys.clone()),
                    repeated(&self.partition, data.num_rows()),
                    repeated(&self.file_name, data.num_rows()),
                ];
                with_columns(data, meta_columns::ALL.into_iter().zip(own).collect())
            }
            MetaColumns::Kept => {
                if let Some(missing) = meta_columns::ALL.iter().find(|name| data.column_by_name(name).is_none()) {
                    let message =
                        format!("column {missing} is missing: rows that are rewritten bring their meta columns");
                    return Err(Error::invalid_argument(message));
                }
                let name = repeated(&self.file_name, data.num_rows());
                with_columns(data, vec![(meta_columns::FILE_NAME, name)])
            }
            MetaColumns::Absent => Ok(data.clone()),
        }
    }

    fn sequence_numbers(&self, rows: usize, first: u64) -> ArrayRef {
        let prefix = format!("{}_{}_", self.instant, self.token.task);
        let mut numbers = StringBuilder::with_capacity(rows, rows.saturating_mul(prefix.len() + 8));
        let mut text = prefix.clone();
        for number in (first..).take(rows) {
            let digit = u32::try_from(number % 10).ok().and_then(|digit| char::from_digit(digit, 10));
            match digit.filter(|digit| *digit > '0' && number > first) {
                // It differs from the number before in its last digit alone.
                Some(digit) => {
                    text.pop();
                    text.push(digit);
                }
                None => {
                    text.truncate(prefix.len());
                    // Writing to a string cannot fail.
                    let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{number}"));
                }
            }
            numbers.append_value(&text);
        }
        Arc::new(numbers.finish())
    }
}

/// Returns an error for record keys that are null, empty, or not one for each row.
pub(super) fn check_keys(data: &RecordBatch, keys: &StringArray) -> Result<()> {
    if keys.len() != data.num_rows() {
        return Err(Error::invalid_argument(format!("{} record keys for {} rows", keys.len(), data.num_rows())));
    }
    let is_empty = |ends: &[i32]| matches!(ends, [start, end] if start == end);
    let unfit = (0..keys.len()).find(|row| keys.is_null(*row)).map(|row| (row, "null"));
    let unfit = unfit.or_else(|| keys.value_offsets().windows(2).position(is_empty).map(|row| (row, "empty")));
    match unfit {
        Some((row, what)) => Err(Error::invalid_argument(format!("row {row}: the record key is {what}"))),
        None => Ok(()),
    }
}

/// The same text in every row, stored once.
fn repeated(text: &str, rows: usize) -> ArrayRef {
    let indices = Int32Array::from(vec![0; rows]);
    let values = Arc::new(StringArray::from(vec![text]));
    // The indices are within the values.
    match DictionaryArray::<Int32Type>::try_new(indices, values) {
        Ok(repeated) => Arc::new(repeated),
        Err(_) => Arc::new(StringArray::from(vec![text; rows])),
    }
}

/// A batch with other columns in front; its own ones of those names are left out.
fn with_columns(data: &RecordBatch, columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    let schema = data.schema();
    let is_new = |name: &str| columns.iter().any(|(new, _)| *new == name);
    let kept = schema.fields().iter().zip(data.columns()).filter(|(field, _)| !is_new(field.name()));
    let (mut fields, mut arrays): (Vec<FieldRef>, Vec<ArrayRef>) =
        kept.map(|(field, array)| (Arc::clone(field), Arc::clone(array))).unzip();
    for (name, array) in columns.into_iter().rev() {
        fields.insert(0, Arc::new(Field::new(name, array.data_type().clone(), true)));
        arrays.insert(0, array);
    }
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays)
        .map_err(|error| Error::internal(format!("meta columns do not fit their rows: {error}")))
}

/// A column of a batch as strings, for keys.
pub(super) fn strings(batch: &RecordBatch, name: &str) -> Result<StringArray> {
    let column =
        batch.column_by_name(name).ok_or_else(|| Error::invalid_argument(format!("column {name} is missing")))?;
    let cast = arrow_cast::cast(column, &DataType::Utf8)
        .map_err(|error| Error::invalid_argument(format!("column {name} is not of strings")).caused_by(error))?;
    arrow_array::cast::AsArray::as_string_opt::<i32>(&cast)
        .cloned()
        .ok_or_else(|| Error::internal(format!("column {name} was not cast to strings")))
}
