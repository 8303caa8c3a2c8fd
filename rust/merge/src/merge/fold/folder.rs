//! Folds record groups by rules: the records of a key are merged from the oldest to the newest, the result over the
//! base row. A row is a choice of record for each column.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;

use super::super::input::{FetchedRows, RecordFetcher, RowRef};
use super::super::ordering::OrderingColumn;
use super::super::outcome::MergeOutcome;
use super::super::output::DeletedRows;
use super::super::record_groups::RecordGroups;
use super::super::rules::{DeleteState, MergeSide};
use super::absence::Absence;
use super::folded_rows::{FoldedRows, PickedRows, RowPick};
use super::missing::MissingColumns;
use super::rules::{FoldRules, MergeStep, OverlayResult};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::names::instant_range::InstantRange;

/// A fold by rules: what it must know of the projected columns.
pub struct RuleFold {
    /// How records are merged.
    pub rules: FoldRules,
    /// When values of each column are filled from the other record.
    pub absence: Vec<Absence>,
    /// Which columns are meta columns.
    pub is_meta: Vec<bool>,
    /// The column whose record gives the ordering value of the result. `None` if that is always the winning record's.
    pub ordering_column: Option<usize>,
    /// The column that marks deletes, if it may be filled like any other, or come from a base row
    /// ([`DeleteState::Flagged`]).
    pub flag_column: Option<usize>,
    /// Whether deleted keys become rows, too.
    pub deleted_rows: DeletedRows,
    /// From the first partial record on, and over the base row, this alone decides which columns are filled; before it,
    /// values do.
    pub missing: MissingColumns,
    /// For a merge of some commits: the column of commit times, and these commits. Base rows of others give columns
    /// that records do not have, and win over none.
    pub commits: Option<(usize, InstantRange)>,
}

/// The result of a fold.
pub struct FoldResult {
    /// The rows that were made.
    pub rows: FoldedRows,
    /// The outcome of each key. A [`RowRef`] refers to the rows that were made: [`RowRef::at`] is the ordinal. The row
    /// of a delete is made only if deletes are delivered.
    pub outcomes: Vec<MergeOutcome>,
}

/// A row from which values may be taken.
struct Candidate<'a> {
    side: MergeSide<'a>,
    /// `None` for a base row.
    source: Option<u32>,
    /// The columns that its block does not have.
    missing: Option<&'a [bool]>,
    /// Whether it is a base row of an earlier commit.
    is_earlier: bool,
    /// The batch that holds the row, and its number there.
    at: (usize, usize),
}

/// The merged records of a key so far.
struct MergedCandidates {
    /// The candidate that gives the ordering value; for a delete by block, too.
    top: u32,
    deleted: DeleteState,
    picks: CandidatePicks,
}

/// The candidates that give the values of a row.
enum CandidatePicks {
    /// One gives all of them.
    All(u32),
    /// Of each column, the candidate that gives its value.
    ByColumn(Vec<u32>),
}

