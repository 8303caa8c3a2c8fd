//! Which partition columns have their values taken from the path of the partition, as Hudi's readers on Spark take them. Rows have
//! values of their own, most often the same. They differ where a value is empty, of which the path makes null; where text has a `%`; where
//! the path has made another text of a time; and where a global index left a record in the partition that it was first written to.
//!
//! | partition columns | Hudi 1.x | Hudi 0.x |
//! |---|---|---|
//! | that files do not hold (`hoodie.datasource.write.drop.partition.columns`), or some do not (bootstrapped tables) | path | path |
//! | that the path has formatted (timestamp-based key generators); ordering fields | row | row |
//! | others, of a snapshot | path | row; of a table without logs (copy on write), path |
//! | others, of base files alone (read optimized) | path | path |
//! | others, of what commits wrote (incremental) | path, not decoded | row |
//! | others, of changes | row | row |
//!
//! Sources: `HoodieBaseHadoopFsRelationFactory.partitionColumnsToRead`, `HoodieIncrementalFileIndex`; of 0.x `BaseFileOnlyRelation`.
//!
//! # Where partition columns stand among the columns of an answer
//!
//! Under 1.x they stand where the table's schema has them. Under 0.x, measured with 0.15.0 on Spark 3.5:
//!
//! | query | copy on write | merge on read |
//! |---|---|---|
//! | snapshot, time travel | last | as in the schema |
//! | read optimized | last | last |
//! | incremental | as in the schema | as in the schema |
//! | any, of a bootstrapped table | as in the schema | as in the schema |
//!
//! "Last" is after all other columns, in the order of `hoodie.table.partition.fields`: Spark's `HadoopFsRelation` puts its partition
//! columns there. The answer is the same with and without `hoodie.datasource.write.drop.partition.columns`, hive-style paths,
//! encoded paths, merging (`skip_merge`) and meta columns, for one partition column and several, also if one is the ordering field.
//!
//! The schema is that of the latest commit (`table_schema`). With `drop.partition.columns` a commit that wrote base files only stores it
//! without the partition columns, which are then appended as strings; a delta commit with log files stores all columns, those of the
//! path as strings. So the same table can have them in either place at different instants.
//!
//! Incremental queries of 0.15 on copy-on-write tables with `drop.partition.columns`, and on bootstrapped merge-on-read tables, return
//! null in partition columns. Snapshots of 0.15 on merge-on-read tables with `drop.partition.columns`, whose partition fields are not in the
//! order of the schema, assign the values of base rows to the wrong columns. Here all hold their values of the path.

use super::open_table::OpenTable;
use crate::config::{Semantics, TableType};
use crate::split::PathColumns;

/// What a query gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Merged,
    Base,
    Written,
    Changes,
}

impl OpenTable {
    pub(super) fn path_columns(&self, rows: Rows) -> PathColumns {
        let config = &self.config;
        let alone = config.drop_partition_columns;
        let is_1x = self.options.semantics == Semantics::V1x;
        let from_path = match rows {
            Rows::Merged => is_1x || config.table_type == TableType::CopyOnWrite,
            Rows::Base => true,
            Rows::Written => is_1x,
            Rows::Changes => false,
        };
        let is_told = |(name, reformatted): &(&String, bool)| !reformatted && !config.ordering_fields.contains(name);
        let taken = if alone || config.is_bootstrapped() {
            config.partition_fields.clone()
        } else if from_path {
            let columns = config.partition_fields.iter().zip(config.reformatted_in_path());
            columns.filter(is_told).map(|(name, _)| name.clone()).collect()
        } else {
            Vec::new()
        };
        let last = match rows {
            Rows::Merged => config.table_type == TableType::CopyOnWrite,
            Rows::Base => true,
            Rows::Written | Rows::Changes => false,
        };
        PathColumns {
            last: last && !is_1x && !config.is_bootstrapped(),
            in_path: config.partition_fields.clone(),
            taken,
            as_they_stand: is_1x && rows == Rows::Written,
            alone,
        }
    }
}
