//! Stored rows whose partition paths do not say the values of their partition columns.
//!
//! Queries take the values of partition columns from the path. A row that keeps them is written to the path that they
//! make, which may be another one: that of a timestamp or of an escaped string.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, StringArray};
use arrow_buffer::BooleanBuffer;

use super::given_keys::GivenKeys;
use super::keyed_rows::projected;
use super::matching::strings;
use super::plan::MergePlan;
use super::table_types::batch_of;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;

impl MergePlan {
    /// Which pairs of given and stored rows match by the partition columns that the given rows have, of those whose
    /// keys are equal; none if all do.
    pub(super) fn in_their_partitions(
        &self,
        maker: &GivenKeys,
        given: &RecordBatch,
        stored: &RecordBatch,
    ) -> Result<Option<BooleanArray>> {
        if self.by_path() || self.kept_partitions().is_empty() {
            return Ok(None);
        }
        let paths = strings(stored, meta_columns::PARTITION_PATH)?;
        let columns = projected(stored, &self.partitions)?;
        let is_itself = equal(&self.paths_of(maker, &columns)?, paths);
        let is_match = if self.partitions.iter().any(|name| self.on.contains(name)) {
            equal(&self.paths_of(maker, &self.with_matched(&columns, given)?)?, paths)
        } else {
            is_itself.clone()
        };
        match (&is_itself | &is_match).iter().position(|is_known| !is_known) {
            None => Ok(Some(BooleanArray::from(is_match))),
            Some(row) => Err(self.unmatched_path(paths.value(row))),
        }
    }

    /// The partition columns of stored rows, of which those that match are the given ones.
    fn with_matched(&self, columns: &RecordBatch, given: &RecordBatch) -> Result<RecordBatch> {
        let schema = columns.schema();
        let fields = schema.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
        let arrays = schema.fields().iter().zip(columns.columns()).map(|(field, column)| {
            if !self.on.contains(field.name()) {
                return Ok(Arc::clone(column));
            }
            let missing = || Error::internal(format!("given rows of a merge without column {:?}", field.name()));
            given.column_by_name(field.name()).cloned().ok_or_else(missing)
        });
        batch_of(fields.collect(), arrays.collect::<Result<_>>()?, columns.num_rows())
    }

    pub(super) fn unmatched_path(&self, path: &str) -> Error {
        let names: Vec<&str> =
            self.partitions.iter().filter(|name| !self.on.contains(name)).map(String::as_str).collect();
        Error::unsupported(format!(
            "merge_into without the partition column {}: queries take its values from partition paths, and those of partition '{path}' are not what its rows were written with; add it to the rows and to on",
            names.join(", ")
        ))
    }
}

fn equal(one: &StringArray, other: &StringArray) -> BooleanBuffer {
    one.iter().zip(other).map(|(one, other)| one == other).collect()
}

#[cfg(test)]
mod tests {
    use arrow_array::ArrayRef;
    use arrow_schema::{DataType, Field, Schema};

    use super::super::clauses::MergeClauses;
    use super::super::clauses::NotMatched;
    use super::super::testing::names;
    use super::super::testing::options;
    use super::*;
    use mortice_commit::commit::{NewTable, create_table};
    use mortice_merge::config::{ReadOptions, TableType, TableVersion};
    use mortice_storage::{LocalStorage, StorageOptions};
    use mortice_table::plan::OpenTable;

    /// A merge by `id` and `p`, into a table with the partition columns `p` and `q`.
    fn plan(on: &[&str]) -> MergePlan {
        let folder = tempfile::tempdir().unwrap();
        let uri = folder.path().to_string_lossy().into_owned();
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let columns = Schema::new(vec![text("id"), text("p"), text("q"), text("v")]);
        let new = NewTable {
            name: "t".into(),
            version: TableVersion::for_new_table(9).unwrap(),
            table_type: TableType::CopyOnWrite,
            record_key: names(&["id"]),
            partition_by: names(&["p", "q"]),
            ordering: Vec::new(),
            properties: options(&[]),
        };
        create_table(&LocalStorage::new(&uri, true), &new, &columns).unwrap();
        let table = OpenTable::open(&uri, &StorageOptions::new(), ReadOptions::default()).unwrap();
        let update = Some(names(&["v"]));
        let clauses = MergeClauses { on: Some(names(on)), update, not_matched: NotMatched::Ignore };
        MergePlan::new(&table, &names(&["id", "p", "v"]), &clauses, &options(&[])).unwrap()
    }

    fn batch(columns: &[(&str, &[&str])]) -> RecordBatch {
        let columns =
            columns.iter().map(|(name, values)| (*name, Arc::new(StringArray::from(values.to_vec())) as ArrayRef));
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    }

    fn matched(on: &[&str], given: &[&str], stored: [&[&str]; 3]) -> Result<Vec<bool>> {
        let plan = plan(on);
        let stored = batch(&[("p", stored[0]), ("q", stored[1]), (meta_columns::PARTITION_PATH, stored[2])]);
        let mask = plan.in_their_partitions(&plan.given_keys()?, &batch(&[("p", given)]), &stored)?;
        Ok(mask.unwrap().iter().map(|is| is.unwrap()).collect())
    }

    #[test]
    fn one_partition_column_of_two_matches_by_its_part_of_the_path() {
        let stored = [["x", "y"].as_slice(), &["1", "1"], &["x/1", "y/1"]];
        assert_eq!(matched(&["id", "p"], &["x", "x"], stored).unwrap(), [true, false]);
        assert_eq!(matched(&["id"], &["x", "x"], stored).unwrap(), [true, true]);
        assert!(plan(&["id", "p"]).kept_partitions() == ["q"]);
    }

    #[test]
    fn a_path_that_does_not_say_the_values_is_refused() {
        let stored = [["x"].as_slice(), &["1"], &["x/q=1"]];
        for on in [["id", "p"].as_slice(), &["id"]] {
            let error = matched(on, &["x"], stored).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::Unsupported);
            assert!(error.text().contains("those of partition 'x/q=1'"), "{error}");
        }
    }
}
