//! The merge of one file slice: all log records first, then the base rows batch by batch, then what remains.
//!
//! 1. [`LogSink::add`] takes log records in log order and keeps the latest of each key.
//! 2. [`Merger::merge_base`] tells each base row's fate. The first base row of a key uses the log record up.
//! 3. [`Merger::inserts`] gives the log rows whose keys no base row had.

use bytes::Bytes;

use super::base_rows::BaseRows;
use super::input::{LogBatch, LogSink, RowRef};
use super::key_index::{AHEAD, KeyHash, KeyIndex};
use super::key_part::KeyPart;
use super::ordering::{OrderingColumn, OrderingValue};
use super::rules::{Deleted, Rules};
use crate::error::{Error, Result};
use crate::filter::KeyFilter;

/// What becomes of a base row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Keep,
    /// A log row takes its place.
    Replace(RowRef),
    /// It is deleted, by this log record.
    Delete(RowRef),
}

/// Merges the log records and base rows of one file slice.
pub struct Merger {
    rules: Rules,
    index: KeyIndex,
    wanted: KeyFilter,
    deletes_win: bool,
    wins_over_all: bool,
}

impl Merger {
    /// An empty merge by the rules of a table.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self { rules, index: KeyIndex::default(), wanted: KeyFilter::All, deletes_win: false, wins_over_all: false }
    }

    /// Passes over data records of keys that are not wanted. Deletes are never filtered, as in Hudi.
    #[must_use]
    pub fn only(mut self, wanted: KeyFilter) -> Self {
        self.wanted = wanted;
        self
    }

    /// Deletes whatever base row a delete meets, however late it is: as a change, a delete is one (`CDCFileGroupIterator`).
    #[must_use]
    pub const fn deleting(mut self) -> Self {
        self.deletes_win = true;
        self
    }

    /// For the keys of a part, or as many of it as the budget, in bytes, has room for.
    #[must_use]
    pub fn within(mut self, part: KeyPart, budget: usize) -> Self {
        self.index = KeyIndex::of(part, budget);
        self
    }

    /// The keys that it knows of: all that the logs hold of this part.
    #[must_use]
    pub fn part(&self) -> KeyPart {
        self.index.part()
    }

    /// Distinct keys in the logs.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.index.len()
    }

    /// Whether there is a log record that no base row has used up.
    #[must_use]
    pub fn has_open_keys(&self) -> bool {
        self.index.open() > 0
    }

    /// Told of base rows the greatest ordering values, none of which is null: whether every log record wins over any of them. Then
    /// [`Merger::merge_base`] looks at their values no more.
    pub fn win_over_all(&mut self, greatest: &OrderingColumn, count: usize) -> bool {
        let most = (0..count).map(|at| greatest.value(at)).max_by(OrderingValue::compare);
        let wins =
            |most| (0_u32..).map_while(|at| self.index.stored(at)).all(|log| self.rules.wins_over_base(log.side, most));
        self.wins_over_all = most.is_some_and(wins);
        self.wins_over_all
    }

    /// Whether log records win over whatever base row they meet.
    #[must_use]
    pub const fn wins_over_all(&self) -> bool {
        self.wins_over_all
    }

    /// The base rows that do not stay, ascending, and their fates. A row without a key stays: no log record is its.
    ///
    /// # Errors
    /// `Internal` if the base rows come by position and the log records do not.
    pub fn merge_base(&mut self, rows: &BaseRows, ordering: &OrderingColumn) -> Result<Vec<(usize, Fate)>> {
        if let Some(values) = ordering.rows().filter(|values| *values as u64 != rows.len()) {
            let message = format_args!("{values} ordering values for {} base rows", rows.len());
            return Err(Error::internal(message));
        }
        let (rules, wins_over_all, deletes_win) = (self.rules, self.wins_over_all, self.deletes_win);
        let mut fates = Vec::new();
        self.index.meet(rows, |row, _, log| {
            let is_deleted = log.side.deleted != Deleted::No;
            let wins = wins_over_all || deletes_win && is_deleted;
            if wins || rules.wins_over_base(log.side, ordering.value(row)) {
                fates.push((row, if is_deleted { Fate::Delete(log.row) } else { Fate::Replace(log.row) }));
            }
        })?;
        Ok(fates)
    }

    /// Base rows that others read: what they meet is used up.
    ///
    /// # Errors
    /// As [`Merger::merge_base`].
    pub fn pass_over(&mut self, rows: &BaseRows) -> Result<()> {
        self.index.meet(rows, |_, _, _| ())
    }

    /// Of the keys that no base row has met, those that are not of a share of all keys are others'.
    pub fn leave_to_others(&mut self, share: KeyPart) {
        self.index.leave_to_others(share);
    }

    /// What becomes of keys that no base row has met, in order of their first appearance: at most `limit` rows to insert, or
    /// deletes, from entry `from` on, and the entry to go on from (none at the end).
    #[must_use]
    pub fn inserts(&self, from: usize, limit: usize) -> (Vec<Fate>, Option<usize>) {
        let mut rows = Vec::new();
        let mut at = from;
        while rows.len() < limit {
            let Some(stored) = u32::try_from(at).ok().and_then(|index| self.index.stored(index)) else {
                return (rows, None);
            };
            if !stored.taken {
                rows.push(match stored.side.deleted {
                    Deleted::No => Fate::Replace(stored.row),
                    _ => Fate::Delete(stored.row),
                });
            }
            at += 1;
        }
        (rows, Some(at))
    }
}

