//! Memory of columns, used again.
//!
//! A batch takes megabytes and lives for microseconds. Allocating them again each time makes the allocator give pages
//! back to the system and the system clear them again, which costs more than decoding does, in threads above all. So
//! the memory of a batch is recycled when its last reference is dropped, in any thread, and is overwritten. Slots are
//! set to zero once, when they come to be.

use std::sync::{Arc, Mutex};

use arrow_buffer::{ArrowNativeType, Buffer, ToByteSlice};
use bytes::Bytes;

/// As many memories of a column wait to be used again: one is being read while the other is filled.
const MOST_IDLE: usize = 2;

/// The most bytes of a memory that waits.
const LARGEST_IDLE: usize = 16 << 20;

/// The fewest slots.
const LEAST: usize = 64;

/// Where memories wait.
type BufferPool<T> = Arc<Mutex<Vec<Vec<T>>>>;

/// A growing row of slots.
pub(super) struct SlotBuffer<T: ArrowNativeType> {
    /// All that there are: those used, and others behind them.
    slots: Vec<T>,
    used: usize,
    home: BufferPool<T>,
}

impl<T: ArrowNativeType> Default for SlotBuffer<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), used: 0, home: BufferPool::default() }
    }
}

impl<T: ArrowNativeType> SlotBuffer<T> {
    /// How many are used.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The slots behind those used, so many at least.
    #[inline(always)]
    pub(super) fn ahead(&mut self, count: usize) -> &mut [T] {
        if self.slots.len() - self.used < count {
            self.grow(count);
        }
        self.slots.get_mut(self.used..).unwrap_or_default()
    }

    /// Counts so many of the slots ahead as used.
    #[inline(always)]
    pub(super) fn advance(&mut self, count: usize) {
        self.used = self.slots.len().min(self.used + count);
    }

    /// Uses one more.
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        if let Some(slot) = self.ahead(1).first_mut() {
            *slot = value;
        }
        self.advance(1);
    }

    /// Those used.
    pub(super) fn as_slice(&self) -> &[T] {
        self.slots.get(..self.used).unwrap_or_default()
    }

    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, count: usize) {
        if self.slots.is_empty() {
            self.slots = self.come_back();
        }
        if self.slots.is_empty() {
            // Not grown: memory that is asked for as zeros need not be written.
            self.slots = vec![T::default(); count];
        }
        self.ahead(count);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, count: usize) {
        if self.slots.is_empty() {
            self.slots = self.come_back();
        }
        let needed = self.used.saturating_add(count);
        if needed > self.slots.len() {
            self.slots.resize(needed.max(self.slots.len().saturating_mul(2)).max(LEAST), T::default());
        }
    }

    /// A memory that waits.
    fn come_back(&self) -> Vec<T> {
        self.home.lock().ok().and_then(|mut idle| idle.pop()).unwrap_or_default()
    }

    /// The slots used as a buffer; none are afterwards.
    pub(super) fn take(&mut self) -> Buffer {
        let bytes = self.as_slice().to_byte_slice().len();
        self.used = 0;
        let lent = LentBuffer { slots: std::mem::take(&mut self.slots), home: Arc::clone(&self.home) };
        Buffer::from(Bytes::from_owner(lent)).slice_with_length(0, bytes)
    }
}

/// A memory that is out, in a buffer.
struct LentBuffer<T: ArrowNativeType> {
    slots: Vec<T>,
    home: BufferPool<T>,
}

impl<T: ArrowNativeType> AsRef<[u8]> for LentBuffer<T> {
    fn as_ref(&self) -> &[u8] {
        self.slots.to_byte_slice()
    }
}

impl<T: ArrowNativeType> Drop for LentBuffer<T> {
    fn drop(&mut self) {
        if self.slots.to_byte_slice().len() <= LARGEST_IDLE
            && let Ok(mut idle) = self.home.lock()
            && idle.len() < MOST_IDLE
        {
            idle.push(std::mem::take(&mut self.slots));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_home_once_nobody_holds_it_and_not_before() {
        let mut slots = SlotBuffer::<i32>::default();
        slots.push(7);
        let first = slots.take();
        let (address, other) = (first.as_ptr(), first.clone());
        drop(first);
        slots.push(8);
        let second = slots.take();
        assert_ne!(second.as_ptr(), address);
        assert_eq!(other.typed_data::<i32>(), [7]);
        drop(other);
        slots.push(9);
        let third = slots.take();
        assert_eq!((third.as_ptr(), third.typed_data::<i32>()), (address, &[9][..]));
        drop(slots);
        assert_eq!(second.typed_data::<i32>(), [8]);
    }

    #[test]
    fn slots_grow_and_start_at_zero() {
        let mut slots = SlotBuffer::<i64>::default();
        slots.reserve(3);
        for value in 0..1000 {
            slots.push(value);
        }
        assert!(slots.ahead(2000).iter().all(|slot| *slot == 0));
        assert_eq!(slots.len(), 1000);
        assert_eq!(slots.take().typed_data::<i64>(), (0..1000).collect::<Vec<i64>>());
        assert_eq!(slots.take().len(), 0);
    }
}
