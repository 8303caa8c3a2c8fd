//! The trait of all columns, and what all have in common: the tag of a union before the value, and the null mask.
//!
//! A column is asked for a group of lanes, a run of items or a single value, never for one value through a table of functions in
//! a loop; the loops are written once here and compiled for each column.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::{LANES, Lane, Lanes, Source};
use super::super::plan::Tags;
use super::validity::Bits;
use crate::error::Result;

/// A column being filled. Every call appends exactly the rows that it is asked for, or fails; a column that has failed is
/// good for nothing but to be dropped.
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
pub(super) trait Values: Send {
    /// Reads and appends a value.
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()>;

    /// Appends what stands in for a value in a null row.
    fn absent(&mut self);

    /// A value from each lane that has one, [`Values::absent`] for the others; a bit for each lane that has one.
    fn values(&mut self, tags: Tags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let there = read_tags(tags, lanes)?;
        lanes.each(|index, lane| {
            if there >> index & 1 == 1 {
                self.value(lane)
            } else {
                self.absent();
                Ok(())
            }
        })?;
        Ok(there)
    }

    /// Makes room for values to come.
    fn reserve(&mut self, rows: usize);

    /// The values so far, as an array of the type given.
    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef>;
}

/// Values with the union around them and their null mask.
pub(super) struct Tagged<V> {
    values: V,
    tags: Tags,
    valid: Bits,
    data_type: DataType,
}

impl<V: Values> Tagged<V> {
    pub(super) fn new(values: V, tags: Tags, data_type: DataType) -> Self {
        Self { values, tags, valid: Bits::default(), data_type }
    }
}

impl<V: Values> Column for Tagged<V> {
    fn group(&mut self, lanes: &mut Lanes<'_>) -> Result<()> {
        let there = self.values.values(self.tags, lanes)?;
        self.valid.push_word(there, lanes.count());
        Ok(())
    }

    fn run(&mut self, lane: &mut Lane<'_>, count: usize) -> Result<()> {
        for _ in 0..count {
            let there = match self.tags {
                Tags::Bare => true,
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

/// Reads the tag in each active lane; a bit for each lane that has a value.
pub(super) fn read_tags(tags: Tags, lanes: &mut Lanes<'_>) -> Result<u64> {
    let active = lanes.active();
    if tags == Tags::Bare {
        return Ok(active);
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
fn read_tag(tags: Tags, lane: &mut Lane<'_>) -> Result<bool> {
    match tags {
        Tags::Bare => Ok(true),
        Tags::Nullable { null, value } => lane.tag(null, value),
        Tags::Several { null } => {
            let mut ahead = *lane;
            if null == Some(ahead.byte()?) {
                *lane = ahead;
                return Ok(false);
            }
            Ok(true)
        }
    }
}

/// Fills a slot from each lane that has a value. The two shapes that nearly all columns have are compiled each for itself, with
/// the reading of the value inside the loop; what is left goes the long way.
#[inline(always)]
pub(super) fn fill<S: Source>(
    tags: Tags,
    lanes: &mut Lanes<'_>,
    slots: &mut [S::Slot; LANES],
    mut source: S,
) -> Result<u64> {
    match tags {
        Tags::Nullable { null, value } => lanes.fill::<true, _>((null, value), slots, &mut source),
        tags => {
            let there = read_tags(tags, lanes)?;
            let before = lanes.set_active(there);
            lanes.fill::<false, _>((None, 0), slots, &mut source)?;
            lanes.set_active(before);
            Ok(there)
        }
    }
}
