//! Tasks that are assigned from reports of placed rows, and what they have to report.

use std::collections::BTreeMap;

use crate::distributed::exchange::{
    PlacedReport, RouteSpec, RowSum, SourceRoutes, TaskSpec, WriteSpec, WrittenReport, bin_count, bins_of,
};
use crate::profile::{TaskProfile, profile};
use crate::write::place_inserts;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::{at, number_of};
use mortice_commit::metadata_upkeep::keeps_blooms;
use mortice_merge::config::TableConfig;
use mortice_table::plan::{OpenTable, WriteView};
use mortice_table::timeline::WriteOperation;
use mortice_table::timeline::metadata::HoodieCommitMetadata;
use mortice_write::assign::{
    AssignOptions, InsertClass, PlaceInserts, PlannedTask, RowCounts, TaskKind, TaskPlan, plan_tasks,
};
use mortice_write::index::BucketLayout;

/// Bytes of rows that one partition of a data frame writes, task after task.
const PARTITION_BYTES: u64 = 64 << 20;
/// Partitions for each task that runs at once: those that are done early leave the others more of the cores.
const PARTITIONS_PER_CORE: u32 = 2;
/// The tasks of a write.
pub(crate) struct Assigned {
    plan: TaskPlan,
    /// Of each task, the rows that come to it, and those of them that are no deletes.
    rows: Vec<TaskRows>,
    /// All rows that come to tasks.
    sum: RowSum,
    sources: BTreeMap<u32, SourceRoutes>,
    partition_of_task: Vec<u32>,
    partitions: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct TaskRows {
    all: u64,
    live: u64,
}

/// Assigns the rows of sources to tasks.
pub(crate) fn assign_reports(
    table: &OpenTable,
    options: &AssignOptions,
    operation: WriteOperation,
    parallelism: u32,
    view: &WriteView,
    placed: &[PlacedReport],
) -> Result<Assigned> {
    let place = place_inserts(operation);
    placed.iter().try_for_each(check_counts)?;
    let counts = counts_of(placed);
    if place == PlaceInserts::NewGroups
        && let Some((partition, _)) = counts.updates.first()
    {
        return Err(Error::unsupported(format!(
            "bulk_insert into a bucket of partition {partition:?} that has a file group: a bucket has one; use upsert or insert"
        )));
    }
    let plan = plan_tasks(table, options, place, view, &counts)?;
    let mut assigned = Assigned {
        rows: vec![TaskRows::default(); plan.tasks.len()],
        plan,
        sum: RowSum::default(),
        sources: BTreeMap::new(),
        partition_of_task: Vec::new(),
        partitions: 1,
    };
    assigned.route(placed, options.bucket.as_deref())?;
    assigned.pack(placed, parallelism);
    Ok(assigned)
}

/// Refuses a report whose parts are not those of its sum, as tasks are planned and memory is allocated for them.
fn check_counts(report: &PlacedReport) -> Result<()> {
    let new = report.classes.iter().fold(0, |sum: u64, class| sum.saturating_add(class.rows));
    let all = report.groups.iter().fold(new, |sum: u64, group| sum.saturating_add(group.placed));
    if all != report.placed.rows || new > report.taken.rows {
        let (placed, taken, source) = (report.placed.rows, report.taken.rows, report.source);
        return Err(Error::invalid_argument(format!(
            "the report of source {source} contradicts itself: {new} new rows and {all} rows by their places, {placed} rows in all, of {taken} that it got"
        )));
    }
    Ok(())
}

fn counts_of(placed: &[PlacedReport]) -> RowCounts {
    let mut counts = RowCounts::default();
    for report in placed {
        let groups = report.groups.iter().filter(|group| group.placed > 0);
        counts.updates.extend(groups.map(|group| (group.partition.clone(), group.file_id.clone())));
        for class in report.classes.iter().filter(|class| class.rows > 0) {
            let class_of_insert = InsertClass { partition: class.partition.clone(), bucket: class.bucket };
            let rows = counts.inserts.entry(class_of_insert).or_default();
            *rows = rows.saturating_add(class.rows);
        }
    }
    counts
}

impl Assigned {
    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.plan.tasks.is_empty()
    }

