//! Random rows, tagged with random file groups of a table whose files have random sizes.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::super::simulation::Random;
use super::assign_options;
use mortice_base::row_number::at;
use mortice_merge::config::TableType;
use mortice_merge::keys::RowKeys;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::WriteView;
use mortice_write::assign::{AssignOptions, PlaceInserts};
use mortice_write::index::{FurtherLocation, Location, Tagged, group_of};
use mortice_write::row_set::{RowMark, RowMarks};

/// Keys with their partitions.
pub(super) fn keys<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> RowKeys {
    let (keys, partitions): (Vec<_>, Vec<_>) = rows.unzip();
    RowKeys { record_keys: keys.into(), partitions: partitions.into() }
}

/// What is assigned.
pub(super) struct Case {
    seed: u64,
    pub(super) table_type: TableType,
    pub(super) options: AssignOptions,
    pub(super) place: PlaceInserts,
    pub(super) keys: RowKeys,
    pub(super) tagged: Tagged,
    pub(super) marks: RowMarks,
}

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, table_type, options, place, keys, tagged, marks } = self;
        write!(to, "MORTICE_TEST_SEED={seed}, {table_type:?}, {options:?}, {place:?}, {:?}", keys.partitions)?;
        write!(to, ", {marks:?}, {:?}, {:?}, {:?}", tagged.locations, tagged.further, tagged.groups)?;
        for slice in self.slices() {
            let len = slice.base_file.as_ref().map(|base| base.len);
            write!(to, "; {:?} of {:?}: {len:?}, {} logs", slice.file_id, slice.partition, slice.log_files.len())?;
        }
        Ok(())
    }
}

const PLACES: [PlaceInserts; 6] = [
    PlaceInserts::SmallFiles,
    PlaceInserts::SmallFiles,
    PlaceInserts::SmallFiles,
    PlaceInserts::NewGroups,
    PlaceInserts::Overwrite,
    PlaceInserts::Discard,
];

impl Case {
    pub(super) fn new(seed: u64, table_type: TableType, view: &WriteView) -> Self {
        let mut random = Random::new(seed);
        let mut number = |limit: usize| random.below(limit) as u64;
        let options = AssignOptions {
            max_file_size: 100 + number(200),
            small_file_limit: number(300),
            small_file_candidates: usize::try_from(number(4)).unwrap(),
            insert_split: (number(2) == 0).then(|| 1 + number(15)),
            record_size: 1 + number(40),
            ..assign_options()
        };
        let mut below = |limit: usize| random.below(limit);
        let place = PLACES[below(PLACES.len())];
        let mut view = view.clone();
        let lens: Vec<u64> = view.slices.iter().map(|_| below(320) as u64).collect();
        for slices in [&mut view.slices, &mut view.base_files] {
            for (slice, len) in slices.iter_mut().zip(&lens) {
                slice.base_file.as_mut().unwrap().len = *len;
            }
        }
        for slice in &mut view.slices {
            if below(3) == 0 {
                slice.log_files.clear();
            }
        }
        let groups: Vec<Location> = view.base_files.iter().map(group_of).collect();
        let is_free = |group: &Location| view.pending_clustering(&group.partition, &group.file_id).is_none();
        let mut tagged = Tagged { groups, ..Tagged::default() };
        let (mut rows, mut marks) = (Vec::new(), Vec::new());
        let allows_clustered = below(20) == 0;
        for row in 0..u32::try_from(below(60)).unwrap() {
            let group = u32::try_from(below(tagged.groups.len())).unwrap();
            let location = tagged.groups[at(group)].clone();
            let is_stored = below(3) == 0 && (allows_clustered || is_free(&location));
            let partition = if below(4) == 0 { "new".to_owned() } else { location.partition };
            rows.push((format!("k{row}"), partition));
            tagged.locations.push(is_stored.then_some(group));
            tagged.positions.push((is_stored && below(2) == 0).then(|| below(9) as u64));
            if is_stored && below(4) == 0 {
                let group = u32::try_from(below(tagged.groups.len())).unwrap();
                if is_free(&tagged.groups[at(group)]) {
                    tagged.further.push(FurtherLocation { row, group, position: Some(100 + below(2) as u64) });
                }
            }
            let is_delete = place == PlaceInserts::Discard || below(6) == 0;
            marks.push(if is_delete { RowMark::Delete } else { RowMark::Upsert });
        }
        tagged.view = Arc::new(view);
        let keys = keys(rows.iter().map(|(key, partition)| (key.as_str(), partition.as_str())));
        Self { seed, table_type, options, place, keys, tagged, marks: marks.into_iter().collect() }
    }

    /// Whether all rows go to new file groups.
    pub(super) fn replaces(&self) -> bool {
        matches!(self.place, PlaceInserts::NewGroups | PlaceInserts::Overwrite)
    }

    pub(super) fn is_delete(&self, row: u32) -> bool {
        self.marks.of_row(row).unwrap().is_delete()
    }

    pub(super) fn partition(&self, row: u32) -> &str {
        self.keys.partitions.value(at(row))
    }

    /// The rows.
    pub(super) fn rows(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.marks.len()).unwrap()
    }

    /// The file groups of a row's key, each with the number of a row; none if the row goes to a new one.
    pub(super) fn places(&self, row: u32) -> BTreeSet<(u32, Option<u64>)> {
        if self.replaces() {
            return BTreeSet::new();
        }
        let first = self.tagged.locations[at(row)].map(|group| (group, self.tagged.positions[at(row)]));
        let further = self.tagged.further.iter().filter(|further| further.row == row);
        first.into_iter().chain(further.map(|further| (further.group, further.position))).collect()
    }

    /// Whether rows are in a file group that a pending clustering replaces.
    pub(super) fn updates_clustered_group(&self) -> bool {
        let places = self.rows().flat_map(|row| self.places(row));
        let mut groups = places.map(|(group, _)| &self.tagged.groups[at(group)]);
        groups.any(|group| self.tagged.view.pending_clustering(&group.partition, &group.file_id).is_some())
    }

    /// The latest slices as a write of this table type sees them.
    pub(super) fn slices(&self) -> &[FileSlice] {
        let view = &self.tagged.view;
        if self.table_type == TableType::CopyOnWrite { &view.base_files } else { &view.slices }
    }

    /// The base files of a partition that take new rows.
    pub(super) fn small_files(&self, partition: &str) -> Vec<&FileSlice> {
        let view = &self.tagged.view;
        if self.place != PlaceInserts::SmallFiles {
            return Vec::new();
        }
        let mut small = Vec::new();
        for slice in self.slices().iter().filter(|slice| slice.partition == partition) {
            let is_small = len(slice) < self.options.small_file_limit;
            let is_clustered = view.pending_clustering(partition, &slice.file_id).is_some();
            let is_compacted = view.pending_compaction(partition, &slice.file_id).is_some();
            let is_appended =
                self.table_type == TableType::MergeOnRead && (is_compacted || !slice.log_files.is_empty());
            if is_small && !is_clustered && !is_appended {
                small.push(slice);
            }
        }
        if self.table_type == TableType::MergeOnRead {
            small.sort_by_key(|slice| len(slice));
            small.truncate(self.options.small_file_candidates);
        }
        small
    }
}

/// Bytes of the base file.
pub(super) fn len(slice: &FileSlice) -> u64 {
    slice.base_file.as_ref().unwrap().len
}
