//! Sorts record keys with the places where they were found: of more rows than fit in memory.
//!
//! ```text
//! KeyBuffer* ── full: sorted ──> runs, one after the other in a file ── merged ──> each key once, with all of its places
//! ```
//! Keys are compared byte by byte. In memory are the buffers, and one entry of each run while the runs are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use mortice_base::error::{Error, Result};
use mortice_merge::spill::{AppendedBytes, SpillFolder};

/// Bytes of an entry before its key: the length of the key, the origin and the file group.
const HEADER: usize = 9;

/// What a key was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// A row of a file group.
    Row,
    /// The record index, which names the file group.
    Index,
}

impl Origin {
    const fn byte(self) -> u8 {
        match self {
            Self::Row => 0,
            Self::Index => 1,
        }
    }

    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Row),
            1 => Some(Self::Index),
            _ => None,
        }
    }
}

/// Where a key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyPlace {
    pub(super) origin: Origin,
    /// The number of the file group.
    pub(super) group: u32,
    /// How often.
    pub(super) count: u64,
}

/// Takes a key and its places, rows first, by file group.
pub(super) type EachKey<'a> = dyn FnMut(&str, &[KeyPlace]) -> Result<()> + 'a;

/// An entry, in the order of runs.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry<'a> {
    key: &'a [u8],
    origin: Origin,
    group: u32,
}

