//! Distinct values of columns.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{can_cast_types, cast};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType};

use mortice_base::error::{Error, Result};

/// The distinct values of a column, without null, in the form in which rows of Arrow are compared.
pub(super) struct Distinct {
    kind: DataType,
    converter: RowConverter,
    rows: BTreeSet<Box<[u8]>>,
}

impl Distinct {
    /// No values yet, of a type; of a dictionary, of the type of its values.
    pub(super) fn of_type(kind: &DataType) -> Result<Self> {
        let kind = match kind {
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            kind => kind.clone(),
        };
        let converter = RowConverter::new(vec![SortField::new(kind.clone())]).map_err(unfit)?;
        Ok(Self { kind, converter, rows: BTreeSet::new() })
    }

    /// The type of the values.
    pub(super) fn kind(&self) -> &DataType {
        &self.kind
    }

    /// Adds values. Those that the type does not hold are left out.
    pub(super) fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let (values, rows) = self.rows_of(values)?;
        let held = rows.iter().enumerate().filter(|(at, _)| values.is_valid(*at));
        self.rows.extend(held.map(|(_, row)| Box::from(row.data())));
        Ok(())
    }

    /// Removes values.
    pub(super) fn remove(&mut self, values: &ArrayRef) -> Result<()> {
        let (_, rows) = self.rows_of(values)?;
        rows.iter().for_each(|row| {
            self.rows.remove(row.data());
        });
        Ok(())
    }

    /// Whether a column, of any type, has one of the values.
    pub(super) fn is_in(&self, column: &ArrayRef) -> Result<bool> {
        if !can_cast_types(column.data_type(), &self.kind) {
            return Ok(false);
        }
        let (_, rows) = self.rows_of(column)?;
        Ok(rows.iter().any(|row| self.rows.contains(row.data())))
    }

    /// The number of values.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The values, in order.
    pub(super) fn values(&self) -> Result<ArrayRef> {
        let parser = self.converter.parser();
        let columns = self.converter.convert_rows(self.rows.iter().map(|row| parser.parse(row)));
        columns.map_err(unfit)?.pop().ok_or_else(|| Error::internal("a row has one column"))
    }

    fn rows_of(&self, values: &ArrayRef) -> Result<(ArrayRef, Rows)> {
        let values = cast(values, &self.kind).map_err(unfit)?;
        let rows = self.converter.convert_columns(&[ArrayRef::clone(&values)]).map_err(unfit)?;
        Ok((values, rows))
    }
}

fn unfit(error: ArrowError) -> Error {
    Error::unsupported("values of this type cannot be compared").caused_by(error)
}

/// Returns the distinct values, without null, of each column of batches, which may have different columns.
///
/// # Errors
/// Those of the batches.
pub fn distinct_values(batches: impl IntoIterator<Item = Result<RecordBatch>>) -> Result<Vec<(String, ArrayRef)>> {
    let mut found: BTreeMap<String, Distinct> = BTreeMap::new();
    for batch in batches {
        let batch = batch?;
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            if !found.contains_key(field.name()) {
                found.insert(field.name().clone(), Distinct::of_type(field.data_type())?);
            }
            if let Some(values) = found.get_mut(field.name()) {
                values.add(column)?;
            }
        }
    }
    found.into_iter().map(|(name, values)| Ok((name, values.values()?))).collect()
}
