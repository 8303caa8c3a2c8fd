//! A build side that keeps one log record of each key: the one that wins over the others.
//!
//! 1. [`LogSink::add`] takes log records in log order and keeps the winning record of each key.
//! 2. [`WinningRecords::probe`] looks up base rows and returns the outcome of each that does not stay. Of several base
//!    rows of a key the first matches, unless [`WinningRecords::matching_every_row`] says otherwise.
//! 3. [`WinningRecords::inserts`] returns the records of keys that no base row has matched.

use bytes::Bytes;

use super::base_rows::BaseRows;
use super::hash_range::HashRange;
use super::input::{LogBatch, LogSink, RowRef};
use super::key_index::{AHEAD, KeyHash, KeyIndex};
use super::ordering::{OrderingColumn, OrderingValue};
use super::outcome::MergeOutcome;
use super::rules::{DeleteState, RecordMergeRules};
use mortice_base::error::{Error, Result};
use mortice_formats::filter::KeyFilter;

/// The winning log record of each key.
pub struct WinningRecords {
    rules: RecordMergeRules,
    index: KeyIndex,
    wanted: KeyFilter,
    deletes_win: bool,
    wins_over_all: bool,
}

impl WinningRecords {
    /// An empty index that merges by these rules.
    #[must_use]
    pub fn new(rules: RecordMergeRules) -> Self {
        Self { rules, index: KeyIndex::default(), wanted: KeyFilter::All, deletes_win: false, wins_over_all: false }
    }

    /// Skips data records whose keys are not wanted. Deletes are never filtered, as in Hudi.
    #[must_use]
    pub fn only(mut self, wanted: KeyFilter) -> Self {
        self.wanted = wanted;
        self
    }

    /// Has a delete win over any base row, for any ordering values: in a change feed, a delete always is a change
    /// (`CDCFileGroupIterator`).
    #[must_use]
    pub const fn deleting(mut self) -> Self {
        self.deletes_win = true;
        self
    }

    /// Restricts the index to the keys of a hash range, and to as many of them as fit in the budget, in bytes.
    #[must_use]
    pub fn within(mut self, range: HashRange, budget: usize) -> Self {
        self.index = KeyIndex::new(range, budget);
        self
    }

    /// The hash range that is indexed: all keys of it in the logs are known.
    #[must_use]
    pub const fn hash_range(&self) -> HashRange {
        self.index.hash_range()
    }

    /// Distinct keys in the logs.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.index.len()
    }

    /// Has each base row of a key match, not the first alone.
    #[must_use]
    pub const fn matching_every_row(mut self) -> Self {
        self.index.match_every_row();
        self
    }

    /// The keys that several base rows have matched, once for each row after the first.
    pub fn keys_matched_again(&self) -> impl Iterator<Item = &[u8]> {
        self.index.keys_matched_again()
    }

    /// Returns true if a further base row may match.
    #[must_use]
    pub const fn may_match(&self) -> bool {
        self.index.may_match()
    }

    /// Returns true if every log record wins over every base row. `greatest` are the `count` greatest ordering values
    /// of base rows; no base row may have a null. From then on [`WinningRecords::probe`] ignores ordering values.
    pub fn win_over_all(&mut self, greatest: &OrderingColumn, count: usize) -> bool {
        let most = (0..count).map(|at| greatest.value(at)).max_by(OrderingValue::compare);
        let wins =
            |most| (0_u32..).map_while(|at| self.index.stored(at)).all(|log| self.rules.wins_over_base(log.side, most));
        self.wins_over_all = most.is_some_and(wins);
        self.wins_over_all
    }

    /// Whether log records win over every base row that they match.
    #[must_use]
    pub const fn wins_over_all(&self) -> bool {
        self.wins_over_all
    }

    /// The base rows that do not stay, in ascending order, with their outcomes. Rows without a key match nothing.
    ///
    /// # Errors
    /// `Internal` if the base rows are given by position and the log records are not.
    pub fn probe(&mut self, rows: &BaseRows, ordering: &OrderingColumn) -> Result<Vec<(usize, MergeOutcome)>> {
        if let Some(values) = ordering.rows().filter(|values| *values as u64 != rows.len()) {
            let message = format_args!("{values} ordering values for {} base rows", rows.len());
            return Err(Error::internal(message));
        }
        let (rules, wins_over_all, deletes_win) = (self.rules, self.wins_over_all, self.deletes_win);
        let mut outcomes = Vec::new();
        self.index.probe(rows, |row, _, log| {
            let is_deleted = log.side.deleted != DeleteState::No;
            let wins = wins_over_all || deletes_win && is_deleted;
            if wins || rules.wins_over_base(log.side, ordering.value(row)) {
                let outcome = if is_deleted { MergeOutcome::Delete(log.row) } else { MergeOutcome::Replace(log.row) };
                outcomes.push((row, outcome));
            }
        })?;
        Ok(outcomes)
    }

    /// Marks what these base rows match as matched. Another part of the slice merges them.
    ///
    /// # Errors
    /// As [`WinningRecords::probe`].
    pub fn skip_base(&mut self, rows: &BaseRows) -> Result<()> {
        self.index.probe(rows, |_, _, _| ())
    }

    /// Leaves unmatched keys outside a hash range to other parts of the slice: they are not inserted here.
    pub fn restrict_inserts(&mut self, share: HashRange) {
        self.index.restrict_inserts(share);
    }

    /// The outcomes of keys that no base row has matched, in order of their first appearance: at most `limit` records
    /// to insert, or deletes, from entry `from` on. Returns also the entry to continue at (`None` at the end).
    #[must_use]
    pub fn inserts(&self, from: usize, limit: usize) -> (Vec<MergeOutcome>, Option<usize>) {
        let mut outcomes = Vec::new();
        let mut at = from;
        while outcomes.len() < limit {
            let Some(stored) = u32::try_from(at).ok().and_then(|index| self.index.stored(index)) else {
                return (outcomes, None);
            };
            if !stored.is_matched {
                outcomes.push(match stored.side.deleted {
                    DeleteState::No => MergeOutcome::Replace(stored.row),
                    _ => MergeOutcome::Delete(stored.row),
                });
            }
            at += 1;
        }
        (outcomes, Some(at))
    }
}