impl LogSink for Merger {
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

    const EVENT: Rules = Rules::EventTime { int_ordering: false };

    /// A history: (key, ordering or none for unordered, is a delete) of each log record.
    fn merger(rules: Rules, records: &[(&str, Option<i64>, Option<LogKind>)]) -> Merger {
        let mut merger = Merger::new(rules);
        for (key, ordering, deleted_by) in records {
            let source = merger.add_source(Bytes::copy_from_slice(key.as_bytes())).unwrap();
            let ordering = ordering.map_or(OrderingColumn::Unordered, |value| OrderingColumn::Fixed(vec![value], None));
            let deleted = deleted_by.map(|_| BooleanArray::from(vec![true]));
            let batch = LogBatch {
                kind: deleted_by.unwrap_or(LogKind::Data),
                keys: &UInt64Array::from(vec![key.len() as u64]),
                ordering: &ordering,
                deleted: deleted.as_ref(),
                places: &[0],
            };
            merger.add(source, &batch).unwrap();
        }
        merger
    }

    fn fate(merger: &mut Merger, key: &str, ordering: i64) -> Fate {
        let keys = StringArray::from(vec![key]);
        let fates = merger.merge_base(&BaseRows::Keys(keys), &OrderingColumn::Fixed(vec![ordering], None)).unwrap();
        fates.first().map_or(Fate::Keep, |(_, fate)| *fate)
    }

    fn replaced_by(record: u32) -> Fate {
        Fate::Replace(RowRef { source: record, at: 0 })
    }

    const DELETE: Option<LogKind> = Some(LogKind::Delete);

    /// The worked examples of Hudi's event-time ordering.
    #[test]
    fn event_time_histories() {
        for (history, base, expected) in [
            (vec![("k", Some(20), None), ("k", Some(15), None)], 10, replaced_by(0)),
            (vec![("k", Some(5), None)], 10, Fate::Keep),
            (vec![("k", Some(20), None)], 20, replaced_by(0)),
            // An unordered delete is forgotten once a later record comes: the base row returns.
            (vec![("k", None, DELETE), ("k", Some(5), None)], 10, Fate::Keep),
            (vec![("k", Some(20), DELETE), ("k", Some(15), None)], 10, Fate::Delete(RowRef { source: 0, at: 0 })),
            (vec![("k", Some(5), DELETE)], 10, Fate::Keep),
            (vec![("k", None, DELETE), ("k", Some(99), DELETE), ("k", Some(5), None)], 1, replaced_by(2)),
        ] {
            assert_eq!(fate(&mut merger(EVENT, &history), "k", base), expected, "{history:?}");
        }
    }

    #[test]
    fn a_delete_that_is_a_change_deletes_however_late_it_is() {
        for (history, expected) in [
            (vec![("k", Some(5), DELETE)], Fate::Delete(RowRef { source: 0, at: 0 })),
            (vec![("k", Some(5), None)], Fate::Keep),
            (vec![("k", Some(5), DELETE), ("k", Some(6), None)], Fate::Keep),
        ] {
            assert_eq!(fate(&mut merger(EVENT, &history).deleting(), "k", 10), expected, "{history:?}");
        }
    }

    #[test]
    fn commit_time_takes_the_last() {
        let history = [("k", Some(20), None), ("k", Some(15), None)];
        assert_eq!(fate(&mut merger(Rules::CommitTime, &history), "k", 99), replaced_by(1));
    }

    #[test]
    fn the_first_of_repeated_base_keys_takes_the_log_record() {
        let mut merger = merger(EVENT, &[("k", Some(20), None)]);
        let keys = BaseRows::Keys(vec!["k", "k"].into());
        let fates = merger.merge_base(&keys, &OrderingColumn::Fixed(vec![1, 1], None)).unwrap();
        assert_eq!(fates, [(0, replaced_by(0))]);
        assert!(!merger.has_open_keys());
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
            let mut merger = merger(EVENT, &history);
            assert_eq!(merger.win_over_all(&most(&greatest), greatest.len()), wins, "{history:?} {greatest:?}");
            // From then on base rows are not asked.
            assert_eq!(fate(&mut merger, "k", i64::MAX) != Fate::Keep, wins, "{history:?} {greatest:?}");
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
        let mut merger = merger(EVENT, &history);
        assert_eq!(fate(&mut merger, "k", 5), Fate::Keep);
        let (fates, next) = merger.inserts(0, 1);
        assert_eq!(fates, [replaced_by(4)]);
        let (fates, next) = merger.inserts(next.unwrap(), 10);
        assert_eq!((fates, next), (vec![replaced_by(1), Fate::Delete(RowRef { source: 2, at: 0 })], None));
    }

    #[test]
    fn keys_that_share_bytes_are_told_apart() {
        let history: Vec<(String, Option<i64>, Option<LogKind>)> =
            (0..5000).map(|n| (format!("key-{n}"), Some(n), None)).collect();
        let history: Vec<_> = history.iter().map(|(key, ordering, kind)| (key.as_str(), *ordering, *kind)).collect();
        let mut merger = merger(EVENT, &history);
        assert_eq!(merger.keys(), 5000);
        for n in (0..5000).step_by(7) {
            assert_eq!(fate(&mut merger, &format!("key-{n}"), 0), replaced_by(n));
        }
        assert_eq!(fate(&mut merger, "key-", 0), Fate::Keep);
    }
}
