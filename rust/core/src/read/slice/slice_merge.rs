//! The merge of one slice: its logs loaded, base rows merged batch by batch, then the log rows that no base row met.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::base_rows::{Base, Fates, take_rows};
use super::merge_plan::{FoldBy, Folding, MergePlan};
use super::settled::{Pass, Settled, fates};
use crate::avro;
use crate::base_file::Batches;
use crate::config::Semantics;
use crate::error::Result;
use crate::filter::KeyFilter;
use crate::keys::RecordKey;
use crate::keys::{KeyColumns, with_row_numbers};
use crate::merge::fold::{Chains, Fold};
use crate::merge::{
    BaseRows, DeletedRows, EveryRow, Fate, Histories, KeyPart, Merger, OrderingColumn, log_rows, weave,
};
use crate::names::meta_columns;
use crate::read::base::base_bounds::beats_base;
use crate::read::base::base_segments::Segment;
use crate::read::base::merge_base::MergeBase;
use crate::read::base::row_numbers;
use crate::read::base::row_range::RowRange;
use crate::read::columns::constant_columns::RowQuery;
use crate::read::columns::projection::{Projection, select};
use crate::read::logs::deleted_rows::DeletedKeys;
use crate::read::logs::log_blocks::LogBlocks;
use crate::read::logs::log_loader::LogLoader;
use crate::read::logs::log_records::{Fetching, LogRecords};
use crate::read::logs::unmerged::Unmerged;
use crate::read::memory::SliceMemory;
use crate::read::report::SharedReport;
use crate::split::{Deletes, MergerHandle, Query};

/// A slice whose logs are loaded.
pub(in crate::read) struct SliceMerge {
    keys: KeyColumns,
    records: LogRecords,
    memory: SliceMemory,
    by: By,
    /// The rows that are merged with; and the columns that say which keys they have.
    base: Arc<dyn MergeBase>,
    looked_at: SchemaRef,
    /// Whether base rows and log rows meet; or else stand side by side.
    over_base: bool,
    deleted_rows: DeletedRows,
    /// Whether all columns of a merged row are those of some record.
    keeps_columns: bool,
    /// The number of the next base row.
    next_row: u64,
    /// Whether all base rows have gone by.
    is_at_inserts: bool,
    /// Whether base rows are merged by their numbers, all of which count.
    knows_all_numbers: bool,
    /// Whether they are merged by their numbers, some left out: those that stay bring their numbers.
    leaves_out_rows: bool,
}

/// How it is merged.
enum By {
    Choosing(Merger),
    Folding(Chains, Box<dyn Fold>),
    KeepingAll(Box<Unmerged>),
    /// What becomes of all keys is settled; where rows are made of several records, by folding them.
    Settled(Box<Settled>, Option<Box<dyn Fold>>),
}

/// What a slice is merged of.
pub(in crate::read) struct Sources<'a> {
    pub(in crate::read) query: &'a Query,
    /// The columns and the filter of the rows, in place of the query's.
    pub(in crate::read) rows: &'a RowQuery,
    pub(in crate::read) table: &'a avro::Schema,
    pub(in crate::read) types: &'a Schema,
    pub(in crate::read) blocks: LogBlocks,
    pub(in crate::read) base: &'a Arc<dyn MergeBase>,
    /// A merger of the user's own, for tables that ask for one.
    pub(in crate::read) merger: Option<&'a MergerHandle>,
    pub(in crate::read) memory_limit: u64,
    /// Whether a delete in the logs deletes whatever row it meets, however late it is.
    pub(in crate::read) deletes_win: bool,
    pub(in crate::read) report: &'a SharedReport,
}

impl Sources<'_> {
    fn knows_numbers(&self) -> bool {
        self.query.over_base
            && self.query.options.record_positions
            && row_numbers::are_known(&self.blocks, self.base.instant())
    }

    /// Whether rows of the base file are left out before they are merged: those of other commits, or those that a filter excludes
    /// by columns that all records of a key agree in (see `base_filter`).
    fn leaves_out_base_rows(&self, key_column: Option<&str>) -> bool {
        let query = self.query;
        let agreed = [key_column, query.key_field.as_deref(), Some(meta_columns::PARTITION_PATH)];
        query.range.is_some() || self.rows.filter.columns().iter().any(|column| agreed.contains(&Some(*column)))
    }

    /// The log rows as they stand.
    fn unmerged(self, keys: KeyColumns, carried: &SchemaRef, deleted: Option<DeletedKeys>) -> Unmerged {
        Unmerged {
            table: self.table.clone(),
            types: self.types.clone(),
            evolution: self.query.evolution.clone(),
            keys,
            carried: Arc::clone(carried),
            deleted,
            report: self.report.clone(),
            left: self.base.segments().range(self.blocks.blocks.len()),
            blocks: self.blocks,
            with_deletes: self.query.changelog,
            rows: EveryRow::default(),
            next_row: None,
        }
    }
}

