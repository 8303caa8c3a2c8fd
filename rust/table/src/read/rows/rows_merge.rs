//! Merges rows like those of a table, without a table: older rows are the base rows, newer ones the log records.
//!
//! 1. The newer rows are sorted by commit and indexed by key, like the records of data blocks.
//! 2. The older rows are merged batch by batch, like those of a base file: each is kept, replaced, or deleted.
//! 3. The rows that no older row matched are inserted, in order of the first appearance of their keys.
//!
//! The rules are those of tables: [`MergePlan`], [`KeyColumns`] and [`MergeEngine`].

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use bytes::Bytes;

use super::commit_order::in_commit_order;
use super::row_columns::{RowColumns, as_type, avro_schema, conformed, in_table_types, marks_deletes, named};
use crate::read::columns::projection::Projection;
use crate::split::MergerHandle;
use mortice_avro as avro;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_formats::filter::{Filter, KeyFilter};
use mortice_merge::config::{MergeConfig, MergeSemantics, Properties, TableConfig};
use mortice_merge::keys::{KeyBatch, KeyColumns, LogKeys};
use mortice_merge::merge::engine::{BaseBatch, MergeEngine};
use mortice_merge::merge::fold::{Fold, MissingColumns};
use mortice_merge::merge::{DeletedRows, LogBatch, LogKind, LogSink, RecordBatches};
use mortice_merge::merge_plan::{FoldColumns, MergePlan};

/// The number of rows that are inserted at a time.
const INSERTS: usize = 64 * 1024;

/// Options of the merge.
#[derive(Debug, Clone)]
pub struct RowsMergeOptions {
    /// The columns of the record key.
    pub record_key: Vec<String>,
    /// Table properties (`hoodie.properties`) that configure the merge.
    pub properties: Properties,
    /// The release whose semantics are used.
    pub semantics: MergeSemantics,
    /// An Avro schema with defaults of columns. Without it, the default of nullable columns is null.
    pub schema: Option<avro::Schema>,
    /// Columns of the newer rows that order them by commit. Without them, the order is that of the rows.
    pub commit_order: Vec<String>,
    /// Whether newer rows are partial records (`IS_PARTIAL` of log blocks): columns that they lack are unchanged, and
    /// values of the others are taken even if they are null.
    pub partial: bool,
    /// Whether deleted keys are returned, with `D` in their `_hoodie_operation`.
    pub emit_deletes: bool,
    /// A user-defined merger.
    pub merger: Option<MergerHandle>,
}

/// A merge of older and newer rows.
pub struct RowsMerge {
    options: RowsMergeOptions,
    merge: MergeConfig,
    keys: KeyColumns,
    /// The columns of the result, in the types of the older rows.
    output: SchemaRef,
    /// All columns that are merged; those of the result are first.
    types: SchemaRef,
    table: avro::Schema,
    projection: Projection,
    /// The projected columns that newer rows lack, if these are partial.
    missing: Option<Arc<[bool]>>,
}

