//! The merge: base rows batch by batch, then the records that no base row matched.

use arrow_array::RecordBatch;

use super::super::base_rows::BaseRows;
use super::super::fold::Fold;
use super::super::hash_range::HashRange;
use super::super::input::RecordFetcher;
use super::super::ordering::OrderingColumn;
use super::super::outcome::MergeOutcome;
use super::super::output::{DeletedRows, fetch_rows};
use super::super::record_groups::RecordGroups;
use super::super::winning_records::WinningRecords;
use super::base_batch::{BaseBatch, row_in_batch};
use super::batch_outcomes::{BatchOutcomes, RowChanges};
use super::build_side::BuildSide;
use super::merge_counts::MergeCounts;
use mortice_base::error::{Error, Result};

/// What the passes of a merge have spilled, read again in the order of base rows.
pub trait SpilledGroups: Send {
    /// The groups of base rows whose numbers are below `end`, without those returned before.
    fn base_groups(&mut self, end: u64) -> Result<RecordGroups>;

    /// Some groups of keys that no base row has matched; `None` after the last.
    fn insert_groups(&mut self) -> Result<Option<RecordGroups>>;
}

/// Where the log records of a base row are found.
enum LogRecordSource {
    /// In an index of all keys.
    Index(Box<BuildSide>),
    /// Among what the passes over hash ranges have spilled.
    Spilled(Box<dyn SpilledGroups>),
}

/// What was found for keys without a base row.
enum UnmatchedRecords {
    Outcomes(Vec<MergeOutcome>),
    Groups(RecordGroups),
}

/// Merges the log records and base rows of one file slice.
pub struct MergeEngine {
    source: LogRecordSource,
    /// Makes rows of record groups; `None` if the winning record of a key is the row.
    fold: Option<Box<dyn Fold>>,
    deleted_rows: DeletedRows,
    /// The number of the next base row.
    next_row: u64,
    /// The entry of the index at which inserts continue; `None` after the last.
    next_insert: Option<usize>,
    /// Spilled groups of inserts that were read, and the next of them.
    waiting: Option<(RecordGroups, usize)>,
    counts: MergeCounts,
}

impl MergeEngine {
    /// A merge with an index of all log records. `fold` makes rows of [`BuildSide::Grouped`] records.
    #[must_use]
    pub fn new(build: BuildSide, fold: Option<Box<dyn Fold>>, deleted_rows: DeletedRows) -> Self {
        Self::with_source(LogRecordSource::Index(Box::new(build)), fold, deleted_rows)
    }

    /// A merge with what passes have spilled. `fold` makes rows of what [`BuildSide::Grouped`] records have left.
    #[must_use]
    pub fn spilled(groups: Box<dyn SpilledGroups>, fold: Option<Box<dyn Fold>>, deleted_rows: DeletedRows) -> Self {
        Self::with_source(LogRecordSource::Spilled(groups), fold, deleted_rows)
    }

    fn with_source(source: LogRecordSource, fold: Option<Box<dyn Fold>>, deleted_rows: DeletedRows) -> Self {
        Self {
            source,
            fold,
            deleted_rows,
            next_row: 0,
            next_insert: Some(0),
            waiting: None,
            counts: MergeCounts::default(),
        }
    }

    /// Begins with the base row of this number, where a part of a base file is merged.
    #[must_use]
    pub fn from_row(self, first: u64) -> Self {
        Self { next_row: first, ..self }
    }

    /// Whether what the passes have spilled is merged.
    #[must_use]
    pub const fn is_spilled(&self) -> bool {
        matches!(self.source, LogRecordSource::Spilled(_))
    }

    /// Returns true if a further base row may match log records.
    #[must_use]
    pub fn may_match(&self) -> bool {
        match &self.source {
            LogRecordSource::Index(build) => build.may_match(),
            LogRecordSource::Spilled(_) => true,
        }
    }

    /// The keys that several base rows have matched, once for each row after the first; of a merge in one pass, whose
    /// build side has each base row match.
    pub fn keys_matched_again(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        match &self.source {
            LogRecordSource::Index(build) => build.keys_matched_again(),
            LogRecordSource::Spilled(_) => Box::new(std::iter::empty()),
        }
    }

    /// The winning records, if they are the build side.
    pub fn winning_records(&mut self) -> Option<&mut WinningRecords> {
        let LogRecordSource::Index(build) = &mut self.source else { return None };
        match build.as_mut() {
            BuildSide::Winning(records) => Some(records),
            BuildSide::Grouped(_) => None,
        }
    }

