//! One query: schema, columns and slices put together.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::Table;
use super::ask::Ask;
use super::columns::{columns, marking};
use super::scan::Scan;
use super::slices::{SNAPSHOT, Slices};
use crate::avro::{self, Types};
use crate::config::TimelineLayout;
use crate::error::{Error, Result};
use crate::file_group::View;
use crate::names::meta_columns;
use crate::plan::{Deletes, PartitionFilter, PathColumns, Query, splits};
use crate::read::newest_schema;
use crate::schema::Evolution;
use crate::schema::table_schema::{self, TableSchema};

impl Table {
    pub(super) fn schema_at(&self, as_of: Option<&str>) -> Result<(TableSchema, SchemaRef)> {
        let found = match table_schema::at(&self.timeline, &self.config, as_of)? {
            Some(found) => found,
            None => TableSchema { schema: self.schema_of_files(as_of)?, internal: None },
        };
        let types = avro::arrow_schema(&found.schema, Types::Table).map_err(|error| error.in_file(&self.uri))?;
        Ok((found, Arc::new(types)))
    }

    /// What the files of a table call its columns, where those are told by ids.
    pub(super) fn evolution(&self, found: &TableSchema) -> Result<Option<Evolution>> {
        let load = |internal| Evolution::load(self.place.as_ref(), &self.timeline, internal);
        found.internal.as_ref().map(load).transpose().map_err(|error| error.in_file(&self.uri))
    }

    /// Where no commit holds a schema: that of a file; of a table without any, the meta columns alone.
    pub(super) fn schema_of_files(&self, as_of: Option<&str>) -> Result<avro::Schema> {
        let Slices { slices, instants, .. } = self.slices(as_of, View::slices, None)?;
        let schema = match newest_schema(&slices, &instants, self.place.as_ref())? {
            Some(text) => avro::Schema::parse(&text)?,
            None if slices.is_empty() => avro::Schema::record("empty", Vec::new()),
            None => {
                let message = "no commit, base file or log block holds the table's schema";
                return Err(Error::unsupported(message).in_file(&self.uri));
            }
        };
        table_schema::with_table_columns(&schema, &self.config)
    }

    /// A query with the schema as of an instant, over the slices that `find` finds in wanted partitions.
    pub(super) fn scan(
        &self,
        kind: &'static str,
        ask: &Ask,
        as_of: Option<String>,
        path_columns: PathColumns,
        find: impl FnOnce(Option<&PartitionFilter>) -> Result<Slices>,
    ) -> Result<Scan> {
        let (found, types) = self.schema_at(as_of.as_deref())?;
        let evolution = self.evolution(&found)?;
        let (schema, types, deletes) =
            if ask.emit_deletes { marking(found.schema)? } else { (found.schema, types, Deletes::LeftOut) };
        let mut columns = columns(&types, ask.columns.as_deref())?;
        if ask.columns.is_none() && path_columns.last {
            // Other columns keep their order: the sort is stable, and `None` is before `Some`.
            columns.sort_by_key(|name| path_columns.in_path.iter().position(|partition_field| partition_field == name));
        }
        if ask.emit_deletes && !columns.iter().any(|name| name == meta_columns::OPERATION) {
            columns.push(meta_columns::OPERATION.to_owned());
        }
        let wanted = self.partition_filter(&types, &ask.filter)?;
        let Slices { mut slices, instants, range, partitions, listing } = find(wanted.as_ref())?;
        let found_slices = slices.len();
        // The index knows where the merged row of a key lies now.
        let is_of_now = kind == SNAPSHOT && ask.merge && !ask.emit_deletes && as_of.is_none();
        let record_index = if is_of_now { self.by_record_index(&mut slices, &types, &ask.filter) } else { None };
        // Where columns were renamed, a name's statistics may be those of another column; a marked delete has columns of its own.
        let is_of_files = range.is_none() && evolution.is_none() && !ask.emit_deletes;
        let column_stats =
            if is_of_files { self.by_column_stats(&mut slices, &types, ask, &path_columns.taken) } else { None };
        let slices_pruned = found_slices.saturating_sub(slices.len());
        let output = columns.iter().filter_map(|name| types.fields().find(name)).map(|(_, field)| Arc::clone(field));
        let output = Arc::new(Schema::new(output.collect::<Vec<_>>()));
        let query = Arc::new(Query {
            uri: self.uri.clone(),
            storage: self.storage.clone(),
            schema: schema.json().to_owned(),
            evolution,
            virtual_key: (!self.config.populate_meta_fields).then(|| self.config.record_key_fields.clone()),
            key_fields: self.config.record_key_fields.clone(),
            key_field: self.key_field(&types).filter(|name| !path_columns.taken.contains(name)),
            merge: self.merge().clone(),
            over_base: ask.merge,
            changelog: range.is_some() && !ask.merge,
            deletes,
            commits_by_block: self.config.layout() == TimelineLayout::V1,
            instants,
            range,
            path_columns,
            columns,
            filter: ask.filter.clone(),
            options: self.options.clone(),
        });
        let splits = splits(&query, slices, ask.merger.as_ref());
        Ok(Scan {
            schema: output,
            query,
            splits,
            kind,
            as_of,
            between: None,
            partitions,
            listing,
            record_index,
            column_stats,
            slices_pruned,
        })
    }
}
