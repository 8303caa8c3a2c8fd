//! Splits: the parts of a planned query, each complete in itself. See `split_form` for how they are serialised.

use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::change::{Change, ChangeSource, change_schema};
use super::part::Part;
use crate::avro::{self, Types};
use crate::config::{MergeConfig, ReadOptions};
use crate::error::{Error, Result};
use crate::file_group::FileSlice;
use crate::filter::Filter;
use crate::merge::fold::RowMerger;
use crate::names::instant_range::InstantRange;
use crate::names::{FieldNames, RequestedTime};
use crate::schema::Evolution;
use crate::storage::StorageOptions;
use crate::timeline::InstantFilter;

/// The commits of an incremental query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRange {
    /// Whose log blocks are read.
    pub blocks: InstantRange,
    /// Whose rows are delivered; base rows of others are left out before anything is merged.
    pub rows: InstantRange,
    /// Whether of a base file only those rows count that its own commit wrote.
    pub own_base_rows: bool,
}

/// What all splits of a query share.
#[derive(Clone, Serialize, Deserialize)]
pub struct Query {
    /// The table's URI.
    pub uri: String,
    /// How to reach it.
    pub storage: StorageOptions,
    /// The table's Avro schema as of the query, as JSON.
    pub schema: String,
    /// What files call the table's columns; none where all call them alike.
    pub evolution: Option<Evolution>,
    /// The key fields, where files hold no meta columns; none where they do.
    pub virtual_key: Option<Vec<String>>,
    /// The record key's fields.
    pub key_fields: Vec<String>,
    /// The column that record keys are made of, where files hold both: filters on the one are filters on the other.
    pub key_field: Option<String>,
    /// The table's merge rules.
    pub merge: MergeConfig,
    /// Whether base rows and log rows of a key become one; or else stand side by side (skip merge).
    pub over_base: bool,
    /// Whether each log record is a row, by itself.
    pub changelog: bool,
    /// Whether deleted keys are rows, too.
    pub deletes: Deletes,
    /// Whether uncommitted data lies inside shared log files and is told by block (table version 7 and below).
    pub commits_by_block: bool,
    /// Which instants count.
    pub instants: InstantFilter,
    /// The commits that are asked for; none is all.
    pub range: Option<CommitRange>,
    /// Partition columns whose values are taken from the path.
    pub path_columns: PathColumns,
    /// The columns asked for, in order.
    pub columns: Vec<String>,
    /// Rows asked for.
    pub filter: Filter,
    /// How to read.
    pub options: ReadOptions,
}

/// Partition columns whose values are taken from the path of the partition that a row is in, whatever the row holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathColumns {
    /// All partition columns, as they follow each other in the path.
    pub in_path: Vec<String>,
    /// Those whose values are taken from there.
    pub taken: Vec<String>,
    /// Whether the path's text is taken as it stands, not decoded.
    pub as_they_stand: bool,
    /// Whether rows do not hold them, so that there is no value but that of the path.
    pub alone: bool,
    /// Whether they come after all other columns of an answer, in the order of `in_path` (Hudi 0.x). Used for planning only.
    #[serde(skip)]
    pub last: bool,
}

/// What a query does about deleted keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deletes {
    /// They are left out.
    LeftOut,
    /// They are rows, `D` in the table's `_hoodie_operation`.
    InTablesColumn,
    /// They are rows, `D` in a `_hoodie_operation` that the table has not.
    InAddedColumn,
}

/// One file slice of a query, or a part of one.
#[derive(Debug, Clone)]
pub struct Split {
    /// What to do.
    pub query: Arc<Query>,
    /// With what.
    pub slice: FileSlice,
    /// What a commit changed, where changes are asked for; the query's columns and filter are then theirs.
    pub change: Option<Change>,
    /// Which part of it; none is all of it.
    pub part: Option<Part>,
    /// A merger of the user's own, for tables that ask for one. It is code, and travels beside the split, if at all.
    pub merger: Option<MergerHandle>,
}

/// A merger of the user's own.
#[derive(Clone)]
pub struct MergerHandle(pub Arc<dyn RowMerger>);

impl std::fmt::Debug for MergerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a registered merger")
    }
}

/// Leaves out the storage options, which may be secrets.
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
    /// What a file or a log block that an instant wrote calls the table's columns.
    #[must_use]
    pub fn names_at(&self, instant: &RequestedTime) -> &FieldNames {
        self.evolution.as_ref().map_or(FieldNames::identity(), |evolution| evolution.names_at(instant))
    }
}

impl Split {
    /// The schema of the batches it gives.
    pub fn schema(&self) -> Result<SchemaRef> {
        let types = match &self.change {
            Some(_) => change_schema(),
            None => avro::arrow_schema(&avro::Schema::parse(&self.query.schema)?, Types::Table)?,
        };
        let columns = self.query.columns.iter().map(|name| types.index_of(name)).collect::<Result<Vec<_>, _>>();
        let projected = columns.and_then(|columns| types.project(&columns));
        let schema = projected.map_err(|error| Error::invalid_argument("a split's columns").caused_by(error))?;
        Ok(Arc::new(schema))
    }

    /// Whether it may be read in parts: changes that logs tell are found together.
    #[must_use]
    pub fn can_be_divided(&self) -> bool {
        let source = self.change.as_ref().map(|change| &change.source);
        matches!(source, None | Some(ChangeSource::Inserted | ChangeSource::Deleted))
    }

    /// The files that it reads, by their paths relative to the table.
    #[must_use]
    pub fn files(&self) -> Vec<&str> {
        let of_change = self.change.iter().flat_map(Change::files);
        self.slice.files().chain(of_change).map(|(path, _)| path).collect()
    }

    /// Bytes of those; of a part, its share of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of_change = self.change.iter().flat_map(Change::files);
        let bytes = of_change.fold(self.slice.total_len(), |sum, (_, len)| sum.saturating_add(len));
        bytes / self.part.map_or(1, |part| u64::from(part.of).max(1))
    }

    /// Bytes of the slice's log files, which are among those; of a part, its share of them.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        let bytes = self.slice.log_files.iter().fold(0_u64, |sum, log| sum.saturating_add(log.len));
        bytes / self.part.map_or(1, |part| u64::from(part.of).max(1))
    }
}
