//! The records of some keys made rows: merged from the oldest to the newest, then over the base row, each column of the result
//! taken from the record that it comes from.

use std::ops::Range;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;

use super::super::histories::Histories;
use super::super::input::{Fetched, RowRef, Winners};
use super::super::merger::Fate;
use super::super::ordering::OrderingColumn;
use super::super::output::DeletedRows;
use super::super::rules::{Deleted, Side};
use super::absence::Absence;
use super::made::{MadeRows, Pick, PickedRows};
use super::missing::MissingColumns;
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
    /// From the first partial record on, and over the base, columns give way by this alone; before it, by their values.
    pub missing: MissingColumns,
}

/// Keys made rows.
pub struct Folded {
    /// The rows that were made.
    pub rows: MadeRows,
    /// Of each key: the base row stays, or the made row (its ordinal as [`RowRef::at`]) takes its place, be it a row or a delete.
    /// The row of a delete is made only if deletes are delivered.
    pub fates: Vec<Fate>,
}

/// A row from which values may be taken.
struct Candidate<'a> {
    side: Side<'a>,
    /// `None` for a base row.
    source: Option<u32>,
    /// Columns that its block does not have.
    missing: Option<&'a [bool]>,
    /// The batch that holds the row, and its number there.
    at: (usize, usize),
}

/// What the records of a key came to so far.
struct State {
    /// The candidate whose side counts; of a delete by block, too.
    top: u32,
    deleted: Deleted,
    picks: Picks,
}

/// The candidates that give the values of a row.
enum Picks {
    /// One gives all of them.
    All(u32),
    /// Of each column, the candidate that gives its value.
    ByColumn(Vec<u32>),
}

impl Picks {
    fn of(&self, column: usize) -> Option<u32> {
        match self {
            Self::All(candidate) => Some(*candidate),
            Self::ByColumn(candidates) => candidates.get(column).copied(),
        }
    }

    /// Whether all values are this candidate's.
    fn are_all(&self, candidate: u32) -> bool {
        match self {
            Self::All(one) => *one == candidate,
            Self::ByColumn(candidates) => candidates.iter().all(|one| *one == candidate),
        }
    }
}

/// The base rows of keys: one for each.
#[derive(Clone, Copy)]
pub struct BaseOf<'a> {
    /// A batch of base rows, the projected columns.
    pub batch: &'a RecordBatch,
    /// The ordering values of the batch.
    pub ordering: &'a OrderingColumn,
    /// Of each key, its row in the batch.
    pub rows: &'a [usize],
}

impl BaseOf<'_> {
    /// Checks that there is a row for each of so many keys.
    pub(super) fn check(&self, keys: usize) -> Result<()> {
        let count = self.batch.num_rows();
        let ordering = self.ordering.rows().unwrap_or(count);
        if self.rows.len() != keys || ordering != count || self.rows.iter().any(|row| *row >= count) {
            let message = format_args!("{} of {count} base rows, {ordering} ordered, for {keys} keys", self.rows.len());
            return Err(Error::internal(message));
        }
        Ok(())
    }
}

/// Makes rows of the records of keys.
pub trait Fold: Send {
    /// Folds keys. `base` are their base rows; `None` for keys without one.
    ///
    /// # Errors
    /// Those of fetching the records; what a merger of the user's own fails with.
    fn fold(&self, keys: &Histories, base: Option<BaseOf<'_>>, winners: &mut dyn Winners) -> Result<Folded>;
}

impl Fold for Folder {
    fn fold(&self, keys: &Histories, base: Option<BaseOf<'_>>, winners: &mut dyn Winners) -> Result<Folded> {
        let (rows, candidates) = self.candidates(keys, base, winners)?;
        let masks = rows.masks(|column| self.absence.get(column));
        let flags = self.flag_column.map(|column| rows.mask_of(column, &Absence::Truth(true)));
        let folding = Folding {
            folder: self,
            candidates,
            masks,
            flags: flags.unwrap_or_default(),
            first_partial: self.missing.first_source(),
            columns: rows.schema.fields().len(),
            idle: Vec::new(),
        };
        folding.all(keys, base.is_some(), rows)
    }
}

/// The batches that the rows of the candidates are in.
struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// The ordinal of the batch of base rows; before it is one of nulls.
const BASE: usize = 1;

/// Of each batch, the rows whose value gives way; `None` where none does.
type Mask = Vec<Option<BooleanBuffer>>;

impl Rows {
    /// Of each column, the rows whose values give way.
    fn masks<'a>(&self, absence: impl Fn(usize) -> Option<&'a Absence>) -> Vec<Mask> {
        let columns = 0..self.schema.fields().len();
        columns.map(|column| absence(column).map(|absence| self.mask_of(column, absence)).unwrap_or_default()).collect()
    }

