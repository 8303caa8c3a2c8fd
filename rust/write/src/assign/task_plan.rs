//! The tasks of a write, planned from counts of rows: processes that hold the rows need not be the one that plans.

use std::collections::{BTreeMap, BTreeSet};

use super::assignment::TaskKind;
use super::inserts::{Bin, distribute};
use super::nested_partitions::refuse_nested;
use super::options::{AssignOptions, PlaceInserts};
use super::updates::{log_naming, slice_of};
use super::{record_size, small_files};
use crate::index::{BucketLayout, new_group_prefix};
use mortice_base::error::{Error, Result};
use mortice_merge::config::TableType;
use mortice_table::plan::{OpenTable, WriteView};

/// New rows that may go to the same file groups: those of a partition and, under a bucket index, of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InsertClass {
    /// The partition.
    pub partition: String,
    /// The bucket, under a bucket index.
    pub bucket: Option<u32>,
}

/// How many rows of a write go where. Deletes of keys that the table does not have are not among them.
#[derive(Debug, Clone, Default)]
pub struct RowCounts {
    /// File groups that hold keys of rows, by partition and file id.
    pub updates: BTreeSet<(String, String)>,
    /// New rows.
    pub inserts: BTreeMap<InsertClass, u64>,
}

/// A task without its rows.
#[derive(Debug, Clone)]
pub struct PlannedTask {
    /// The partition.
    pub partition: String,
    /// How the file group is written to.
    pub kind: TaskKind,
}

/// The tasks of a write.
#[derive(Debug, Clone, Default)]
pub struct TaskPlan {
    /// The tasks, by partition. Each file group of [`RowCounts::updates`] has one.
    pub tasks: Vec<PlannedTask>,
    /// Of new rows, in their order: the tasks that take them, and how many.
    pub inserts: BTreeMap<InsertClass, Vec<(usize, u64)>>,
}

impl TaskPlan {
    /// The tasks of existing file groups, by partition and file id.
    #[must_use]
    pub fn by_group(&self) -> BTreeMap<(String, String), usize> {
        let mut found = BTreeMap::new();
        for (number, task) in self.tasks.iter().enumerate() {
            if let TaskKind::Append { slice, .. } | TaskKind::Merge { slice } = &task.kind {
                found.insert((task.partition.clone(), slice.file_id.clone()), number);
            }
        }
        found
    }
}

/// Where some of the new rows go, while the tasks are planned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Taker {
    Group((String, String)),
    New(usize),
}

/// Plans the tasks of so many rows.
///
/// # Errors
/// `Unsupported` if rows are in file groups under pending clustering; `InvalidArgument` for a new partition within
/// another one; what reading commits may fail with.
pub fn plan_tasks(
    table: &OpenTable,
    options: &AssignOptions,
    place: PlaceInserts,
    view: &WriteView,
    counts: &RowCounts,
) -> Result<TaskPlan> {
    let planner = Planner { table, options, place, view };
    planner.plan(counts).map_err(|error| error.in_file(&table.uri))
}

struct Planner<'a> {
    table: &'a OpenTable,
    options: &'a AssignOptions,
    place: PlaceInserts,
    view: &'a WriteView,
}

/// File groups that are written to, and what is new.
#[derive(Default)]
struct Draft {
    groups: BTreeSet<(String, String)>,
    /// New rows are added to a small file by rewriting it, with the updates of its rows.
    rewritten: BTreeSet<(String, String)>,
    created: Vec<PlannedTask>,
    takers: BTreeMap<InsertClass, Vec<(Taker, u64)>>,
}

