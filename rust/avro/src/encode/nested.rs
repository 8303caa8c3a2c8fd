//! Writers of lists, maps, records and unions of several types: over the writers of what they hold.

use std::ops::Range;

use arrow_buffer::{NullBuffer, OffsetBuffer};

use super::column_writer::{BoxedWriter, ColumnWriter, RefusedValue, WriteResult, is_null};
use crate::binary::write_long;

/// Where the items of each row lie.
pub(super) enum ItemOffsets {
    Small(OffsetBuffer<i32>),
    Large(OffsetBuffer<i64>),
}

impl ItemOffsets {
    fn range(&self, row: usize) -> Range<usize> {
        let at = |row: usize| match self {
            Self::Small(offsets) => offsets.get(row).map_or(0, |at| usize::try_from(*at).unwrap_or_default()),
            Self::Large(offsets) => offsets.get(row).map_or(0, |at| usize::try_from(*at).unwrap_or_default()),
        };
        at(row)..at(row + 1)
    }
}

/// `array`: the items as one block of a positive count, as Java writes them.
pub(super) struct ListWriter {
    pub(super) offsets: ItemOffsets,
    pub(super) items: BoxedWriter,
}

impl ColumnWriter for ListWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        block(self.offsets.range(row), out, |item, out| self.items.write(item, out))
    }
}

/// `map`: likewise, each entry its key and its value.
pub(super) struct MapWriter {
    pub(super) offsets: ItemOffsets,
    pub(super) keys: BoxedWriter,
    pub(super) values: BoxedWriter,
}

impl ColumnWriter for MapWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        block(self.offsets.range(row), out, |entry, out| {
            self.keys.write(entry, out)?;
            self.values.write(entry, out)
        })
    }
}

fn block(
    items: Range<usize>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> WriteResult,
) -> WriteResult {
    if !items.is_empty() {
        write_long(items.len() as i64, out);
        for item in items {
            write(item, out)?;
        }
    }
    write_long(0, out);
    Ok(())
}

/// `record`: its fields, in the order of the schema.
pub(super) struct RecordWriter(pub(super) Vec<BoxedWriter>);

impl ColumnWriter for RecordWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        self.0.iter().try_for_each(|field| field.write(row, out))
    }
}

/// A union of several types, in the form in which it is decoded: a struct of which one member is set. Asked for null,
/// or where no member is set, it writes the branch null.
pub(super) struct UnionWriter {
    pub(super) nulls: Option<NullBuffer>,
    pub(super) null_index: Option<i64>,
    pub(super) members: Vec<UnionMember>,
    pub(super) path: String,
}

/// One branch of such a union.
pub(super) struct UnionMember {
    pub(super) index: i64,
    pub(super) nulls: Option<NullBuffer>,
    pub(super) inner: BoxedWriter,
}

impl ColumnWriter for UnionWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        let null = is_null(self.nulls.as_ref(), row);
        let mut set = self.members.iter().filter(|member| !null && !is_null(member.nulls.as_ref(), row));
        match (set.next(), set.next(), self.null_index) {
            (Some(member), None, _) => {
                write_long(member.index, out);
                member.inner.write(row, out)
            }
            (None, _, Some(null_index)) => {
                write_long(null_index, out);
                Ok(())
            }
            (None, _, None) => Err(RefusedValue::new(&self.path, "null, which is not a branch of the union")),
            (Some(_), Some(_), _) => Err(RefusedValue::new(&self.path, "more than one member of the union is set")),
        }
    }
}
