//! Which rows' keys are in the table, for inserts that are not to repeat them (`DataSourceUtils.handleDuplicates`).
//!
//! An index that is right for updates may say that a key is in a file group that has it no more: logs delete keys of
//! base files, and a bucket is that of a key whether or not it is there. Hudi takes such keys for present and loses
//! their rows; here the group is read.

use std::collections::{HashMap, HashSet};

use super::index::Index;
use super::tagged::{FurtherLocation, Tagged};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_merge::keys::{RecordKey, RowKeys};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, QueryOptions};

/// Returns, for each row, whether its key is in the table.
///
/// # Errors
/// What reading file slices may fail with.
pub fn present_keys(table: &OpenTable, index: &dyn Index, keys: &RowKeys, tagged: &Tagged) -> Result<Vec<bool>> {
    let mut present = vec![false; tagged.locations.len()];
    let rows = (0_u32..).zip(&tagged.locations).filter_map(|(row, group)| Some((row, (*group)?)));
    let further = tagged.further.iter().map(|further| (further.row, further.group));
    let mut by_group: HashMap<u32, Vec<u32>> = HashMap::new();
    for (row, group) in rows.chain(further) {
        by_group.entry(group).or_default().push(row);
    }
    for (group, rows) in by_group {
        let slice = slice_of(tagged, group)?;
        let stored = if index.is_certain(slice) { None } else { Some(StoredRows { table, slice }) };
        let found = stored.map(|stored| stored.keys_among(keys, &rows)).transpose()?;
        for row in rows {
            let unknown = || Error::internal(format_args!("row {row} is tagged and is not there"));
            let flag = present.get_mut(at(row)).ok_or_else(unknown)?;
            *flag |= found.as_ref().is_none_or(|found| found.contains(keys.record_keys.value(at(row))));
        }
    }
    Ok(present)
}

fn slice_of(tagged: &Tagged, group: u32) -> Result<&FileSlice> {
    let location = tagged.group(group)?;
    let mut slices = tagged.view.slices.iter();
    let slice = slices.find(|slice| slice.partition == location.partition && slice.file_id == location.file_id);
    slice
        .ok_or_else(|| Error::internal(format_args!("a row is tagged with {location:?}, which the view does not show")))
}

/// The merged rows of a slice.
struct StoredRows<'a> {
    table: &'a OpenTable,
    slice: &'a FileSlice,
}

impl StoredRows<'_> {
    /// The keys of the rows that the slice has.
    fn keys_among(&self, keys: &RowKeys, rows: &[u32]) -> Result<HashSet<String>> {
        let config = &self.table.config;
        let virtual_key = (!config.populate_meta_fields).then_some(config.record_key_fields.as_slice());
        let key = RecordKey::new(virtual_key)?;
        let wanted: HashSet<&str> = rows.iter().map(|row| keys.record_keys.value(at(*row))).collect();
        let options = QueryOptions { columns: Some(key.columns()), ..QueryOptions::default() };
        let mut found = HashSet::new();
        for batch in self.table.stored_rows(std::slice::from_ref(self.slice), &options)?.stream() {
            let stored = key.keys_of(&batch?)?;
            found.extend(stored.iter().flatten().filter(|key| wanted.contains(key)).map(str::to_owned));
        }
        Ok(found)
    }
}

impl Tagged {
    /// The locations of some of the rows, in their order.
    ///
    /// # Errors
    /// `Internal` for a row that is not tagged.
    pub fn of_rows(&self, rows: &[u32]) -> Result<Self> {
        let location = |row: &u32| {
            let untagged = || Error::internal(format_args!("row {row} is kept and is not tagged"));
            self.locations.get(at(*row)).copied().ok_or_else(untagged)
        };
        let new_numbers: HashMap<u32, u32> = rows.iter().copied().zip(0_u32..).collect();
        // Those of rows that are left out go with them.
        let further = self
            .further
            .iter()
            .filter_map(|further| Some(FurtherLocation { row: *new_numbers.get(&further.row)?, ..*further }));
        Ok(Self {
            locations: rows.iter().map(location).collect::<Result<_>>()?,
            groups: self.groups.clone(),
            positions: match self.positions.is_empty() {
                true => Vec::new(),
                false => rows.iter().map(|row| self.position(at(*row))).collect::<Result<_>>()?,
            },
            further: further.collect(),
            view: std::sync::Arc::clone(&self.view),
        })
    }
}