    /// Empty where no row of any batch gives way.
    fn mask_of(&self, column: usize, absence: &Absence) -> Mask {
        let of_batch = |batch: &RecordBatch| absence.of(batch.columns().get(column)?);
        let mask: Mask = self.batches.iter().map(of_batch).collect();
        if mask.iter().all(Option::is_none) { Mask::new() } else { mask }
    }
}

impl Folder {
    /// Base rows, then the log records of all keys, with the batches that they are in. Deletes by block have a row of nulls,
    /// unless they are delivered.
    fn candidates<'a>(
        &'a self,
        keys: &'a Histories,
        base: Option<BaseOf<'a>>,
        winners: &mut dyn Winners,
    ) -> Result<(Rows, Vec<Candidate<'a>>)> {
        let schema = winners.schema();
        let nulls = schema.fields().iter().map(|field| new_null_array(field.data_type(), 1));
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let nothing = RecordBatch::try_new_with_options(schema.clone(), nulls.collect(), &options).map_err(failed)?;
        let mut batches = vec![nothing];
        let mut candidates = Vec::with_capacity(keys.len() + keys.records().len());
        if let Some(base) = base {
            base.check(keys.len())?;
            batches.push(base.batch.clone());
            candidates.extend(base.rows.iter().map(|row| Candidate {
                side: Side { ordering: base.ordering.value(*row), is_foreign: false, deleted: Deleted::No },
                source: None,
                missing: None,
                at: (BASE, *row),
            }));
        }
        let all = self.deleted_rows == DeletedRows::Delivered;
        let has_row = |side: &Side<'_>| all || side.deleted != Deleted::ByBlock;
        let with_rows = keys.records().filter(|record| has_row(&record.side)).map(|record| record.row);
        let with_rows: Vec<RowRef> = with_rows.collect();
        let first = batches.len();
        let Fetched { batches: fetched, picks } = winners.fetch(&with_rows)?;
        if picks.len() != with_rows.len() {
            let message = format_args!("{} rows were fetched for {} log records", picks.len(), with_rows.len());
            return Err(Error::internal(message));
        }
        batches.extend(fetched);
        let mut picks = picks.into_iter();
        for record in keys.records() {
            let pick = if has_row(&record.side) { picks.next() } else { None };
            let at = pick.map_or((0, 0), |(batch, row)| (batch + first, row));
            let (source, missing) = (Some(record.row.source), self.missing.of(record.row.source));
            candidates.push(Candidate { side: record.side, source, missing, at });
        }
        if u32::try_from(candidates.len()).is_err() {
            return Err(Error::unsupported("more than 4 billion records of the keys of one batch"));
        }
        Ok((Rows { schema, batches }, candidates))
    }
}

struct Folding<'a> {
    folder: &'a Folder,
    candidates: Vec<Candidate<'a>>,
    /// Of each column, the candidates whose values give way.
    masks: Vec<Mask>,
    /// The candidates that say that they are deletes, where that is one of the values that give way.
    flags: Mask,
    first_partial: Option<u32>,
    columns: usize,
    /// Vectors of picks that are free to be used again.
    idle: Vec<Vec<u32>>,
}

