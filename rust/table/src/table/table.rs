//! A table, and its queries.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::file_group::FileSlice;
use crate::plan::{Follower, OpenTable, QueryKind, QueryOptions, QueryPlan, Scan, SnapshotRows, StartPosition};
use crate::timeline::{ReadPosition, Timeline};
use mortice_base::error::Result;
use mortice_formats::filter::Filter;
use mortice_merge::config::{MergeConfig, MergeSemantics, ReadOptions, TableConfig};
use mortice_storage::{RequestCounts, Storage, StorageOptions};

/// A Hudi table. Its timeline is read once, when it is opened; open it again to see newer commits.
pub struct Table(Arc<OpenTable>);

impl Table {
    /// Opens the table at a path or URI.
    ///
    /// # Errors
    /// [`mortice_base::ErrorKind::NotFound`] if there is none, [`mortice_base::ErrorKind::Unsupported`] for tables that
    /// this release cannot read.
    pub fn open(uri: &str, storage_options: &StorageOptions, options: ReadOptions) -> Result<Self> {
        OpenTable::open(uri, storage_options, options).map(Self::from)
    }

    /// Opens the table in a storage that is already open. Splits are read at `uri`.
    ///
    /// # Errors
    /// As for [`Table::open`].
    pub fn at(
        storage: Arc<dyn Storage>,
        uri: &str,
        storage_options: &StorageOptions,
        options: ReadOptions,
    ) -> Result<Self> {
        OpenTable::at(storage, uri, storage_options, options).map(Self::from)
    }

    /// The URI, as it was given.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.0.uri
    }

    /// The opened table, which writes are planned by.
    #[must_use]
    pub fn opened(&self) -> &Arc<OpenTable> {
        &self.0
    }

    /// The storage requests made so far to open the table and to plan its queries. Reading is counted by
    /// [`crate::ReadReport::requests`].
    #[must_use]
    pub fn requests(&self) -> RequestCounts {
        self.0.storage.requests().map(|requests| requests.counts()).unwrap_or_default()
    }

    /// The table's properties (`hoodie.properties`).
    #[must_use]
    pub fn config(&self) -> &TableConfig {
        &self.0.config
    }

    /// How records of one key are merged.
    #[must_use]
    pub fn merge(&self) -> &MergeConfig {
        &self.0.merge
    }

    /// Whose merge rules are followed.
    #[must_use]
    pub fn semantics(&self) -> MergeSemantics {
        self.0.options.semantics
    }

    /// The timeline as it was when the table was opened.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.0.timeline
    }

    /// The schema of the latest commit, meta columns first.
    ///
    /// # Errors
    /// `InvalidTable` or `Unsupported` if no commit or file holds a schema that can be read.
    pub fn schema(&self) -> Result<SchemaRef> {
        let (_, types) = self.0.schema_at(None)?;
        Ok(types)
    }

    /// The schema of the latest commit as an Avro schema in JSON, with the defaults of its fields.
    ///
    /// # Errors
    /// As for [`Table::schema`].
    pub fn avro_schema(&self) -> Result<String> {
        let (found, _) = self.0.schema_at(None)?;
        Ok(found.schema.json().to_owned())
    }

    /// Returns true if columns are identified by ids, not by names, at an instant or now (schema on read).
    ///
    /// # Errors
    /// As for [`Table::schema`]; `InvalidArgument` if `as_of` is not an instant.
    pub fn has_column_ids(&self, as_of: Option<&str>) -> Result<bool> {
        self.0.has_column_ids(as_of)
    }

    /// The file slices that a snapshot reads, except for those of partitions that hold no row of the filter.
    ///
    /// # Errors
    /// Those of planning a snapshot.
    pub fn file_slices(&self, as_of: Option<&str>, filter: &Filter) -> Result<Vec<FileSlice>> {
        self.0.file_slices(as_of, filter)
    }

    /// A query that is not planned yet. Reads nothing.
    #[must_use]
    pub fn query(&self, kind: QueryKind, options: QueryOptions) -> QueryPlan {
        QueryPlan::new(Arc::clone(&self.0), kind, options)
    }

    /// Plans a snapshot of the latest commit, base files and logs merged. [`Table::query`] has the other kinds of
    /// queries.
    ///
    /// # Errors
    /// Those of [`OpenTable::snapshot`].
    pub fn snapshot(&self, options: &QueryOptions) -> Result<Scan> {
        self.0.snapshot(options, None, SnapshotRows::Merged)
    }

    /// Follows the table commit by commit.
    ///
    /// # Errors
    /// Those of [`Follower::new`].
    pub fn follow(&self, start: &StartPosition) -> Result<Follower> {
        Follower::new(Arc::clone(&self.0), start)
    }

    /// The position on this table's timeline of a position recorded on layout 1 or 2. See [`OpenTable::position_here`].
    ///
    /// # Errors
    /// Those of [`OpenTable::position_here`].
    pub fn position_here(&self, position: &ReadPosition, layout: u8) -> Result<Option<ReadPosition>> {
        self.0.position_here(position, layout)
    }
}

impl From<OpenTable> for Table {
    fn from(table: OpenTable) -> Self {
        Self(Arc::new(table))
    }
}

impl From<Arc<OpenTable>> for Table {
    fn from(table: Arc<OpenTable>) -> Self {
        Self(table)
    }
}
