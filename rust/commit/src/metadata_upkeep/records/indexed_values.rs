//! The keys that a secondary index has of the rows of file slices (`SecondaryIndexRecordGenerationUtils`).
//! Hudi creates no secondary index of other types than `indexed_strings` has.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};

use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_storage::Storage;
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::{indexed_strings, secondary_key};
use mortice_table::plan::{OpenTable, QueryOptions, Scan};
use mortice_table::read::{SharedReport, SplitReader};

/// The column of a secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::metadata_upkeep) struct IndexedValues {
    /// The name of the index.
    index: String,
    /// The parts of the path of the column.
    path: Vec<String>,
}

impl IndexedValues {
    /// The values of a column of these types.
    ///
    /// # Errors
    /// `InvalidTable`, by the name of the index, if the column is not there; `Unsupported` for other types, and for
    /// rows without meta columns.
    pub(in crate::metadata_upkeep) fn new(
        index: &str,
        column: &str,
        table: &OpenTable,
        types: &Schema,
    ) -> Result<Self> {
        if !table.config.populate_meta_fields {
            return Err(Error::unsupported(format!(
                "the index {index} of a table without meta columns (hoodie.populate.meta.fields=false): a secondary index needs record keys"
            )));
        }
        let found = type_of(types, column).ok_or_else(|| {
            Error::invalid_table(format!(
                "the index {index} is of the column {column:?}, which the table does not have"
            ))
        })?;
        let is_supported = matches!(
            found,
            DataType::Utf8
                | DataType::Int32
                | DataType::Int64
                | DataType::Date32
                | DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Millisecond, _)
        );
        if !is_supported {
            return Err(Error::unsupported(format!(
                "the index {index} is of the column {column:?} of type {found} (supported: string, int, long, date, timestamp)"
            )));
        }
        Ok(Self { index: index.to_owned(), path: column.split('.').map(str::to_owned).collect() })
    }

    fn columns(&self) -> QueryOptions {
        let key = meta_columns::RECORD_KEY.to_owned();
        let mut columns = vec![key];
        columns.extend(self.path.first().filter(|column| *column != meta_columns::RECORD_KEY).cloned());
        QueryOptions { columns: Some(columns), ..QueryOptions::default() }
    }

    /// Plans to read the rows of slices as they are.
    pub(in crate::metadata_upkeep) fn stored(&self, table: &OpenTable, slices: &[FileSlice]) -> Result<Scan> {
        table.stored_rows(slices, &self.columns())
    }

    /// Plans to read the rows of slices as they are once a write is complete.
    pub(in crate::metadata_upkeep) fn pending(
        &self,
        table: &OpenTable,
        slices: &[FileSlice],
        instant: &RequestedTime,
    ) -> Result<Scan> {
        table.pending_rows(slices, instant, &self.columns())
    }

    /// Hands the key of each row of a scan to `take`.
    pub(in crate::metadata_upkeep) fn for_each(
        &self,
        scan: &Scan,
        storage: &Arc<dyn Storage>,
        take: &mut dyn FnMut(String) -> Result<()>,
    ) -> Result<()> {
        for split in scan.splits() {
            let reader = SplitReader::new(split.clone(), SharedReport::default())?;
            for batch in reader.with_storage(Arc::clone(storage)) {
                self.take_batch(&batch?, take)?;
            }
        }
        Ok(())
    }

    /// Hands the key of each row of a batch to `take`.
    pub(in crate::metadata_upkeep) fn take_batch(
        &self,
        batch: &RecordBatch,
        take: &mut dyn FnMut(String) -> Result<()>,
    ) -> Result<()> {
        let misfit = || Error::internal(format!("the rows of the index {} lack a column", self.index));
        let keys = batch.column_by_name(meta_columns::RECORD_KEY).and_then(|keys| keys.as_string_opt::<i32>());
        let keys = keys.ok_or_else(misfit)?;
        let (first, rest) = self.path.split_first().ok_or_else(misfit)?;
        let mut column = Arc::clone(batch.column_by_name(first).ok_or_else(misfit)?);
        let mut parents = Vec::new();
        for part in rest {
            let field = column.as_struct_opt().and_then(|fields| fields.column_by_name(part)).cloned();
            parents.push(std::mem::replace(&mut column, field.ok_or_else(misfit)?));
        }
        let values = indexed_strings(&column).ok_or_else(misfit)?;
        for (row, (key, value)) in keys.iter().zip(&values).enumerate() {
            let key = key.ok_or_else(|| Error::invalid_table("a row without a record key"))?;
            // A field of a struct that is null may have any value.
            let value = value.filter(|_| parents.iter().all(|parent| parent.is_valid(row)));
            take(secondary_key(value, key))?;
        }
        Ok(())
    }
}

/// The type of a column, or of a field of a struct by its path.
fn type_of<'s>(types: &'s Schema, path: &str) -> Option<&'s DataType> {
    let mut parts = path.split('.');
    let mut found = types.field_with_name(parts.next()?).ok()?.data_type();
    for part in parts {
        let DataType::Struct(fields) = found else { return None };
        found = fields.find(part)?.1.data_type();
    }
    Some(found)
}
