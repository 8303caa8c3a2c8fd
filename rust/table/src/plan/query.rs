//! One query: combines schema, columns and slices.

use std::sync::{Arc, PoisonError};

use arrow_schema::SchemaRef;

use super::columns::{columns, marking, projected};
use super::indexes::{FileStatistics, IndexUses, KeyLookup};
use super::known_schema::KnownSchema;
use super::open_table::OpenTable;
use super::query_kind::RowForm;
use super::query_options::QueryOptions;
use super::scan::Scan;
use super::slices::file_slices::SelectedSlices;
use super::slices::partition_filter::PartitionFilter;
use crate::file_group::FileSystemView;
use crate::read::{has_column, newest_schema};
use crate::schema::SchemaEvolution;
use crate::schema::table_schema::{self, TableSchema};
use crate::split::{DeleteOutput, PathColumns, Query, TableState, splits};
use mortice_avro::{self as avro, ArrowMapping, Type};
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_merge::config::TimelineLayout;

/// The input of [`OpenTable::scan`].
pub(super) struct ScanRequest<'a> {
    /// The name of the kind of query, for display.
    pub(super) name: &'static str,
    pub(super) options: &'a QueryOptions,
    pub(super) form: RowForm,
    /// The instant of the schema; `None` is the latest.
    pub(super) schema_at: Option<RequestedTime>,
    pub(super) path_columns: PathColumns,
    /// Whether the query is of the merged rows of the latest commit, of which some indexes are.
    pub(super) is_latest: bool,
}

/// The columns of a query.
pub(super) struct QueryColumns {
    found: TableSchema,
    /// The types of all columns of the rows.
    schema: avro::Schema,
    types: SchemaRef,
    deletes: DeleteOutput,
    /// The projected columns.
    names: Vec<String>,
    pub(super) output: SchemaRef,
    wanted: Option<PartitionFilter>,
}