impl Folding<'_> {
    fn all(mut self, keys: &Histories, has_base: bool, rows: Rows) -> Result<Folded> {
        let mut fates = Vec::with_capacity(keys.len());
        let mut made: Vec<Pick> = Vec::new();
        let mut count = 0_u32;
        let bases = if has_base { keys.len() } else { 0 };
        for (key, records) in (0_u32..).zip(keys.ranges()) {
            let base = has_base.then_some(key);
            let state = self.key(records.start + bases..records.end + bases, base)?;
            let row = RowRef { source: 0, at: count };
            let stays = base.is_some_and(|base| state.top == base && state.picks.are_all(base));
            let fate = match state.deleted {
                Deleted::No if stays => Fate::Keep,
                Deleted::No => Fate::Replace(row),
                Deleted::Flagged | Deleted::ByRow | Deleted::ByBlock => Fate::Delete(row),
            };
            let is_made = match fate {
                Fate::Keep => false,
                Fate::Replace(_) => true,
                Fate::Delete(_) => self.folder.deleted_rows == DeletedRows::Delivered,
            };
            if is_made {
                match &state.picks {
                    Picks::All(candidate) => {
                        made.extend(std::iter::repeat_n(self.candidate(*candidate)?.at, self.columns));
                    }
                    Picks::ByColumn(candidates) => {
                        for candidate in candidates {
                            made.push(self.candidate(*candidate)?.at);
                        }
                    }
                }
                count += 1;
            }
            fates.push(fate);
            self.recycle(state.picks);
        }
        if count as usize * self.columns != made.len() {
            return Err(Error::internal(format_args!("{} values for {count} rows of {}", made.len(), self.columns)));
        }
        let Rows { schema, batches } = rows;
        let base = has_base.then_some(BASE);
        Ok(Folded { rows: MadeRows::ByColumn(PickedRows { schema, batches, base, picks: made }), fates })
    }

    /// What the records of one key, and its base row, come to.
    fn key(&mut self, mut records: Range<usize>, base: Option<u32>) -> Result<State> {
        let first = records.next().ok_or_else(|| Error::internal("a key without a record"))?;
        let mut log = self.state_of(first)?;
        for at in records {
            let newer = self.state_of(at)?;
            let step = if newer.deleted == Deleted::ByBlock { Step::Delete } else { Step::Data };
            log = self.merged(step, log, newer)?;
        }
        let Some(base) = base else { return Ok(log) };
        let deleted = if self.is_flagged(base)? { Deleted::Flagged } else { Deleted::No };
        let older = State { deleted, ..self.state_of(base as usize)? };
        self.merged(Step::Base, older, log)
    }

    fn candidate(&self, at: u32) -> Result<&Candidate<'_>> {
        self.candidates.get(at as usize).ok_or_else(|| no_candidate(at))
    }

    fn state_of(&self, at: usize) -> Result<State> {
        let top = u32::try_from(at).map_err(|_| Error::internal("a candidate beyond 2^32"))?;
        Ok(State { top, deleted: self.candidate(top)?.side.deleted, picks: Picks::All(top) })
    }

    fn merged(&mut self, step: Step, older: State, newer: State) -> Result<State> {
        let side = |state: &State| Ok(Side { deleted: state.deleted, ..self.candidate(state.top)?.side });
        let newest = self.candidate(newer.top)?.source;
        let partial =
            self.first_partial.is_some_and(|first| step == Step::Base || newest.is_some_and(|newest| newest >= first));
        let overlay = self.folder.rules.merge(step, side(&older)?, side(&newer)?);
        let merged = match overlay {
            // What a flag deletes only now leaves no row behind.
            Overlay::Older if older.deleted == Deleted::Flagged => {
                self.recycle(newer.picks);
                return Ok(State { deleted: Deleted::ByBlock, ..older });
            }
            Overlay::Older => {
                self.recycle(newer.picks);
                return Ok(older);
            }
            Overlay::Newer => {
                self.recycle(older.picks);
                return Ok(newer);
            }
            Overlay::NewerOverOlder => self.laid_over(newer, older, partial, false)?,
            Overlay::OlderOverNewer { newer_meta } => self.laid_over(older, newer, partial, newer_meta)?,
        };
        // Over the base there is nobody left to ask what a flag says.
        let flag = self.folder.flag_column.filter(|_| step != Step::Base && merged.deleted == Deleted::No);
        let flagged = match flag.and_then(|flag| merged.picks.of(flag)) {
            Some(candidate) => self.is_flagged(candidate)?,
            None => false,
        };
        Ok(if flagged { State { deleted: Deleted::Flagged, ..merged } } else { merged })
    }

    fn is_flagged(&self, candidate: u32) -> Result<bool> {
        Ok(is_set(&self.flags, self.candidate(candidate)?.at))
    }

    /// The row of `high`, its absent values taken from `low`; meta columns from `low` too if `low_meta`.
    fn laid_over(&mut self, mut high: State, low: State, partial: bool, low_meta: bool) -> Result<State> {
        let mut picks = match high.picks {
            Picks::ByColumn(picks) => picks,
            Picks::All(candidate) => {
                let mut picks = self.idle.pop().unwrap_or_default();
                picks.clear();
                picks.resize(self.columns, candidate);
                picks
            }
        };
        for (column, pick) in picks.iter_mut().enumerate() {
            let is_low_meta = low_meta && self.folder.is_meta.get(column).is_some_and(|is_meta| *is_meta);
            if is_low_meta || self.is_absent(*pick, column, partial)? {
                *pick = low.picks.of(column).ok_or_else(|| Error::internal("a row without all of its columns"))?;
            }
        }
        self.recycle(low.picks);
        if let Some(column) = self.folder.ordering_column {
            high.top = *picks.get(column).ok_or_else(|| Error::internal("no such ordering column"))?;
        }
        Ok(State { picks: Picks::ByColumn(picks), ..high })
    }

    fn is_absent(&self, candidate: u32, column: usize, partial: bool) -> Result<bool> {
        let candidate = self.candidate(candidate)?;
        if partial {
            return match candidate.missing {
                None => Ok(false),
                Some(missing) => {
                    missing.get(column).copied().ok_or_else(|| Error::internal("a column that no block was asked for"))
                }
            };
        }
        Ok(self.masks.get(column).is_some_and(|mask| is_set(mask, candidate.at)))
    }

    fn recycle(&mut self, picks: Picks) {
        if let Picks::ByColumn(picks) = picks {
            self.idle.push(picks);
        }
    }
}

fn is_set(mask: &Mask, (batch, row): (usize, usize)) -> bool {
    mask.get(batch).and_then(Option::as_ref).is_some_and(|mask| mask.value(row))
}

#[cold]
fn no_candidate(candidate: u32) -> Error {
    Error::internal(format_args!("no candidate {candidate} among the records of the keys"))
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table("records of one key do not fit together").caused_by(error)
}