    /// The partitions of its tasks.
    pub(crate) fn task_partitions(&self) -> impl Iterator<Item = &str> {
        self.plan.tasks.iter().map(|task| task.partition.as_str())
    }

    /// Partitions of the data frame.
    pub(crate) fn partitions(&self) -> u32 {
        self.partitions
    }

    pub(crate) fn profile(&self, operation: WriteOperation) -> HoodieCommitMetadata {
        let tasks = self.plan.tasks.iter().zip(&self.rows);
        let of_task = |(task, rows)| {
            let (PlannedTask { partition, kind }, TaskRows { live, .. }): (&PlannedTask, &TaskRows) = (task, rows);
            TaskProfile { partition, kind, rows: *live }
        };
        profile(operation, tasks.map(of_task))
    }

    pub(crate) fn route_spec(&self) -> RouteSpec {
        RouteSpec {
            sources: self.sources.clone(),
            partition_of_task: self.partition_of_task.clone(),
            partitions: self.partitions,
        }
    }

    pub(crate) fn write_spec(&self, table: &TableConfig) -> WriteSpec {
        let spec = |task: &PlannedTask| TaskSpec { partition: task.partition.clone(), kind: task.kind.clone() };
        WriteSpec { tasks: self.plan.tasks.iter().map(spec).collect(), keeps_blooms: keeps_blooms(table) }
    }

    /// Makes sure that each task has reported once, and all rows were written.
    pub(crate) fn check(&self, written: &[WrittenReport]) -> Result<()> {
        let mut found: Vec<Option<u64>> = vec![None; self.rows.len()];
        let mut sum = RowSum::default();
        for report in written {
            sum.add(report.rows);
            let slot = found
                .get_mut(at(report.task))
                .ok_or_else(|| Error::internal(format!("task {} is not one of the write", report.task)))?;
            if slot.replace(report.rows.rows).is_some() {
                return Err(Error::internal(format!("task {} has reported twice", report.task)));
            }
        }
        for (task, (found, expected)) in found.iter().zip(&self.rows).enumerate() {
            if *found != Some(expected.all) {
                // A task that has not reported has written none.
                return Err(other_rows(format!("task {task} wrote {} rows of {}", found.unwrap_or(0), expected.all)));
            }
        }
        if sum != self.sum {
            return Err(other_rows(format!("{} rows were written that are not those that were placed", sum.rows)));
        }
        Ok(())
    }

    /// The tasks of each source's rows.
    fn route(&mut self, placed: &[PlacedReport], buckets: Option<&BucketLayout>) -> Result<()> {
        let mut reports: Vec<&PlacedReport> = placed.iter().collect();
        reports.sort_by_key(|report| report.source);
        let by_group: BTreeMap<(String, String), usize> = self.plan.by_group();
        // New rows are numbered through all sources.
        let mut numbered: BTreeMap<InsertClass, u64> = BTreeMap::new();
        for report in reports {
            let lost = || Error::internal("a file group that has no task");
            let mut routes = SourceRoutes::default();
            for group in &report.groups {
                let task = *by_group.get(&(group.partition.clone(), group.file_id.clone())).ok_or_else(lost)?;
                self.add(task, group.placed, group.live)?;
                routes.groups.push(u32::try_from(task).map_err(|_| lost())?);
            }
            for class in &report.classes {
                let class_of_insert = InsertClass { partition: class.partition.clone(), bucket: class.bucket };
                let first = numbered.entry(class_of_insert.clone()).or_default();
                let ranges = ranges_of(self.plan.inserts.get(&class_of_insert), *first, class.rows)?;
                *first = first.saturating_add(class.rows);
                let mut begin = 0;
                for (end, task) in &ranges {
                    let planned = self.plan.tasks.get(at(*task));
                    planned
                        .ok_or_else(|| Error::internal("new rows of a task that is not there"))?
                        .check_takes(&class_of_insert, buckets)?;
                    self.add(at(*task), end - begin, end - begin)?;
                    begin = *end;
                }
                if begin != class.rows {
                    return Err(Error::internal("new rows that have no task"));
                }
                routes.inserts.push(ranges);
            }
            self.sum.add(report.placed);
            if self.sources.insert(report.source, routes).is_some() {
                return Err(Error::internal(format!("source {} has reported twice", report.source)));
            }
        }
        Ok(())
    }

