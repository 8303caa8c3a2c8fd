//! The trait of all columns, and what all have in common: the tag of a union before the value, and the null mask.
//!
//! A column is asked for a group of lanes, a run of items or a single value, never for one value through a table of
//! functions in a loop; the loops are written once here and compiled for each column.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::super::lanes::{LaneRanges, Lanes, PeekValue, SlotSource};
use super::super::plan::UnionTags;
use super::validity::BitBuffer;
use mortice_base::error::Result;

/// A column being filled. Every call appends exactly the rows that it is asked for, or fails; a column that has failed
/// is good for nothing but to be dropped.
pub(in super::super) trait Column: Send {
    /// A row from each lane, null where the lane is not active.
    fn group(&mut self, lanes: &mut Lanes<'_>) -> Result<()>;
    /// A row for each of `count` values that follow each other.
    fn run(&mut self, lane: &mut Lane<'_>, count: usize) -> Result<()>;
    /// Null rows.
    fn nulls(&mut self, count: usize);
    /// Makes room for rows to come.
    fn reserve(&mut self, rows: usize);
    /// The rows so far; the column is empty afterwards.
    fn finish(&mut self) -> Result<ArrayRef>;
}

/// The values of a column, without union and null mask.
pub(super) trait ColumnValues: Send {
    /// Reads and appends a value.
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()>;

    /// Appends the placeholder for the value of a null row.
    fn absent(&mut self);

    /// A value from each lane that has one, [`ColumnValues::absent`] for the others; a bit for each lane that has one.
    fn values(&mut self, tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let there = read_tags(tags, lanes)?;
        one_by_one(self, there, lanes)?;
        Ok(there)
    }

    /// Makes room for values to come.
    fn reserve(&mut self, rows: usize);

    /// The values so far, as an array of the type given.
    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef>;
}

/// Values with the union around them and their null mask.
pub(super) struct TaggedColumn<V> {
    values: V,
    tags: UnionTags,
    valid: BitBuffer,
    data_type: DataType,
}

impl<V: ColumnValues> TaggedColumn<V> {
    pub(super) fn new(values: V, tags: UnionTags, data_type: DataType) -> Self {
        Self { values, tags, valid: BitBuffer::default(), data_type }
    }
}

impl<V: ColumnValues> Column for TaggedColumn<V> {
    fn group(&mut self, lanes: &mut Lanes<'_>) -> Result<()> {
        let there = self.values.values(self.tags, lanes)?;
        self.valid.push_word(there, lanes.count());
        Ok(())
    }

    fn run(&mut self, lane: &mut Lane<'_>, count: usize) -> Result<()> {
        for _ in 0..count {
            let there = match self.tags {
                UnionTags::Bare => true,
                tags => read_tag(tags, lane)?,
            };
            if there {
                self.values.value(lane)?;
            } else {
                self.values.absent();
            }
            self.valid.push(there);
        }
        Ok(())
    }

    fn nulls(&mut self, count: usize) {
        for _ in 0..count {
            self.values.absent();
        }
        self.valid.push_run(false, count);
    }

    fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
        self.valid.reserve(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.valid.take_nulls();
        self.values.finish(&self.data_type, nulls)
    }
}

/// A value from each lane in `there`, one lane after the other.
pub(super) fn one_by_one<V: ColumnValues + ?Sized>(values: &mut V, there: u64, lanes: &mut Lanes<'_>) -> Result<()> {
    lanes.each(|index, lane| {
        if there >> index & 1 == 1 {
            values.value(lane)
        } else {
            values.absent();
            Ok(())
        }
    })
}

/// Reads the tag in each active lane; a bit for each lane that has a value.
pub(super) fn read_tags(tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
    let active = lanes.active();
    if tags == UnionTags::Bare {
        return Ok(active);
    }
    if let UnionTags::Nullable { null, value } = tags {
        return lanes.tags((null, value));
    }
    let mut there = 0_u64;
    lanes.each(|index, lane| {
        if active >> index & 1 == 1 {
            there |= u64::from(read_tag(tags, lane)?) << index;
        }
        Ok(())
    })?;
    Ok(there)
}

/// Reads the tag, if there is one, and says whether a value follows.
#[inline(always)]
fn read_tag(tags: UnionTags, lane: &mut Lane<'_>) -> Result<bool> {
    match tags {
        UnionTags::Bare => Ok(true),
        UnionTags::Nullable { null, value } => lane.tag(null, value),
        UnionTags::Several { null } => {
            let mut ahead = *lane;
            if null == Some(ahead.byte()?) {
                *lane = ahead;
                return Ok(false);
            }
            Ok(true)
        }
    }
}

/// Fills a slot from each lane that has a value. The two shapes that nearly all columns have are compiled each for
/// itself, with the reading of the value inside the loop; what is left goes the long way.
#[inline(always)]
pub(super) fn fill<S: SlotSource>(
    tags: UnionTags,
    lanes: &mut Lanes<'_>,
    slots: &mut [S::Slot],
    source: &mut S,
) -> Result<u64> {
    match tags {
        UnionTags::Nullable { null, value } => lanes.fill::<true, _>((null, value), slots, source),
        tags => behind_tags(tags, lanes, |lanes| lanes.fill::<false, _>((None, 0), slots, source)),
    }
}

/// The number of groups read by the slow path after one whose values could not be peeked: the next are likely the same.
const LONG_WAY: u8 = 32;

/// Counts groups until fast paths are tried again.
#[derive(Default)]
pub(super) struct FastPathCounter(u8);

impl FastPathCounter {
    /// What a peek gives; none where it is not tried, or fails.
    #[inline(always)]
    pub(super) fn peek<T>(&mut self, peek: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.0 > 0 {
            self.0 -= 1;
            return None;
        }
        let is_read = peek();
        if is_read.is_none() {
            self.0 = LONG_WAY;
        }
        is_read
    }
}

/// Fills a slot from each lane that has a value, if a peek does for all of them; no lane is moved if not.
#[inline(always)]
pub(super) fn peek<S: PeekValue>(
    tags: UnionTags,
    lanes: &mut Lanes<'_>,
    slots: &mut [S::Slot],
    source: &S,
) -> Option<u64> {
    match tags {
        UnionTags::Nullable { null, value } => lanes.peek::<true, _>((null, value), slots, source),
        UnionTags::Bare => lanes.peek::<false, _>((None, 0), slots, source),
        UnionTags::Several { .. } => None,
    }
}

/// Copies short values to `out`, if all are short; no lane is moved if not.
#[inline(always)]
pub(super) fn copy_short(
    tags: UnionTags,
    lanes: &mut Lanes<'_>,
    out: &mut [u8],
    ends: &mut [i32],
    base: i32,
) -> Option<(u64, usize)> {
    match tags {
        UnionTags::Nullable { null, value } => lanes.copy_short::<true>((null, value), out, ends, base),
        UnionTags::Bare => lanes.copy_short::<false>((None, 0), out, ends, base),
        UnionTags::Several { .. } => None,
    }
}

/// Where the values lie that are a length and as many bytes; steps over them.
#[inline(always)]
pub(super) fn spans_of(tags: UnionTags, lanes: &mut Lanes<'_>, spans: &mut LaneRanges) -> Result<u64> {
    match tags {
        UnionTags::Nullable { null, value } => lanes.spans::<true>((null, value), spans),
        tags => behind_tags(tags, lanes, |lanes| lanes.spans::<false>((None, 0), spans)),
    }
}

/// Reads the tags, then the values of the lanes that have one.
#[inline(always)]
fn behind_tags<'a>(
    tags: UnionTags,
    lanes: &mut Lanes<'a>,
    read: impl FnOnce(&mut Lanes<'a>) -> Result<u64>,
) -> Result<u64> {
    let there = read_tags(tags, lanes)?;
    let before = lanes.set_active(there);
    read(lanes)?;
    lanes.set_active(before);
    Ok(there)
}