impl RowsMerge {
    /// Creates a merge of rows with these columns.
    ///
    /// # Errors
    /// `InvalidArgument` if columns are missing, unknown or of types that do not fit, or if properties contradict each
    /// other; `Unsupported` for merge modes and payload classes that are not supported for tables either.
    pub fn new(older: &Schema, newer: &Schema, options: RowsMergeOptions) -> Result<Self> {
        let config = TableConfig::from_properties(options.properties.clone()).map_err(misused)?;
        let merge = config.merge_by(options.semantics).map_err(misused)?;
        if options.merger.is_none() {
            merge.check_supported(options.semantics)?;
        }
        let asked = RowColumns {
            older,
            newer,
            record_key: &options.record_key,
            merge: &merge,
            commit_order: &options.commit_order,
            partial: options.partial,
            emit_deletes: options.emit_deletes,
        };
        asked.check()?;
        let (output, all) = (Arc::new(asked.output()), asked.all());
        let table = avro_schema(&all, options.schema.as_ref())?;
        let keys = KeyColumns::new(
            &table,
            &in_table_types(&all, |_| true),
            &merge,
            Some(&options.record_key),
            options.semantics,
        )?;
        let keys = if asked.have_operation() { keys } else { keys.without_operation() };
        let merger = options.merger.as_ref().map(|handle| &handle.0);
        let plan = MergePlan::new(&merge, options.semantics, &keys, options.partial, merger)?;
        let fold_columns = plan.record_columns(&all, &keys)?;
        let key_columns: Vec<String> = keys.wants().iter().map(|want| want.name().to_owned()).collect();
        let is_read = |name: &str| plan.folds() || key_columns.iter().any(|one| one == name);
        let types = Arc::new(in_table_types(&all, is_read));
        let columns: Vec<String> = output.fields().iter().map(|field| field.name().clone()).collect();
        let projection = Projection::new(&types, &columns, &Filter::default(), &keys.base_columns(), &fold_columns)?;
        let lacked: Vec<&str> = asked.lacked().collect();
        let is_missing = |field: &FieldRef| lacked.contains(&field.name().as_str());
        let missing = options.partial.then(|| projection.projected.fields().iter().map(is_missing).collect());
        let of = Self { options, merge, keys, output, types, table, projection, missing };
        // Types that cannot be keys, or have no order, raise an error before there are rows.
        of.probed(&RecordBatch::new_empty(Arc::clone(&of.types)))?;
        Ok(of)
    }