    fn add(&mut self, task: usize, all: u64, live: u64) -> Result<()> {
        let rows = self.rows.get_mut(task).ok_or_else(|| Error::internal("rows of a task that is not there"))?;
        rows.all = rows.all.saturating_add(all);
        rows.live = rows.live.saturating_add(live);
        Ok(())
    }

    /// Packs tasks into partitions of the data frame.
    fn pack(&mut self, placed: &[PlacedReport], parallelism: u32) {
        let bytes = placed.iter().fold(0, |sum: u64, report| sum.saturating_add(report.bytes));
        let row_bytes = bytes / self.sum.rows.max(1) + 1;
        let cost = |(task, rows): (&PlannedTask, &TaskRows)| {
            let rewritten = match &task.kind {
                TaskKind::Merge { slice } => slice.base_file.as_ref().map_or(0, |base| base.len),
                _ => 0,
            };
            rows.all.saturating_mul(row_bytes).saturating_add(rewritten.saturating_mul(4))
        };
        let costs: Vec<u64> = self.plan.tasks.iter().zip(&self.rows).map(cost).collect();
        let least = parallelism.saturating_mul(PARTITIONS_PER_CORE);
        self.partitions = bin_count(bytes, PARTITION_BYTES, least, self.plan.tasks.len());
        self.partition_of_task = bins_of(&costs, self.partitions);
    }
}

/// The tasks of so many new rows from the number `first` on: ends of ranges, counted from the first row.
fn ranges_of(shares: Option<&Vec<(usize, u64)>>, first: u64, rows: u64) -> Result<Vec<(u64, u32)>> {
    let (mut ranges, mut begin) = (Vec::new(), 0_u64);
    // Rows of a class without shares have no task: the caller counts them.
    for (task, count) in shares.into_iter().flatten() {
        let end = begin.saturating_add(*count);
        let own = end.min(first.saturating_add(rows)).saturating_sub(first);
        if end > first && own > ranges.last().map_or(0, |(last, _)| *last) {
            ranges.push((own, number_of(*task)?));
        }
        begin = end;
    }
    Ok(ranges)
}

/// The error of a data frame whose rows differ from those that were assigned.
pub(crate) fn other_rows(what: String) -> Error {
    Error::invalid_argument(format!(
        "{what}: the data frame has other rows whenever they are computed; write it to files, or checkpoint it, and write those rows"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_source_go_to_the_tasks_of_their_numbers() {
        let shares = vec![(4, 10), (7, 5), (9, 5)];
        let ranges = |first, rows| ranges_of(Some(&shares), first, rows).unwrap();
        assert_eq!(ranges(0, 20), [(10, 4), (15, 7), (20, 9)]);
        assert_eq!(ranges(0, 3), [(3, 4)]);
        assert_eq!(ranges(8, 4), [(2, 4), (4, 7)]);
        assert_eq!(ranges(10, 5), [(5, 7)]);
        assert_eq!(ranges(14, 6), [(1, 7), (6, 9)]);
        assert!(ranges(3, 0).is_empty() && ranges_of(None, 0, 3).unwrap().is_empty());
    }
}
