//! Numbers for file groups, so that a place of a key takes four bytes.

use std::collections::HashMap;

use mortice_base::error::{Error, Result};
use mortice_table::file_group::FileSlice;

/// File groups by number: the live ones first.
#[derive(Default)]
pub struct FileGroupNumbers {
    groups: Vec<(String, String)>,
    numbers: HashMap<String, HashMap<String, u32>>,
    live: u32,
}

impl FileGroupNumbers {
    /// Numbers those of the slices, which are live.
    ///
    /// # Errors
    /// As for [`Self::number_of`].
    pub fn of_slices(slices: &[FileSlice]) -> Result<Self> {
        Self::of_groups(slices.iter().map(|slice| (slice.partition.as_str(), slice.file_id.as_str())))
    }

    /// Numbers live file groups, by partition and id.
    ///
    /// # Errors
    /// As for [`Self::number_of`].
    pub fn of_names(groups: &[(String, String)]) -> Result<Self> {
        Self::of_groups(groups.iter().map(|(partition, file_id)| (partition.as_str(), file_id.as_str())))
    }

    fn of_groups<'a>(groups: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut numbers = Self::default();
        for (partition, file_id) in groups {
            numbers.number_of(partition, file_id)?;
        }
        numbers.live = u32::try_from(numbers.groups.len()).unwrap_or(u32::MAX);
        Ok(numbers)
    }

    /// The number of a file group, which may be new.
    ///
    /// # Errors
    /// `Unsupported` for more than 4,294,967,295 file groups.
    pub fn number_of(&mut self, partition: &str, file_id: &str) -> Result<u32> {
        if let Some(number) = self.known(partition, file_id) {
            return Ok(number);
        }
        let number = u32::try_from(self.groups.len()).ok().filter(|number| *number < u32::MAX);
        let number = number.ok_or_else(|| Error::unsupported("4,294,967,295 file groups"))?;
        self.groups.push((partition.to_owned(), file_id.to_owned()));
        self.numbers.entry(partition.to_owned()).or_default().insert(file_id.to_owned(), number);
        Ok(number)
    }

    /// The number of a file group that has one.
    pub fn known(&self, partition: &str, file_id: &str) -> Option<u32> {
        self.numbers.get(partition)?.get(file_id).copied()
    }

    /// Partition and file id.
    pub(crate) fn group(&self, number: u32) -> Result<(&str, &str)> {
        let group = usize::try_from(number).ok().and_then(|number| self.groups.get(number));
        let (partition, file_id) = group.ok_or_else(|| Error::internal("a number that no file group has"))?;
        Ok((partition, file_id))
    }

    /// Whether a file group has rows now.
    pub(crate) const fn is_live(&self, number: u32) -> bool {
        number < self.live
    }
}
