//! Assigns the rows of a write to file groups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, BooleanArray};

use super::assignment::{Assignment, GroupTask, TaskKind};
use super::inserts::{Bin, distribute};
use super::options::{AssignOptions, PlaceInserts};
use super::updates::{Placed, Updates, naming, of_tagged, slice_of};
use super::{record_size, small_files};
use crate::config::TableType;
use crate::error::{Error, Result};
use crate::index::{BucketOptions, Tagged, bucket_of, new_bucket_prefix, new_group_prefix};
use crate::keys::RowKeys;
use crate::plan::OpenTable;

/// Assigns rows to file groups.
///
/// Args:
///     table: The table.
///     options: Sizes and limits.
///     inserts: Where rows with new keys go, by operation.
///     keys: Record keys and partition paths of the rows.
///     tagged: Where the keys are.
///     `is_delete`: Which rows are deletes.
///
/// # Errors
/// `Unsupported` if rows are in file groups under pending clustering; what reading commits may fail with.
pub fn assign(
    table: &Arc<OpenTable>,
    options: &AssignOptions,
    inserts: PlaceInserts,
    keys: &RowKeys,
    tagged: &Tagged,
    is_delete: &BooleanArray,
) -> Result<Assignment> {
    let rows = keys.record_keys.len();
    if [keys.partitions.len(), tagged.locations.len(), is_delete.len()] != [rows; 3] {
        return Err(Error::internal(format_args!("{rows} keys of {} rows", is_delete.len())));
    }
    let run = Run { table, options, inserts, keys, tagged, assignment: Assignment::default() };
    run.assign(is_delete).map_err(|error| error.in_file(&table.uri))
}

struct Run<'a> {
    table: &'a OpenTable,
    options: &'a AssignOptions,
    inserts: PlaceInserts,
    keys: &'a RowKeys,
    tagged: &'a Tagged,
    assignment: Assignment,
}

/// New rows by partition.
type Inserts<'a> = BTreeMap<&'a str, Vec<u32>>;

impl<'a> Run<'a> {
    fn assign(mut self, is_delete: &BooleanArray) -> Result<Assignment> {
        let replaces = matches!(self.inserts, PlaceInserts::NewGroups | PlaceInserts::Overwrite);
        let mut updates = if replaces { Updates::new() } else { of_tagged(self.tagged)? };
        let inserts = self.new_rows(is_delete, replaces);
        // New rows are added to a small file by rewriting it, with the updates of its rows.
        let mut rewritten = BTreeSet::new();
        let mut created = Vec::new();
        match &self.options.bucket {
            Some(buckets) => created = self.buckets(&inserts, buckets)?,
            None => self.bins(&inserts, &mut updates, &mut rewritten, &mut created)?,
        }
        for ((partition, file_id), rows) in updates {
            let is_rewritten = rewritten.contains(&(partition.clone(), file_id.clone()));
            let task = self.update(partition, &file_id, rows, is_rewritten)?;
            self.assignment.tasks.push(task);
        }
        self.assignment.tasks.extend(created);
        self.assignment.tasks.sort_by(|one, other| one.partition.cmp(&other.partition));
        Ok(self.assignment)
    }

    /// The rows that no file group has; deletes of those are set aside.
    fn new_rows(&mut self, is_delete: &BooleanArray, replaces: bool) -> Inserts<'a> {
        let mut inserts = Inserts::new();
        let keys = self.keys;
        for ((row, partition), (location, is_delete)) in
            (0_u32..).zip(&keys.partitions).zip(self.tagged.locations.iter().zip(is_delete))
        {
            if location.is_some() && !replaces {
                continue;
            }
            if is_delete == Some(true) {
                self.assignment.unmatched_deletes.push(row);
            } else if self.inserts != PlaceInserts::Discard {
                inserts.entry(partition.unwrap_or_default()).or_default().push(row);
            }
        }
        inserts
    }

    fn update(&self, partition: String, file_id: &str, mut rows: Vec<Placed>, is_rewritten: bool) -> Result<GroupTask> {
        let (view, config) = (&*self.tagged.view, &self.table.config);
        let slice = slice_of(view, config, &partition, file_id)?.clone();
        let kind = if is_rewritten || config.table_type == TableType::CopyOnWrite {
            rows.dedup_by_key(|(row, _)| *row);
            TaskKind::Merge { slice }
        } else {
            TaskKind::Append { naming: naming(view, config, &slice), slice }
        };
        let (rows, positions): (Vec<u32>, Vec<Option<u64>>) = rows.into_iter().unzip();
        let positions = if positions.iter().any(Option::is_some) { positions } else { Vec::new() };
        Ok(GroupTask { partition, kind, rows, positions })
    }

    /// Distributes new rows to small files and new groups.
    fn bins(
        &self,
        inserts: &Inserts<'_>,
        updates: &mut Updates,
        rewritten: &mut BTreeSet<(String, String)>,
        created: &mut Vec<GroupTask>,
    ) -> Result<()> {
        if inserts.is_empty() {
            return Ok(());
        }
        let record_size = record_size::estimate(&self.table.timeline, self.options)?;
        for (partition, rows) in inserts {
            let small = if self.inserts == PlaceInserts::SmallFiles {
                small_files::of_partition(&self.tagged.view, self.table.config.table_type, partition, self.options)
            } else {
                Vec::new()
            };
            rewritten.extend(small.iter().map(|slice| (slice.partition.clone(), slice.file_id.clone())));
            let mut rest = rows.as_slice();
            for (bin, count) in distribute(rows.len() as u64, &small, record_size, self.options) {
                let count = usize::try_from(count).unwrap_or(usize::MAX).min(rest.len());
                let (taken, behind) = rest.split_at(count);
                rest = behind;
                match bin {
                    Bin::SmallFile(slice) => {
                        let group = updates.entry((slice.partition.clone(), slice.file_id.clone())).or_default();
                        group.extend(taken.iter().map(|row| (*row, None)));
                        group.sort_unstable();
                    }
                    Bin::NewGroup => created.push(create(partition, new_group_prefix(), taken.to_vec())),
                }
            }
        }
        Ok(())
    }

    /// New groups of buckets that have none.
    fn buckets(&self, inserts: &Inserts<'_>, options: &BucketOptions) -> Result<Vec<GroupTask>> {
        let mut created = Vec::new();
        for (partition, rows) in inserts {
            let mut by_bucket: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for row in rows {
                let at = usize::try_from(*row).unwrap_or(usize::MAX);
                if self.inserts == PlaceInserts::NewGroups && self.tagged.locations.get(at).copied().flatten().is_some()
                {
                    return Err(Error::unsupported(format!(
                        "bulk_insert into a bucket of partition {partition:?} that has a file group: a bucket has one; use upsert or insert"
                    )));
                }
                by_bucket.entry(bucket_of(self.keys.record_keys.value(at), options)).or_default().push(*row);
            }
            created
                .extend(by_bucket.into_iter().map(|(bucket, rows)| create(partition, new_bucket_prefix(bucket), rows)));
        }
        Ok(created)
    }
}

fn create(partition: &str, file_id_prefix: String, rows: Vec<u32>) -> GroupTask {
    GroupTask {
        partition: partition.to_owned(),
        kind: TaskKind::Create { file_id_prefix },
        rows,
        positions: Vec::new(),
    }
}