impl CandidatePicks {
    fn candidate(&self, column: usize) -> Option<u32> {
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

/// The base rows of record groups: one for each.
#[derive(Clone, Copy)]
pub struct FoldBase<'a> {
    /// A batch of base rows, the projected columns.
    pub batch: &'a RecordBatch,
    /// The ordering values of the batch.
    pub ordering: &'a OrderingColumn,
    /// Of each group, its row in the batch.
    pub rows: &'a [usize],
}

impl FoldBase<'_> {
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

/// Makes rows of record groups.
pub trait Fold: Send {
    /// Folds groups. `base` are their base rows; `None` for keys without one.
    fn fold(
        &self,
        groups: &RecordGroups,
        base: Option<FoldBase<'_>>,
        fetcher: &mut dyn RecordFetcher,
    ) -> Result<FoldResult>;
}

impl Fold for RuleFold {
    fn fold(
        &self,
        groups: &RecordGroups,
        base: Option<FoldBase<'_>>,
        fetcher: &mut dyn RecordFetcher,
    ) -> Result<FoldResult> {
        let (rows, candidates) = self.candidates(groups, base, fetcher)?;
        let masks = rows.masks(|column| self.absence.get(column));
        let flags = self.flag_column.map(|column| rows.mask_of(column, &Absence::Boolean(true)));
        let folding = RunningFold {
            folder: self,
            candidates,
            masks,
            flags: flags.unwrap_or_default(),
            first_partial: self.missing.first_source(),
            columns: rows.schema.fields().len(),
            idle: Vec::new(),
        };
        folding.all(groups, base.is_some(), rows)
    }
}

/// The batches that the rows of the candidates are in.
struct CandidateRows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// The ordinal of the batch of base rows; the batch before it has a row of nulls.
const BASE: usize = 1;

/// Of each batch, the rows whose value is filled; `None` if none is.
type Mask = Vec<Option<BooleanBuffer>>;

impl CandidateRows {
    /// Of each column, the rows whose values are filled.
    fn masks<'a>(&self, absence: impl Fn(usize) -> Option<&'a Absence>) -> Vec<Mask> {
        let columns = 0..self.schema.fields().len();
        columns.map(|column| absence(column).map(|absence| self.mask_of(column, absence)).unwrap_or_default()).collect()
    }

    /// Empty if no row of any batch is filled.
    fn mask_of(&self, column: usize, absence: &Absence) -> Mask {
        let of_batch = |batch: &RecordBatch| absence.absent_rows(batch.columns().get(column)?);
        let mask: Mask = self.batches.iter().map(of_batch).collect();
        if mask.iter().all(Option::is_none) { Mask::new() } else { mask }
    }
}

impl RuleFold {
    /// Of each base row, whether it is of another commit than those that are merged; empty if all commits are merged.
    fn earlier_rows(&self, base: &RecordBatch) -> Result<Vec<bool>> {
        let Some((column, commits)) = &self.commits else { return Ok(Vec::new()) };
        let times = base.columns().get(*column).and_then(|column| column.as_string_opt::<i32>());
        let times = times.ok_or_else(|| Error::internal("base rows of a range of commits without commit times"))?;
        let is_of_range = |time: &str| RequestedTime::parse(time).is_some_and(|time| commits.contains(&time));
        Ok(times.iter().map(|time| !time.is_some_and(is_of_range)).collect())
    }

    /// Base rows, then the log records of all groups, with the batches that they are in. Deletes by block have a row of
    /// nulls, unless they are delivered.
    fn candidates<'a>(
        &'a self,
        groups: &'a RecordGroups,
        base: Option<FoldBase<'a>>,
        fetcher: &mut dyn RecordFetcher,
    ) -> Result<(CandidateRows, Vec<Candidate<'a>>)> {
        let schema = fetcher.schema();
        let nulls = schema.fields().iter().map(|field| new_null_array(field.data_type(), 1));
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let nothing = RecordBatch::try_new_with_options(schema.clone(), nulls.collect(), &options).map_err(failed)?;
        let mut batches = vec![nothing];
        let mut candidates = Vec::with_capacity(groups.len() + groups.records().len());
        if let Some(base) = base {
            base.check(groups.len())?;
            batches.push(base.batch.clone());
            let earlier = self.earlier_rows(base.batch)?;
            candidates.extend(base.rows.iter().map(|row| Candidate {
                side: MergeSide { ordering: base.ordering.value(*row), is_foreign: false, deleted: DeleteState::No },
                source: None,
                missing: None,
                is_earlier: earlier.get(*row).copied().unwrap_or_default(),
                at: (BASE, *row),
            }));
        }
        let all = self.deleted_rows == DeletedRows::Delivered;
        let has_row = |side: &MergeSide<'_>| all || side.deleted != DeleteState::ByBlock;
        let with_rows = groups.records().filter(|record| has_row(&record.side)).map(|record| record.row);
        let with_rows: Vec<RowRef> = with_rows.collect();
        let first = batches.len();
        let FetchedRows { batches: fetched, picks } = fetcher.fetch(&with_rows)?;
        if picks.len() != with_rows.len() {
            let message = format_args!("{} rows were fetched for {} log records", picks.len(), with_rows.len());
            return Err(Error::internal(message));
        }
        batches.extend(fetched);
        let mut picks = picks.into_iter();
        for record in groups.records() {
            let pick = if has_row(&record.side) { picks.next() } else { None };
            let at = pick.map_or((0, 0), |(batch, row)| (batch + first, row));
            let (source, missing) = (Some(record.row.source), self.missing.columns(record.row.source));
            candidates.push(Candidate { side: record.side, source, missing, is_earlier: false, at });
        }
        if u32::try_from(candidates.len()).is_err() {
            return Err(Error::unsupported("more than 4 billion records of the keys of one batch"));
        }
        Ok((CandidateRows { schema, batches }, candidates))
    }
}

