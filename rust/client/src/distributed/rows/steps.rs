//! What tasks of a write do after its rows were prepared: how many slots there are, how keys are looked up, which
//! stored rows are read, and how rows are assigned.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::assigned::assign_reports;
use super::driver::{DistributedWrite, Phase, Tagging};
use super::next_step::{MovePlan, NextStep, TagPlan, WritePlan};
use crate::distributed::exchange::{
    PlacedReport, PreparedReport, ReadKeysSpec, ReadReport, ReadRowsSpec, RowSum, Slots, StageSpec, TagBy, TagSpec,
    TaggedReport, bin_count, mark_of, tasks_by_cost,
};
use mortice_base::error::{Error, Result};
use mortice_merge::config::TableType;
use mortice_table::plan::{PinnedTable, WriteView};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::TaskLookUp;

/// Bytes of rows that come together in one process. Rows of a slot are held in memory, a few times over.
const SLOT_BYTES: u64 = 64 << 20;
/// Fewer rows are not worth a process of their own.
const LEAST_SLOT_ROWS: u64 = 10_000;
/// Keys that are looked up in a record index one by one: more make it be read through.
const LOOK_UP_ROWS: u64 = 50_000;
/// Bytes of files whose keys one task reads.
pub(crate) const KEY_FILE_BYTES: u64 = 512 << 20;

impl DistributedWrite {
    pub(super) fn prepared(&mut self, reports: Vec<ReadReport>) -> Result<NextStep> {
        let (mut rows, mut bytes, mut partitions, mut placed) = (RowSum::default(), 0_u64, BTreeSet::new(), Vec::new());
        for report in reports {
            match report {
                ReadReport::Prepared(PreparedReport { rows: sum, bytes: size, partitions: own }) => {
                    rows.add(sum);
                    bytes = bytes.saturating_add(size);
                    partitions.extend(own);
                }
                ReadReport::Placed(report) => placed.push(report),
                _ => return Err(Error::internal("another report than that of prepared rows")),
            }
        }
        self.begin()?;
        if self.is_direct() {
            let view = self.plan.table.write_view(Some(&partitions))?;
            self.resources.is_small = self.is_little_work(bytes, None, Some(&view));
            return self.assign(&placed, rows, &view);
        }
        let by = match self.writes_new_rows() {
            true => None,
            false => Some(self.plan.index.task_look_up(&self.plan.table)?),
        };
        let view = match by {
            Some(by) if !by.needs_view() => None,
            Some(_) => Some(self.plan.index.view(&self.plan.table, self.plan.index.partitions(&partitions))?),
            None => Some(Arc::new(self.plan.table.write_view(Some(&partitions))?)),
        };
        // Tasks of such a look-up may find keys in other partitions, too, whose slices are listed then.
        let read = match by {
            Some(TaskLookUp::RecordIndexAndStoredKeys) => {
                Some(self.plan.index.view(&self.plan.table, Some(&partitions))?)
            }
            _ => view.clone(),
        };
        self.resources.is_small = self.is_little_work(bytes, by, read.as_deref());
        let slots = self.slots(rows.rows, bytes, by);
        let plan = self.tag_plan(slots, by, read.as_deref())?;
        self.phase = Phase::Tagging(Tagging { slots, rows, partitions, view, is_moving: false });
        Ok(NextStep::Tag(plan))
    }

    /// As many slots as their rows fit in memory, and as keep all cores busy.
    fn slots(&self, rows: u64, bytes: u64, by: Option<TaskLookUp>) -> u32 {
        let busy = rows.div_ceil(LEAST_SLOT_ROWS).min(u64::from(self.resources.parallelism));
        let least = u32::try_from(busy).unwrap_or(u32::MAX);
        let by_bytes = bin_count(bytes, SLOT_BYTES, least, usize::MAX);
        let by_rows = if by.is_some_and(TaskLookUp::reads_record_index) {
            bin_count(rows, LOOK_UP_ROWS, 1, usize::MAX)
        } else {
            1
        };
        by_bytes.max(by_rows).min(1 << 20)
    }

