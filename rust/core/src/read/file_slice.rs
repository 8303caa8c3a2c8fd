//! One split, read: base rows flow through in batches, log rows take their places, the rest of the log follows.
//!
//! A slice without log blocks that count is the base file, untouched. Memory holds the logs' keys and one batch; it does
//! not grow with the base file.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

use super::log_blocks::{open_planned, scan};
use super::log_keys::KeyColumns;
use super::log_loader::LogLoader;
use super::log_records::LogRecords;
use super::projection::Projection;
use super::report::SharedReport;
use crate::avro::{self, Types};
use crate::base_file;
use crate::error::{Error, Result};
use crate::filter::KeyFilter;
use crate::merge::{Merger, OrderingColumn, Winners, pick_all, weave};
use crate::plan::Split;
use crate::storage::{self, Place};

/// Reads a split, batch by batch. After an error there is nothing more.
pub struct SplitReader {
    split: Split,
    schema: SchemaRef,
    report: SharedReport,
    state: State,
}

enum State {
    Planned,
    Reading(Box<Reading>),
    Done,
}

struct Reading {
    path: Option<String>,
    projection: Projection,
    base: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    merge: Option<Merge>,
    next_insert: Option<usize>,
    batch_rows: usize,
    report: SharedReport,
}

struct Merge {
    merger: Merger,
    records: LogRecords,
    keys: KeyColumns,
}

impl SplitReader {
    /// Plans the read of a split; no file is opened yet.
    pub fn new(split: Split, report: SharedReport) -> Result<Self> {
        let schema = split.schema()?;
        Ok(Self { split, schema, report, state: State::Planned })
    }

    /// The schema of every batch.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        if let State::Planned = self.state {
            self.state = State::Reading(Box::new(Reading::open(&self.split, &self.report)?));
        }
        let State::Reading(reading) = &mut self.state else { return Ok(None) };
        let batch = reading.next_batch()?;
        if let Some(batch) = &batch {
            self.report.edit().rows += batch.num_rows() as u64;
        }
        Ok(batch)
    }
}

impl Iterator for SplitReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if !matches!(step, Some(Ok(_))) {
            self.state = State::Done;
        }
        step
    }
}

impl Reading {
    fn open(split: &Split, report: &SharedReport) -> Result<Self> {
        let query = &split.query;
        let place = storage::open(&query.uri, &query.storage)?;
        let table = avro::Schema::parse(&query.schema)?;
        let types = avro::arrow_schema(&table, Types::Table)?;
        let blocks = scan(split, place.as_ref(), report)?;
        let (projection, merge) = if blocks.blocks.is_empty() {
            (Projection::new(&types, &query.columns, &query.filter, &[])?, None)
        } else {
            let keys = KeyColumns::of(&table, &types, &query.merge, query.populate_meta_fields)?;
            let projection = Projection::new(&types, &query.columns, &query.filter, &keys.of_base())?;
            let wanted = KeyFilter::of(&query.filter, &keys.key);
            let mut merger = Merger::new(keys.rules(&query.merge)).only(wanted);
            let carried = &projection.carried;
            let loader = LogLoader { table: &table, types: &types, keys: &keys, carried, report: report.clone() };
            let records = loader.load(blocks, &mut merger)?;
            (projection, Some(Merge { merger, records, keys }))
        };
        let base = open_base(split, place.as_ref(), &projection.base, report)?;
        Ok(Self {
            path: split.slice.base_file.as_ref().map(|base| place.full_path(&base.path)),
            next_insert: merge.as_ref().map(|_| 0),
            projection,
            base,
            merge,
            batch_rows: query.options.batch_rows.max(1),
            report: report.clone(),
        })
    }

    /// The next batch that has rows.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(carried) = self.next_carried()? else { return Ok(None) };
            let batch = self.projection.deliver(&carried)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    fn next_carried(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(base) = self.base.next() {
            let base = base?;
            self.report.edit().base_rows += base.num_rows() as u64;
            return self.merged(&base).map(Some).map_err(|error| match &self.path {
                Some(path) => error.in_file(path),
                None => error,
            });
        }
        let (Some(merge), Some(from)) = (&mut self.merge, self.next_insert) else { return Ok(None) };
        let (rows, next) = merge.merger.inserts(from, self.batch_rows);
        self.next_insert = next;
        if rows.is_empty() {
            return Ok(None);
        }
        pick_all(&self.projection.carried, merge.records.fetch(&rows)?).map(Some)
    }

    fn merged(&mut self, base: &RecordBatch) -> Result<RecordBatch> {
        let carried = self.projection.carried_of(base)?;
        let Some(merge) = &mut self.merge else { return Ok(carried) };
        if !merge.merger.has_open_keys() {
            return Ok(carried);
        }
        let keys = column(base, &merge.keys.key)?;
        if *keys.data_type() != DataType::Utf8 {
            return Err(Error::invalid_table(format!("record keys of type {}", keys.data_type())));
        }
        let ordering = match &merge.keys.ordering {
            Some((name, _)) => OrderingColumn::of(column(base, name)?)?,
            None => OrderingColumn::Unordered,
        };
        match merge.merger.merge_base(keys.as_string(), &ordering) {
            Some(fates) => weave(&carried, &fates, &mut merge.records),
            None => Ok(carried),
        }
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a Arc<dyn Array>> {
    batch.column_by_name(name).ok_or_else(|| Error::invalid_table(format!("no column {name:?} in the base file")))
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

fn open_base(split: &Split, place: &dyn Place, wanted: &SchemaRef, report: &SharedReport) -> Result<Batches> {
    let Some(base) = &split.slice.base_file else { return Ok(Box::new(std::iter::empty())) };
    let source = open_planned(place, &base.path)?;
    report.edit().files += 1;
    base_file::open(source)?.batches(wanted, split.query.options.batch_rows.max(1))
}
