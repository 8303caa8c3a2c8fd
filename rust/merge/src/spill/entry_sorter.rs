//! Sorts keys with values: of more entries than fit in memory.
//!
//! ```text
//! EntryBuffer* ── full: sorted ──> runs, one after the other in a file ── merged ──> entries in order
//! ```
//! Keys are compared byte by byte, then values. In memory are the buffers, and one entry of each run while the runs are
//! merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::appended_bytes::AppendedBytes;
use super::folder::SpillFolder;
use mortice_base::error::{Error, Result};

/// A key and its value, in the order of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortedEntry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

impl<'a> SortedEntry<'a> {
    /// The entry that begins at `place`, and where the next one begins: the lengths of key and value, and both.
    fn read(bytes: &'a [u8], place: usize) -> Option<(Self, usize)> {
        let rest = bytes.get(place..)?;
        let (key_len, after) = rest.split_first_chunk()?;
        let (value_len, after) = after.split_first_chunk()?;
        let (key, after) = after.split_at_checked(usize::try_from(u32::from_le_bytes(*key_len)).ok()?)?;
        let (value, after) = after.split_at_checked(usize::try_from(u32::from_le_bytes(*value_len)).ok()?)?;
        Some((Self { key, value }, bytes.len().checked_sub(after.len())?))
    }
}

fn lost() -> Error {
    Error::internal("an entry that was set aside is lost")
}

fn length_of(bytes: &[u8]) -> Result<[u8; 4]> {
    let len = u32::try_from(bytes.len()).map_err(|_| Error::unsupported("a record key, or its value, of 4 GiB"))?;
    Ok(len.to_le_bytes())
}