impl<'a> Entry<'a> {
    /// The entry that begins at `place`, and where the next one begins.
    fn read(bytes: &'a [u8], place: usize) -> Option<(Self, usize)> {
        let (len, rest) = bytes.get(place..)?.split_first_chunk()?;
        let ([origin], rest) = rest.split_first_chunk()?;
        let (group, rest) = rest.split_first_chunk()?;
        let key = rest.get(..usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
        let entry = Self { key, origin: Origin::from_byte(*origin)?, group: u32::from_le_bytes(*group) };
        Some((entry, place.checked_add(HEADER)?.checked_add(key.len())?))
    }
}

fn lost() -> Error {
    Error::internal("a record key that was set aside is lost")
}

/// Keys that wait to be sorted. Each thread has one of its own.
#[derive(Default)]
pub(super) struct KeyBuffer {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl KeyBuffer {
    fn push(&mut self, key: &str, origin: Origin, group: u32) -> Result<()> {
        let len = u32::try_from(key.len()).map_err(|_| Error::unsupported("a record key of 4 GiB"))?;
        self.places.push(self.bytes.len());
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.push(origin.byte());
        self.bytes.extend_from_slice(&group.to_le_bytes());
        self.bytes.extend_from_slice(key.as_bytes());
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
    fn append(&mut self, buffer: &KeyBuffer) -> Result<()> {
        for place in &buffer.places {
            let (_, end) = Entry::read(&buffer.bytes, *place).ok_or_else(lost)?;
            let entry = buffer.bytes.get(*place..end).ok_or_else(lost)?;
            self.bytes.append(entry)?;
            self.len = self.len.checked_add(entry.len()).ok_or_else(lost)?;
        }
        self.ends.push(self.len);
        Ok(())
    }
}

/// Collects keys, from several threads.
pub(super) struct KeySorter {
    buffer_memory: usize,
    idle: Mutex<Vec<KeyBuffer>>,
    runs: Mutex<Runs>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeySorter {
    /// No keys. Each buffer has so many bytes; what is more is kept in a file of `folder`.
    pub(super) fn new(folder: SpillFolder, buffer_memory: usize) -> Self {
        let runs = Runs { bytes: AppendedBytes::new(folder), len: 0, ends: Vec::new() };
        Self { buffer_memory, idle: Mutex::default(), runs: Mutex::new(runs) }
    }

    /// A buffer, which is to be given back.
    pub(super) fn buffer(&self) -> KeyBuffer {
        locked(&self.idle).pop().unwrap_or_default()
    }

    /// Gives a buffer back. The next thread goes on to fill it.
    pub(super) fn give_back(&self, buffer: KeyBuffer) {
        locked(&self.idle).push(buffer);
    }

    /// Adds a key.
    ///
    /// # Errors
    /// `Io` where the keys cannot be set aside.
    pub(super) fn add(&self, buffer: &mut KeyBuffer, key: &str, (origin, group): (Origin, u32)) -> Result<()> {
        buffer.push(key, origin, group)?;
        if buffer.memory() >= self.buffer_memory { self.write_run(buffer) } else { Ok(()) }
    }

    fn write_run(&self, buffer: &mut KeyBuffer) -> Result<()> {
        let KeyBuffer { bytes, places } = &mut *buffer;
        places.sort_unstable_by(|one, other| {
            let entry = |place: &usize| Entry::read(bytes, *place).map(|(entry, _)| entry);
            entry(one).cmp(&entry(other))
        });
        locked(&self.runs).append(buffer)?;
        buffer.clear();
        Ok(())
    }

    /// All keys, once all buffers were given back.
    ///
    /// # Errors
    /// `Io` where the keys cannot be set aside.
    pub(super) fn finish(self) -> Result<SortedKeys> {
        let mut idle = std::mem::take(&mut *locked(&self.idle));
        idle.retain(|buffer| !buffer.places.is_empty());
        idle.iter_mut().try_for_each(|buffer| self.write_run(buffer))?;
        let Runs { bytes, ends, .. } = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let runs = starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect();
        Ok(SortedKeys { bytes: bytes.finish()?, runs })
    }
}

/// Takes the first entry of a run.
fn first_of<'a>(run: &mut Range<usize>, bytes: &'a [u8]) -> Result<Option<Entry<'a>>> {
    if run.start >= run.end {
        return Ok(None);
    }
    let (entry, end) = Entry::read(bytes, run.start).ok_or_else(lost)?;
    run.start = end;
    Ok(Some(entry))
}

/// Sorted keys.
pub(super) struct SortedKeys {
    bytes: Bytes,
    runs: Vec<Range<usize>>,
}

impl SortedKeys {
    /// Calls `each` with each key, in their order.
    ///
    /// # Errors
    /// Those of `each`; `Internal` for entries that are not those that were added.
    pub(super) fn for_each(self, each: &mut EachKey<'_>) -> Result<()> {
        let Self { bytes, mut runs } = self;
        let mut next = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            next.extend(first_of(run, &bytes)?.map(|entry| Reverse((entry, number))));
        }
        let mut of_key: Option<(&[u8], Vec<KeyPlace>)> = None;
        while let Some(Reverse((Entry { key, origin, group }, number))) = next.pop() {
            let run = runs.get_mut(number).ok_or_else(lost)?;
            next.extend(first_of(run, &bytes)?.map(|entry| Reverse((entry, number))));
            let places = match &mut of_key {
                Some((known, places)) if *known == key => places,
                other => {
                    if let Some((key, places)) = other.take() {
                        each(std::str::from_utf8(key).map_err(|_| lost())?, &places)?;
                    }
                    &mut other.insert((key, Vec::new())).1
                }
            };
            match places.last_mut() {
                Some(last) if last.origin == origin && last.group == group => last.count = last.count.saturating_add(1),
                _ => places.push(KeyPlace { origin, group, count: 1 }),
            }
        }
        match of_key {
            Some((key, places)) => each(std::str::from_utf8(key).map_err(|_| lost())?, &places),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A key with its places.
    type Found = (String, Vec<(Origin, u32, u64)>);

    fn sorted(entries: &[(String, Origin, u32)], buffer_memory: usize) -> Vec<Found> {
        let sorter = KeySorter::new(SpillFolder::new(None), buffer_memory);
        for part in entries.chunks(3) {
            let mut buffer = sorter.buffer();
            for (key, origin, group) in part {
                sorter.add(&mut buffer, key, (*origin, *group)).unwrap();
            }
            sorter.give_back(buffer);
        }
        let mut found = Vec::new();
        let mut each = |key: &str, places: &[KeyPlace]| {
            let places = places.iter().map(|place| (place.origin, place.group, place.count)).collect();
            found.push((key.to_owned(), places));
            Ok(())
        };
        sorter.finish().unwrap().for_each(&mut each).unwrap();
        found
    }

    proptest! {
        #[test]
        fn keys_are_those_of_maps(
            entries in prop::collection::vec(
                ("[a-cé🐎]{0,2}", prop_oneof![Just(Origin::Row), Just(Origin::Index)], 0_u32..3), 0..60),
            buffer_memory in prop_oneof![Just(1_usize), Just(100), Just(1 << 20)],
        ) {
            let mut expected: BTreeMap<String, BTreeMap<(Origin, u32), u64>> = BTreeMap::new();
            for (key, origin, group) in &entries {
                *expected.entry(key.clone()).or_default().entry((*origin, *group)).or_default() += 1;
            }
            let places = |places: BTreeMap<(Origin, u32), u64>| {
                places.into_iter().map(|((origin, group), count)| (origin, group, count)).collect::<Vec<_>>()
            };
            let expected: Vec<_> = expected.into_iter().map(|(key, of_key)| (key, places(of_key))).collect();
            prop_assert_eq!(sorted(&entries, buffer_memory), expected);
        }
    }

    #[test]
    fn many_keys_come_back_from_a_file_in_order() {
        let entries: Vec<_> =
            (0..100_000_u32).rev().map(|number| (format!("{number:0100}"), Origin::Row, number % 7)).collect();
        let found = sorted(&entries, 1 << 20);
        assert_eq!(found.len(), 100_000);
        let expected = |number: u32| (format!("{number:0100}"), vec![(Origin::Row, number % 7, 1)]);
        assert!((0..).zip(&found).all(|(number, found)| *found == expected(number)));
    }
}