impl SliceMerge {
    /// Reads the keys of all blocks. Returns the projection that the merge needs as well.
    pub(in crate::read) fn load(from: Sources<'_>) -> Result<(Projection, Self)> {
        let (query, types, base) = (from.query, from.types, Arc::clone(from.base));
        let (keys, plan) = plan(&from)?;
        let mut columns = MergeColumns::new(&from, keys, &plan)?;
        let mut memory = SliceMemory::new(&query.options, from.memory_limit, from.report.requests().budget());
        let (records, mut by) = read_logs(from, &columns, plan, &mut memory)?;
        if let By::Choosing(merger) = &mut by
            && query.over_base
            && query.options.prune
            && beats_base(merger, &columns.projection, &columns.keys, &*base)?
        {
            columns = columns.without_ordering(types)?;
        }
        let looked_at = columns.of_keys(types, query)?;
        let next_row = base.segments().row_numbers(Segment::Own).start;
        let mut merge = Self {
            keys: columns.keys,
            records,
            memory,
            by,
            base,
            looked_at,
            over_base: query.over_base,
            deleted_rows: columns.deleted_rows,
            keeps_columns: columns.keeps_columns,
            next_row,
            is_at_inserts: false,
            knows_all_numbers: columns.by_number && query.range.is_none(),
            leaves_out_rows: columns.leaves_out_rows,
        };
        merge.look_at(Segment::Before)?;
        Ok((columns.projection, merge))
    }

    /// Whether some base row may still meet a log record.
    pub(in crate::read) fn meets_base(&self) -> bool {
        self.over_base
            && match &self.by {
                By::Choosing(merger) => merger.has_open_keys(),
                By::Folding(chains, _) => chains.has_open_keys(),
                By::KeepingAll(_) => false,
                By::Settled(..) => true,
            }
    }

    /// Whether base rows may be left out before they are merged. They may not where they are known by their numbers and do not
    /// bring these, or where a merger of the user's own may make anything of their columns.
    pub(in crate::read) fn may_leave_out_base_rows(&self) -> bool {
        let has_numbers = self.keys.key != RecordKey::Number || self.leaves_out_rows;
        self.keeps_columns && has_numbers && !matches!(self.by, By::Settled(..))
    }

    /// The one column that holds the whole record key, if there is one.
    pub(in crate::read) fn key_column(&self) -> Option<&str> {
        self.keys.key_column()
    }

    /// A batch of base rows, merged. `carried` are those of its columns that are carried on.
    pub(in crate::read) fn over_base(
        &mut self,
        base: &RecordBatch,
        carried: RecordBatch,
        projection: &Projection,
    ) -> Result<RecordBatch> {
        let Some(Fates { fates, made }) = self.fates(base, projection)? else { return Ok(carried) };
        match made {
            Some(made) => made.overlay(&carried, &fates, self.deleted_rows),
            None => {
                let mut winners = Fetching { records: &mut self.records, memory: &mut self.memory };
                weave(&carried, &fates, &mut winners, self.deleted_rows)
            }
        }
    }

    /// What the logs make of a batch of rows; `carried` are those of its columns that are carried on.
    pub(in crate::read) fn changes_of(
        &mut self,
        rows: &RecordBatch,
        carried: &RecordBatch,
        projection: &Projection,
    ) -> Result<RowChanges> {
        let Some(Fates { fates, made }) = self.fates(rows, projection)? else {
            return Ok(RowChanges::default());
        };
        let rows: Vec<u64> = fates.iter().map(|(row, _)| *row as u64).collect();
        let fates: Vec<Fate> = fates.into_iter().map(|(_, fate)| fate).collect();
        let deleted = fates.iter().map(|fate| matches!(fate, Fate::Delete(_))).collect();
        let after = match made {
            Some(mut made) => log_rows(&fates, &mut made, self.deleted_rows)?,
            None => {
                let mut winners = Fetching { records: &mut self.records, memory: &mut self.memory };
                log_rows(&fates, &mut winners, self.deleted_rows)?
            }
        };
        Ok(RowChanges { before: Some(take_rows(carried, &rows)?), deleted, after: Some(after) })
    }