    /// Counts of what was merged so far.
    #[must_use]
    pub const fn counts(&self) -> MergeCounts {
        self.counts
    }

    /// Marks what these base rows match as matched: another part of the slice merges them. Passes do this before they
    /// spill.
    ///
    /// # Errors
    /// `Internal` if the base rows are given by position and the log records are not.
    pub fn skip_base(&mut self, rows: &BaseRows) -> Result<()> {
        match &mut self.source {
            LogRecordSource::Index(build) => build.skip_base(rows),
            LogRecordSource::Spilled(_) => Ok(()),
        }
    }

    /// Leaves unmatched keys outside a hash range to other parts of the slice. Passes do this before they spill.
    pub fn restrict_inserts(&mut self, share: HashRange) {
        if let LogRecordSource::Index(build) = &mut self.source {
            build.restrict_inserts(share);
        }
    }

    /// Merges the next batch of base rows. Returns the projected columns of the merged rows; `None` if all rows stay as
    /// they are.
    ///
    /// # Errors
    /// Those of reading keys, fetching records and folding them.
    pub fn merge(&mut self, base: &BaseBatch<'_>, fetcher: &mut dyn RecordFetcher) -> Result<Option<RecordBatch>> {
        let Some(outcomes) = self.outcomes(base, fetcher)? else { return Ok(None) };
        outcomes.apply(base.projected, fetcher, self.deleted_rows).map(Some)
    }

    /// Merges the next batch of base rows. Returns the rows that do not stay, before and after; `None` if all rows
    /// stay.
    ///
    /// # Errors
    /// As [`MergeEngine::merge`].
    pub fn changes(&mut self, base: &BaseBatch<'_>, fetcher: &mut dyn RecordFetcher) -> Result<Option<RowChanges>> {
        let Some(outcomes) = self.outcomes(base, fetcher)? else { return Ok(None) };
        outcomes.changes(base.projected, fetcher, self.deleted_rows).map(Some)
    }

    /// The outcomes of the next batch of base rows; `None` if all rows stay.
    ///
    /// # Errors
    /// As [`MergeEngine::merge`].
    pub fn outcomes(&mut self, base: &BaseBatch<'_>, fetcher: &mut dyn RecordFetcher) -> Result<Option<BatchOutcomes>> {
        let rows = base.rows.num_rows() as u64;
        let first = self.next_row;
        self.next_row = first.saturating_add(rows);
        self.counts.base_rows = self.counts.base_rows.saturating_add(rows);
        let outcomes = self.outcomes_from(first, base, fetcher)?;
        if let Some(outcomes) = &outcomes {
            self.counts.add_base(outcomes.iter().map(|(_, outcome)| outcome));
        }
        Ok(outcomes)
    }

    fn outcomes_from(
        &mut self,
        first: u64,
        base: &BaseBatch<'_>,
        fetcher: &mut dyn RecordFetcher,
    ) -> Result<Option<BatchOutcomes>> {
        let groups = match &mut self.source {
            LogRecordSource::Index(build) => {
                if !build.may_match() {
                    return Ok(None);
                }
                let rows = base.keys.keys(base.rows, first)?;
                if let BuildSide::Winning(records) = build.as_mut() {
                    let ordering = match records.wins_over_all() {
                        true => OrderingColumn::Unordered,
                        false => base.keys.ordering(base.rows)?,
                    };
                    return Ok(BatchOutcomes::new(records.probe(&rows, &ordering)?, None));
                }
                let mut groups = RecordGroups::default();
                build.probe_into(&mut groups, &rows, &OrderingColumn::Unordered, first)?;
                groups
            }
            LogRecordSource::Spilled(spilled) => spilled.base_groups(self.next_row)?,
        };
        match &self.fold {
            Some(fold) => base.folded(fold.as_ref(), &groups, first, fetcher),
            None if !self.is_spilled() => Err(no_fold()),
            None => {
                let outcomes = groups.outcomes().map(|outcome| {
                    let (number, outcome) = outcome?;
                    Ok((row_in_batch(number, first)?, outcome))
                });
                Ok(BatchOutcomes::new(outcomes.collect::<Result<_>>()?, None))
            }
        }
    }