    /// Whether rows are few, and the base files that are read or rewritten for them are not more than one task reads.
    fn is_little_work(&self, bytes: u64, by: Option<TaskLookUp>, view: Option<&WriteView>) -> bool {
        let rewrites = self.plan.table.config.table_type == TableType::CopyOnWrite;
        let read = match view {
            Some(view) if rewrites || by.is_some_and(TaskLookUp::reads_base_files) => {
                view.base_files.iter().fold(0, |sum: u64, slice| sum.saturating_add(slice.total_len()))
            }
            None if rewrites => u64::MAX,
            _ => 0,
        };
        bytes <= self.resources.bytes && read <= KEY_FILE_BYTES
    }

    fn tag_plan(&self, count: u32, by: Option<TaskLookUp>, view: Option<&WriteView>) -> Result<TagPlan> {
        let (slots, table) = (Slots { count }, PinnedTable::new(&self.plan.table));
        let state = self.state(table);
        let unlisted = || Error::internal("a look-up of keys in file slices that were not listed");
        let tag_by = match by {
            None => TagBy::Nothing,
            Some(TaskLookUp::StoredKeys) => TagBy::StoredKeys,
            Some(TaskLookUp::RecordIndex | TaskLookUp::RecordIndexAndStoredKeys) => TagBy::RecordIndex,
            Some(TaskLookUp::Buckets) => {
                let slices = view.ok_or_else(unlisted)?.slices.clone();
                TagBy::Buckets(slices.into_iter().map(without_files).collect())
            }
        };
        let moves = self.looks_up_stored_rows(view).then(|| slots.clone());
        let tag_state = match by {
            Some(by) if by.reads_record_index() => self.state(PinnedTable::with_metadata(&self.plan.table)?),
            _ => state.clone(),
        };
        let read_keys = match by {
            Some(by) if by.reads_base_files() => self.read_keys(view.ok_or_else(unlisted)?, slots.clone())?,
            _ => None,
        };
        let read_keys = read_keys.map(|(spec, tasks)| Ok((state.to_bytes(StageSpec::ReadKeys(spec))?, tasks)));
        Ok(TagPlan {
            partitions: count,
            split: state.to_bytes(StageSpec::Split(slots))?,
            read_keys: read_keys.transpose()?,
            tag: tag_state.to_bytes(StageSpec::Tag(TagSpec { by: tag_by, moves }))?,
        })
    }

    /// Whether rows may be looked up among the stored ones before they are placed: by a global index; and those that a
    /// merge inserts, if the index may have found keys whose rows are gone.
    fn looks_up_stored_rows(&self, view: Option<&WriteView>) -> bool {
        let is_uncertain = || {
            let mut slices = view.into_iter().flat_map(|view| &view.slices);
            slices.any(|slice| !self.plan.index.is_certain(slice))
        };
        self.request.operation == WriteOperation::Upsert
            && (self.plan.index.is_global() || (self.plan.source.is_some() && is_uncertain()))
    }

    /// The base files whose keys are read, by task, and the number of tasks; none if there are no base files.
    fn read_keys(&self, view: &WriteView, slots: Slots) -> Result<Option<(ReadKeysSpec, u32)>> {
        let slices = view.base_files.clone();
        if slices.is_empty() {
            return Ok(None);
        }
        let costs: Vec<u64> = slices.iter().map(|slice| slice.total_len()).collect();
        let tasks = tasks_by_cost(&costs, KEY_FILE_BYTES, self.resources.parallelism);
        let count = u32::try_from(tasks.len()).map_err(|_| Error::unsupported("4,294,967,296 tasks that read keys"))?;
        Ok(Some((ReadKeysSpec { slots, slices, tasks }, count)))
    }

    pub(super) fn tagged(&mut self, tagging: Tagging, reports: Vec<ReadReport>) -> Result<NextStep> {
        let (mut placed, mut tagged) = (Vec::new(), Vec::new());
        for report in reports {
            match report {
                ReadReport::Placed(report) => placed.push(report),
                ReadReport::Tagged(report) if !tagging.is_moving => tagged.push(report),
                _ => return Err(Error::internal("another report than that of tagged rows")),
            }
        }
        let taken = placed.iter().map(|report| report.taken).chain(tagged.iter().map(|report| report.taken));
        check_complete(taken, tagging.rows)?;
        if tagged.is_empty() {
            let view = match &tagging.view {
                Some(view) => Arc::clone(view),
                None => self.view_of(&tagging.partitions, partitions_of(&placed))?,
            };
            return self.assign(&placed, tagging.rows, &view);
        }
        self.move_plan(tagging, &tagged)
    }