    /// What becomes of a batch of base rows; none where all of them stay.
    fn fates(&mut self, base: &RecordBatch, projection: &Projection) -> Result<Option<Fates>> {
        if !self.over_base {
            return Ok(None);
        }
        let first = self.next_row;
        self.next_row = first.saturating_add(base.num_rows() as u64);
        let mut winners = Fetching { records: &mut self.records, memory: &mut self.memory };
        match &mut self.by {
            By::KeepingAll(_) => Ok(None),
            By::Choosing(merger) => {
                if !merger.has_open_keys() {
                    return Ok(None);
                }
                let rows = self.keys.key.base_rows(base, first)?;
                let ordering = match merger.wins_over_all() {
                    true => OrderingColumn::Unordered,
                    false => self.keys.base_ordering(base)?,
                };
                Ok(Fates::of(merger.merge_base(&rows, &ordering)?, None))
            }
            By::Folding(chains, folder) => {
                if !chains.has_open_keys() {
                    return Ok(None);
                }
                let mut histories = Histories::default();
                let met = chains.meet_base(&self.keys.key.base_rows(base, first)?)?;
                chains.note(met.into_iter().map(|(row, entry)| (row as u64, entry)), &mut histories)?;
                let base = Base { rows: base, first: 0, projection, keys: &self.keys };
                base.folded(folder.as_ref(), &histories, &mut winners)
            }
            By::Settled(settled, folder) => {
                let (first, histories) = settled.of_base(base.num_rows())?;
                match folder {
                    _ if histories.is_empty() => Ok(None),
                    None => Ok(Fates::of(fates(&histories, first)?, None)),
                    Some(folder) => {
                        let base = Base { rows: base, first, projection, keys: &self.keys };
                        base.folded(folder.as_ref(), &histories, &mut winners)
                    }
                }
            }
        }
    }

    /// Lets base rows of a segment go by that another part gives: the log records of their keys are not for this one.
    fn look_at(&mut self, segment: Segment) -> Result<()> {
        let is_settled = matches!(self.by, By::Settled(..));
        if is_settled || !self.meets_base() || !self.base.segments().has(segment) {
            return Ok(());
        }
        let mut pass_over = |rows: &BaseRows| match &mut self.by {
            By::Choosing(merger) => merger.pass_over(rows),
            By::Folding(chains, _) => chains.pass_over(rows),
            // Of these no row is met here.
            By::KeepingAll(_) | By::Settled(..) => Ok(()),
        };
        if self.knows_all_numbers {
            return pass_over(&BaseRows::Numbers(self.base.segments().row_numbers(segment)));
        }
        for batch in self.base.rows(segment, &self.looked_at)? {
            pass_over(&self.keys.key.base_rows(&batch?, 0)?)?;
        }
        Ok(())
    }

    /// Before the first insert: what other parts meet or insert is left to them.
    fn leave_to_others(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_at_inserts, true) {
            return Ok(());
        }
        self.look_at(Segment::After)?;
        let share = self.base.segments().share();
        match &mut self.by {
            _ if share == KeyPart::ALL => {}
            By::Choosing(merger) => merger.leave_to_others(share),
            By::Folding(chains, _) => chains.leave_to_others(share),
            // Divided where they were settled, or by blocks.
            By::KeepingAll(_) | By::Settled(..) => {}
        }
        Ok(())
    }

    /// Rows of keys that no base row had: at most `limit`, from entry `from` on, and the entry to go on from.
    pub(in crate::read) fn inserts(
        &mut self,
        from: usize,
        limit: usize,
    ) -> Result<(Option<RecordBatch>, Option<usize>)> {
        self.leave_to_others()?;
        let mut winners = Fetching { records: &mut self.records, memory: &mut self.memory };
        let mut histories = Histories::default();
        let (fates, folder, next) = match &mut self.by {
            By::Choosing(merger) => {
                let (fates, next) = merger.inserts(from, limit);
                (fates, None, next)
            }
            By::KeepingAll(rows) => {
                let Some(fates) = rows.next(limit, winners.records, winners.memory)? else { return Ok((None, None)) };
                (fates, None, Some(from))
            }
            By::Folding(chains, folder) => {
                let (entries, next) = chains.inserts(from, limit);
                chains.note((0..).zip(entries), &mut histories)?;
                (Vec::new(), Some(&**folder), next)
            }
            By::Settled(settled, folder) => {
                let Some(inserts) = settled.inserts()? else { return Ok((None, None)) };
                histories = inserts;
                let fates = histories.fates().map(|fate| fate.map(|(_, fate)| fate)).collect::<Result<_>>()?;
                (fates, folder.as_deref(), Some(0))
            }
        };
        let rows = match folder {
            Some(_) if histories.is_empty() => return Ok((None, next)),
            None if fates.is_empty() => return Ok((None, next)),
            None => log_rows(&fates, &mut winners, self.deleted_rows)?,
            Some(folder) => {
                let mut folded = folder.fold(&histories, None, &mut winners)?;
                log_rows(&folded.fates, &mut folded.rows, self.deleted_rows)?
            }
        };
        Ok((Some(rows), next))
    }
}

