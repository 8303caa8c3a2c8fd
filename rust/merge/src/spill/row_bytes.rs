//! Bytes that rows take: those alone that belong to a slice.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};

/// Bytes of the rows of a batch.
#[must_use]
pub fn row_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| slice_bytes(column.as_ref())).fold(0, usize::saturating_add)
}

/// Bytes of the largest row of a batch, or more: that of a row that has the largest value of each column.
#[must_use]
pub fn most_row_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| most_value_bytes(column.as_ref())).fold(0, usize::saturating_add)
}

/// Bytes of the largest value of an array, or more.
fn most_value_bytes(array: &dyn Array) -> usize {
    let longest = |offsets: &[i32]| {
        let lens = offsets.windows(2).map(|pair| if let [start, end] = pair { end.saturating_sub(*start) } else { 0 });
        lens.max().unwrap_or_default().unsigned_abs() as usize
    };
    if array.is_empty() {
        return 0;
    }
    if let Some(texts) = array.as_string_opt::<i32>() {
        return longest(texts.value_offsets());
    }
    if let Some(values) = array.as_binary_opt::<i32>() {
        return longest(values.value_offsets());
    }
    if let Some(list) = array.as_list_opt::<i32>() {
        return longest(list.value_offsets()).saturating_mul(most_value_bytes(list.values().as_ref()));
    }
    if let Some(map) = array.as_map_opt() {
        return longest(map.value_offsets()).saturating_mul(most_value_bytes(map.entries()));
    }
    if let Some(rows) = array.as_struct_opt() {
        let columns = rows.columns().iter().map(|column| most_value_bytes(column.as_ref()));
        return columns.fold(0, usize::saturating_add);
    }
    slice_bytes(array) / array.len()
}

/// Bytes of the values of an array.
#[must_use]
pub fn slice_bytes(array: &dyn Array) -> usize {
    let range = |offsets: &[i32]| match offsets {
        [first, .., last] => (first.unsigned_abs() as usize, last.saturating_sub(*first).unsigned_abs() as usize),
        _ => (0, 0),
    };
    let items = |offsets: &[i32], items: &dyn Array| {
        let (start, len) = range(offsets);
        slice_bytes(items.slice(start, len).as_ref()).saturating_add(size_of_val(offsets))
    };
    if let Some(list) = array.as_list_opt::<i32>() {
        return items(list.value_offsets(), list.values().as_ref());
    }
    if let Some(map) = array.as_map_opt() {
        return items(map.value_offsets(), map.entries());
    }
    if let Some(rows) = array.as_struct_opt() {
        return rows.columns().iter().map(|column| slice_bytes(column.as_ref())).sum();
    }
    if let Some(views) = array.as_string_view_opt() {
        return views.total_buffer_bytes_used().saturating_add(views.views().inner().len());
    }
    if let Some(views) = array.as_binary_view_opt() {
        return views.total_buffer_bytes_used().saturating_add(views.views().inner().len());
    }
    array.to_data().get_slice_memory_size().unwrap_or_default()
}