    /// Rows of keys that no base row has matched, about `limit` of them, in the projected columns; `None` after the
    /// last. To be called after the last base row. A batch may be empty, where all its keys were deleted.
    ///
    /// # Errors
    /// Those of fetching records and folding them.
    pub fn inserts(&mut self, limit: usize, fetcher: &mut dyn RecordFetcher) -> Result<Option<RecordBatch>> {
        let Some(unmatched) = self.unmatched(limit.max(1))? else { return Ok(None) };
        match unmatched {
            UnmatchedRecords::Outcomes(outcomes) => {
                self.counts.add_unmatched(outcomes.iter().copied());
                fetch_rows(&outcomes, fetcher, self.deleted_rows).map(Some)
            }
            UnmatchedRecords::Groups(groups) => {
                let fold = self.fold.as_ref().ok_or_else(no_fold)?;
                let mut folded = fold.fold(&groups, None, fetcher)?;
                self.counts.add_unmatched(folded.outcomes.iter().copied());
                fetch_rows(&folded.outcomes, &mut folded.rows, self.deleted_rows).map(Some)
            }
        }
    }

    /// What was found for the next keys without a base row; `None` after the last.
    fn unmatched(&mut self, limit: usize) -> Result<Option<UnmatchedRecords>> {
        let Some(from) = self.next_insert else { return Ok(None) };
        let unmatched = match &mut self.source {
            LogRecordSource::Index(build) => match build.as_mut() {
                BuildSide::Winning(records) => {
                    let (outcomes, next) = records.inserts(from, limit);
                    self.next_insert = next;
                    UnmatchedRecords::Outcomes(outcomes)
                }
                grouped @ BuildSide::Grouped(_) => {
                    let mut groups = RecordGroups::default();
                    self.next_insert = grouped.inserts_into(&mut groups, from, limit)?;
                    UnmatchedRecords::Groups(groups)
                }
            },
            LogRecordSource::Spilled(spilled) => {
                let Some(groups) = some_groups(&mut self.waiting, spilled.as_mut(), limit)? else {
                    self.next_insert = None;
                    return Ok(None);
                };
                match &self.fold {
                    Some(_) => UnmatchedRecords::Groups(groups),
                    None => {
                        let outcomes = groups.outcomes().map(|outcome| outcome.map(|(_, outcome)| outcome));
                        UnmatchedRecords::Outcomes(outcomes.collect::<Result<_>>()?)
                    }
                }
            }
        };
        let is_empty = match &unmatched {
            UnmatchedRecords::Outcomes(outcomes) => outcomes.is_empty(),
            UnmatchedRecords::Groups(groups) => groups.is_empty(),
        };
        Ok((!is_empty).then_some(unmatched))
    }
}

/// The next spilled groups of inserts, at most `limit` of them; `None` after the last.
fn some_groups(
    waiting: &mut Option<(RecordGroups, usize)>,
    spilled: &mut dyn SpilledGroups,
    limit: usize,
) -> Result<Option<RecordGroups>> {
    let (groups, from) = match waiting.take() {
        Some(waiting) => waiting,
        None => match spilled.insert_groups()? {
            Some(groups) => (groups, 0),
            None => return Ok(None),
        },
    };
    if from == 0 && groups.len() <= limit {
        return Ok(Some(groups));
    }
    let mut some = RecordGroups::default();
    let next = some.take_some(&groups, from, limit)?;
    *waiting = (next < groups.len()).then_some((groups, next));
    Ok(Some(some))
}