    /// Returns the columns of the result: those of the older rows; with deletes, also `_hoodie_operation`.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.output)
    }

    /// Merges older and newer rows. The order and the batches of older rows are kept; newer rows are in commit order.
    /// Of several older rows with a key only the first matches. Older rows are never deletes, even if they have delete
    /// markers.
    ///
    /// # Errors
    /// `InvalidArgument` for newer rows without a key, and for rows with other columns than those of
    /// [`RowsMerge::new`].
    pub fn merge(&self, older: &[RecordBatch], newer: &[RecordBatch]) -> Result<Vec<RecordBatch>> {
        let mut merged = Vec::with_capacity(older.len() + 1);
        self.merge_each(older, newer, &mut |rows| {
            merged.push(rows);
            Ok(())
        })?;
        Ok(merged)
    }

    /// The same, with a function that takes the batches of the result one by one.
    ///
    /// # Errors
    /// As for [`Self::merge`]; those of the function.
    pub fn merge_each(
        &self,
        older: &[RecordBatch],
        newer: &[RecordBatch],
        each: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let newer = in_commit_order(newer, &self.options.commit_order)?;
        let may_be_missing = |name: &str| marks_deletes(&self.merge, name) || self.options.partial;
        let newer = newer.iter().map(|batch| conformed(batch, &self.types, &may_be_missing));
        let newer = newer.collect::<Result<Vec<_>>>()?;
        let plan = self.plan()?;
        let mut build = plan.build_side(KeyFilter::All, false);
        for batch in &newer {
            self.add(batch, &mut build)?;
        }
        let mut engine = MergeEngine::new(build, self.fold(plan, newer.len())?, self.deleted_rows());
        let records = newer.iter().map(|batch| self.projected(batch)).collect::<Result<Vec<_>>>()?;
        let mut records = RecordBatches::new(Arc::clone(&self.projection.projected), records);
        for batch in older {
            each(self.deliver(&self.merge_older(batch, &mut engine, &mut records)?)?)?;
        }
        while let Some(rows) = engine.inserts(INSERTS, &mut records)? {
            each(self.deliver(&rows)?)?;
        }
        Ok(())
    }

    fn plan(&self) -> Result<MergePlan> {
        let Self { options, merge, keys, .. } = self;
        let merger = options.merger.as_ref().map(|handle| &handle.0);
        MergePlan::new(merge, options.semantics, keys, options.partial, merger)
    }

    /// Returns the fold, if rows are merged from several records. All newer rows have the same columns.
    fn fold(&self, plan: MergePlan, batches: usize) -> Result<Option<Box<dyn Fold>>> {
        let of = FoldColumns {
            table: &self.table,
            types: &self.types,
            projected: &self.projection.projected,
            keys: &self.keys,
            deleted_rows: self.deleted_rows(),
            commits: None,
        };
        let missing = self.missing.as_ref().map(|missing| MissingColumns::from_all(batches, missing));
        // None are missing by default.
        plan.fold(&of, missing.unwrap_or_default())
    }

    fn deleted_rows(&self) -> DeletedRows {
        if self.options.emit_deletes { DeletedRows::Delivered } else { DeletedRows::LeftOut }
    }

    /// Returns the keys of newer rows, with their ordering values and delete markers.
    fn probed(&self, batch: &RecordBatch) -> Result<(LogKeys, KeyBatch)> {
        let probed = named(batch, self.keys.wants().iter().map(|want| want.name().to_owned()))?;
        let (keys, rest) = self.keys.key.split_keys(&probed, &Bytes::new(), &[])?;
        Ok((keys, self.keys.batch(rest, batch.num_rows())?))
    }

    /// Adds the keys of a batch of newer rows to the build side.
    fn add(&self, batch: &RecordBatch, sink: &mut dyn LogSink) -> Result<()> {
        let (keys, of_rows) = self.probed(batch)?;
        if let Some(row) = (0..keys.places.len()).find(|row| keys.places.is_null(*row)) {
            let message = format!("row {row} of a batch of the newer rows has no record key; rows are merged by key");
            return Err(Error::invalid_argument(message));
        }
        let places: Vec<u32> = (0_u32..).take(batch.num_rows()).collect();
        let source = sink.add_source(keys.bytes)?;
        let deleted = of_rows.deleted.as_ref();
        let records =
            LogBatch { kind: LogKind::Data, keys: &keys.places, ordering: &of_rows.ordering, deleted, places: &places };
        sink.add(source, &records)
    }

    /// Merges a batch of older rows. Returns the projected columns.
    fn merge_older(
        &self,
        batch: &RecordBatch,
        engine: &mut MergeEngine,
        newer: &mut RecordBatches,
    ) -> Result<RecordBatch> {
        let batch = conformed(batch, &self.types, &|name| marks_deletes(&self.merge, name))?;
        let rows = named(&batch, self.projection.base.fields().iter().map(|field| field.name().clone()))?;
        let projected = self.projection.projected_of(&rows)?;
        let base = BaseBatch { rows: &rows, projected: &projected, keys: &self.keys };
        let merged = engine.merge(&base, newer)?;
        Ok(merged.unwrap_or(projected))
    }

    /// Returns the projected columns of a batch of newer rows.
    fn projected(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        named(batch, self.projection.projected.fields().iter().map(|field| field.name().clone()))
    }

    /// Returns the columns of the result, in the types of the older rows.
    fn deliver(&self, merged: &RecordBatch) -> Result<RecordBatch> {
        let columns = merged.columns().iter().zip(self.output.fields());
        let columns = columns.map(|(column, field)| as_type(column, field.data_type(), field.name()));
        let options = RecordBatchOptions::new().with_row_count(Some(merged.num_rows()));
        RecordBatch::try_new_with_options(self.schema(), columns.collect::<Result<Vec<_>>>()?, &options).map_err(
            |error| Error::invalid_argument("merged rows do not fit the columns of the older").caused_by(error),
        )
    }
}

