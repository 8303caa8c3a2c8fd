//! Splits: the parts of a planned query, each self-contained. `split_form` serializes them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::change::{ChangeSource, FileGroupChange, change_schema};
use super::part::SlicePart;
use crate::file_group::FileSlice;
use crate::schema::SchemaEvolution;
use crate::timeline::{InstantFilter, Timeline};
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::{Error, Result};
use mortice_base::names::instant_range::InstantRange;
use mortice_base::names::{FieldNames, RequestedTime};
use mortice_formats::filter::Filter;
use mortice_merge::config::{MergeConfig, ReadOptions, TableConfig};
use mortice_merge::merge::fold::RowMerger;
use mortice_storage::StorageOptions;

/// The commits of an incremental query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRange {
    /// The commits whose log blocks are read.
    pub blocks: InstantRange,
    /// The commits whose rows are returned. Base rows of other commits are removed before the merge.
    pub rows: InstantRange,
    /// Whether only rows written by the commit of their base file are returned.
    pub own_base_rows: bool,
}

/// The properties that all splits of a query share.
#[derive(Clone, Serialize, Deserialize)]
pub struct Query {
    /// The URI of the table.
    pub uri: String,
    /// The storage options.
    pub storage: StorageOptions,
    /// The table's Avro schema as of the query, as JSON.
    pub schema: String,
    /// The names of the table's columns in its files; `None` if they are the same everywhere.
    pub evolution: Option<SchemaEvolution>,
    /// The key fields of a table whose files have no meta columns; `None` if they have them.
    pub virtual_key: Option<Vec<String>>,
    /// The fields of the record key.
    pub key_fields: Vec<String>,
    /// The column that record keys are equal to, if files have both: a filter on one is a filter on the other.
    pub key_field: Option<String>,
    /// The merge configuration of the table.
    pub merge: MergeConfig,
    /// Whether base rows and log records of a key are merged. Otherwise all of them are returned (skip merge).
    pub over_base: bool,
    /// Whether each log record is returned as a row.
    pub changelog: bool,
    /// Whether deleted keys are returned as rows, too.
    pub deletes: DeleteOutput,
    /// Whether rows of deleted keys are written to a delete block again: their ordering values are exactly those of the
    /// deletes, null for a delete that has none, and an error where the column cannot hold them.
    #[serde(default)]
    pub rewrites_deletes: bool,
    /// Whether the lengths of log files are compared with the metadata of commits: damage is an error, and the files
    /// were listed from storage, which does not know what their lengths should be.
    #[serde(default)]
    pub checks_lengths: bool,
    /// Whether the images of changes are without meta columns, as those of Hudi 1.3: in tables of version 10, which
    /// earlier releases do not read.
    #[serde(default)]
    pub images_are_data: bool,
    /// Whether log files may have uncommitted blocks, which the instant of the block identifies (up to table version
    /// 7).
    pub commits_by_block: bool,
    /// The filter of valid instants.
    pub instants: InstantFilter,
    /// The commits of an incremental query; `None` for other queries.
    pub range: Option<CommitRange>,
    /// Partition columns with values from the path.
    pub path_columns: PathColumns,
    /// The projected columns, in order.
    pub columns: Vec<String>,
    /// The predicate on rows.
    pub filter: Filter,
    /// Options of the reader.
    pub options: ReadOptions,
    /// The table's files as of the read, for partial records. Loaded by the first read that needs them.
    #[serde(skip)]
    pub table_state: TableState,
}

/// The properties and the timeline of a table, which reads of one query share.
pub type TableState = Arc<OnceLock<(TableConfig, Timeline)>>;

/// Partition columns whose values are taken from the path of the partition, even if rows have a value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathColumns {
    /// All partition columns, in the order of the path.
    pub in_path: Vec<String>,
    /// The columns whose values are taken from the path.
    pub taken: Vec<String>,
    /// Whether the string of the path is used without decoding.
    pub as_they_stand: bool,
    /// Whether rows do not have the columns, so the path has the only value.
    pub alone: bool,
    /// Whether they follow all other columns of the result, in the order of `in_path` (Hudi 0.x). Used for planning
    /// only.
    #[serde(skip)]
    pub last: bool,
}