#[cold]
fn no_fold() -> Error {
    Error::internal("a merge of record groups without a fold")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, BooleanArray, Int64Array, StringArray, UInt64Array};
    use bytes::Bytes;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::MergeCounts;
    use super::super::base_batch::BaseKeys;
    use super::*;
    use crate::merge::fold::{CustomFold, RowMerger};
    use crate::merge::{GroupedRecords, LogBatch, LogKind, LogSink, RecordBatches, RecordMergeRules};
    use mortice_formats::filter::KeyFilter;

    /// Key, ordering value, value.
    type Row = (u8, i64, i64);

    /// A log record: a row, and whether it is a delete.
    type Record = (Row, bool);

    fn batch(rows: &[Row]) -> RecordBatch {
        let keys: ArrayRef = Arc::new(rows.iter().map(|row| Some(format!("key {}", row.0))).collect::<StringArray>());
        let times: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
        let values: ArrayRef = Arc::new(rows.iter().map(|row| row.2).collect::<Int64Array>());
        RecordBatch::try_from_iter_with_nullable([("key", keys, true), ("time", times, true), ("value", values, true)])
            .unwrap()
    }

    fn rows(batch: &RecordBatch) -> Vec<Row> {
        let key = |row| batch.column(0).as_string::<i32>().value(row)["key ".len()..].parse().unwrap();
        let number = |column: usize, row| batch.column(column).as_primitive::<Int64Type>().value(row);
        (0..batch.num_rows()).map(|row| (key(row), number(1, row), number(2, row))).collect()
    }

    struct FirstColumns;

    impl BaseKeys for FirstColumns {
        fn keys(&self, rows: &RecordBatch, _: u64) -> Result<BaseRows> {
            Ok(BaseRows::Keys(rows.column(0).as_string().clone()))
        }

        fn ordering(&self, rows: &RecordBatch) -> Result<OrderingColumn> {
            OrderingColumn::from_array(rows.column(1))
        }
    }

    /// Adds up the values of two rows.
    struct Sum;

    impl RowMerger for Sum {
        fn merge(&self, older: &RecordBatch, newer: &RecordBatch) -> Result<(RecordBatch, BooleanArray)> {
            let sums = rows(older).into_iter().zip(rows(newer)).map(|(old, new)| (new.0, new.1, old.2 + new.2));
            Ok((batch(&sums.collect::<Vec<_>>()), vec![true; newer.num_rows()].into()))
        }
    }

    fn fold() -> Box<dyn Fold> {
        Box::new(CustomFold { merger: Arc::new(Sum), columns: vec![0, 1, 2], deleted_rows: DeletedRows::LeftOut })
    }

    fn winning() -> BuildSide {
        BuildSide::Winning(WinningRecords::new(RecordMergeRules::EventTime { int_ordering: false }))
    }

    fn grouped() -> BuildSide {
        BuildSide::Grouped(GroupedRecords::only(KeyFilter::All))
    }

    fn add(build: &mut BuildSide, log: &[Vec<Record>]) {
        for records in log {
            let records_of = |(row, _): &Record| *row;
            let keys = batch(&records.iter().map(records_of).collect::<Vec<_>>());
            let ordering = OrderingColumn::from_array(keys.column(1)).unwrap();
            let keys = keys.column(0).as_string::<i32>().clone();
            let places = keys
                .offsets()
                .windows(2)
                .map(|ends| u64::try_from(ends[0]).unwrap() << 32 | u64::try_from(ends[1] - ends[0]).unwrap());
            let source = build.add_source(Bytes::copy_from_slice(keys.values())).unwrap();
            let log = LogBatch {
                kind: LogKind::Data,
                keys: &places.collect::<UInt64Array>(),
                ordering: &ordering,
                deleted: Some(&records.iter().map(|(_, deleted)| Some(*deleted)).collect()),
                places: &(0..u32::try_from(records.len()).unwrap()).collect::<Vec<_>>(),
            };
            build.add(source, &log).unwrap();
        }
    }

    fn merged(mut engine: MergeEngine, base: &[Vec<Row>], log: &[Vec<Record>]) -> (Vec<Row>, MergeCounts) {
        let records: Vec<RecordBatch> =
            log.iter().map(|records| batch(&records.iter().map(|(row, _)| *row).collect::<Vec<_>>())).collect();
        let mut records = RecordBatches::new(batch(&[]).schema(), records);
        let mut all = Vec::new();
        for base in base {
            let projected = batch(base);
            let base = BaseBatch { rows: &projected, projected: &projected, keys: &FirstColumns };
            let merged = engine.merge(&base, &mut records).unwrap();
            all.extend(rows(&merged.unwrap_or_else(|| projected.clone())));
        }
        while let Some(inserts) = engine.inserts(2, &mut records).unwrap() {
            all.extend(rows(&inserts));
        }
        assert!(engine.inserts(2, &mut records).unwrap().is_none(), "nothing follows the last insert");
        (all, engine.counts())
    }

    /// The groups of passes, in memory.
    struct InMemory {
        base: VecDeque<(u64, RecordGroups)>,
        inserts: VecDeque<RecordGroups>,
    }

    impl SpilledGroups for InMemory {
        fn base_groups(&mut self, end: u64) -> Result<RecordGroups> {
            let mut found = RecordGroups::default();
            for (_, groups) in self.base.iter().filter(|(of, _)| *of == end) {
                found.take_until(groups, 0, end)?;
            }
            Ok(found)
        }

        fn insert_groups(&mut self) -> Result<Option<RecordGroups>> {
            Ok(self.inserts.pop_front())
        }
    }

    /// The merge in passes over thirds of all hashes.
    fn in_passes(
        build_side: fn() -> BuildSide,
        fold: Option<Box<dyn Fold>>,
        base: &[Vec<Row>],
        log: &[Vec<Record>],
    ) -> MergeEngine {
        let mut spilled = InMemory { base: VecDeque::new(), inserts: VecDeque::new() };
        for pass in 0..3 {
            let mut build = build_side().within(HashRange::share(pass, 3), usize::MAX);
            add(&mut build, log);
            let mut first = 0;
            for base in base {
                let rows = batch(base);
                let (keys, ordering) = (FirstColumns.keys(&rows, 0).unwrap(), FirstColumns.ordering(&rows).unwrap());
                let mut groups = RecordGroups::default();
                build.probe_into(&mut groups, &keys, &ordering, first).unwrap();
                first += base.len() as u64;
                spilled.base.push_back((first, groups));
            }
            let mut groups = RecordGroups::default();
            assert_eq!(build.inserts_into(&mut groups, 0, usize::MAX).unwrap(), None);
            if !groups.is_empty() {
                spilled.inserts.push_back(groups);
            }
        }
        MergeEngine::spilled(Box::new(spilled), fold, DeletedRows::LeftOut)
    }

    /// The state of a key: `None` without records, else the row, or `None` if it is deleted.
    type State = Option<Option<Row>>;

    fn newest(older: State, (row, deleted): Record) -> State {
        let stays = matches!(older, Some(Some(old)) if old.1 > row.1);
        if stays { older } else { Some((!deleted).then_some(row)) }
    }

    fn summed(older: State, (row, deleted): Record) -> State {
        let sum = older.flatten().map_or(row, |old| (row.0, row.1, old.2 + row.2));
        Some((!deleted).then_some(sum))
    }

    /// One row at a time. `newer` merges a record with what came before; of base rows as well, where `over_base` says
    /// so.
    fn naive(
        base: &[Vec<Row>],
        log: &[Vec<Record>],
        newer: fn(State, Record) -> State,
        over_base: fn(Row, State) -> Option<Row>,
    ) -> (BTreeMap<u8, Row>, MergeCounts) {
        let mut states: BTreeMap<u8, State> = BTreeMap::new();
        for record in log.iter().flatten() {
            let state = states.entry(record.0.0).or_default();
            *state = newer(*state, *record);
        }
        let (mut merged, mut counts) = (BTreeMap::new(), MergeCounts::default());
        for row in base.iter().flatten() {
            counts.base_rows += 1;
            let Some(state) = states.remove(&row.0) else {
                merged.insert(row.0, *row);
                continue;
            };
            match over_base(*row, state) {
                Some(after) => {
                    counts.updates += u64::from(after != *row);
                    merged.insert(row.0, after);
                }
                None => counts.deletes += 1,
            }
        }
        for (key, state) in states {
            match state.flatten() {
                Some(row) => {
                    counts.inserts += 1;
                    merged.insert(key, row);
                }
                None => counts.unmatched_deletes += 1,
            }
        }
        (merged, counts)
    }

    fn by_key(rows: Vec<Row>) -> BTreeMap<u8, Row> {
        let count = rows.len();
        let by_key: BTreeMap<u8, Row> = rows.into_iter().map(|row| (row.0, row)).collect();
        assert_eq!(by_key.len(), count, "a key came twice");
        by_key
    }

    /// Base rows of distinct keys in batches, and log records whose values tell them apart. Deletes are later than all
    /// rows before them, so that event time needs no more than the newest row.
    fn tables() -> impl Strategy<Value = (Vec<Vec<Row>>, Vec<Vec<Record>>)> {
        let base = (proptest::sample::subsequence((0..16_u8).collect::<Vec<_>>(), 0..16), 1..5_usize);
        let base = base.prop_map(|(keys, size)| {
            let rows: Vec<Row> = keys.into_iter().map(|key| (key, i64::from(key % 4), -1 - i64::from(key))).collect();
            rows.chunks(size).map(<[Row]>::to_vec).collect::<Vec<_>>()
        });
        let log = vec(vec((0..24_u8, 0..5_i64, prop::bool::weighted(0.2)), 1..6), 0..5);
        let log = log.prop_map(|log: Vec<Vec<(u8, i64, bool)>>| {
            let mut value = 0;
            let mut record = |(key, time, deleted): (u8, i64, bool)| {
                value += 1;
                ((key, if deleted { 100 + value } else { time }, value), deleted)
            };
            log.into_iter().map(|batch| batch.into_iter().map(&mut record).collect()).collect()
        });
        (base, log)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_winning_record_is_the_row((base, log) in tables()) {
            // A row that is earlier than a delete loses against it.
            let newer = |older: State, record: Record| match older {
                Some(None) => older,
                _ => newest(older, record),
            };
            let over = |row: Row, state: State| match state {
                Some(Some(log)) => Some(if log.1 >= row.1 { log } else { row }),
                _ => None,
            };
            let (expected, counts) = naive(&base, &log, newer, over);
            let mut build = winning();
            add(&mut build, &log);
            let whole = merged(MergeEngine::new(build, None, DeletedRows::LeftOut), &base, &log);
            prop_assert_eq!((by_key(whole.0), whole.1), (expected.clone(), counts));
            let passes = merged(in_passes(winning, None, &base, &log), &base, &log);
            prop_assert_eq!((by_key(passes.0), passes.1), (expected, counts));
        }

        #[test]
        fn the_row_is_folded_of_all_records((base, log) in tables()) {
            let over = |row: Row, state: State| state.flatten().map(|log| (log.0, log.1, log.2 + row.2));
            let (expected, counts) = naive(&base, &log, summed, over);
            let mut build = grouped();
            add(&mut build, &log);
            let whole = merged(MergeEngine::new(build, Some(fold()), DeletedRows::LeftOut), &base, &log);
            prop_assert_eq!((by_key(whole.0), whole.1), (expected.clone(), counts));
            let passes = merged(in_passes(grouped, Some(fold()), &base, &log), &base, &log);
            prop_assert_eq!((by_key(passes.0), passes.1), (expected, counts));
        }
    }

    #[test]
    fn base_rows_keep_their_order_and_inserts_follow() {
        let log = [vec![((9, 1, 1), false), ((2, 5, 2), false)], vec![((7, 1, 3), false), ((4, 5, 4), true)]];
        let base = [vec![(4, 0, -4), (2, 0, -2)], vec![(6, 0, -6)]];
        let mut build = winning();
        add(&mut build, &log);
        let (rows, _) = merged(MergeEngine::new(build, None, DeletedRows::LeftOut), &base, &log);
        assert_eq!(rows, [(2, 5, 2), (6, 0, -6), (9, 1, 1), (7, 1, 3)]);
    }

    #[test]
    fn changes_are_the_rows_before_and_after() {
        let log = [vec![((2, 5, 2), false), ((4, 5, 4), true)]];
        let mut build = winning();
        add(&mut build, &log);
        let mut engine = MergeEngine::new(build, None, DeletedRows::LeftOut);
        let projected = batch(&[(4, 0, -4), (1, 0, -1), (2, 0, -2)]);
        let base = BaseBatch { rows: &projected, projected: &projected, keys: &FirstColumns };
        let mut records = RecordBatches::new(projected.schema(), vec![batch(&[(2, 5, 2), (4, 5, 4)])]);
        let changes = engine.changes(&base, &mut records).unwrap().unwrap();
        assert_eq!(rows(&changes.before), [(4, 0, -4), (2, 0, -2)]);
        assert_eq!((changes.deleted, rows(&changes.after)), (vec![true, false], vec![(2, 5, 2)]));
        assert!(engine.changes(&base, &mut records).unwrap().is_none(), "each key matches once");
    }

    #[test]
    fn record_groups_without_a_fold_are_an_error() {
        let log = [vec![((2, 5, 2), false)]];
        for base in [&[][..], &[(2, 0, 0)]] {
            let mut build = grouped();
            add(&mut build, &log);
            let mut engine = MergeEngine::new(build, None, DeletedRows::LeftOut);
            let projected = batch(base);
            let base = BaseBatch { rows: &projected, projected: &projected, keys: &FirstColumns };
            let mut records = RecordBatches::new(projected.schema(), vec![batch(&[(2, 5, 2)])]);
            let error = engine.merge(&base, &mut records).and_then(|_| engine.inserts(1, &mut records)).unwrap_err();
            assert!(error.to_string().contains("without a fold"), "{error}");
        }
    }
}
