//! Queries before they are planned: their columns are resolved from the timeline, and no file is listed.
//!
//! | call | reads |
//! |---|---|
//! | [`QueryPlan::schema`] | `hoodie.properties`, the timeline, the metadata of the commit that stores the schema |
//! | [`QueryPlan::scan`] | that, and the listing of the table's files, or what its metadata table or its commits say of them |
//!
//! Only where no commit and no property stores a schema are files listed for it: a data file's schema is then the table's.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::ask::{Ask, Between};
use super::columns::columns;
use super::open_table::OpenTable;
use super::path_columns::Rows;
use super::scan::Scan;
use super::written_files::Written;
use crate::error::Result;
use crate::filter::BoundFilter;
use crate::names::instant_time;
use crate::split::change_schema;

/// The kinds of queries.
#[derive(Debug, Clone)]
pub enum QueryKind {
    /// [`OpenTable::snapshot`].
    Snapshot,
    /// [`OpenTable::read_optimized`].
    ReadOptimized,
    /// [`OpenTable::incremental`].
    Incremental(Between),
    /// [`OpenTable::changes`].
    Changes(Between),
}

/// A query of a table, not planned yet. Its table is fixed: the schema and the scan are of the same timeline.
pub struct QueryPlan {
    table: Arc<OpenTable>,
    kind: QueryKind,
    ask: Ask,
}

impl QueryPlan {
    /// A query of `table`; nothing is read.
    #[must_use]
    pub fn new(table: Arc<OpenTable>, kind: QueryKind, ask: Ask) -> Self {
        Self { table, kind, ask }
    }

    /// Returns the schema of the query's rows: that of the scan's batches.
    ///
    /// # Errors
    /// Those of the query's method of [`Table`], except for what only the listing of files shows.
    pub fn schema(&self) -> Result<SchemaRef> {
        let (table, ask) = (&self.table, &self.ask);
        match &self.kind {
            QueryKind::Snapshot => table.snapshot_schema(ask),
            QueryKind::ReadOptimized => table.schema_of_slices(ask, Rows::Base),
            QueryKind::Incremental(between) => table.incremental_schema(ask, between),
            QueryKind::Changes(between) => {
                table.span_of_changes(between)?;
                changes_schema(ask)
            }
        }
    }

    /// Plans the query: lists its files and fixes its splits.
    ///
    /// # Errors
    /// Those of the query's method of [`Table`].
    pub fn scan(&self) -> Result<Scan> {
        match &self.kind {
            QueryKind::Snapshot => self.table.snapshot(&self.ask),
            QueryKind::ReadOptimized => self.table.read_optimized(&self.ask),
            QueryKind::Incremental(between) => self.table.incremental(&self.ask, between),
            QueryKind::Changes(between) => self.table.changes(&self.ask, between),
        }
    }
}

impl OpenTable {
    fn snapshot_schema(&self, ask: &Ask) -> Result<SchemaRef> {
        Self::check_deletes(ask)?;
        self.schema_of_slices(ask, Rows::Merged)
    }

    /// The schema of a query of file slices as of an instant.
    fn schema_of_slices(&self, ask: &Ask, rows: Rows) -> Result<SchemaRef> {
        let as_of = ask.as_of.as_deref().map(instant_time::of_query).transpose()?;
        if let Some(as_of) = &as_of {
            self.timeline.check_as_of(as_of).map_err(|error| error.in_file(&self.uri))?;
        }
        Ok(self.columns_of(ask, as_of.as_deref(), &self.path_columns(rows))?.output)
    }

    fn incremental_schema(&self, ask: &Ask, between: &Between) -> Result<SchemaRef> {
        let span = self.span_of_rows(between)?;
        let ask = between.of_rows(ask);
        let schema_at = if between.schema_at_end {
            Written::of(&self.timeline, &span, between.skipped())?.latest().map(str::to_owned)
        } else {
            None
        };
        Ok(self.columns_of(&ask, schema_at.as_deref(), &self.path_columns(Rows::Written))?.output)
    }
}

/// The schema of changes, of the columns asked for; the filter is checked.
pub(super) fn changes_schema(ask: &Ask) -> Result<SchemaRef> {
    let types = change_schema();
    let columns = columns(&types, ask.columns.as_deref())?;
    BoundFilter::bind(&ask.filter, &types)?;
    Ok(projected(&types, &columns))
}

/// A schema of some of its columns, in their order.
pub(super) fn projected(types: &Schema, columns: &[String]) -> SchemaRef {
    let fields = columns.iter().filter_map(|name| types.fields().find(name)).map(|(_, field)| Arc::clone(field));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