/// What is known of the records, and what is done about them.
fn plan(from: &Sources<'_>) -> Result<(KeyColumns, MergePlan)> {
    let Sources { query, table, types, blocks, .. } = from;
    let virtual_key = query.virtual_key.as_deref();
    // Hudi 1.x merges nothing where it is told not to; 0.x merges the logs among themselves.
    if !query.over_base && !query.changelog && query.options.semantics == Semantics::V1x {
        return Ok((KeyColumns::unordered(virtual_key)?, MergePlan::KeepAll));
    }
    let keys = KeyColumns::of(table, types, &query.merge, virtual_key, query.options.semantics)?;
    let keys = if query.deletes == Deletes::InAddedColumn { keys.without_operation() } else { keys };
    if query.changelog {
        return Ok((keys, MergePlan::KeepAll));
    }
    let partial = blocks.blocks.iter().any(|found| found.block.is_partial());
    let plan = MergePlan::of(&query.merge, query.options.semantics, &keys, partial, from.merger)?;
    Ok((keys, plan))
}

/// The columns that a merge reads, and which keys and rows it needs.
struct MergeColumns {
    keys: KeyColumns,
    /// The record keys that the filter selects, unless records are merged by row number.
    wanted: KeyFilter,
    projection: Projection,
    deleted_rows: DeletedRows,
    /// Whether all columns of a merged row are those of some record.
    keeps_columns: bool,
    /// Whether records are merged by row number.
    by_number: bool,
    /// Whether they are, and rows of the base file are left out.
    leaves_out_rows: bool,
}

impl MergeColumns {
    fn new(from: &Sources<'_>, keys: KeyColumns, plan: &MergePlan) -> Result<Self> {
        let (query, types, rows) = (from.query, from.types, from.rows);
        let fold_columns = match plan {
            MergePlan::Choose(_) | MergePlan::KeepAll => Vec::new(),
            MergePlan::Fold(fold) => fold.columns(types, &keys)?,
        };
        let keeps_columns = !matches!(plan, MergePlan::Fold(FoldBy::Merger(_)));
        let key_column = keys.key.text_column(types).filter(|_| keeps_columns);
        let wanted = key_column.map_or(KeyFilter::All, |column| KeyFilter::of(&rows.filter, column));
        let by_number = !matches!(plan, MergePlan::KeepAll) && from.knows_numbers();
        let leaves_out_rows = by_number && from.leaves_out_base_rows(key_column);
        let (keys, wanted) = match by_number {
            true => (keys.by_number(&wanted), KeyFilter::All),
            false => (keys, wanted),
        };
        // Base rows that are not merged need no keys.
        let merge_columns = if query.over_base { keys.of_base() } else { Vec::new() };
        let needed = [fold_columns, RowRange::columns(query)].concat();
        let projection = Projection::new(types, &rows.columns, &rows.filter, &merge_columns, &needed)?;
        let projection = if leaves_out_rows { projection.with_row_numbers() } else { projection };
        let deleted_rows =
            if query.deletes == Deletes::LeftOut { DeletedRows::LeftOut } else { DeletedRows::Delivered };
        Ok(Self { keys, wanted, projection, deleted_rows, keeps_columns, by_number, leaves_out_rows })
    }

    /// The same for base rows that need no ordering values.
    fn without_ordering(self, types: &Schema) -> Result<Self> {
        let projection = self.projection.merging_by(types, &self.keys.key.columns())?;
        let projection = if self.leaves_out_rows { projection.with_row_numbers() } else { projection };
        Ok(Self { projection, ..self })
    }

    /// The columns of base rows of which only the keys are needed.
    fn of_keys(&self, types: &Schema, query: &Query) -> Result<SchemaRef> {
        let columns = select(types, &self.keys.key.columns(), &RowRange::columns(query))?;
        Ok(if self.leaves_out_rows { with_row_numbers(&columns) } else { columns })
    }
}