/// Converts an error in properties, which are arguments here and not those of a table.
fn misused(error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidTable => Error::invalid_argument(error.text()),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, BooleanArray, Int64Array, LargeStringArray, StringArray};

    use super::*;
    use mortice_base::names::meta_columns;

    type Row = (&'static str, Option<i64>, Option<&'static str>);

    fn rows(rows: &[Row]) -> RecordBatch {
        let keys: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.0)).collect::<StringArray>());
        let times: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
        // A type that no table has, and that is returned unchanged.
        let strings: ArrayRef = Arc::new(rows.iter().map(|row| row.2).collect::<LargeStringArray>());
        RecordBatch::try_from_iter_with_nullable([("id", keys, true), ("ts", times, true), ("x", strings, true)])
            .unwrap()
    }

    fn options(properties: &[(&str, &str)]) -> RowsMergeOptions {
        let version = [("hoodie.table.version", "9"), ("hoodie.table.ordering.fields", "ts")];
        RowsMergeOptions {
            record_key: vec!["id".into()],
            properties: version.iter().chain(properties).copied().collect(),
            semantics: MergeSemantics::V1x,
            schema: None,
            commit_order: Vec::new(),
            partial: false,
            emit_deletes: false,
            merger: None,
        }
    }

    const EVENT: (&str, &str) = ("hoodie.record.merge.mode", "EVENT_TIME_ORDERING");
    const COMMIT: (&str, &str) = ("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING");
    const FILL: (&str, &str) = ("hoodie.table.partial.update.mode", "IGNORE_DEFAULTS");

    fn merged(older: &[RecordBatch], newer: &[RecordBatch], options: RowsMergeOptions) -> Result<Vec<RecordBatch>> {
        RowsMerge::new(&older[0].schema(), &newer[0].schema(), options)?.merge(older, newer)
    }

    fn describe(batches: &[RecordBatch]) -> Vec<String> {
        let row = |batch: &RecordBatch, row: usize| {
            let times = batch.column(1).as_primitive::<Int64Type>();
            let strings = batch.column(2).as_string::<i64>();
            let text = if strings.is_valid(row) { strings.value(row) } else { "-" };
            format!("{} {} {text}", batch.column(0).as_string::<i32>().value(row), times.value(row))
        };
        batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at))).collect()
    }

    #[test]
    fn the_order_of_older_rows_stays_and_new_keys_follow() {
        let older = [rows(&[("b", Some(5), Some("b")), ("a", Some(5), Some("a"))]), rows(&[("c", Some(5), Some("c"))])];
        let newer = [
            rows(&[("n", Some(1), Some("n1")), ("a", Some(4), Some("late"))]),
            rows(&[("c", Some(5), Some("tie")), ("m", Some(1), Some("m")), ("n", Some(2), Some("n2"))]),
        ];
        let event = merged(&older, &newer, options(&[EVENT])).unwrap();
        assert_eq!(describe(&event), ["b 5 b", "a 5 a", "c 5 tie", "n 2 n2", "m 1 m"]);
        assert_eq!(event[0].schema(), older[0].schema());
        let commit = merged(&older, &newer, options(&[COMMIT])).unwrap();
        assert_eq!(describe(&commit), ["b 5 b", "a 4 late", "c 5 tie", "n 2 n2", "m 1 m"]);
    }

    #[test]
    fn filled_rows() {
        let older = [rows(&[("a", Some(1), Some("a"))])];
        let newer = [rows(&[("a", Some(2), None), ("b", Some(1), Some("b"))]), rows(&[("b", Some(2), None)])];
        let filled = merged(&older, &newer, options(&[EVENT, FILL])).unwrap();
        assert_eq!(describe(&filled), ["a 2 a", "b 2 b"]);
    }

    #[test]
    fn columns_that_newer_rows_lack_are_unchanged_where_that_is_asked_for() {
        let older = [rows(&[("a", Some(1), Some("a"))])];
        let newer = [rows(&[("a", Some(2), None), ("b", Some(2), None)]).project(&[1, 0]).unwrap()];
        let partial = RowsMergeOptions { partial: true, ..options(&[EVENT]) };
        assert_eq!(describe(&merged(&older, &newer, partial).unwrap()), ["a 2 a", "b 2 -"]);
        let error = merged(&older, &newer, options(&[EVENT])).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("\"x\""), "{error}");
    }

    #[test]
    fn delete_marks_that_only_newer_rows_have() {
        let older = [rows(&[("a", Some(1), Some("a")), ("b", Some(9), Some("b"))])];
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, true, false]));
        let changes = rows(&[("a", Some(2), None), ("b", Some(2), None), ("c", Some(2), Some("c"))]);
        let known = changes.schema();
        let fields = known.fields().iter().cloned();
        let fields = fields.chain([Arc::new(arrow_schema::Field::new(
            meta_columns::IS_DELETED,
            flags.data_type().clone(),
            true,
        ))]);
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let newer = [RecordBatch::try_new(schema, [changes.columns(), &[flags]].concat()).unwrap()];
        assert_eq!(describe(&merged(&older, &newer, options(&[EVENT])).unwrap()), ["b 9 b", "c 2 c"]);
        let emitting = RowsMergeOptions { emit_deletes: true, ..options(&[EVENT]) };
        let rows = merged(&older, &newer, emitting).unwrap();
        assert_eq!(describe(&rows), ["a 2 -", "b 9 b", "c 2 c"]);
        let operations = rows[0].column_by_name(meta_columns::OPERATION).unwrap();
        assert_eq!(operations.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("D"), None]);
    }

    #[test]
    fn what_cannot_be_merged_is_refused_by_name() {
        let (older, newer) = (rows(&[("a", Some(1), None)]), rows(&[("a", Some(1), None)]));
        let refused = |older: &RecordBatch, newer: &RecordBatch, options: RowsMergeOptions| {
            merged(std::slice::from_ref(older), std::slice::from_ref(newer), options).unwrap_err()
        };
        let other_key = RowsMergeOptions { record_key: vec!["key".into()], ..options(&[EVENT]) };
        let renamed =
            Schema::new(vec![arrow_schema::Field::new("y", older.schema().field(2).data_type().clone(), true)]);
        let more = RecordBatch::try_new(Arc::new(renamed), vec![Arc::clone(older.column(2))]).unwrap();
        let more = RecordBatch::try_from_iter(
            newer
                .schema()
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .zip(newer.columns().iter().cloned())
                .chain([("y".to_owned(), Arc::clone(more.column(0)))]),
        );
        let ordered = RowsMergeOptions { commit_order: vec!["seq".into()], ..options(&[EVENT]) };
        let payload = ("hoodie.compaction.payload.class", "com.acme.Own");
        for (error, kind, word) in [
            (refused(&older, &newer, other_key), ErrorKind::InvalidArgument, "\"key\""),
            (refused(&older, &more.unwrap(), options(&[EVENT])), ErrorKind::InvalidArgument, "\"y\""),
            (refused(&older, &newer, ordered), ErrorKind::InvalidArgument, "\"seq\""),
            (
                refused(&older, &newer, options(&[("hoodie.record.merge.mode", "CUSTOM"), payload])),
                ErrorKind::Unsupported,
                "com.acme.Own",
            ),
            (
                refused(&older, &newer, options(&[("hoodie.record.merge.mode", "NEWEST")])),
                ErrorKind::Unsupported,
                "NEWEST",
            ),
            (
                refused(&older, &newer, options(&[EVENT, ("hoodie.payload.delete.field", "x")])),
                ErrorKind::InvalidArgument,
                "marker",
            ),
        ] {
            assert!(error.kind() == kind && error.to_string().contains(word), "{error}");
        }
        let mut keyless = newer.columns().to_vec();
        keyless[0] = Arc::new(StringArray::from(vec![None::<&str>]));
        let keyless = RecordBatch::try_new(newer.schema(), keyless).unwrap();
        let error = refused(&older, &keyless, options(&[EVENT]));
        assert!(error.to_string().contains("record key"), "{error}");
        let kept = merged(&[keyless], &[newer], options(&[EVENT])).unwrap();
        assert_eq!(kept.iter().map(RecordBatch::num_rows).sum::<usize>(), 2, "an older row without a key is nobody's");
    }
}