impl Planner<'_> {
    fn plan(&self, counts: &RowCounts) -> Result<TaskPlan> {
        refuse_nested(&self.view.partitions, counts.inserts.keys().map(|class| class.partition.as_str()))?;
        let mut draft = Draft { groups: counts.updates.clone(), ..Draft::default() };
        match &self.options.bucket {
            Some(layout) => new_buckets(layout, &counts.inserts, &mut draft)?,
            None => self.bins(&counts.inserts, &mut draft)?,
        }
        self.finish(draft)
    }

    /// Distributes new rows to small files and new groups.
    fn bins(&self, inserts: &BTreeMap<InsertClass, u64>, draft: &mut Draft) -> Result<()> {
        if inserts.is_empty() {
            return Ok(());
        }
        let record_size = record_size::estimate(&self.table.timeline, self.options)?;
        for (class, rows) in inserts {
            let small = if self.place == PlaceInserts::SmallFiles {
                small_files::of_partition(self.view, self.table.config.table_type, &class.partition, self.options)
            } else {
                Vec::new()
            };
            draft.rewritten.extend(small.iter().map(|slice| (slice.partition.clone(), slice.file_id.clone())));
            for (bin, count) in distribute(*rows, &small, record_size, self.options) {
                let taker = match bin {
                    Bin::SmallFile(slice) => {
                        let group = (slice.partition.clone(), slice.file_id.clone());
                        draft.groups.insert(group.clone());
                        Taker::Group(group)
                    }
                    Bin::NewGroup => draft.create(class, new_group_prefix()),
                };
                draft.takers.entry(class.clone()).or_default().push((taker, count));
            }
        }
        Ok(())
    }

    /// Puts the tasks in order of their partitions: in each, first those of existing file groups.
    fn finish(&self, draft: Draft) -> Result<TaskPlan> {
        let Draft { groups, rewritten, created, takers } = draft;
        let mut tasks = Vec::with_capacity(groups.len() + created.len());
        for group in groups {
            let task = self.existing(&group, rewritten.contains(&group))?;
            tasks.push((Taker::Group(group), task));
        }
        tasks.extend(created.into_iter().enumerate().map(|(number, task)| (Taker::New(number), task)));
        tasks.sort_by(|(_, one), (_, other)| one.partition.cmp(&other.partition));
        let mut numbers = BTreeMap::new();
        for (at, (taker, _)) in tasks.iter().enumerate() {
            numbers.insert(taker.clone(), at);
        }
        let inserts = numbered(takers, &numbers)?;
        Ok(TaskPlan { tasks: tasks.into_iter().map(|(_, task)| task).collect(), inserts })
    }

    fn existing(&self, (partition, file_id): &(String, String), is_rewritten: bool) -> Result<PlannedTask> {
        let config = &self.table.config;
        let slice = slice_of(self.view, config, partition, file_id)?.clone();
        let kind = if is_rewritten || config.table_type == TableType::CopyOnWrite {
            TaskKind::Merge { slice }
        } else {
            TaskKind::Append { naming: log_naming(self.view, config, &slice), slice }
        };
        Ok(PlannedTask { partition: partition.clone(), kind })
    }
}

/// New groups of buckets that have none.
fn new_buckets(layout: &BucketLayout, inserts: &BTreeMap<InsertClass, u64>, draft: &mut Draft) -> Result<()> {
    for (class, rows) in inserts {
        let bucket = class.bucket.ok_or_else(|| Error::internal("new rows of a bucket index without a bucket"))?;
        let taker = draft.create(class, layout.new_prefix(&class.partition, bucket)?);
        draft.takers.insert(class.clone(), vec![(taker, *rows)]);
    }
    Ok(())
}

/// The shares of tasks by their numbers.
fn numbered(
    takers: BTreeMap<InsertClass, Vec<(Taker, u64)>>,
    numbers: &BTreeMap<Taker, usize>,
) -> Result<BTreeMap<InsertClass, Vec<(usize, u64)>>> {
    let number_of = |(taker, rows): (Taker, u64)| -> Result<(usize, u64)> {
        let unknown = || Error::internal(format_args!("new rows go to {taker:?}, which has no task"));
        Ok((*numbers.get(&taker).ok_or_else(unknown)?, rows))
    };
    let shares_of = |(class, shares): (InsertClass, Vec<(Taker, u64)>)| -> Result<(InsertClass, Vec<(usize, u64)>)> {
        Ok((class, shares.into_iter().map(number_of).collect::<Result<Vec<_>>>()?))
    };
    takers.into_iter().map(shares_of).collect()
}

impl PlannedTask {
    /// Makes sure that the task may take new rows of a class: it is of their partition and, if there are buckets, of
    /// theirs.
    ///
    /// # Errors
    /// `Internal` if it is not.
    pub fn check_takes(&self, class: &InsertClass, buckets: Option<&BucketLayout>) -> Result<()> {
        check_takes(&self.partition, &self.kind, &class.partition, buckets.zip(class.bucket))
    }
}

