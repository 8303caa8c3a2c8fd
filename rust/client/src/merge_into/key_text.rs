//! The key of a row, for messages.

use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;

use mortice_base::error::{Error, Result};

/// The values of some columns of a row, as Python writes a list: `['k1', 'rome', 3]`.
pub(super) fn key_text(rows: &RecordBatch, names: &[String], row: usize) -> Result<String> {
    let strings = names.iter().map(|name| key_value(rows, name, row));
    Ok(format!("[{}]", strings.collect::<Result<Vec<_>>>()?.join(", ")))
}

/// The value of a column of a row, strings in quotes: `'rome'`.
pub(crate) fn key_value(rows: &RecordBatch, name: &str, row: usize) -> Result<String> {
    let column = rows.column_by_name(name).filter(|column| row < column.len());
    let column = column.ok_or_else(|| Error::internal(format!("row {row} of a merge without column {name:?}")))?;
    if column.is_null(row) {
        return Ok("None".to_owned());
    }
    let unfit = |error| Error::internal("a key has no text").caused_by(error);
    let text = ArrayFormatter::try_new(column, &FormatOptions::default()).map_err(unfit)?;
    let text = text.value(row).try_to_string().map_err(unfit)?;
    Ok(match column.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => format!("'{text}'"),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::batch;
    use super::super::testing::names;
    use super::*;

    #[test]
    fn strings_are_quoted() {
        let rows = batch(&[("a", "oslo", 1.5, 10), ("b", "rome", 2.0, 11)]);
        assert_eq!(key_text(&rows, &names(&["id", "ts", "fare"]), 1).unwrap(), "['b', 11, 2.0]");
        assert!(key_text(&rows, &names(&["id"]), 2).is_err());
        assert!(key_text(&rows, &names(&["none"]), 0).is_err());
    }
}
