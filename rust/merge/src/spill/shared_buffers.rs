//! Which columns of a batch are those of another one: their buffers are in memory, or in a file, whether or not these
//! columns are.

use std::collections::HashSet;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_data::ArrayData;

use super::row_bytes::slice_bytes;

/// The allocations of a batch.
pub(super) struct SharedBuffers<'a> {
    batch: &'a RecordBatch,
    allocations: HashSet<usize>,
}

impl<'a> SharedBuffers<'a> {
    pub(super) fn of_batch(batch: &'a RecordBatch) -> Self {
        let mut allocations = HashSet::new();
        for column in batch.columns() {
            for_each_buffer(&column.to_data(), &mut |allocation, _| {
                allocations.insert(allocation);
            });
        }
        Self { batch, allocations }
    }

    /// Bytes of a column that are not of the batch.
    pub(super) fn own_bytes(&self, column: &ArrayRef) -> usize {
        if self.batch.columns().iter().any(|shared| std::sync::Arc::ptr_eq(shared, column)) {
            return 0;
        }
        let mut own = 0_usize;
        for_each_buffer(&column.to_data(), &mut |allocation, len| {
            own = own.saturating_add(if self.allocations.contains(&allocation) { 0 } else { len });
        });
        own.min(slice_bytes(column.as_ref()))
    }
}

/// Calls `each` with the address of the allocation of each buffer, and the buffer's length.
fn for_each_buffer(data: &ArrayData, each: &mut dyn FnMut(usize, usize)) {
    let nulls = data.nulls().map(arrow_buffer::NullBuffer::buffer);
    for buffer in data.buffers().iter().chain(nulls) {
        each(buffer.data_ptr().as_ptr() as usize, buffer.len());
    }
    data.child_data().iter().for_each(|child| for_each_buffer(child, each));
}
