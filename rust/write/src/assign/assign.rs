//! Assigns the rows of a write to file groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, BooleanArray};

use super::assignment::{Assignment, GroupTask, TaskKind};
use super::options::{AssignOptions, PlaceInserts};
use super::task_plan::{InsertClass, PlannedTask, RowCounts, TaskPlan, plan_tasks};
use super::updates::{Placed, Updates, of_tagged};
use crate::index::{Tagged, bucket_of};
use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_table::plan::OpenTable;

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
    let replaces = matches!(inserts, PlaceInserts::NewGroups | PlaceInserts::Overwrite);
    let updates = if replaces { Updates::new() } else { of_tagged(tagged)? };
    let run = Run { options, inserts, keys, tagged };
    let (new_rows, unmatched_deletes) = run.new_rows(is_delete, replaces).map_err(|error| error.in_file(&table.uri))?;
    let counts = RowCounts {
        updates: updates.keys().cloned().collect(),
        inserts: new_rows.iter().map(|(class, rows)| (named(*class), rows.len() as u64)).collect(),
    };
    let plan = plan_tasks(table, options, inserts, &tagged.view, &counts)?;
    Ok(Assignment { tasks: with_rows(plan, updates, &new_rows)?, unmatched_deletes })
}

struct Run<'a> {
    options: &'a AssignOptions,
    inserts: PlaceInserts,
    keys: &'a RowKeys,
    tagged: &'a Tagged,
}

/// A partition and, under a bucket index, a bucket: an [`InsertClass`] without a string of its own.
type Class<'a> = (&'a str, Option<u32>);

/// New rows of each class, ascending.
type NewRows<'a> = BTreeMap<Class<'a>, Vec<u32>>;

fn named((partition, bucket): Class<'_>) -> InsertClass {
    InsertClass { partition: partition.to_owned(), bucket }
}

impl<'a> Run<'a> {
    /// The rows that no file group has, and deletes of those.
    fn new_rows(&self, is_delete: &BooleanArray, replaces: bool) -> Result<(NewRows<'a>, Vec<u32>)> {
        let (mut new_rows, mut unmatched_deletes) = (NewRows::new(), Vec::new());
        let keys = self.keys;
        for ((row, partition), (location, is_delete)) in
            (0_u32..).zip(&keys.partitions).zip(self.tagged.locations.iter().zip(is_delete))
        {
            if location.is_some() && !replaces {
                continue;
            }
            if is_delete == Some(true) {
                unmatched_deletes.push(row);
            } else if self.inserts != PlaceInserts::Discard {
                let class = self.class(row, partition.unwrap_or_default(), location.is_some())?;
                new_rows.entry(class).or_default().push(row);
            }
        }
        Ok((new_rows, unmatched_deletes))
    }

    fn class(&self, row: u32, partition: &'a str, is_stored: bool) -> Result<Class<'a>> {
        let Some(buckets) = &self.options.bucket else { return Ok((partition, None)) };
        if self.inserts == PlaceInserts::NewGroups && is_stored {
            return Err(Error::unsupported(format!(
                "bulk_insert into a bucket of partition {partition:?} that has a file group: a bucket has one; use upsert or insert"
            )));
        }
        let key = self.keys.record_keys.value(usize::try_from(row).unwrap_or(usize::MAX));
        Ok((partition, Some(bucket_of(key, buckets))))
    }
}

/// The tasks of a plan with their rows.
fn with_rows(plan: TaskPlan, mut updates: Updates, new_rows: &NewRows<'_>) -> Result<Vec<GroupTask>> {
    let mut added: Vec<Vec<u32>> = vec![Vec::new(); plan.tasks.len()];
    for (class, shares) in &plan.inserts {
        let mut rest = new_rows.get(&(class.partition.as_str(), class.bucket)).map(Vec::as_slice).unwrap_or_default();
        for (task, count) in shares {
            let count = usize::try_from(*count).unwrap_or(usize::MAX).min(rest.len());
            let (taken, behind) = rest.split_at(count);
            rest = behind;
            let added =
                added.get_mut(*task).ok_or_else(|| Error::internal("new rows go to a task that is not there"))?;
            added.extend_from_slice(taken);
        }
    }
    let tasks = plan.tasks.into_iter().zip(added);
    Ok(tasks
        .map(|(PlannedTask { partition, kind }, added)| {
            let file_id = match &kind {
                TaskKind::Append { slice, .. } | TaskKind::Merge { slice } => slice.file_id.clone(),
                TaskKind::Create { .. } => String::new(),
            };
            let mut rows: Vec<Placed> = updates.remove(&(partition.clone(), file_id)).unwrap_or_default();
            if !added.is_empty() {
                rows.extend(added.into_iter().map(|row| (row, None)));
                rows.sort_unstable();
            }
            if matches!(kind, TaskKind::Merge { .. }) {
                rows.dedup_by_key(|(row, _)| *row);
            }
            let (rows, positions): (Vec<u32>, Vec<Option<u64>>) = rows.into_iter().unzip();
            let positions = if positions.iter().any(Option::is_some) { positions } else { Vec::new() };
            GroupTask { partition, kind, rows, positions }
        })
        .collect())
}
