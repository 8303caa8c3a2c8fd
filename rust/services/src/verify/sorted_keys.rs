//! Sorts record keys with the places where they were found: of more rows than fit in memory.

use mortice_base::error::{Error, Result};
use mortice_merge::spill::{EntryBuffer, EntrySorter, SpillFolder};

/// What a key was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A row of a file group.
    Row,
    /// The record index, which names the file group.
    Index,
}

impl Origin {
    /// The number of the origin, by which places of a key are sorted.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Row => 0,
            Self::Index => 1,
        }
    }

    /// The origin with this number.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Row),
            1 => Some(Self::Index),
            _ => None,
        }
    }
}

/// Where a key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPlace {
    pub(crate) origin: Origin,
    /// The number of the file group.
    pub(crate) group: u32,
    /// How often.
    pub(crate) count: u64,
}

/// Takes a key and its places, rows first, by file group.
pub(crate) type EachKey<'a> = dyn FnMut(&str, &[KeyPlace]) -> Result<()> + 'a;

fn lost() -> Error {
    Error::internal("a record key that was set aside is lost")
}

/// Collects keys, from several threads.
pub struct KeySorter(EntrySorter);

impl KeySorter {
    /// No keys. Each buffer has so many bytes; what is more is kept in a file of `folder`.
    pub fn new(folder: SpillFolder, buffer_memory: usize) -> Self {
        Self(EntrySorter::new(folder, buffer_memory))
    }

    /// A buffer, which is to be given back.
    pub fn buffer(&self) -> EntryBuffer {
        self.0.buffer()
    }

    /// Gives a buffer back.
    pub fn give_back(&self, buffer: EntryBuffer) {
        self.0.give_back(buffer);
    }

    /// Adds a key.
    ///
    /// # Errors
    /// `Io` where the keys cannot be set aside.
    pub fn add(&self, buffer: &mut EntryBuffer, key: &str, origin: Origin, group: u32) -> Result<()> {
        let [one, two, three, four] = group.to_be_bytes();
        self.0.add(buffer, key.as_bytes(), &[origin.byte(), one, two, three, four])
    }

    /// Calls `each` with each key, in their order, once all buffers were given back.
    ///
    /// # Errors
    /// Those of `each`; `Io` where the keys cannot be set aside; `Internal` for entries that are not those that were
    /// added.
    pub fn for_each(self, each: &mut EachKey<'_>) -> Result<()> {
        let sorted = self.0.finish()?;
        let mut of_key: Option<(&[u8], Vec<KeyPlace>)> = None;
        for entry in sorted.iter() {
            let entry = entry?;
            let (origin, group) = place_of(entry.value).ok_or_else(lost)?;
            let places = match &mut of_key {
                Some((known, places)) if *known == entry.key => places,
                other => {
                    if let Some((key, places)) = other.take() {
                        each(std::str::from_utf8(key).map_err(|_| lost())?, &places)?;
                    }
                    &mut other.insert((entry.key, Vec::new())).1
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

/// Origin and file group of the value of an entry.
fn place_of(value: &[u8]) -> Option<(Origin, u32)> {
    let (origin, group) = value.split_first()?;
    Some((Origin::from_byte(*origin)?, u32::from_be_bytes(group.try_into().ok()?)))
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
                sorter.add(&mut buffer, key, *origin, *group).unwrap();
            }
            sorter.give_back(buffer);
        }
        let mut found = Vec::new();
        let mut each = |key: &str, places: &[KeyPlace]| {
            let places = places.iter().map(|place| (place.origin, place.group, place.count)).collect();
            found.push((key.to_owned(), places));
            Ok(())
        };
        sorter.for_each(&mut each).unwrap();
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
}