/// Entries that wait to be sorted. Each thread has one of its own.
#[derive(Default)]
pub struct EntryBuffer {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl EntryBuffer {
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let lengths = [length_of(key)?, length_of(value)?];
        self.places.push(self.bytes.len());
        self.bytes.extend_from_slice(lengths.as_flattened());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    fn memory(&self) -> usize {
        self.bytes.len().saturating_add(self.places.len().saturating_mul(size_of::<usize>()))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }
}

/// Sorted entries.
struct Runs {
    bytes: AppendedBytes,
    len: usize,
    ends: Vec<usize>,
}

impl Runs {
    fn append(&mut self, buffer: &EntryBuffer) -> Result<()> {
        for place in &buffer.places {
            let (_, end) = SortedEntry::read(&buffer.bytes, *place).ok_or_else(lost)?;
            let entry = buffer.bytes.get(*place..end).ok_or_else(lost)?;
            self.bytes.append(entry)?;
            self.len = self.len.checked_add(entry.len()).ok_or_else(lost)?;
        }
        self.ends.push(self.len);
        Ok(())
    }
}

/// Collects entries, from several threads.
pub struct EntrySorter {
    buffer_memory: usize,
    idle: Mutex<Vec<EntryBuffer>>,
    runs: Mutex<Runs>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EntrySorter {
    /// No entries. Each buffer has so many bytes; what is more is kept in a file of `folder`.
    #[must_use]
    pub fn new(folder: SpillFolder, buffer_memory: usize) -> Self {
        let runs = Runs { bytes: AppendedBytes::new(folder), len: 0, ends: Vec::new() };
        Self { buffer_memory, idle: Mutex::default(), runs: Mutex::new(runs) }
    }

    /// A buffer, which is to be given back.
    pub fn buffer(&self) -> EntryBuffer {
        locked(&self.idle).pop().unwrap_or_default()
    }

    /// Gives a buffer back. The next thread goes on to fill it.
    pub fn give_back(&self, buffer: EntryBuffer) {
        locked(&self.idle).push(buffer);
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// `Io` where the entries cannot be set aside; `Unsupported` for a key or a value of 4 GiB.
    pub fn add(&self, buffer: &mut EntryBuffer, key: &[u8], value: &[u8]) -> Result<()> {
        buffer.push(key, value)?;
        if buffer.memory() >= self.buffer_memory { self.write_run(buffer) } else { Ok(()) }
    }

    fn write_run(&self, buffer: &mut EntryBuffer) -> Result<()> {
        let EntryBuffer { bytes, places } = &mut *buffer;
        places.sort_unstable_by(|one, other| {
            let entry = |place: &usize| SortedEntry::read(bytes, *place).map(|(entry, _)| entry);
            entry(one).cmp(&entry(other))
        });
        locked(&self.runs).append(buffer)?;
        buffer.clear();
        Ok(())
    }

    /// All entries, once all buffers were given back.
    ///
    /// # Errors
    /// `Io` where the entries cannot be set aside.
    pub fn finish(self) -> Result<SortedEntries> {
        let mut idle = std::mem::take(&mut *locked(&self.idle));
        idle.retain(|buffer| !buffer.places.is_empty());
        idle.iter_mut().try_for_each(|buffer| self.write_run(buffer))?;
        let Runs { bytes, ends, .. } = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let runs = starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect();
        Ok(SortedEntries { bytes: bytes.finish()?, runs })
    }
}

/// Sorted entries, in memory or in a file.
pub struct SortedEntries {
    bytes: Bytes,
    runs: Vec<Range<usize>>,
}

impl SortedEntries {
    /// The entries, in their order. Each is `Internal` if it is not one that was added.
    pub fn iter(&self) -> impl Iterator<Item = Result<SortedEntry<'_>>> {
        let mut merge = RunMerge { bytes: &self.bytes, runs: self.runs.clone(), next: BinaryHeap::new() };
        let mut first = (0..self.runs.len()).map(|number| merge.read(number)).collect::<Result<Vec<()>>>().err();
        std::iter::from_fn(move || first.take().map(Err).or_else(|| merge.pop().transpose()))
    }
}

/// Runs that are merged.
struct RunMerge<'a> {
    bytes: &'a [u8],
    /// What is left of each run.
    runs: Vec<Range<usize>>,
    /// The first entry of each run, with the run's number.
    next: BinaryHeap<Reverse<(SortedEntry<'a>, usize)>>,
}

impl<'a> RunMerge<'a> {
    /// Takes the first entry of a run, if any is left.
    fn read(&mut self, number: usize) -> Result<()> {
        let run = self.runs.get_mut(number).ok_or_else(lost)?;
        if run.start < run.end {
            let (entry, end) = SortedEntry::read(self.bytes, run.start).ok_or_else(lost)?;
            run.start = end;
            self.next.push(Reverse((entry, number)));
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<Option<SortedEntry<'a>>> {
        let Some(Reverse((entry, number))) = self.next.pop() else { return Ok(None) };
        self.read(number)?;
        Ok(Some(entry))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use mortice_base::row_number::at;

    type Owned = (Vec<u8>, Vec<u8>);

    fn sorted(entries: &[Owned], buffer_memory: usize) -> Vec<Owned> {
        let sorter = EntrySorter::new(SpillFolder::new(None), buffer_memory);
        for part in entries.chunks(3) {
            let mut buffer = sorter.buffer();
            part.iter().for_each(|(key, value)| sorter.add(&mut buffer, key, value).unwrap());
            sorter.give_back(buffer);
        }
        let sorted = sorter.finish().unwrap();
        let owned = |entry: SortedEntry<'_>| (entry.key.to_vec(), entry.value.to_vec());
        sorted.iter().map(|entry| owned(entry.unwrap())).collect()
    }

    proptest! {
        #[test]
        fn entries_come_back_in_order(
            mut entries in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..3), prop::collection::vec(0_u8..2, 0..3)), 0..60),
            buffer_memory in prop_oneof![Just(1_usize), Just(100), Just(1 << 20)],
        ) {
            let found = sorted(&entries, buffer_memory);
            entries.sort();
            prop_assert_eq!(found, entries);
        }
    }

    #[test]
    fn many_entries_come_back_from_a_file_in_order() {
        let entry = |number: u32| (format!("{number:0100}").into_bytes(), vec![7; at(number % 5)]);
        let entries: Vec<_> = (0..100_000_u32).rev().map(entry).collect();
        let found = sorted(&entries, 1 << 20);
        assert_eq!(found.len(), 100_000);
        assert!((0..).zip(&found).all(|(number, found)| *found == entry(number)));
    }
}
