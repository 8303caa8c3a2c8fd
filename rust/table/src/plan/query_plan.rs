//! Queries before planning: their columns are resolved from the timeline, without listing files.
//!
//! | call | reads |
//! |---|---|
//! | [`QueryPlan::schema`] | `hoodie.properties`, the timeline, the metadata of the commit that stores the schema |
//! | [`QueryPlan::scan`] | also the listing of the table's files, from storage, its metadata table or its commits |
//!
//! Only if no commit and no property has a schema, files are listed for it: the schema of a data file is then the
//! table's.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::columns::{columns, projected};
use super::open_table::OpenTable;
use super::path_columns::RowKind;
use super::query_kind::{IncrementalRange, QueryKind, RowForm};
use super::query_options::QueryOptions;
use super::ranges::written_files::WrittenFiles;
use super::scan::Scan;
use crate::split::change_schema;
use mortice_base::error::Result;
use mortice_formats::filter::BoundFilter;

/// A query of a table that is not planned yet. Its table is fixed: the schema and the scan use the same timeline.
pub struct QueryPlan {
    table: Arc<OpenTable>,
    kind: QueryKind,
    options: QueryOptions,
}

impl QueryPlan {
    /// Creates a query of `table`, without reading anything.
    #[must_use]
    pub fn new(table: Arc<OpenTable>, kind: QueryKind, options: QueryOptions) -> Self {
        Self { table, kind, options }
    }

    /// Returns the schema of the query's rows, i.e. of the scan's batches.
    ///
    /// # Errors
    /// Errors of the query's method of [`Table`], except for those of listing files.
    pub fn schema(&self) -> Result<SchemaRef> {
        let (table, options) = (&self.table, &self.options);
        match &self.kind {
            QueryKind::Snapshot(rows) => table.schema_of_slices(options, None, RowKind::Merged, (*rows).into()),
            QueryKind::TimeTravel { as_of, rows } => {
                table.schema_of_slices(options, Some(as_of), RowKind::Merged, (*rows).into())
            }
            QueryKind::ReadOptimized { as_of } => {
                table.schema_of_slices(options, as_of.as_deref(), RowKind::Base, RowForm::MERGED)
            }
            QueryKind::Incremental(range) => table.incremental_schema(options, range),
            QueryKind::Changes(bounds) => {
                table.range_of_changes(bounds)?;
                changes_schema(options)
            }
        }
    }

    /// Plans the query: lists its files and fixes its splits.
    ///
    /// # Errors
    /// Errors of the query's method of [`Table`].
    pub fn scan(&self) -> Result<Scan> {
        let (table, options) = (&self.table, &self.options);
        match &self.kind {
            QueryKind::Snapshot(rows) => table.snapshot(options, None, *rows),
            QueryKind::TimeTravel { as_of, rows } => table.snapshot(options, Some(as_of), *rows),
            QueryKind::ReadOptimized { as_of } => table.read_optimized(options, as_of.as_deref()),
            QueryKind::Incremental(range) => table.incremental(options, range),
            QueryKind::Changes(bounds) => table.changes(options, bounds),
        }
    }
}

impl OpenTable {
    /// Returns the schema of a query of file slices as of an instant.
    fn schema_of_slices(
        &self,
        options: &QueryOptions,
        as_of: Option<&str>,
        rows: RowKind,
        form: RowForm,
    ) -> Result<SchemaRef> {
        let as_of = self.as_of(as_of)?;
        if let Some(as_of) = &as_of {
            self.timeline.check_as_of(as_of).map_err(|error| error.in_file(&self.uri))?;
        }
        Ok(self.columns_of(options, form, as_of.as_ref(), &self.path_columns(rows))?.output)
    }

    fn incremental_schema(&self, options: &QueryOptions, range: &IncrementalRange) -> Result<SchemaRef> {
        let timeline_range = self.range_of_rows(&range.bounds)?;
        let schema_at = if range.schema_at_end {
            WrittenFiles::read(&self.timeline, &timeline_range, range.skipped())?.latest().cloned()
        } else {
            None
        };
        let path_columns = self.path_columns(RowKind::Written);
        Ok(self.columns_of(options, range.rows.into(), schema_at.as_ref(), &path_columns)?.output)
    }
}

/// Returns the schema of projected changes, and checks the filter.
pub(super) fn changes_schema(options: &QueryOptions) -> Result<SchemaRef> {
    let types = change_schema();
    let columns = columns(&types, options.columns.as_deref())?;
    BoundFilter::bind(&options.filter, &types)?;
    Ok(projected(&types, &columns))
}