struct RunningFold<'a> {
    folder: &'a RuleFold,
    candidates: Vec<Candidate<'a>>,
    /// Of each column, the candidates whose values are filled.
    masks: Vec<Mask>,
    /// The candidates whose delete flag is set, if that flag may be filled.
    flags: Mask,
    first_partial: Option<u32>,
    columns: usize,
    /// Vectors of picks for reuse.
    idle: Vec<Vec<u32>>,
}

impl RunningFold<'_> {
    fn all(mut self, groups: &RecordGroups, has_base: bool, rows: CandidateRows) -> Result<FoldResult> {
        let mut outcomes = Vec::with_capacity(groups.len());
        let mut made: Vec<RowPick> = Vec::new();
        let mut count = 0_u32;
        let bases = if has_base { groups.len() } else { 0 };
        for (key, records) in (0_u32..).zip(groups.ranges()) {
            let base = has_base.then_some(key);
            let state = self.key(records.start + bases..records.end + bases, base)?;
            let row = RowRef { source: 0, at: count };
            let stays = base.is_some_and(|base| state.top == base && state.picks.are_all(base));
            let outcome = match state.deleted {
                DeleteState::No if stays => MergeOutcome::Keep,
                DeleteState::No => MergeOutcome::Replace(row),
                DeleteState::Flagged | DeleteState::ByRow | DeleteState::ByBlock => MergeOutcome::Delete(row),
            };
            let is_made = match outcome {
                MergeOutcome::Keep => false,
                MergeOutcome::Replace(_) => true,
                MergeOutcome::Delete(_) => self.folder.deleted_rows == DeletedRows::Delivered,
            };
            if is_made {
                match &state.picks {
                    CandidatePicks::All(candidate) => {
                        made.extend(std::iter::repeat_n(self.candidate(*candidate)?.at, self.columns));
                    }
                    CandidatePicks::ByColumn(candidates) => {
                        for candidate in candidates {
                            made.push(self.candidate(*candidate)?.at);
                        }
                    }
                }
                count += 1;
            }
            outcomes.push(outcome);
            self.recycle(state.picks);
        }
        if count as usize * self.columns != made.len() {
            return Err(Error::internal(format_args!("{} values for {count} rows of {}", made.len(), self.columns)));
        }
        let CandidateRows { schema, batches } = rows;
        let base = has_base.then_some(BASE);
        Ok(FoldResult { rows: FoldedRows::ByColumn(PickedRows { schema, batches, base, picks: made }), outcomes })
    }

    /// Merges the records of one key, and then its base row.
    fn key(&mut self, mut records: Range<usize>, base: Option<u32>) -> Result<MergedCandidates> {
        let first = records.next().ok_or_else(|| Error::internal("a key without a record"))?;
        let mut log = self.state_of(first)?;
        for at in records {
            let newer = self.state_of(at)?;
            let step = if newer.deleted == DeleteState::ByBlock { MergeStep::Delete } else { MergeStep::Data };
            log = self.merged(step, log, newer)?;
        }
        let Some(base) = base else { return Ok(log) };
        if self.candidate(base)?.is_earlier {
            let older = self.state_of(base as usize)?;
            return self.merged(MergeStep::Earlier, older, log);
        }
        let deleted = if self.is_flagged(base)? { DeleteState::Flagged } else { DeleteState::No };
        let older = MergedCandidates { deleted, ..self.state_of(base as usize)? };
        self.merged(MergeStep::Base, older, log)
    }

    fn candidate(&self, at: u32) -> Result<&Candidate<'_>> {
        self.candidates.get(at as usize).ok_or_else(|| no_candidate(at))
    }

    fn state_of(&self, at: usize) -> Result<MergedCandidates> {
        let top = u32::try_from(at).map_err(|_| Error::internal("a candidate beyond 2^32"))?;
        Ok(MergedCandidates { top, deleted: self.candidate(top)?.side.deleted, picks: CandidatePicks::All(top) })
    }

    fn merged(
        &mut self,
        step: MergeStep,
        older: MergedCandidates,
        newer: MergedCandidates,
    ) -> Result<MergedCandidates> {
        let side =
            |state: &MergedCandidates| Ok(MergeSide { deleted: state.deleted, ..self.candidate(state.top)?.side });
        let newest = self.candidate(newer.top)?.source;
        let partial = self.first_partial.is_some_and(|first| {
            matches!(step, MergeStep::Base | MergeStep::Earlier) || newest.is_some_and(|newest| newest >= first)
        });
        let overlay = self.folder.rules.merge(step, side(&older)?, side(&newer)?);
        let merged = match overlay {
            // What the flag deletes at this step leaves no row. A delete that is late does not read the flag.
            OverlayResult::Older if older.deleted == DeleteState::Flagged && step != MergeStep::Delete => {
                self.recycle(newer.picks);
                return Ok(MergedCandidates { deleted: DeleteState::ByBlock, ..older });
            }
            OverlayResult::Older => {
                self.recycle(newer.picks);
                return Ok(older);
            }
            OverlayResult::Newer => {
                self.recycle(older.picks);
                return Ok(newer);
            }
            OverlayResult::NewerOverOlder => self.overlaid(newer, older, partial, false)?,
            OverlayResult::OlderOverNewer { newer_meta } => self.overlaid(older, newer, partial, newer_meta)?,
        };
        // After the base row there is no further step that would read the flag.
        let is_last = matches!(step, MergeStep::Base | MergeStep::Earlier);
        let flag = self.folder.flag_column.filter(|_| !is_last && merged.deleted == DeleteState::No);
        let flagged = match flag.and_then(|flag| merged.picks.candidate(flag)) {
            Some(candidate) => self.is_flagged(candidate)?,
            None => false,
        };
        Ok(if flagged { MergedCandidates { deleted: DeleteState::Flagged, ..merged } } else { merged })
    }

    fn is_flagged(&self, candidate: u32) -> Result<bool> {
        Ok(is_set(&self.flags, self.candidate(candidate)?.at))
    }

    /// The row of `high`, with its absent values filled from `low`; meta columns are from `low` too if `low_meta`.
    fn overlaid(
        &mut self,
        mut high: MergedCandidates,
        low: MergedCandidates,
        partial: bool,
        low_meta: bool,
    ) -> Result<MergedCandidates> {
        let mut picks = match high.picks {
            CandidatePicks::ByColumn(picks) => picks,
            CandidatePicks::All(candidate) => {
                let mut picks = self.idle.pop().unwrap_or_default();
                picks.clear();
                picks.resize(self.columns, candidate);
                picks
            }
        };
        for (column, pick) in picks.iter_mut().enumerate() {
            let is_low_meta = low_meta && self.folder.is_meta.get(column).is_some_and(|is_meta| *is_meta);
            if is_low_meta || self.is_absent(*pick, column, partial)? {
                *pick =
                    low.picks.candidate(column).ok_or_else(|| Error::internal("a row without all of its columns"))?;
            }
        }
        self.recycle(low.picks);
        if let Some(column) = self.folder.ordering_column {
            high.top = *picks.get(column).ok_or_else(|| Error::internal("no such ordering column"))?;
        }
        Ok(MergedCandidates { picks: CandidatePicks::ByColumn(picks), ..high })
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

    fn recycle(&mut self, picks: CandidatePicks) {
        if let CandidatePicks::ByColumn(picks) = picks {
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
