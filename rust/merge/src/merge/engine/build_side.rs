//! The build side of the merge: log records by key.

use bytes::Bytes;

use super::super::base_rows::BaseRows;
use super::super::grouped_records::GroupedRecords;
use super::super::hash_range::HashRange;
use super::super::input::{LogBatch, LogSink};
use super::super::ordering::OrderingColumn;
use super::super::record_groups::RecordGroups;
use super::super::winning_records::WinningRecords;
use mortice_base::error::Result;
use mortice_formats::filter::KeyFilter;

/// Log records by key. Records are added in commit order ([`LogSink`]).
pub enum BuildSide {
    /// The winning record of each key is the row.
    Winning(WinningRecords),
    /// All records of each key: the row is folded from them.
    Grouped(GroupedRecords),
}

impl BuildSide {
    /// Restricts the index to the keys of a hash range, and to as many of them as fit in the budget, in bytes.
    #[must_use]
    pub fn within(self, range: HashRange, budget: usize) -> Self {
        match self {
            Self::Winning(records) => Self::Winning(records.within(range, budget)),
            Self::Grouped(records) => Self::Grouped(records.within(range, budget)),
        }
    }

    /// The hash range that is indexed: all keys of it in the logs are known.
    #[must_use]
    pub const fn hash_range(&self) -> HashRange {
        match self {
            Self::Winning(records) => records.hash_range(),
            Self::Grouped(records) => records.hash_range(),
        }
    }

    /// Has each base row of a key match, not the first alone: as writers merge rows (`HoodieMergeHandle`), not as
    /// readers do.
    #[must_use]
    pub fn matching_every_row(self) -> Self {
        match self {
            Self::Winning(records) => Self::Winning(records.matching_every_row()),
            Self::Grouped(records) => Self::Grouped(records.matching_every_row()),
        }
    }

    /// The keys that several base rows have matched, once for each row after the first.
    pub fn keys_matched_again(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        match self {
            Self::Winning(records) => Box::new(records.keys_matched_again()),
            Self::Grouped(records) => Box::new(records.keys_matched_again()),
        }
    }

    /// Returns true if a further base row may match.
    #[must_use]
    pub fn may_match(&self) -> bool {
        match self {
            Self::Winning(records) => records.may_match(),
            Self::Grouped(records) => records.may_match(),
        }
    }

    /// Marks what these base rows match as matched. Another part of the slice merges them.
    ///
    /// # Errors
    /// `Internal` if the base rows are given by position and the log records are not.
    pub fn skip_base(&mut self, rows: &BaseRows) -> Result<()> {
        match self {
            Self::Winning(records) => records.skip_base(rows),
            Self::Grouped(records) => records.skip_base(rows),
        }
    }

    /// Leaves unmatched keys outside a hash range to other parts of the slice: they are not inserted here.
    pub fn restrict_inserts(&mut self, share: HashRange) {
        match self {
            Self::Winning(records) => records.restrict_inserts(share),
            Self::Grouped(records) => records.restrict_inserts(share),
        }
    }

    /// Probes base rows, and copies to `groups` the records that each matches, under the number of the row. `first` is
    /// the number of the first row. For passes that spill them.
    ///
    /// # Errors
    /// As [`BuildSide::skip_base`].
    pub fn probe_into(
        &mut self,
        groups: &mut RecordGroups,
        rows: &BaseRows,
        ordering: &OrderingColumn,
        first: u64,
    ) -> Result<()> {
        let number = |row: usize| first.saturating_add(row as u64);
        match self {
            Self::Winning(records) => {
                let mut outcomes = records.probe(rows, ordering)?.into_iter();
                outcomes.try_for_each(|(row, outcome)| groups.add_outcome(number(row), outcome))
            }
            Self::Grouped(records) => {
                let matched = records.probe(rows)?;
                records.copy_to(groups, matched.into_iter().map(|(row, entry)| (number(row), entry)))
            }
        }
    }

    /// Copies to `groups` the records of keys that no base row has matched: at most `limit` keys, from entry `from` on.
    /// Returns the entry to continue at (`None` at the end). For passes that spill them.
    ///
    /// # Errors
    /// `Internal` if a key has no records.
    pub fn inserts_into(&self, groups: &mut RecordGroups, from: usize, limit: usize) -> Result<Option<usize>> {
        match self {
            Self::Winning(records) => {
                let (outcomes, next) = records.inserts(from, limit);
                (0..).zip(outcomes).try_for_each(|(number, outcome)| groups.add_outcome(number, outcome))?;
                Ok(next)
            }
            Self::Grouped(records) => {
                let (entries, next) = records.inserts(from, limit);
                records.copy_to(groups, (0..).zip(entries))?;
                Ok(next)
            }
        }
    }
}

impl LogSink for BuildSide {
    fn add_source(&mut self, bytes: Bytes) -> Result<u32> {
        match self {
            Self::Winning(records) => records.add_source(bytes),
            Self::Grouped(records) => records.add_source(bytes),
        }
    }

    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()> {
        match self {
            Self::Winning(records) => records.add(source, batch),
            Self::Grouped(records) => records.add(source, batch),
        }
    }

    fn wanted(&self) -> &KeyFilter {
        match self {
            Self::Winning(records) => records.wanted(),
            Self::Grouped(records) => records.wanted(),
        }
    }
}
