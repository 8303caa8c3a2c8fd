//! Record groups: all log records of each of some keys, oldest first, copied out of the index. They are folded, or
//! spilled until their base rows are read.
//!
//! As a batch, there is a row for each record, and the records of a group are consecutive:
//!
//! | column | what |
//! |---|---|
//! | `key` | the number of the group, ascending: of the base row that matches, or an ordinal |
//! | `source`, `at` | the record ([`RowRef`]) |
//! | `deleted` | 1: a delete by its row, 2: by a delete block, 3: by a delete block, with an ordering value of another class |
//! | `fixed`, `wide`, `bytes` | the ordering value, in one of the three; null for the default |

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, Int64Array, RecordBatch, UInt8Array, UInt32Array, UInt64Array,
};

use super::input::RowRef;
use super::ordering::OrderingValue;
use super::orderings::{OrderingFlags, OrderingValues};
use super::outcome::MergeOutcome;
use super::rules::{DeleteState, MergeSide};
use mortice_base::error::{Error, Result};

/// Log records by key.
#[derive(Default)]
pub struct RecordGroups {
    /// Of each group its number, and where its records end.
    keys: Vec<(u64, usize)>,
    records: Vec<HeldRecord>,
    orderings: OrderingValues,
}

#[derive(Debug, Clone, Copy)]
struct HeldRecord {
    row: RowRef,
    deleted: DeleteState,
    kept: OrderingFlags,
}

impl HeldRecord {
    const fn code(self) -> u8 {
        match (self.deleted, self.kept.is_foreign) {
            (DeleteState::No | DeleteState::Flagged, _) => 0,
            (DeleteState::ByRow, _) => 1,
            (DeleteState::ByBlock, false) => 2,
            (DeleteState::ByBlock, true) => 3,
        }
    }
}

/// A record of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupRecord<'a> {
    pub(super) row: RowRef,
    pub(super) side: MergeSide<'a>,
}

impl RecordGroups {
    /// The number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if there is no group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The numbers of the groups.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.keys.iter().map(|(number, _)| *number)
    }

    /// Adds a group: the records of a key, oldest first.
    pub(super) fn add<'a>(&mut self, number: u64, records: impl IntoIterator<Item = GroupRecord<'a>>) -> Result<()> {
        let first = self.records.len();
        for GroupRecord { row, side } in records {
            self.orderings.set(self.records.len(), side.ordering)?;
            self.records.push(HeldRecord { row, deleted: side.deleted, kept: OrderingFlags::from_side(side) });
        }
        if self.records.len() == first {
            return Err(Error::internal(format_args!("key {number} has no records")));
        }
        self.keys.push((number, self.records.len()));
        Ok(())
    }

    /// Adds a group of one record: the outcome of a key whose winning record is known.
    ///
    /// # Errors
    /// As [`RecordGroups::add`].
    pub fn add_outcome(&mut self, number: u64, outcome: MergeOutcome) -> Result<()> {
        let (row, deleted) = match outcome {
            MergeOutcome::Keep => return Ok(()),
            MergeOutcome::Replace(row) => (row, DeleteState::No),
            MergeOutcome::Delete(row) => (row, DeleteState::ByRow),
        };
        self.add(
            number,
            [GroupRecord { row, side: MergeSide { ordering: OrderingValue::Default, is_foreign: false, deleted } }],
        )
    }

    /// The inverse of [`RecordGroups::add_outcome`]: of each group its number and the outcome.
    ///
    /// # Errors
    /// `Internal` if a key has no records.
    pub fn outcomes(&self) -> impl Iterator<Item = Result<(u64, MergeOutcome)>> + '_ {
        self.keys.iter().map(|(number, end)| {
            let last = end.checked_sub(1).and_then(|last| self.records.get(last));
            let last = last.ok_or_else(|| Error::internal(format_args!("key {number} has no records")))?;
            Ok((
                *number,
                if last.deleted == DeleteState::No {
                    MergeOutcome::Replace(last.row)
                } else {
                    MergeOutcome::Delete(last.row)
                },
            ))
        })
    }

    /// The records of all groups: those of a group are consecutive, oldest first.
    pub(super) fn records(&self) -> impl ExactSizeIterator<Item = GroupRecord<'_>> {
        self.records.iter().enumerate().map(|(at, held)| self.record(at, held))
    }

    /// Of each group, where its records are among [`RecordGroups::records`].
    pub(super) fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        let mut first = 0;
        self.keys.iter().map(move |(_, end)| std::mem::replace(&mut first, *end)..*end)
    }

    fn record(&self, at: usize, held: &HeldRecord) -> GroupRecord<'_> {
        let ordering = self.orderings.get(at, held.kept);
        GroupRecord {
            row: held.row,
            side: MergeSide { ordering, is_foreign: held.kept.is_foreign, deleted: held.deleted },
        }
    }

    /// Adds the groups of another whose numbers are below `end`, from the `from`-th on. Returns the ordinal of the
    /// group to continue at.
    ///
    /// # Errors
    /// As [`RecordGroups::add`].
    pub fn take_until(&mut self, other: &Self, from: usize, end: u64) -> Result<usize> {
        let mut first = match from.checked_sub(1).and_then(|before| other.keys.get(before)) {
            Some((_, end)) => *end,
            None => 0,
        };
        let mut key = from;
        while let Some((number, last)) = other.keys.get(key).filter(|(number, _)| *number < end) {
            let records = other.records.iter().enumerate().take(*last).skip(first);
            self.add(*number, records.map(|(at, held)| other.record(at, held)))?;
            first = *last;
            key += 1;
        }
        Ok(key)
    }

    /// Adds so many groups of another, from the `from`-th on. Returns the ordinal of the group to continue at.
    pub(super) fn take_some(&mut self, other: &Self, from: usize, count: usize) -> Result<usize> {
        let next = from.saturating_add(count).min(other.len());
        match other.keys.get(next) {
            Some((number, _)) => self.take_until(other, from, *number),
            None => self.take_until(other, from, u64::MAX),
        }
    }

    /// Converts to a batch.
    pub fn to_batch(&self) -> Result<RecordBatch> {
        let mut numbers = Vec::with_capacity(self.records.len());
        for (number, end) in &self.keys {
            numbers.resize(*end, *number);
        }
        let all = || self.records().map(|record| record.side.ordering);
        let fixed = all().map(|value| if let OrderingValue::Fixed(value) = value { Some(value) } else { None });
        let wide = all().map(|value| if let OrderingValue::Wide(value) = value { Some(value) } else { None });
        let bytes = all().map(|value| if let OrderingValue::Bytes(value) = value { Some(value) } else { None });
        let columns: [(&str, ArrayRef); 7] = [
            ("key", Arc::new(UInt64Array::from(numbers))),
            ("source", Arc::new(self.records.iter().map(|held| held.row.source).collect::<UInt32Array>())),
            ("at", Arc::new(self.records.iter().map(|held| held.row.at).collect::<UInt32Array>())),
            ("deleted", Arc::new(self.records.iter().map(|held| held.code()).collect::<UInt8Array>())),
            ("fixed", Arc::new(fixed.collect::<Int64Array>())),
            // Integers of up to 128 bits; the precision is not used, since they are only stored.
            ("wide", Arc::new(wide.collect::<Decimal128Array>())),
            ("bytes", Arc::new(bytes.collect::<BinaryArray>())),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
            .map_err(|error| Error::internal("record groups that do not fit a batch").caused_by(error))
    }

    /// Converts from a batch of [`RecordGroups::to_batch`].
    pub fn from_batch(batch: &RecordBatch) -> Result<Self> {
        let columns = GroupColumns::from_batch(batch)
            .ok_or_else(|| Error::internal("spilled record groups with other columns"))?;
        let mut groups = Self::default();
        let mut first = 0;
        for same in columns.keys.values().chunk_by(|one, other| one == other) {
            let records = (first..first + same.len()).map(|at| columns.record(at));
            if let Some(number) = same.first() {
                groups.add(*number, records)?;
            }
            first += same.len();
        }
        Ok(groups)
    }
}

