//! File groups by row.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::Array;

use super::incoming_keys::partitions_of;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::row_number::{at, number_of};
use mortice_merge::keys::RowKeys;
use mortice_table::plan::{OpenTable, WriteView};

/// Where the keys of rows are.
#[derive(Debug, Clone, Default)]
pub struct Tagged {
    /// For each row, an index into `groups`; none if its key is new.
    pub locations: Vec<Option<u32>>,
    /// The file groups, each once.
    pub groups: Vec<Location>,
    /// For each row, the number of its key's row in the base file, if the index knows it; empty if it knows none.
    pub positions: Vec<Option<u64>>,
    /// Further rows of the same keys, in this or another file group, as `insert` and `bulk_insert` may leave them:
    /// updates and deletes go to all of them, as Hudi's do.
    pub further: Vec<FurtherLocation>,
    /// The file slices that were looked at, for the assignment.
    pub view: Arc<WriteView>,
}

/// A file group that holds keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// The partition.
    pub partition: String,
    /// The file group.
    pub file_id: String,
    /// The instant of its base file, or of its slice if it has none.
    pub base_instant: RequestedTime,
}

/// A further row of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FurtherLocation {
    /// The row.
    pub row: u32,
    /// An index into [`Tagged::groups`].
    pub group: u32,
    /// The number of the key's row in the base file.
    pub position: Option<u64>,
}

impl Tagged {
    /// Rows whose keys are all new.
    #[must_use]
    pub fn untagged(rows: usize, view: Arc<WriteView>) -> Self {
        Self { locations: vec![None; rows], view, ..Self::default() }
    }

    /// Rows that are inserted without looking for their keys.
    ///
    /// # Errors
    /// What listing files may fail with.
    pub fn of_inserts(table: &OpenTable, keys: &RowKeys) -> Result<Self> {
        let view = table.write_view(Some(&partitions_of(keys)))?;
        Ok(Self::untagged(keys.partitions.len(), Arc::new(view)))
    }

    /// The same, with the places that another look-up has found for the same rows.
    ///
    /// # Errors
    /// `Internal` if the other one has other rows; `Unsupported` for too many file groups.
    pub fn with_places_of(mut self, other: &Self) -> Result<Self> {
        let name = |group: &Location| (group.partition.clone(), group.file_id.clone());
        let mut numbers: HashMap<(String, String), u32> = HashMap::new();
        for (number, group) in self.groups.iter().enumerate() {
            numbers.insert(name(group), number_of(number)?);
        }
        let mut numbers_here = Vec::with_capacity(other.groups.len());
        for group in &other.groups {
            let next = number_of(self.groups.len())?;
            let number = *numbers.entry(name(group)).or_insert(next);
            if number == next {
                self.groups.push(group.clone());
            }
            numbers_here.push(number);
        }
        let mut known: HashSet<(u32, u32)> = self.further.iter().map(|one| (one.row, one.group)).collect();
        let first = (0_u32..).zip(&other.locations).filter_map(|(row, group)| Some((row, (*group)?)));
        let further = other.further.iter().map(|one| (one.row, one.group));
        for (row, group) in first.chain(further) {
            let lost = || Error::internal(format_args!("row {row} was looked up twice and is not there"));
            let group = *numbers_here.get(at(group)).ok_or_else(lost)?;
            match self.locations.get_mut(at(row)).ok_or_else(lost)? {
                location @ None => *location = Some(group),
                Some(location) if *location == group => {}
                Some(_) if !known.insert((row, group)) => {}
                Some(_) => self.further.push(FurtherLocation { row, group, position: None }),
            }
        }
        Ok(self)
    }

    /// The file group of a row's key.
    #[must_use]
    pub fn location(&self, row: usize) -> Option<&Location> {
        let group = (*self.locations.get(row)?)?;
        self.groups.get(at(group))
    }

    /// A file group by its number.
    ///
    /// # Errors
    /// `Internal` if there is none.
    pub fn group(&self, group: u32) -> Result<&Location> {
        let unknown =
            || Error::internal(format_args!("a row is tagged with file group {group} of {}", self.groups.len()));
        self.groups.get(at(group)).ok_or_else(unknown)
    }

