//! Given rows with their keys and partition paths, by the columns that match.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Schema};

use super::chosen_columns::refuse_misfits;
use super::given_keys::GivenKeys;
use super::plan::MergePlan;
use super::table_types::{batch_of, columns_of_table};
use crate::WriteInput;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_formats::filter::Filter;
use mortice_merge::config::Properties;
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::{RowBatches, RowBatchesBuilder};
use mortice_write::row_set::join_keys;
use mortice_write::rows::read_input;

/// The names of the columns that [`MergePlan::with_keys`] adds.
pub const KEY_COLUMN: &str = "_mortice_record_key";
/// The same, of partition paths.
pub const PATH_COLUMN: &str = "_mortice_partition_path";

impl MergePlan {
    /// What makes keys of rows.
    pub(super) fn given_keys(&self) -> Result<GivenKeys> {
        let properties = self.properties.iter().map(|(name, value)| (name.clone(), value.clone()));
        GivenKeys::new(properties.collect::<Properties>(), self.key_options.clone())
    }

    /// Reads all given rows: the columns that the merge writes or matches, in the table's types, and those that a
    /// filter names.
    pub(super) fn read_given(&self, input: WriteInput<'_>, filter: Option<&Filter>) -> Result<RowBatches> {
        let WriteInput { schema, batches, is_in_memory, .. } = input;
        // Types are refused before rows are read.
        let names = self.needed(filter);
        let typed = self.in_table_types(&RecordBatch::new_empty(Arc::clone(&schema)), &names)?.schema();
        let memory = self.row_options.memory();
        let given = read_input(&schema, batches, is_in_memory, memory.clone())?;
        let mut rows = RowBatchesBuilder::new(typed, memory);
        for batch in given.batches() {
            let converted = self.in_table_types(batch, &names)?;
            self.check_no_nulls(&converted)?;
            rows.push_of(converted, batch)?;
        }
        Ok(rows.finish())
    }

    /// The columns of given rows that are read.
    fn needed(&self, filter: Option<&Filter>) -> Vec<String> {
        let (used, of_filter) = (self.used_columns(), filter.map(Filter::columns).unwrap_or_default());
        let is_needed = |name: &&String| used.fields().find(name).is_some() || of_filter.contains(name.as_str());
        self.given.iter().filter(is_needed).cloned().collect()
    }

    fn in_table_types(&self, rows: &RecordBatch, names: &[String]) -> Result<RecordBatch> {
        columns_of_table(&projected(rows, names)?, &self.used_columns(), self.row_options.fills_missing)
    }

    /// Some columns of rows, among them record keys and partition paths, in the table's types.
    pub(super) fn columns_in_table_types(&self, rows: &RecordBatch, names: &[String]) -> Result<RecordBatch> {
        let meta = [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH];
        let meta = meta.map(|name| Arc::new(Field::new(name, DataType::Utf8, true)));
        let columns = self.columns.fields().iter().cloned().chain(meta);
        let columns = Schema::new(columns.collect::<Vec<FieldRef>>());
        columns_of_table(&projected(rows, names)?, &columns, self.row_options.fills_missing)
    }

    fn check_no_nulls(&self, rows: &RecordBatch) -> Result<()> {
        let is_null = |name: &&String| rows.column_by_name(name).is_some_and(|column| column.null_count() > 0);
        match self.on.iter().find(is_null) {
            None => Ok(()),
            Some(name) => {
                Err(Error::invalid_argument(format!("column '{name}': a row to merge has null, which matches no row")))
            }
        }
    }

    /// Record keys and partition paths of rows in the table's types, made of some columns. Paths are empty unless these
    /// are all partition columns.
    pub(super) fn keys_of(
        &self,
        maker: &GivenKeys,
        rows: &RecordBatch,
        by: &[String],
        first_row: u64,
    ) -> Result<RowKeys> {
        let has_paths = self.partitions.iter().all(|name| by.contains(name));
        let is_used = |name: &&String| has_paths || self.keys.contains(name) || !self.partitions.contains(name);
        let names: Vec<String> = by.iter().filter(is_used).cloned().collect();
        maker.keys(&projected(rows, &names)?, first_row, !has_paths)
    }

    /// The same, of all rows.
    pub(super) fn keys_of_all(&self, maker: &GivenKeys, rows: &RowBatches, by: &[String]) -> Result<RowKeys> {
        let mut keys = Vec::with_capacity(rows.batches().len());
        let mut first_row = 0_u64;
        for batch in rows.batches() {
            keys.push(self.keys_of(maker, batch, by, first_row)?);
            first_row = first_row.saturating_add(batch.num_rows() as u64);
        }
        join_keys(&keys)
    }

    /// Partition paths of rows that have the partition columns, in the table's types.
    pub(super) fn paths_of(&self, maker: &GivenKeys, rows: &RecordBatch) -> Result<StringArray> {
        let rows = projected(rows, &self.partitions)?;
        let mut fields = rows.schema().fields().to_vec();
        let mut columns = rows.columns().to_vec();
        for name in self.keys.iter().filter(|name| !self.partitions.contains(name)) {
            let Some((_, field)) = self.columns.fields().find(name) else {
                return Err(Error::internal(format!("the key column {name:?} is not one of the table's")));
            };
            columns.push(new_null_array(field.data_type(), rows.num_rows()));
            fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
        }
        maker.partitions(&batch_of(fields, columns, rows.num_rows())?)
    }