struct GroupColumns<'a> {
    keys: &'a UInt64Array,
    sources: &'a UInt32Array,
    ats: &'a UInt32Array,
    deleted: &'a UInt8Array,
    fixed: &'a Int64Array,
    wide: &'a Decimal128Array,
    bytes: &'a BinaryArray,
}

impl<'a> GroupColumns<'a> {
    fn from_batch(batch: &'a RecordBatch) -> Option<Self> {
        let column = |name| batch.column_by_name(name);
        Some(Self {
            keys: column("key")?.as_primitive_opt::<UInt64Type>()?,
            sources: column("source")?.as_primitive_opt::<UInt32Type>()?,
            ats: column("at")?.as_primitive_opt::<UInt32Type>()?,
            deleted: column("deleted")?.as_primitive_opt::<UInt8Type>()?,
            fixed: column("fixed")?.as_primitive_opt::<Int64Type>()?,
            wide: column("wide")?.as_primitive_opt::<Decimal128Type>()?,
            bytes: column("bytes")?.as_binary_opt::<i32>()?,
        })
    }

    fn record(&self, at: usize) -> GroupRecord<'a> {
        let (deleted, is_foreign) = match self.deleted.value(at) {
            0 => (DeleteState::No, false),
            1 => (DeleteState::ByRow, false),
            2 => (DeleteState::ByBlock, false),
            _ => (DeleteState::ByBlock, true),
        };
        let ordering = if self.fixed.is_valid(at) {
            OrderingValue::Fixed(self.fixed.value(at))
        } else if self.wide.is_valid(at) {
            OrderingValue::Wide(self.wide.value(at))
        } else if self.bytes.is_valid(at) {
            OrderingValue::Bytes(self.bytes.value(at))
        } else if is_foreign {
            OrderingValue::Foreign
        } else {
            OrderingValue::Default
        };
        let row = RowRef { source: self.sources.value(at), at: self.ats.value(at) };
        GroupRecord { row, side: MergeSide { ordering, is_foreign, deleted } }
    }
}