/// How a query returns deleted keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeleteOutput {
    /// Deleted keys are not returned.
    LeftOut,
    /// They are rows with `D` in the table's column `_hoodie_operation`.
    InTablesColumn,
    /// They are rows with `D` in a column `_hoodie_operation` that the table does not have.
    InAddedColumn,
}

/// A file slice of a query, or a part of one.
#[derive(Debug, Clone)]
pub struct Split {
    /// The query.
    pub query: Arc<Query>,
    /// The file slice. Clones of the split share it: a query of a large table has a million slices.
    pub slice: Arc<FileSlice>,
    /// The change to read, for a query of changes; then the columns and the filter of the query are those of changes.
    pub change: Option<Box<FileGroupChange>>,
    /// The part of the slice; `None` for the whole slice.
    pub part: Option<SlicePart>,
    /// A custom merger, for tables that need one. It is code and is not serialized with the split.
    pub merger: Option<MergerHandle>,
}

/// A custom merger.
#[derive(Clone)]
pub struct MergerHandle(pub Arc<dyn RowMerger>);

impl std::fmt::Debug for MergerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a registered merger")
    }
}

/// Omits the storage options, which may contain secrets.
impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { uri, columns, filter, .. } = self;
        f.debug_struct("Query")
            .field("uri", uri)
            .field("columns", columns)
            .field("filter", filter)
            .finish_non_exhaustive()
    }
}

impl Query {
    /// Returns the column names in a base file or log block that an instant wrote.
    #[must_use]
    pub fn names_at(&self, instant: &RequestedTime) -> &FieldNames {
        self.evolution.as_ref().map_or(FieldNames::identity(), |evolution| evolution.names_at(instant))
    }
}

impl Split {
    /// Returns the schema of the batches.
    pub fn schema(&self) -> Result<SchemaRef> {
        let types = match &self.change {
            Some(_) => change_schema(),
            None => avro::arrow_schema(&avro::Schema::parse(&self.query.schema)?, ArrowMapping::Table)?,
        };
        let columns = self.query.columns.iter().map(|name| types.index_of(name)).collect::<Result<Vec<_>, _>>();
        let projected = columns.and_then(|columns| types.project(&columns));
        let schema = projected.map_err(|error| Error::invalid_argument("a split's columns").caused_by(error))?;
        Ok(Arc::new(schema))
    }

    /// Returns true if the split can be divided. Changes found in logs cannot: they need all logs of the slice.
    #[must_use]
    pub fn can_be_divided(&self) -> bool {
        let source = self.change.as_ref().map(|change| &change.source);
        matches!(source, None | Some(ChangeSource::Inserted | ChangeSource::Deleted))
    }

    /// Returns the paths of the files that it reads, relative to the table.
    #[must_use]
    pub fn files(&self) -> Vec<&str> {
        let of_change = self.change.iter().flat_map(|change| change.files());
        self.slice.files().chain(of_change).map(|(path, _)| path).collect()
    }

    /// Returns the size of these files in bytes; for a part, its share.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of_change = self.change.iter().flat_map(|change| change.files());
        let bytes = of_change.fold(self.slice.total_len(), |sum, (_, len)| sum.saturating_add(len));
        bytes / self.part.map_or(1, |part| u64::from(part.of).max(1))
    }

    /// Returns the size of the log files in bytes; for a part, its share.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        let bytes = self.slice.log_files.iter().fold(0_u64, |sum, log| sum.saturating_add(log.len));
        bytes / self.part.map_or(1, |part| u64::from(part.of).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The driver holds those of all slices of a table.
    #[test]
    fn splits_and_slices_are_small() {
        assert!(size_of::<Split>() <= 56, "{}", size_of::<Split>());
        assert!(size_of::<FileSlice>() <= 200, "{}", size_of::<FileSlice>());
    }
}
