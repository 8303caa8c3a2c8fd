//! The records of some keys made rows: merged from the oldest to the newest, then over the base row, each column of the result
//! taken from the record that it comes from.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_select::interleave::interleave;
use arrow_select::take::take;

use super::super::histories::{Histories, Record};
use super::super::input::{Fetched, RowRef, Winners};
use super::super::merger::Fate;
use super::super::ordering::OrderingColumn;
use super::super::output::DeletedRows;
use super::super::rules::{Deleted, Side};
use super::absence::Absence;
use super::rules::{FoldRules, Overlay, Step};
use crate::error::{Error, Result};

/// What a fold must know of the carried columns.
pub struct Folder {
    /// How records are merged.
    pub rules: FoldRules,
    /// When values of each column give way.
    pub absence: Vec<Absence>,
    /// Which columns are meta columns.
    pub is_meta: Vec<bool>,
    /// The column whose record gives the ordering of the result; none where it is the winner's whatever fills it.
    pub ordering_column: Option<usize>,
    /// The column that marks deletes, where it may be filled like any other, or be a base row's ([`Deleted::Flagged`]).
    pub flag_column: Option<usize>,
    /// Whether keys that are deleted become rows, too.
    pub deleted_rows: DeletedRows,
    /// By source: the columns that its block, of partial records, does not have. From the first such source on, and over the
    /// base, columns give way by that alone; before it, by their values.
    pub missing: HashMap<u32, Arc<[bool]>>,
}

/// Keys made rows.
pub struct Folded {
    /// The rows that were made.
    pub rows: RecordBatch,
    /// Of each key: the base row stays, or the made row (its ordinal as [`RowRef::at`]) takes its place, be it a row or a delete.
    pub fates: Vec<Fate>,
}

/// A row from which values may be taken.
struct Candidate<'a> {
    side: Side<'a>,
    /// None of a base row.
    source: Option<u32>,
    /// Columns that its block does not have.
    missing: Option<&'a [bool]>,
}

/// What the records of a key came to so far.
struct State {
    /// The candidate whose side counts; of a delete by block, too.
    top: usize,
    deleted: Deleted,
    /// Of each column, the candidate that gives the value; nothing where there is no row.
    picks: Vec<u32>,
}

/// Makes rows of the records of keys.
pub trait Fold: Send {
    /// Folds keys. `base` holds for each of them its base row and ordering; none for keys without one.
    ///
    /// # Errors
    /// Those of fetching the records; what a merger of the user's own fails with.
    fn fold(
        &self,
        keys: &Histories,
        base: Option<(&RecordBatch, &OrderingColumn)>,
        winners: &mut dyn Winners,
    ) -> Result<Folded>;
}

impl Fold for Folder {
    fn fold(
        &self,
        keys: &Histories,
        base: Option<(&RecordBatch, &OrderingColumn)>,
        winners: &mut dyn Winners,
    ) -> Result<Folded> {
        let records = keys.records();
        let mut wanted: Vec<RowRef> = Vec::new();
        let mut candidates: Vec<Candidate<'_>> = Vec::new();
        if let Some((_, ordering)) = base {
            candidates.extend((0..records.len()).map(|row| Candidate {
                side: Side { ordering: ordering.value(row), is_foreign: false, deleted: Deleted::No },
                source: None,
                missing: None,
            }));
        }
        for record in records.iter().flatten() {
            wanted.push(record.row);
            let missing = self.missing.get(&record.row.source).map(AsRef::as_ref);
            candidates.push(Candidate { side: record.side, source: Some(record.row.source), missing });
        }
        let rows = self.fetched(&wanted, &records, base.map(|(rows, _)| rows), winners)?;
        let masks: Vec<Option<BooleanBuffer>> =
            rows.columns().iter().zip(&self.absence).map(|(column, absence)| absence.of(column)).collect();
        let flags = self.flag_column.and_then(|column| rows.columns().get(column));
        let flags = flags.and_then(|flags| Absence::Truth(true).of(flags));
        let first_partial = self.missing.keys().copied().min();
        let folding = Folding { folder: self, candidates, masks, flags, first_partial, columns: rows.num_columns() };
        folding.all(&records, base.is_some(), &rows)
    }
}