    /// The number of a row's key in the base file, if the index knows it.
    ///
    /// # Errors
    /// `Internal` if the index knows numbers of rows, and has no entry for this one.
    pub fn position(&self, row: usize) -> Result<Option<u64>> {
        if self.positions.is_empty() {
            return Ok(None);
        }
        let lost = || Error::internal(format_args!("row {row} of {} that are tagged", self.positions.len()));
        self.positions.get(row).copied().ok_or_else(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;
    use proptest::prelude::*;

    fn tagged(locations: &[Option<u32>], groups: usize) -> Tagged {
        let base_instant: RequestedTime = "20260101000000000".parse().unwrap();
        let group = |number: usize| Location {
            partition: "p".to_owned(),
            file_id: format!("f{number}"),
            base_instant: base_instant.clone(),
        };
        let groups = (0..groups).map(group).collect();
        Tagged { locations: locations.to_vec(), groups, ..Tagged::default() }
    }

    #[test]
    fn a_group_that_is_not_there_is_an_internal_error() {
        let tagged = tagged(&[Some(1), None, Some(2)], 2);
        assert_eq!(tagged.group(1).unwrap().file_id, "f1");
        assert_eq!(tagged.location(0).map(|location| location.file_id.as_str()), Some("f1"));
        assert_eq!(tagged.location(1), None);
        for unknown in [2, u32::MAX] {
            assert_eq!(tagged.group(unknown).unwrap_err().kind(), ErrorKind::Internal);
        }
    }

    #[test]
    fn positions_are_of_all_rows_or_of_none() {
        let mut tagged = tagged(&[Some(0), None], 1);
        assert_eq!(tagged.position(7).unwrap(), None, "the index knows no positions");
        tagged.positions = vec![Some(5), None];
        assert_eq!([tagged.position(0).unwrap(), tagged.position(1).unwrap()], [Some(5), None]);
        assert_eq!(tagged.position(2).unwrap_err().kind(), ErrorKind::Internal);
    }

    #[test]
    fn places_of_two_look_ups_are_each_there_once() {
        let further = |row, group, position| FurtherLocation { row, group, position };
        let mut one = tagged(&[Some(0), None, Some(1), Some(0)], 2);
        one.positions = vec![Some(5), None, Some(6), Some(7)];
        one.further = vec![further(2, 0, Some(8))];
        // Its groups are f0 to f2, of which the first look-up has not found the last.
        let mut other = tagged(&[Some(0), Some(2), Some(0), None], 3);
        other.further = vec![further(0, 2, None)];
        let both = one.clone().with_places_of(&other).unwrap();
        assert_eq!(both.locations, [Some(0), Some(2), Some(1), Some(0)]);
        assert_eq!(both.positions, one.positions);
        assert_eq!(both.further, [further(2, 0, Some(8)), further(0, 2, None)]);
        assert_eq!(both.groups.iter().map(|group| group.file_id.as_str()).collect::<Vec<_>>(), ["f0", "f1", "f2"]);
        let other = tagged(&[None, None, None, None, Some(0)], 1);
        assert_eq!(one.with_places_of(&other).unwrap_err().kind(), ErrorKind::Internal);
    }

    proptest! {
        #[test]
        fn some_of_the_rows_keep_their_places(
            places in proptest::collection::vec((proptest::option::of(0_u32..3), proptest::option::of(0_u64..9)), 1..12),
            kept in proptest::collection::vec(any::<bool>(), 12),
        ) {
            let mut all = tagged(&places.iter().map(|place| place.0).collect::<Vec<_>>(), 3);
            all.positions = places.iter().map(|place| place.1).collect();
            let rows: Vec<u32> = (0_u32..).zip(&places).map(|(row, _)| row).collect();
            all.further = rows.iter().map(|row| FurtherLocation { row: *row, group: row % 3, position: None }).collect();
            let kept: Vec<u32> = rows.iter().copied().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(row, _)| row).collect();
            let some = all.of_rows(&kept).unwrap();
            prop_assert_eq!(some.locations.len(), kept.len());
            for (new, old) in kept.iter().enumerate() {
                prop_assert_eq!(some.location(new), all.location(at(*old)));
                prop_assert_eq!(some.position(new).unwrap(), all.position(at(*old)).unwrap());
            }
            let further: Vec<_> = some.further.iter().map(|one| (kept[at(one.row)], one.group)).collect();
            prop_assert_eq!(further, kept.iter().map(|row| (*row, row % 3)).collect::<Vec<_>>());
            let beyond = places.len() as u32;
            prop_assert_eq!(all.of_rows(&[beyond]).unwrap_err().kind(), ErrorKind::Internal);
        }
    }
}
