//! Lists and maps: blocks of items in Avro, offsets into a column of items in Arrow.
//!
//! Items have no framing: where one begins is known once the preceding one has been scanned. So the items of sixty-four
//! lists are stepped over first, the first items of all lists, then the second ones, so that no step waits for the one
//! before it; those found are read in lockstep. Long lists, and items that hold lists themselves, are read one after
//! the other; a block of them costs one call.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::super::lanes::{LANES, Lanes};
use super::super::plan::{SkipStep, UnionTags};
use super::super::skip::skip_lane;
use super::column::{Column, ColumnValues, one_by_one, read_tags};
use super::numbers::arrow;
use mortice_base::error::{Error, ErrorKind, Result};

/// What a block holds: items, or entries.
pub(super) trait ItemColumns: Send {
    /// So many items that follow each other.
    fn run(&mut self, lane: &mut Lane<'_>, count: usize) -> Result<()>;
    /// An item from each lane.
    fn group(&mut self, lanes: &mut Lanes<'_>) -> Result<()>;
    fn finish(&mut self, data_type: &DataType, ends: OffsetBuffer<i32>, nulls: Option<NullBuffer>) -> Result<ArrayRef>;
}

/// The most items of no bytes (nulls, records without fields) in a batch: nothing else bounds the memory that they take
/// as rows of the reader's schema, where defaults may fill them.
const MOST_EMPTY: usize = 1 << 20;

/// Lists of items.
pub(super) struct ListColumn<I> {
    items: I,
    least: usize,
    /// The steps over an item, where they may be stepped over first.
    steps: Option<Arc<[SkipStep]>>,
    /// Where the items of sixty-four lists lie.
    places: Vec<(u32, u32)>,
    /// Items so far that took no bytes.
    empty: usize,
    ends: Vec<i32>,
    end: i32,
}

impl<I: ItemColumns> ListColumn<I> {
    /// `least` is the fewest bytes that an item takes, `steps` those over an item.
    pub(super) fn new(items: I, least: usize, steps: Option<Arc<[SkipStep]>>) -> Self {
        Self { items, least, steps, places: Vec::new(), empty: 0, ends: vec![0], end: 0 }
    }

    /// Counts the next block of items; 0 after the last.
    fn block(&mut self, lane: &mut Lane<'_>) -> Result<usize> {
        let (count, _) = lane.block(self.least)?;
        let end = i32::try_from(count).ok().and_then(|count| self.end.checked_add(count));
        self.end = end.ok_or_else(too_many)?;
        Ok(count)
    }

    /// Finds the items of all lanes, then reads them in lockstep. None, and nothing read, where they cannot be found.
    fn together(&mut self, steps: &[SkipStep], there: u64, lanes: &mut Lanes<'_>) -> Option<Result<()>> {
        let (at, count) = (self.ends.len(), lanes.count());
        self.ends.resize(at + count, 0);
        let ends = (self.ends.get_mut(at..)?, self.end);
        let places = &mut self.places;
        let total = match steps {
            [SkipStep::NullableVarint { null }] => {
                lanes.find_items(there, self.least, |lane| lane.skip_nullable_varint(*null), ends, places)
            }
            steps => lanes.find_items(there, self.least, |lane| skip_lane(steps, lane), ends, places),
        };
        let Some(total) = total else {
            self.ends.truncate(at);
            return None;
        };
        self.end = self.ends.last().copied()?;
        Some(self.read(lanes.content, total))
    }

    fn read(&mut self, content: &[u8], total: usize) -> Result<()> {
        let mut lanes = Lanes::new(content);
        let places = self.places.get(..total).ok_or_else(|| Error::internal("fewer list items than were counted"))?;
        for some in places.chunks(LANES) {
            lanes.take(some);
            self.items.group(&mut lanes)?;
            lanes.check_ends()?;
        }
        Ok(())
    }
}

impl<I: ItemColumns> ColumnValues for ListColumn<I> {
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        loop {
            let count = self.block(lane)?;
            if count == 0 {
                self.ends.push(self.end);
                return Ok(());
            }
            if self.least == 0 {
                self.empty += count;
                if self.empty > MOST_EMPTY {
                    return Err(too_many_empty());
                }
            }
            self.items.run(lane, count)?;
        }
    }

    fn absent(&mut self) {
        self.ends.push(self.end);
    }

    fn values(&mut self, tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let there = read_tags(tags, lanes)?;
        if let Some(steps) = self.steps.clone()
            && let Some(outcome) = self.together(&steps, there, lanes)
        {
            return outcome.map(|()| there);
        }
        one_by_one(self, there, lanes)?;
        Ok(there)
    }

    fn reserve(&mut self, rows: usize) {
        self.ends.reserve(rows);
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        (self.end, self.empty) = (0, 0);
        let ends = OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(&mut self.ends, vec![0])));
        self.items.finish(data_type, ends, nulls)
    }
}

/// Items of an array.
pub(super) struct ArrayItems(pub(super) Box<dyn Column>);

impl ItemColumns for ArrayItems {
    fn run(&mut self, lane: &mut Lane<'_>, count: usize) -> Result<()> {
        self.0.run(lane, count)
    }

    fn group(&mut self, lanes: &mut Lanes<'_>) -> Result<()> {
        self.0.group(lanes)
    }

    fn finish(&mut self, data_type: &DataType, ends: OffsetBuffer<i32>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let DataType::List(field) = data_type else { return Err(other_type(data_type)) };
        let array = ListArray::try_new(Arc::clone(field), ends, self.0.finish()?, nulls).map_err(arrow)?;
        Ok(Arc::new(array))
    }
}

/// Entries of a map.
pub(super) struct MapEntries<K> {
    pub(super) keys: K,
    pub(super) values: Box<dyn Column>,
}

impl<K: ColumnValues> ItemColumns for MapEntries<K> {
    fn run(&mut self, lane: &mut Lane<'_>, count: usize) -> Result<()> {
        for _ in 0..count {
            self.keys.value(lane)?;
            self.values.run(lane, 1)?;
        }
        Ok(())
    }

    fn group(&mut self, lanes: &mut Lanes<'_>) -> Result<()> {
        self.keys.values(UnionTags::Bare, lanes)?;
        self.values.group(lanes)
    }

    fn finish(&mut self, data_type: &DataType, ends: OffsetBuffer<i32>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let DataType::Map(field, ordered) = data_type else { return Err(other_type(data_type)) };
        let DataType::Struct(fields) = field.data_type() else { return Err(other_type(data_type)) };
        let keys = self.keys.finish(&DataType::Utf8, None)?;
        let len = keys.len();
        let arrays = vec![keys, self.values.finish()?];
        let entries = StructArray::try_new_with_length(fields.clone(), arrays, None, len).map_err(arrow)?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(field), ends, entries, nulls, *ordered).map_err(arrow)?))
    }
}

#[cold]
fn too_many() -> Error {
    Error::new(ErrorKind::MemoryLimit, "more than 2^31 items in one batch of a column; ask for fewer rows")
}

#[cold]
fn too_many_empty() -> Error {
    let message = format!("more than {MOST_EMPTY} items of no bytes in one batch of a column; ask for fewer rows");
    Error::new(ErrorKind::MemoryLimit, message)
}

/// The plan and its type are made together, so that this cannot happen.
#[cold]
pub(super) fn other_type(data_type: &DataType) -> Error {
    Error::unsupported(format!("cannot convert an Avro column to {data_type}"))
}