    /// Given rows of any types, with [`KEY_COLUMN`] and [`PATH_COLUMN`] behind their own columns: what another engine
    /// joins them with stored rows by.
    ///
    /// # Errors
    /// As for [`Self::keys_of`]; `InvalidArgument` for null in a column that matches, for values that the table does
    /// not hold, and for those that another engine has found ([`MISFIT_COLUMN`](super::MISFIT_COLUMN)).
    pub fn with_keys(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        refuse_misfits(rows)?;
        let typed = self.columns_in_table_types(rows, &self.on)?;
        self.check_no_nulls(&typed)?;
        let RowKeys { record_keys, partitions } = self.keys_of(&self.given_keys()?, &typed, &self.on, 0)?;
        with_strings(rows, [(KEY_COLUMN, record_keys), (PATH_COLUMN, partitions)])
    }

    /// Rows that have the partition columns, of any types, with [`PATH_COLUMN`] behind their own columns.
    ///
    /// # Errors
    /// As for [`Self::paths_of`].
    pub fn with_paths(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let typed = self.columns_in_table_types(rows, &self.partitions)?;
        with_strings(rows, [(PATH_COLUMN, self.paths_of(&self.given_keys()?, &typed)?)])
    }
}

fn with_strings<const N: usize>(rows: &RecordBatch, added: [(&str, StringArray); N]) -> Result<RecordBatch> {
    let (mut fields, mut columns) = (rows.schema().fields().to_vec(), rows.columns().to_vec());
    for (name, column) in added {
        fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
        columns.push(Arc::new(column));
    }
    batch_of(fields, columns, rows.num_rows())
}

/// Some columns of a batch, by name.
pub(super) fn projected(rows: &RecordBatch, names: &[String]) -> Result<RecordBatch> {
    let unfit = |error| Error::internal("columns of a merge").caused_by(error);
    let places = names.iter().map(|name| rows.schema_ref().index_of(name));
    rows.project(&places.collect::<std::result::Result<Vec<_>, _>>().map_err(unfit)?).map_err(unfit)
}

#[cfg(test)]
mod tests {
    use arrow_array::ArrayRef;
    use arrow_array::cast::AsArray;

    use super::super::clauses::MergeClauses;
    use super::super::clauses::NotMatched;
    use super::super::testing::TestTable;
    use super::super::testing::batch;
    use super::super::testing::names;
    use super::super::testing::options;
    use super::*;

    fn plan(given: &[&str], not_matched: NotMatched) -> MergePlan {
        let clauses = MergeClauses { on: None, update: None, not_matched };
        MergePlan::new(&TestTable::new().open(), &names(given), &clauses, &options(&[])).unwrap()
    }

    fn strings(rows: &RecordBatch, name: &str) -> Vec<String> {
        let column = rows.column_by_name(name).unwrap().as_string::<i32>();
        column.iter().map(|value| value.unwrap().to_owned()).collect()
    }

    #[test]
    fn rows_have_the_keys_and_paths_that_a_write_gives_them() {
        let rows = batch(&[("a", "oslo", 1.0, 1), ("b", "", 1.0, 1)]);
        let keyed = plan(&["id", "city", "fare", "ts"], NotMatched::Insert).with_keys(&rows).unwrap();
        assert_eq!(strings(&keyed, KEY_COLUMN), ["a", "b"]);
        assert_eq!(strings(&keyed, PATH_COLUMN), ["oslo", "__HIVE_DEFAULT_PARTITION__"]);
        assert_eq!(keyed.num_columns(), 6);
        // Without the partition column there is no path.
        let alone = rows.project(&[0, 2]).unwrap();
        let keyed = plan(&["id", "fare"], NotMatched::Ignore).with_keys(&alone).unwrap();
        assert_eq!(strings(&keyed, PATH_COLUMN), ["", ""]);
        let paths = plan(&["id", "city"], NotMatched::Insert).with_paths(&rows.project(&[1]).unwrap()).unwrap();
        assert_eq!(strings(&paths, PATH_COLUMN), ["oslo", "__HIVE_DEFAULT_PARTITION__"]);
    }

    #[test]
    fn null_in_a_column_that_matches_is_refused() {
        let ids = Arc::new(StringArray::from(vec![Some("a"), None])) as ArrayRef;
        let cities = Arc::new(StringArray::from(vec!["oslo", "oslo"])) as ArrayRef;
        let rows = RecordBatch::try_from_iter([("id", ids), ("city", cities)]).unwrap();
        let error = plan(&["id", "city"], NotMatched::Insert).with_keys(&rows).unwrap_err();
        assert_eq!(error.text(), "column 'id': a row to merge has null, which matches no row");
    }
}
