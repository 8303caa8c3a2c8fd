//! The partition columns whose values come from the path of the partition, as in Hudi's readers on Spark. Rows have
//! values, too, usually the same ones. They differ if a value is empty, which the path turns into null; if a string has
//! a `%`; if the path has a formatted time; and if a global index left a record in the partition to which it was first
//! written.
//!
//! | partition columns | Hudi 1.x | Hudi 0.x |
//! |---|---|---|
//! | that files do not have (`hoodie.datasource.write.drop.partition.columns`), or some do not (bootstrapped tables) | path | path |
//! | that the path has in another format (timestamp-based key generators); ordering fields | row | row |
//! | others, of a snapshot | path | row; of a table without logs (copy on write), path |
//! | others, of base files alone (read optimized) | path | path |
//! | others, of rows that commits wrote (incremental) | path, not decoded | row |
//! | others, of changes | row | row |
//!
//! Sources: `HoodieBaseHadoopFsRelationFactory.partitionColumnsToRead`, `HoodieIncrementalFileIndex`; of 0.x
//! `BaseFileOnlyRelation`.
//!
//! # Position of partition columns in the result
//!
//! In 1.x they have their position in the table's schema. In 0.x, measured with 0.15.0 on Spark 3.5:
//!
//! | query | copy on write | merge on read |
//! |---|---|---|
//! | snapshot, time travel | last | as in the schema |
//! | read optimized | last | last |
//! | incremental | as in the schema | as in the schema |
//! | any, of a bootstrapped table | as in the schema | as in the schema |
//!
//! "Last" is after all other columns, in the order of `hoodie.table.partition.fields`: Spark's `HadoopFsRelation`
//! appends its partition columns. The result is the same with and without
//! `hoodie.datasource.write.drop.partition.columns`, hive-style paths, encoded paths, merging (`skip_merge`) and meta
//! columns, for one partition column and several, also if one is the ordering field.
//!
//! The schema is that of the latest commit (`table_schema`). With `drop.partition.columns` a commit that wrote base
//! files only stores it without the partition columns, which are then appended as strings; a delta commit with log
//! files stores all columns, those of the path as strings. So the same table can have them in either place at different
//! instants.
//!
//! Incremental queries of 0.15 on copy-on-write tables with `drop.partition.columns`, and on bootstrapped merge-on-read
//! tables, return null in partition columns. Snapshots of 0.15 on merge-on-read tables with `drop.partition.columns`,
//! whose partition fields are not in the order of the schema, assign the values of base rows to the wrong columns. Here
//! all of them return the values of the path.

use super::open_table::OpenTable;
use crate::split::PathColumns;
use mortice_merge::config::{MergeSemantics, TableType};

/// The kind of rows of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Merged,
    Base,
    Written,
    Changes,
}

impl OpenTable {
    pub(super) fn path_columns(&self, rows: RowKind) -> PathColumns {
        let config = &self.config;
        let alone = config.drop_partition_columns;
        let is_1x = self.options.semantics == MergeSemantics::V1x;
        let from_path = match rows {
            RowKind::Merged => is_1x || config.table_type == TableType::CopyOnWrite,
            RowKind::Base => true,
            RowKind::Written => is_1x,
            RowKind::Changes => false,
        };
        let is_from_path =
            |(name, reformatted): &(&String, bool)| !reformatted && !config.ordering_fields.contains(name);
        let taken = if alone || config.is_bootstrapped() {
            config.partition_fields.clone()
        } else if from_path {
            let columns = config.partition_fields.iter().zip(config.reformatted_in_path());
            columns.filter(is_from_path).map(|(name, _)| name.clone()).collect()
        } else {
            Vec::new()
        };
        let last = match rows {
            RowKind::Merged => config.table_type == TableType::CopyOnWrite,
            RowKind::Base => true,
            RowKind::Written | RowKind::Changes => false,
        };
        PathColumns {
            last: last && !is_1x && !config.is_bootstrapped(),
            in_path: config.partition_fields.clone(),
            taken,
            as_they_stand: is_1x && rows == RowKind::Written,
            alone,
        }
    }
}