impl OpenTable {
    /// Returns the table's schema at an instant, and its Arrow types. The last result is cached.
    pub fn schema_at(&self, as_of: Option<&RequestedTime>) -> Result<(TableSchema, SchemaRef)> {
        let known = self.known_schema.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| known.as_of.as_ref() == as_of) {
            return Ok((known.found, known.types));
        }
        let (found, types) = self.read_schema_at(as_of)?;
        let as_of = as_of.cloned();
        let known = KnownSchema { as_of, found: found.clone(), types: Arc::clone(&types) };
        *self.known_schema.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        Ok((found, types))
    }

    fn read_schema_at(&self, as_of: Option<&RequestedTime>) -> Result<(TableSchema, SchemaRef)> {
        let found = match table_schema::at(&self.timeline, &self.config, as_of)? {
            Some(found) => found,
            None => {
                let schema = self.schema_of_files(as_of)?;
                // Before its first write a table has no rows, and the columns that it has now.
                if as_of.is_some() && schema.fields().is_empty() {
                    return self.read_schema_at(None);
                }
                TableSchema::of_files(&schema, None, &self.config)?
            }
        };
        let types = avro::arrow_schema(&found.schema, ArrowMapping::Table).map_err(|error| error.in_file(&self.uri))?;
        Ok((found, Arc::new(types)))
    }

    /// Returns the column names in the table's files, if columns are identified by ids.
    pub(super) fn evolution(&self, found: &TableSchema) -> Result<Option<SchemaEvolution>> {
        let load = |internal| SchemaEvolution::load(self.storage.as_ref(), &self.timeline, internal);
        found.internal.as_ref().map(load).transpose().map_err(|error| error.in_file(&self.uri))
    }

    /// Returns the schema of a data file, for a table without a schema in a commit; the meta columns only if there are
    /// no files.
    pub(super) fn schema_of_files(&self, as_of: Option<&RequestedTime>) -> Result<avro::Schema> {
        let SelectedSlices { slices, instants, .. } = self.slices(as_of, FileSystemView::slices, None)?;
        let schema = match newest_schema(&slices, &instants, self.storage.as_ref())? {
            Some(text) => avro::Schema::parse(&text)?,
            None if slices.is_empty() => avro::Schema::record("empty", Vec::new()),
            None => {
                let message = "no commit, base file or log block has the table's schema";
                return Err(Error::unsupported(message).in_file(&self.uri));
            }
        };
        Ok(schema)
    }

    /// Returns the schema at an instant, with `_hoodie_operation` if a query names that column and the files have it.
    /// Commits of Hudi do not name it (`TableSchemaResolver.hasOperationField`): the newest file decides, which is not
    /// opened for queries that do not ask.
    fn schema_with_operation(
        &self,
        options: &QueryOptions,
        as_of: Option<&RequestedTime>,
    ) -> Result<(TableSchema, SchemaRef)> {
        let (found, types) = self.schema_at(as_of)?;
        let is_operation = |name: &str| name == meta_columns::OPERATION;
        let is_named = options.columns.iter().flatten().any(|name| is_operation(name))
            || options.filter.columns().iter().any(|name| is_operation(name));
        if !is_named || !self.config.populate_meta_fields || types.fields().find(meta_columns::OPERATION).is_some() {
            return Ok((found, types));
        }
        let SelectedSlices { slices, instants, .. } = self.slices(as_of, FileSystemView::slices, None)?;
        if !has_column(&slices, &instants, self.storage.as_ref(), meta_columns::OPERATION)? {
            return Ok((found, types));
        }
        let schema = table_schema::with_operation(&found.files)?;
        let found = TableSchema::of_files(&schema, found.internal, &self.config)?;
        let types = Arc::new(avro::arrow_schema(&found.schema, ArrowMapping::Table)?);
        Ok((found, types))
    }

    /// Returns the columns of a query with the schema as of an instant, and checks its filter against them. Lists files
    /// only if no commit has the schema, or if `_hoodie_operation` is named and deleted rows are not asked for.
    pub(super) fn columns_of(
        &self,
        options: &QueryOptions,
        form: RowForm,
        as_of: Option<&RequestedTime>,
        path_columns: &PathColumns,
    ) -> Result<QueryColumns> {
        let (found, schema, types, deletes) = if form.with_deletes {
            // The marks of deleted rows are in the column `_hoodie_operation`, whether files have it or not.
            let (found, _) = self.schema_at(as_of)?;
            let (schema, types, deletes) = marking(found.schema.clone())?;
            (found, schema, types, deletes)
        } else {
            let (found, types) = self.schema_with_operation(options, as_of)?;
            let schema = found.schema.clone();
            (found, schema, types, DeleteOutput::LeftOut)
        };
        let mut names = columns(&types, options.columns.as_deref())?;
        if options.columns.is_none() && path_columns.last {
            // Other columns keep their order: the sort is stable, and `None` is before `Some`.
            names.sort_by_key(|name| path_columns.in_path.iter().position(|partition_field| partition_field == name));
        }
        if form.with_deletes && !names.iter().any(|name| name == meta_columns::OPERATION) {
            names.push(meta_columns::OPERATION.to_owned());
        }
        let wanted = self.partition_filter(&types, &options.filter)?;
        let output = projected(&types, &names);
        Ok(QueryColumns { found, schema, types, deletes, names, output, wanted })
    }

    /// Plans a query with the schema as of an instant, over the slices that `find` returns for the selected partitions.
    pub(super) fn scan(
        &self,
        request: ScanRequest<'_>,
        find: impl FnOnce(Option<&PartitionFilter>) -> Result<SelectedSlices>,
    ) -> Result<Scan> {
        let ScanRequest { name, options, form, schema_at, path_columns, is_latest } = request;
        let QueryColumns { found, schema, types, deletes, names: columns, output, wanted } =
            self.columns_of(options, form, schema_at.as_ref(), &path_columns)?;
        let evolution = self.evolution(&found)?;
        let SelectedSlices { mut slices, instants, range, partitions, listing, commits_by_block } =
            find(wanted.as_ref())?;
        let found_slices = slices.len();
        let mut indexes = IndexUses::default();
        // If columns were renamed, the statistics of a name may be those of another column; marked deletes have columns
        // of their own.
        let is_of_files = range.is_none() && evolution.is_none() && !form.with_deletes;
        let not_of_files = || path_columns.taken.iter().cloned().chain(columns_in_millis(&schema)).collect::<Vec<_>>();
        let filter_columns = options.filter.columns();
        if is_of_files && !filter_columns.is_empty() {
            let not_of_files = not_of_files();
            let not_of_files = not_of_files.as_slice();
            let lookup = KeyLookup { types: &types, options, wanted: wanted.as_ref(), not_of_files, is_latest };
            if !self.by_lookups(&mut slices, &lookup, &mut indexes)? {
                let query = FileStatistics { types: &types, schema: &schema, options, not_of_files, is_latest };
                self.by_statistics(&mut slices, &query, &mut indexes);
            }
        }
        let slices_pruned = found_slices.saturating_sub(slices.len());
        let query = Arc::new(Query {
            uri: self.uri.clone(),
            storage: self.storage_options.clone(),
            schema: schema.json().to_owned(),
            evolution,
            virtual_key: (!self.config.populate_meta_fields).then(|| self.config.record_key_fields.clone()),
            key_fields: self.config.record_key_fields.clone(),
            key_field: self.key_field(&types).filter(|name| !path_columns.taken.contains(name)),
            merge: self.merge.clone(),
            over_base: form.merged,
            changelog: range.is_some() && !form.merged,
            deletes,
            rewrites_deletes: false,
            checks_lengths: self.checks_lengths(),
            images_are_data: self.config.version.has_native_logs(),
            commits_by_block: commits_by_block || self.config.layout() == TimelineLayout::V1,
            instants,
            range,
            path_columns,
            columns,
            filter: options.filter.clone(),
            options: self.options.clone(),
            table_state: TableState::default(),
        });
        let splits = splits(&query, slices, options.merger.as_ref());
        Ok(Scan {
            schema: output,
            query,
            splits,
            kind: name,
            as_of: schema_at,
            between: None,
            partitions,
            listing,
            indexes,
            slices_pruned,
            description: None,
        })
    }
}

/// Returns the columns of milliseconds. Their column statistics are not used: those of a mislabelled file are said to
/// be microseconds, which they are not (`base_file::read_as`).
fn columns_in_millis(schema: &avro::Schema) -> impl Iterator<Item = String> {
    let is_in_millis = |ty: &Type| matches!(ty.non_null(), Type::TimestampMillis | Type::LocalTimestampMillis);
    schema.fields().iter().filter(move |field| is_in_millis(&field.ty)).map(|field| field.name.clone())
}