/// Makes sure that a task of a partition may take a new row of a partition and, under a bucket index, of a bucket.
///
/// # Errors
/// `Internal` if it may not: the row would be where no reader and no writer looks for its key.
pub fn check_takes(own: &str, kind: &TaskKind, partition: &str, bucket: Option<(&BucketLayout, u32)>) -> Result<()> {
    if own != partition {
        return Err(Error::internal(format_args!(
            "a new row of partition {partition:?} goes to a task of partition {own:?}"
        )));
    }
    let file_id = match kind {
        TaskKind::Append { slice, .. } | TaskKind::Merge { slice } => &slice.file_id,
        TaskKind::Create { file_id_prefix } => file_id_prefix,
    };
    match bucket {
        Some((layout, bucket)) if layout.bucket_of_group(partition, file_id)? != Some(bucket) => Err(Error::internal(
            format_args!("a new row of bucket {bucket} in partition {partition:?} goes to file group {file_id:?}"),
        )),
        _ => Ok(()),
    }
}

impl Draft {
    fn create(&mut self, class: &InsertClass, file_id_prefix: String) -> Taker {
        let kind = TaskKind::Create { file_id_prefix };
        self.created.push(PlannedTask { partition: class.partition.clone(), kind });
        Taker::New(self.created.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{BucketEngine, BucketOptions, new_bucket_prefix};
    use mortice_base::error::ErrorKind;
    use proptest::prelude::*;

    fn layout() -> BucketLayout {
        let options =
            BucketOptions { engine: BucketEngine::Simple, buckets: 10, rules: None, fields: vec!["id".to_owned()] };
        BucketLayout::fixed(&options).unwrap()
    }

    fn class(partition: &str, bucket: Option<u32>) -> InsertClass {
        InsertClass { partition: partition.to_owned(), bucket }
    }

    fn created(class: &InsertClass) -> PlannedTask {
        let file_id_prefix = class.bucket.map_or_else(new_group_prefix, new_bucket_prefix);
        PlannedTask { partition: class.partition.clone(), kind: TaskKind::Create { file_id_prefix } }
    }

    #[test]
    fn a_taker_without_a_task_is_an_internal_error() {
        let known = Taker::Group(("p".to_owned(), "known".to_owned()));
        let numbers = BTreeMap::from([(known.clone(), 3)]);
        let shares = |taker: Taker| BTreeMap::from([(class("p", None), vec![(known.clone(), 2), (taker, 5)])]);
        let found = numbered(shares(known.clone()), &numbers).unwrap();
        assert_eq!(found, BTreeMap::from([(class("p", None), vec![(3, 2), (3, 5)])]));
        for unknown in [Taker::New(0), Taker::Group(("p".to_owned(), "other".to_owned()))] {
            assert_eq!(numbered(shares(unknown), &numbers).unwrap_err().kind(), ErrorKind::Internal);
        }
    }

    #[test]
    fn a_new_row_of_a_bucket_index_has_a_bucket() {
        let mut draft = Draft::default();
        let inserts = BTreeMap::from([(class("p", Some(7)), 4), (class("q", Some(7)), 1)]);
        new_buckets(&layout(), &inserts, &mut draft).unwrap();
        let takers: Vec<_> = draft.takers.values().cloned().collect();
        assert_eq!(takers, [vec![(Taker::New(0), 4)], vec![(Taker::New(1), 1)]]);
        for (task, class) in draft.created.iter().zip(inserts.keys()) {
            task.check_takes(class, Some(&layout())).unwrap();
        }
        let without = BTreeMap::from([(class("p", None), 4)]);
        assert_eq!(new_buckets(&layout(), &without, &mut draft).unwrap_err().kind(), ErrorKind::Internal);
    }

    proptest! {
        #[test]
        fn a_task_takes_new_rows_of_its_own_class_only(
            (own, other) in (("[pq]", 0_u32..3), ("[pq]", 0_u32..3)),
            has_buckets in any::<bool>(),
        ) {
            let class_of = |(partition, bucket): &(String, u32)| class(partition, has_buckets.then_some(*bucket));
            let (own, other) = (class_of(&own), class_of(&other));
            let result = created(&own).check_takes(&other, Some(&layout()));
            prop_assert_eq!(result.is_ok(), own == other);
            if let Err(error) = result {
                prop_assert_eq!(error.kind(), ErrorKind::Internal);
            }
        }
    }
}