/// Reads the keys of the logs.
fn read_logs(
    from: Sources<'_>,
    columns: &MergeColumns,
    plan: MergePlan,
    memory: &mut SliceMemory,
) -> Result<(LogRecords, By)> {
    let MergeColumns { keys, wanted, deleted_rows, leaves_out_rows, .. } = columns;
    let (query, table, types, carried) = (from.query, from.table, from.types, &columns.projection.carried);
    let deleted = (*deleted_rows == DeletedRows::Delivered)
        .then(|| DeletedKeys::new(Arc::clone(carried), keys.clone(), &query.key_fields));
    let evolution = query.evolution.as_ref();
    let loader = LogLoader { table, types, evolution, keys, carried, deleted, report: from.report.clone() };
    let budget = memory.keys();
    match plan {
        MergePlan::KeepAll => {
            let records = LogRecords::new(Arc::clone(carried), from.report.clone());
            let unmerged = from.unmerged(keys.clone(), carried, loader.deleted);
            Ok((records, By::KeepingAll(Box::new(unmerged))))
        }
        MergePlan::Choose(rules) => {
            let merger = |part| {
                let merger = Merger::new(rules).only(wanted.clone()).within(part, budget);
                if from.deletes_win { merger.deleting() } else { merger }
            };
            let (records, loaded) = loaded(&merger, &loader, &from, *leaves_out_rows, memory)?;
            let by = match loaded {
                Loaded::Whole(merger) => By::Choosing(merger),
                Loaded::Settled(settled) => By::Settled(settled, None),
            };
            Ok((records, by))
        }
        MergePlan::Fold(by) => {
            let chains = |part| Chains::only(wanted.clone()).within(part, budget);
            let (mut records, loaded) = loaded(&chains, &loader, &from, *leaves_out_rows, memory)?;
            let of = Folding { table, types, carried, keys, deleted_rows: *deleted_rows };
            let fold = by.fold(&of, records.take_missing())?;
            let by = match loaded {
                Loaded::Whole(chains) => By::Folding(chains, fold),
                Loaded::Settled(settled) => By::Settled(settled, Some(fold)),
            };
            Ok((records, by))
        }
    }
}

/// The keys of the logs, read.
enum Loaded<P> {
    /// All of them.
    Whole(P),
    /// More than fit in memory: what becomes of them is settled.
    Settled(Box<Settled>),
}

/// Reads the keys of all blocks; where they do not fit in memory, part by part, and settles what becomes of them.
fn loaded<P: Pass>(
    sink: &dyn Fn(KeyPart) -> P,
    loader: &LogLoader<'_>,
    from: &Sources<'_>,
    leaves_out_rows: bool,
    memory: &mut SliceMemory,
) -> Result<(LogRecords, Loaded<P>)> {
    let mut pass = sink(KeyPart::ALL);
    let mut records = loader.load(&from.blocks, 0..from.blocks.blocks.len(), &mut pass, memory)?;
    if pass.part() == KeyPart::ALL {
        return Ok((records, Loaded::Whole(pass)));
    }
    let columns = select(from.types, &loader.keys.of_base(), &RowRange::columns(from.query))?;
    let columns = if leaves_out_rows { with_row_numbers(&columns) } else { columns };
    let base = |segment| match from.query.over_base {
        true => from.base.rows(segment, &columns),
        false => Ok(Box::new(std::iter::empty()) as Batches),
    };
    let mut settled = Settled::default();
    loop {
        settled.add(&mut pass, loader.keys, &base, from.base.segments(), memory)?;
        let Some(next) = pass.part().next() else { return Ok((records, Loaded::Settled(Box::new(settled)))) };
        from.report.edit().passes += 1;
        // What was read of one part goes before that of the next comes.
        drop((pass, records));
        pass = sink(next);
        records = loader.load(&from.blocks, 0..from.blocks.blocks.len(), &mut pass, memory)?;
    }
}

/// What the logs make of a batch of rows.
#[derive(Default)]
pub(in crate::read) struct RowChanges {
    /// The rows that do not stay as they are; none where all do.
    pub(in crate::read) before: Option<RecordBatch>,
    /// Of each of those, whether it is deleted.
    pub(in crate::read) deleted: Vec<bool>,
    /// What the others become, in their order.
    pub(in crate::read) after: Option<RecordBatch>,
}