impl LogSink for WinningRecords {
    fn add_source(&mut self, bytes: Bytes) -> Result<u32> {
        self.index.add_source(bytes)
    }

    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()> {
        batch.check()?;
        let mut hashes = [KeyHash::default(); AHEAD];
        for (row, at) in batch.places.iter().enumerate() {
            if row.is_multiple_of(AHEAD) {
                hashes = batch.look_ahead(source, row, &self.index);
            }
            // The remainder is below the array's length: the compiler drops the check.
            #[allow(clippy::indexing_slicing)]
            let hash = hashes[row % AHEAD];
            let at = RowRef { source, at: *at };
            // Another pass or part has its key.
            let Some(newer) = batch.incoming(at, row, hash, &self.index, &self.wanted)? else { continue };
            if let Some(stored) = newer.found.and_then(|index| self.index.stored(index))
                && !self.rules.replaces(batch.kind, newer.side, stored.side)
            {
                continue;
            }
            if newer.found.is_none() {
                while !self.index.has_room(|| 0) {
                    self.index.narrow(|_, _| {})?;
                }
                if !self.index.holds(newer.hash) {
                    continue;
                }
            }
            self.index.store(newer.found, newer.hash, newer.row, newer.place, newer.side)?;
        }
        Ok(())
    }

    fn wanted(&self) -> &KeyFilter {
        &self.wanted
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{BooleanArray, StringArray, UInt64Array};

    use super::*;
    use crate::merge::LogKind;

    const EVENT: RecordMergeRules = RecordMergeRules::EventTime { int_ordering: false };

    /// A history: (key, ordering or none for unordered, is a delete) of each log record.
    fn records(rules: RecordMergeRules, history: &[(&str, Option<i64>, Option<LogKind>)]) -> WinningRecords {
        let mut records = WinningRecords::new(rules);
        for (key, ordering, deleted_by) in history {
            let source = records.add_source(Bytes::copy_from_slice(key.as_bytes())).unwrap();
            let ordering = ordering.map_or(OrderingColumn::Unordered, |value| OrderingColumn::Fixed(vec![value], None));
            let deleted = deleted_by.map(|_| BooleanArray::from(vec![true]));
            let batch = LogBatch {
                kind: deleted_by.unwrap_or(LogKind::Data),
                keys: &UInt64Array::from(vec![key.len() as u64]),
                ordering: &ordering,
                deleted: deleted.as_ref(),
                places: &[0],
            };
            records.add(source, &batch).unwrap();
        }
        records
    }

    fn outcome(records: &mut WinningRecords, key: &str, ordering: i64) -> MergeOutcome {
        let keys = StringArray::from(vec![key]);
        let outcomes = records.probe(&BaseRows::Keys(keys), &OrderingColumn::Fixed(vec![ordering], None)).unwrap();
        outcomes.first().map_or(MergeOutcome::Keep, |(_, outcome)| *outcome)
    }

    fn replaced_by(record: u32) -> MergeOutcome {
        MergeOutcome::Replace(RowRef { source: record, at: 0 })
    }

    const DELETE: Option<LogKind> = Some(LogKind::Delete);

    /// The worked examples of Hudi's event-time ordering.
    #[test]
    fn event_time_histories() {
        for (history, base, expected) in [
            (vec![("k", Some(20), None), ("k", Some(15), None)], 10, replaced_by(0)),
            (vec![("k", Some(5), None)], 10, MergeOutcome::Keep),
            (vec![("k", Some(20), None)], 20, replaced_by(0)),
            // An unordered delete is forgotten once a later record comes: the base row returns.
            (vec![("k", None, DELETE), ("k", Some(5), None)], 10, MergeOutcome::Keep),
            (
                vec![("k", Some(20), DELETE), ("k", Some(15), None)],
                10,
                MergeOutcome::Delete(RowRef { source: 0, at: 0 }),
            ),
            (vec![("k", Some(5), DELETE)], 10, MergeOutcome::Keep),
            (vec![("k", None, DELETE), ("k", Some(99), DELETE), ("k", Some(5), None)], 1, replaced_by(2)),
        ] {
            assert_eq!(outcome(&mut records(EVENT, &history), "k", base), expected, "{history:?}");
        }
    }

    #[test]
    fn a_delete_that_is_a_change_deletes_however_late_it_is() {
        for (history, expected) in [
            (vec![("k", Some(5), DELETE)], MergeOutcome::Delete(RowRef { source: 0, at: 0 })),
            (vec![("k", Some(5), None)], MergeOutcome::Keep),
            (vec![("k", Some(5), DELETE), ("k", Some(6), None)], MergeOutcome::Keep),
        ] {
            assert_eq!(outcome(&mut records(EVENT, &history).deleting(), "k", 10), expected, "{history:?}");
        }
    }

    #[test]
    fn commit_time_takes_the_last() {
        let history = [("k", Some(20), None), ("k", Some(15), None)];
        assert_eq!(outcome(&mut records(RecordMergeRules::CommitTime, &history), "k", 99), replaced_by(1));
    }

    #[test]
    fn the_first_of_repeated_base_keys_takes_the_log_record() {
        let mut records = records(EVENT, &[("k", Some(20), None)]);
        let keys = BaseRows::Keys(vec!["k", "k"].into());
        let outcomes = records.probe(&keys, &OrderingColumn::Fixed(vec![1, 1], None)).unwrap();
        assert_eq!(outcomes, [(0, replaced_by(0))]);
        assert!(!records.may_match());
    }

    #[test]
    fn log_records_win_over_all_base_rows_where_each_does() {
        let most = |values: &[i64]| OrderingColumn::Fixed(values.to_vec(), None);
        for (history, greatest, wins) in [
            (vec![("k", Some(20), None), ("l", Some(21), None)], vec![7, 20], true),
            (vec![("k", Some(20), None), ("l", Some(21), None)], vec![21, 20], false),
            (vec![("k", Some(20), DELETE), ("l", None, DELETE)], vec![20], true),
            (vec![("k", None, None)], vec![20], false),
            (vec![("k", Some(1), None), ("k", Some(20), None)], vec![20], true),
            (vec![("k", Some(20), None)], vec![], false),
        ] {
            let mut records = records(EVENT, &history);
            assert_eq!(records.win_over_all(&most(&greatest), greatest.len()), wins, "{history:?} {greatest:?}");
            // From then on the ordering values of base rows are ignored.
            assert_eq!(outcome(&mut records, "k", i64::MAX) != MergeOutcome::Keep, wins, "{history:?} {greatest:?}");
        }
    }

    #[test]
    fn inserts_are_what_the_base_did_not_have() {
        let history = [
            ("b", Some(1), None),
            ("a", Some(1), None),
            ("x", Some(1), DELETE),
            ("k", Some(1), None),
            ("b", Some(2), None),
        ];
        let mut records = records(EVENT, &history);
        assert_eq!(outcome(&mut records, "k", 5), MergeOutcome::Keep);
        let (outcomes, next) = records.inserts(0, 1);
        assert_eq!(outcomes, [replaced_by(4)]);
        let (outcomes, next) = records.inserts(next.unwrap(), 10);
        assert_eq!((outcomes, next), (vec![replaced_by(1), MergeOutcome::Delete(RowRef { source: 2, at: 0 })], None));
    }

    #[test]
    fn keys_that_share_bytes_are_distinguished() {
        let history: Vec<(String, Option<i64>, Option<LogKind>)> =
            (0..5000).map(|n| (format!("key-{n}"), Some(n), None)).collect();
        let history: Vec<_> = history.iter().map(|(key, ordering, kind)| (key.as_str(), *ordering, *kind)).collect();
        let mut records = records(EVENT, &history);
        assert_eq!(records.keys(), 5000);
        for n in (0..5000).step_by(7) {
            assert_eq!(outcome(&mut records, &format!("key-{n}"), 0), replaced_by(n));
        }
        assert_eq!(outcome(&mut records, "key-", 0), MergeOutcome::Keep);
    }
}
