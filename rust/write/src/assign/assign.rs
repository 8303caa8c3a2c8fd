//! Assigns the rows of a write to file groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::Array;

use super::assignment::{Assignment, GroupTask, TaskKind};
use super::options::{AssignOptions, PlaceInserts};
use super::task_plan::{InsertClass, PlannedTask, RowCounts, TaskPlan, plan_tasks};
use super::updates::{Placed, Updates, of_tagged};
use crate::index::{BucketLayout, Tagged};
use crate::row_set::RowMarks;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
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
///     marks: What the rows do to their keys.
///
/// # Errors
/// `Unsupported` if rows are in file groups under pending clustering; what reading commits may fail with.
pub fn assign(
    table: &Arc<OpenTable>,
    options: &AssignOptions,
    inserts: PlaceInserts,
    keys: &RowKeys,
    tagged: &Tagged,
    marks: &RowMarks,
) -> Result<Assignment> {
    let rows = keys.record_keys.len();
    if [keys.partitions.len(), tagged.locations.len(), marks.len()] != [rows; 3] {
        return Err(Error::internal(format_args!("{rows} keys of {} rows", marks.len())));
    }
    let replaces = matches!(inserts, PlaceInserts::NewGroups | PlaceInserts::Overwrite);
    let updates = if replaces { Updates::new() } else { of_tagged(tagged)? };
    let run = Run { options, inserts, keys, tagged };
    let (new_rows, unmatched_deletes) = run.new_rows(marks, replaces).map_err(|error| error.in_file(&table.uri))?;
    let counts = RowCounts {
        updates: updates.keys().cloned().collect(),
        inserts: new_rows.iter().map(|(class, rows)| (named(*class), rows.len() as u64)).collect(),
    };
    let plan = plan_tasks(table, options, inserts, &tagged.view, &counts)?;
    Ok(Assignment { tasks: with_rows(plan, updates, new_rows, options.bucket.as_deref())?, unmatched_deletes })
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
    fn new_rows(&self, marks: &RowMarks, replaces: bool) -> Result<(NewRows<'a>, Vec<u32>)> {
        let (mut new_rows, mut unmatched_deletes) = (NewRows::new(), Vec::new());
        let keys = self.keys;
        for ((row, partition), (location, mark)) in
            (0_u32..).zip(&keys.partitions).zip(self.tagged.locations.iter().zip(marks.iter()))
        {
            if location.is_some() && !replaces {
                continue;
            }
            if mark.is_delete() {
                unmatched_deletes.push(row);
            } else if self.inserts != PlaceInserts::Discard {
                let partition = partition.ok_or_else(|| Error::internal(format_args!("row {row} has no partition")))?;
                let class = self.class(row, partition, location.is_some())?;
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
        let key = self.keys.record_keys.value(at(row));
        Ok((partition, Some(buckets.bucket_of(key, partition)?)))
    }
}

/// The tasks of a plan with their rows: those of each file group that holds keys, and the shares of new rows.
fn with_rows(
    plan: TaskPlan,
    mut updates: Updates,
    new_rows: NewRows<'_>,
    buckets: Option<&BucketLayout>,
) -> Result<Vec<GroupTask>> {
    let mut added = shared(&plan, new_rows, buckets)?.into_iter();
    let mut tasks = Vec::with_capacity(plan.tasks.len());
    for PlannedTask { partition, kind } in plan.tasks {
        let mut rows: Vec<Placed> = match &kind {
            // A small file takes new rows, and may hold none of the keys.
            TaskKind::Append { slice, .. } | TaskKind::Merge { slice } => {
                updates.remove(&(partition.clone(), slice.file_id.clone())).unwrap_or_default()
            }
            TaskKind::Create { .. } => Vec::new(),
        };
        let added = added.next().ok_or_else(|| Error::internal("a task without a list of its new rows"))?;
        if !added.is_empty() {
            rows.extend(added.into_iter().map(|row| (row, None)));
            rows.sort_unstable();
        }
        if matches!(kind, TaskKind::Merge { .. }) {
            rows.dedup_by_key(|(row, _)| *row);
        }
        let (rows, positions): (Vec<u32>, Vec<Option<u64>>) = rows.into_iter().unzip();
        let positions = if positions.iter().any(Option::is_some) { positions } else { Vec::new() };
        tasks.push(GroupTask { partition, kind, rows, positions });
    }
    match updates.first_key_value() {
        None => Ok(tasks),
        Some(((partition, file_id), rows)) => Err(Error::internal(format_args!(
            "file group {file_id:?} of partition {partition:?} has {} rows and no task",
            rows.len()
        ))),
    }
}

/// The new rows of each task. All rows of a class are shared out, to tasks that may take them.
fn shared<'r>(plan: &'r TaskPlan, mut new_rows: NewRows<'r>, buckets: Option<&BucketLayout>) -> Result<Vec<Vec<u32>>> {
    let mut added: Vec<Vec<u32>> = vec![Vec::new(); plan.tasks.len()];
    for (class, shares) in &plan.inserts {
        let rows = new_rows.remove(&(class.partition.as_str(), class.bucket));
        let mut rest = rows.ok_or_else(|| Error::internal(format_args!("no new rows of the planned {class:?}")))?;
        for (task, count) in shares {
            let lost = || Error::internal(format_args!("new rows of {class:?} go to task {task}, which is not there"));
            plan.tasks.get(*task).ok_or_else(lost)?.check_takes(class, buckets)?;
            let few = || Error::internal(format_args!("{count} more new rows of {class:?} are planned than there are"));
            let count = usize::try_from(*count).map_err(|_| few())?;
            let behind = (count <= rest.len()).then(|| rest.split_off(count)).ok_or_else(few)?;
            added.get_mut(*task).ok_or_else(lost)?.append(&mut rest);
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(Error::internal(format_args!("{} new rows of {class:?} have no task", rest.len())));
        }
    }
    match new_rows.first_key_value() {
        None => Ok(added),
        Some((class, rows)) => Err(Error::internal(format_args!("{} new rows of {class:?} have no task", rows.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::new_group_prefix;
    use mortice_base::error::ErrorKind;
    use mortice_table::file_group::FileSlice;
    use proptest::prelude::*;

    fn class() -> InsertClass {
        InsertClass { partition: "p".to_owned(), bucket: None }
    }

    fn create(partition: &str) -> PlannedTask {
        let kind = TaskKind::Create { file_id_prefix: new_group_prefix() };
        PlannedTask { partition: partition.to_owned(), kind }
    }

    fn merge(file_id: &str) -> PlannedTask {
        let base_instant = "20260101000000000".parse().unwrap();
        let (partition, file_id) = ("p".to_owned(), file_id.to_owned());
        let slice = FileSlice { partition, file_id, base_instant, base_file: None, log_files: Vec::new() };
        PlannedTask { partition: "p".to_owned(), kind: TaskKind::Merge { slice } }
    }

    fn planned(tasks: Vec<PlannedTask>, shares: &[(usize, u64)]) -> TaskPlan {
        TaskPlan { tasks, inserts: BTreeMap::from([(class(), shares.to_vec())]) }
    }

    fn new(rows: impl IntoIterator<Item = u32>) -> NewRows<'static> {
        NewRows::from([(("p", None), rows.into_iter().collect())])
    }

    fn of_group(file_id: &str, rows: &[Placed]) -> Updates {
        Updates::from([(("p".to_owned(), file_id.to_owned()), rows.to_vec())])
    }

    #[test]
    fn rows_of_a_file_group_are_in_its_task() {
        let plan = planned(vec![merge("one"), merge("two"), create("p")], &[(1, 2), (2, 1)]);
        let updates = of_group("one", &[(0, Some(4)), (0, Some(6)), (3, None)]);
        let tasks = with_rows(plan, updates, new([1, 2, 4]), None).unwrap();
        let rows: Vec<_> = tasks.iter().map(|task| task.rows.clone()).collect();
        // A file that is rewritten takes a row once.
        assert_eq!(rows, [vec![0, 3], vec![1, 2], vec![4]]);
        assert_eq!(tasks[0].positions, [Some(4), None]);
        assert!(tasks[1].positions.is_empty() && tasks[2].positions.is_empty());
    }

    #[test]
    fn broken_plans_are_internal_errors() {
        let none = Updates::new;
        let cases = [
            (
                "rows of a file group without a task",
                planned(vec![create("p")], &[(0, 1)]),
                of_group("one", &[(1, None)]),
                new([0]),
            ),
            ("a task that is not there", planned(vec![create("p")], &[(1, 1)]), none(), new([0])),
            ("a task of another partition", planned(vec![create("q")], &[(0, 1)]), none(), new([0])),
            ("too few rows", planned(vec![create("p")], &[(0, 2)]), none(), new([0])),
            ("too many rows", planned(vec![create("p")], &[(0, 1)]), none(), new([0, 1])),
            ("a class without a plan", TaskPlan { tasks: vec![create("p")], ..TaskPlan::default() }, none(), new([0])),
            ("a plan without rows", planned(vec![create("p")], &[(0, 1)]), none(), NewRows::new()),
        ];
        for (name, plan, updates, new_rows) in cases {
            let error = with_rows(plan, updates, new_rows, None).expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Internal, "{name}");
        }
    }

    proptest! {
        #[test]
        fn each_new_row_has_one_task(shares in proptest::collection::vec(0_u64..20, 1..6)) {
            let tasks: Vec<_> = shares.iter().map(|_| create("p")).collect();
            let numbered: Vec<_> = shares.iter().copied().enumerate().collect();
            let count: u64 = shares.iter().sum();
            let rows: Vec<u32> = (0..u32::try_from(count).unwrap()).collect();
            let tasks = with_rows(planned(tasks, &numbered), Updates::new(), new(rows.clone()), None).unwrap();
            let counts: Vec<u64> = tasks.iter().map(|task| task.rows.len() as u64).collect();
            prop_assert_eq!(counts, shares);
            prop_assert_eq!(tasks.into_iter().flat_map(|task| task.rows).collect::<Vec<_>>(), rows);
        }
    }
}