impl Folder {
    /// The candidates as one batch: base rows, then log rows; deletes by block have a row of nulls in their place, unless they
    /// are delivered.
    fn fetched(
        &self,
        wanted: &[RowRef],
        records: &[Vec<Record<'_>>],
        base: Option<&RecordBatch>,
        winners: &mut dyn Winners,
    ) -> Result<RecordBatch> {
        let all = self.deleted_rows == DeletedRows::Delivered;
        let has_row: Vec<bool> =
            records.iter().flatten().map(|record| all || record.side.deleted != Deleted::ByBlock).collect();
        let with_rows: Vec<RowRef> =
            wanted.iter().zip(&has_row).filter(|(_, has_row)| **has_row).map(|(row, _)| *row).collect();
        let Fetched { batches, picks } = winners.fetch(&with_rows)?;
        let schema = winners.schema();
        let nothing = RecordBatch::try_new_with_options(
            schema.clone(),
            schema.fields().iter().map(|field| arrow_array::new_null_array(field.data_type(), 1)).collect(),
            &RecordBatchOptions::new().with_row_count(Some(1)),
        )
        .map_err(failed)?;
        let mut sources = vec![nothing];
        sources.extend(base.cloned());
        let first = sources.len();
        sources.extend(batches);
        let mut places: Vec<(usize, usize)> = (0..base.map_or(0, RecordBatch::num_rows)).map(|row| (1, row)).collect();
        let mut picks = picks.into_iter().map(|(batch, row)| (batch + first, row));
        places.extend(has_row.iter().map(|has_row| if *has_row { picks.next().unwrap_or((0, 0)) } else { (0, 0) }));
        let columns = (0..schema.fields().len()).map(|column| {
            let arrays: Vec<_> = sources.iter().map(|batch| batch.column(column).as_ref()).collect();
            interleave(&arrays, &places)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(failed)
    }
}

struct Folding<'a> {
    folder: &'a Folder,
    candidates: Vec<Candidate<'a>>,
    /// Of each column, the candidates whose values give way.
    masks: Vec<Option<BooleanBuffer>>,
    /// The candidates that say that they are deletes, where that is one of the values that give way.
    flags: Option<BooleanBuffer>,
    first_partial: Option<u32>,
    columns: usize,
}

impl Folding<'_> {
    fn all(&self, records: &[Vec<Record<'_>>], has_base: bool, rows: &RecordBatch) -> Result<Folded> {
        let mut fates = Vec::with_capacity(records.len());
        let mut made: Vec<Vec<u32>> = vec![Vec::new(); self.columns];
        let mut count = 0_u32;
        let mut next = if has_base { records.len() } else { 0 };
        for (key, records) in records.iter().enumerate() {
            let first = next;
            next += records.len();
            let state = self.key(first..next, has_base.then_some(key));
            let Some(state) = state else {
                return Err(Error::invalid_argument("a key without a record"));
            };
            let row = RowRef { source: 0, at: count };
            let stays = has_base && state.picks.iter().all(|pick| *pick as usize == key) && state.top == key;
            fates.push(match state.deleted {
                Deleted::No if stays => Fate::Keep,
                Deleted::No => Fate::Replace(row),
                Deleted::Flagged | Deleted::ByRow | Deleted::ByBlock => Fate::Delete(row),
            });
            if !matches!(fates.last(), Some(Fate::Keep)) {
                made.iter_mut().zip(&state.picks).for_each(|(column, pick)| column.push(*pick));
                count += 1;
            }
        }
        let columns =
            rows.columns().iter().zip(made).map(|(column, picks)| take(column, &UInt32Array::from(picks), None));
        let columns = columns.collect::<Result<Vec<ArrayRef>, _>>().map_err(failed)?;
        let options = RecordBatchOptions::new().with_row_count(Some(count as usize));
        let rows = RecordBatch::try_new_with_options(rows.schema(), columns, &options).map_err(failed)?;
        Ok(Folded { rows, fates })
    }

    /// What the records of one key, and its base row, come to.
    fn key(&self, records: std::ops::Range<usize>, base: Option<usize>) -> Option<State> {
        let mut state: Option<State> = None;
        for at in records {
            let newer = self.state_of(at)?;
            let step = if newer.deleted == Deleted::ByBlock { Step::Delete } else { Step::Data };
            state = Some(match state {
                None => newer,
                Some(older) => self.merged(step, older, newer)?,
            });
        }
        match (base, state) {
            (Some(base), Some(log)) => {
                let deleted = if self.is_flagged(base) { Deleted::Flagged } else { Deleted::No };
                self.merged(Step::Base, State { deleted, ..self.state_of(base)? }, log)
            }
            (_, state) => state,
        }
    }

    fn state_of(&self, at: usize) -> Option<State> {
        let candidate = self.candidates.get(at)?;
        let pick = u32::try_from(at).ok()?;
        Some(State { top: at, deleted: candidate.side.deleted, picks: vec![pick; self.columns] })
    }

    fn merged(&self, step: Step, older: State, newer: State) -> Option<State> {
        let side = |state: &State| {
            let top = self.candidates.get(state.top)?;
            Some(Side { deleted: state.deleted, ..top.side })
        };
        let newest = self.candidates.get(newer.top).and_then(|candidate| candidate.source);
        let partial =
            self.first_partial.is_some_and(|first| step == Step::Base || newest.is_some_and(|newest| newest >= first));
        let merged = match self.folder.rules.merge(step, side(&older)?, side(&newer)?) {
            // What a flag deletes only now leaves no row behind.
            Overlay::Older if older.deleted == Deleted::Flagged => {
                return Some(State { deleted: Deleted::ByBlock, ..older });
            }
            Overlay::Older => return Some(older),
            Overlay::Newer => return Some(newer),
            Overlay::NewerOverOlder => self.laid_over(newer, &older, partial, None),
            Overlay::OlderOverNewer { newer_meta } => {
                self.laid_over(older, &newer, partial, newer_meta.then_some(&newer))
            }
        };
        // Over the base there is nobody left to ask what a flag says.
        let flag = self.folder.flag_column.filter(|_| step != Step::Base && merged.deleted == Deleted::No);
        let flagged = flag.and_then(|flag| merged.picks.get(flag)).is_some_and(|pick| self.is_flagged(*pick as usize));
        Some(if flagged { State { deleted: Deleted::Flagged, ..merged } } else { merged })
    }

    fn is_flagged(&self, candidate: usize) -> bool {
        self.flags.as_ref().is_some_and(|flags| candidate < flags.len() && flags.value(candidate))
    }

    /// `high`, its absent values taken from `low`; meta columns from `meta`, where it is given.
    fn laid_over(&self, mut high: State, low: &State, partial: bool, meta: Option<&State>) -> State {
        for (column, pick) in high.picks.iter_mut().enumerate() {
            let of_meta = meta.filter(|_| self.folder.is_meta.get(column).copied().unwrap_or(false));
            let other = match of_meta {
                Some(meta) => meta.picks.get(column),
                None if self.is_absent(*pick, column, partial) => low.picks.get(column),
                None => None,
            };
            if let Some(other) = other {
                *pick = *other;
            }
        }
        if let Some(pick) = self.folder.ordering_column.and_then(|column| high.picks.get(column)) {
            high.top = *pick as usize;
        }
        high
    }

    fn is_absent(&self, candidate: u32, column: usize, partial: bool) -> bool {
        let at = candidate as usize;
        if partial {
            let missing = self.candidates.get(at).and_then(|candidate| candidate.missing);
            return missing.is_some_and(|missing| missing.get(column).copied().unwrap_or(false));
        }
        self.masks.get(column).and_then(Option::as_ref).is_some_and(|mask| at < mask.len() && mask.value(at))
    }
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table("records of one key do not fit together").caused_by(error)
}
