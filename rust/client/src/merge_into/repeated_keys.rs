//! Several rows of one key: it is not known which of them is to be merged.

use std::collections::{HashMap, HashSet};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType};

use super::key_text::key_text;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::number_of;

/// Keys of several columns, each of which may be there once.
pub(super) struct DistinctKeys {
    converter: RowConverter,
    rows: Rows,
}

impl DistinctKeys {
    /// No keys yet, of columns of these types.
    pub(super) fn new(types: impl Iterator<Item = DataType>) -> Result<Self> {
        let converter = RowConverter::new(types.map(SortField::new).collect()).map_err(uncompared)?;
        let rows = converter.empty_rows(0, 0);
        Ok(Self { converter, rows })
    }

    /// Adds keys.
    pub(super) fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.converter.append(&mut self.rows, columns).map_err(uncompared)
    }

    /// The number of the first key that is there again.
    pub(super) fn repeated(&self) -> Option<usize> {
        let mut seen: HashSet<Row<'_>, foldhash::fast::RandomState> = HashSet::default();
        let again = self.rows.iter().find(|row| !seen.insert(*row))?;
        self.rows.iter().position(|row| row == again)
    }
}

impl DistinctKeys {
    /// The numbers of all keys that are there several times, ascending.
    pub(super) fn all_repeated(&self) -> Result<Vec<u32>> {
        if self.repeated().is_none() {
            return Ok(Vec::new());
        }
        let mut counts: HashMap<Row<'_>, u32, foldhash::fast::RandomState> = HashMap::default();
        for row in &self.rows {
            *counts.entry(row).or_default() += 1;
        }
        let is_repeated = |row: &Row<'_>| counts.get(row).is_some_and(|count| *count > 1);
        self.rows.iter().enumerate().filter(|(_, row)| is_repeated(row)).map(|(at, _)| number_of(at)).collect()
    }
}

fn uncompared(error: ArrowError) -> Error {
    Error::unsupported("keys of columns that are not compared").caused_by(error)
}

/// The error for several rows with the key of a row.
pub(super) fn repeated_key(rows: &RecordBatch, names: &[String], row: usize) -> Error {
    match key_text(rows, names, row) {
        Ok(key) => Error::invalid_argument(format!(
            "several rows have the key {key}: it is not known which of them is to be merged; leave one of each"
        )),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, Float64Array, StringArray};

    use super::super::testing::batch;
    use super::super::testing::names;
    use super::*;

    fn types_of(columns: &[ArrayRef]) -> impl Iterator<Item = DataType> {
        columns.iter().map(|column| column.data_type().clone())
    }

    #[test]
    fn a_key_is_repeated_if_all_its_columns_are() {
        let strings = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
        let first = [strings(&["a", "b"]), strings(&["x", "x"])];
        let mut keys = DistinctKeys::new(types_of(&first)).unwrap();
        keys.add(&first).unwrap();
        keys.add(&[strings(&["a", "c"]), strings(&["y", "x"])]).unwrap();
        assert_eq!(keys.repeated(), None);
        keys.add(&[strings(&["b"]), strings(&["x"])]).unwrap();
        assert_eq!(keys.repeated(), Some(1));
        assert_eq!(keys.all_repeated().unwrap(), [1, 4]);
        // A value that is not a number equals itself.
        let nan = [Arc::new(Float64Array::from(vec![f64::NAN, f64::NAN])) as ArrayRef];
        let mut keys = DistinctKeys::new(types_of(&nan)).unwrap();
        keys.add(&nan).unwrap();
        assert_eq!(keys.repeated(), Some(0));
    }

    #[test]
    fn the_error_names_the_key() {
        let rows = batch(&[("a", "oslo", 1.0, 1)]);
        let text = repeated_key(&rows, &names(&["id", "city"]), 0).text();
        assert!(text.starts_with("several rows have the key ['a', 'oslo']: "), "{text}");
    }
}