    /// The slices of partitions, and of those of file groups that the index has named.
    fn view_of<'a>(
        &self,
        partitions: &BTreeSet<String>,
        groups: impl Iterator<Item = &'a String>,
    ) -> Result<Arc<WriteView>> {
        let mut partitions = partitions.clone();
        partitions.extend(groups.cloned());
        self.plan.index.view(&self.plan.table, Some(&partitions))
    }

    fn move_plan(&mut self, mut tagging: Tagging, tagged: &[TaggedReport]) -> Result<NextStep> {
        let wanted: BTreeSet<&(String, String)> = tagged.iter().flat_map(|report| &report.wanted).collect();
        let view = match tagging.view.take() {
            Some(view) => view,
            None => self.view_of(&tagging.partitions, tagged.iter().flat_map(|report| &report.partitions))?,
        };
        let is_wanted = |partition: &str, file_id: &str| wanted.contains(&(partition.to_owned(), file_id.to_owned()));
        let slices = view.slices.iter().filter(|slice| is_wanted(&slice.partition, &slice.file_id));
        let slices: Vec<_> = slices.cloned().collect();
        if slices.len() != wanted.len() {
            return Err(Error::invalid_table(format!(
                "the index has keys in {} file groups that are not live: it is damaged; build the metadata table again (mortice metadata build --rebuild, Table.build_metadata(rebuild=True))",
                wanted.len() - slices.len()
            ))
            .in_file(self.target.uri()));
        }
        let mut sent = RowSum::default();
        tagged.iter().for_each(|report| sent.add(report.sent));
        let (state, slots) = (self.state(PinnedTable::new(&self.plan.table)), Slots { count: tagging.slots });
        let plan = MovePlan {
            partitions: tagging.slots,
            read_rows: state.to_bytes(StageSpec::ReadRows(ReadRowsSpec { slots: slots.clone(), slices }))?,
            merge: state.to_bytes(StageSpec::Move(slots))?,
        };
        self.phase = Phase::Tagging(Tagging { rows: sent, view: Some(view), is_moving: true, ..tagging });
        Ok(NextStep::Move(plan))
    }

    /// Assigns placed rows to tasks, and announces what they are about to do.
    fn assign(&mut self, placed: &[PlacedReport], taken: RowSum, view: &WriteView) -> Result<NextStep> {
        check_complete(placed.iter().map(|report| report.taken), taken)?;
        let options = self.target.settings().assign.of_index(self.plan.index.as_ref(), &self.plan.table)?;
        let assigned = assign_reports(
            &self.plan.table,
            &options,
            self.request.operation,
            self.resources.parallelism,
            view,
            placed,
        )?;
        let transaction = self.transaction.as_mut().ok_or_else(|| Error::internal("a write that has not begun"))?;
        transaction.inflight(&assigned.profile(self.request.operation))?;
        if assigned.is_empty() {
            self.phase = Phase::Writing(assigned);
            return Ok(NextStep::Commit);
        }
        if let Some(buckets) = &options.bucket {
            buckets.store_new(transaction.store().as_ref(), &mut assigned.task_partitions())?;
        }
        mark_of(transaction).open()?;
        let state = self.state(PinnedTable::new(&self.plan.table));
        let plan = WritePlan {
            partitions: assigned.partitions(),
            route: state.to_bytes(StageSpec::Route(assigned.route_spec()))?,
            write: state.to_bytes(StageSpec::Write(assigned.write_spec(&self.plan.table.config)))?,
        };
        self.phase = Phase::Writing(assigned);
        Ok(NextStep::Write(plan))
    }
}

fn without_files(slice: mortice_table::file_group::FileSlice) -> mortice_table::file_group::FileSlice {
    mortice_table::file_group::FileSlice { base_file: None, log_files: Vec::new(), ..slice }
}

fn partitions_of(placed: &[PlacedReport]) -> impl Iterator<Item = &String> {
    placed.iter().flat_map(|report| &report.groups).map(|group| &group.partition)
}

/// Makes sure that all rows have come to the tasks of a stage, once.
fn check_complete(taken: impl Iterator<Item = RowSum>, expected: RowSum) -> Result<()> {
    let mut sum = RowSum::default();
    taken.for_each(|rows| sum.add(rows));
    if sum == expected {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "{} rows were prepared, and {} others came to the tasks: the data frame has other rows whenever they are computed; write it to \
         files, or checkpoint it, and write those rows",
        expected.rows, sum.rows
    )))
}
