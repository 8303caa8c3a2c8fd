//! The rows of a plan's groups, written to new file groups (`MultipleSparkJobExecutionStrategy`,
//! `SparkSortAndSizeExecutionStrategy`).

use std::sync::Arc;

use super::group_output::{GroupOutput, NewFiles};
use super::row_order::RowOrder;
use crate::clustering::planning::{ClusteringOptions, PlannedClustering, PlannedGroup, RowLayout};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::progress::Progress;
use mortice_merge::spill::SpillFolder;
use mortice_storage::{FileStore, check_cancelled, parallel};
use mortice_table::plan::{OpenTable, QueryOptions};
use mortice_table::read::Stream;
use mortice_write::index::{BucketLayout, ResizedRing};
use mortice_write::rows::{RowSorter, WriteSchema};
use mortice_write::write::{BaseFileOptions, WriteStatus, WriteToken};

/// Bytes of rows in open row groups, of all threads.
const OPEN_BYTES: usize = 192 << 20;
/// Bytes of rows that are sorted at a time, of all threads.
const RUN_BYTES: usize = 128 << 20;

/// The execution of a plan.
pub struct ClusteringRun<'a> {
    store: &'a Arc<dyn FileStore>,
    table: &'a OpenTable,
    schema: &'a WriteSchema,
    instant: &'a RequestedTime,
    base: BaseFileOptions,
    layout: RowLayout,
    /// Of a table with consistent hashing.
    buckets: Option<Arc<BucketLayout>>,
}

impl<'a> ClusteringRun<'a> {
    /// Args:
    ///     store: The table's root.
    ///     table: The table.
    ///     schema: Its columns.
    ///     instant: The time of the plan.
    ///     options: How rows are ordered, and the size of the new files.
    ///     base_files: How else these are written.
    #[must_use]
    pub fn new(
        store: &'a Arc<dyn FileStore>,
        table: &'a OpenTable,
        schema: &'a WriteSchema,
        instant: &'a RequestedTime,
        options: &ClusteringOptions,
        base_files: &BaseFileOptions,
    ) -> Self {
        let base = base_files.clone().of_size(options.target_file_bytes);
        Self { store, table, schema, instant, base, layout: options.layout, buckets: None }
    }

    /// The same, of a table with these buckets.
    #[must_use]
    pub fn with_buckets(self, buckets: Option<Arc<BucketLayout>>) -> Self {
        Self { buckets, ..self }
    }

    /// Writes all groups, several at a time.
    pub(super) fn write_groups(&self, plan: &PlannedClustering, progress: &Progress) -> Result<Vec<WriteStatus>> {
        let cores = parallel::cores();
        let threads = cores.min(plan.groups.len()).max(1);
        let attempt = WriteToken::new_attempt();
        let tasks: Vec<(u32, &PlannedGroup)> = (0..).zip(&plan.groups).collect();
        progress.begin(plan.groups.iter().fold(0, |sum, group| sum.saturating_add(group.bytes())));
        let statuses = parallel::map(&tasks, threads, |(task, group)| {
            let token = WriteToken { task: *task, stage: 0, attempt };
            let written = self.write_group(group, &plan.sort_columns, token, cores, threads)?;
            progress.advance(group.bytes());
            Ok(written)
        })?;
        if statuses.len() != tasks.len() {
            return Err(Error::internal(format!("{} of {} groups have a result", statuses.len(), tasks.len())));
        }
        Ok(statuses.into_iter().flatten().collect())
    }

    /// Writes one group, in one thread, and with the memory of all.
    ///
    /// # Errors
    /// As for [`Self::write_groups`].
    pub fn write_alone(
        &self,
        group: &PlannedGroup,
        sort_columns: &[String],
        token: WriteToken,
    ) -> Result<Vec<WriteStatus>> {
        self.write_group(group, sort_columns, token, 1, 1)
    }

    fn write_group(
        &self,
        group: &PlannedGroup,
        sort_columns: &[String],
        token: WriteToken,
        cores: usize,
        threads: usize,
    ) -> Result<Vec<WriteStatus>> {
        check_cancelled()?;
        let scan = self.table.stored_rows(&group.slices, &QueryOptions::default())?;
        let sample = |columns: &[String]| {
            let columns = QueryOptions { columns: Some(columns.to_vec()), ..QueryOptions::default() };
            Ok(self.table.stored_rows(&group.slices, &columns)?.stream())
        };
        let order = RowOrder::by_columns(sort_columns, self.layout, &scan.schema(), sample)?;
        let stream = Stream::new(scan.schema(), scan.splits().to_vec(), cores.div_ceil(threads));
        let files = NewFiles {
            store: self.store,
            schema: &self.schema.stored,
            partition: &group.partition,
            instant: self.instant,
            token,
            base: &self.base,
        };
        let has_meta = self.table.config.populate_meta_fields;
        let mut output = match (&self.buckets, group.nodes.as_slice()) {
            (_, []) => GroupOutput::new(&files, has_meta, OPEN_BYTES / threads),
            (Some(buckets), nodes) if has_meta => {
                let mut sources = group.slices.iter().map(|slice| slice.file_id.as_str());
                let ring = ResizedRing::new(buckets, &group.partition, &mut sources, nodes)?;
                GroupOutput::by_nodes(&files, ring, OPEN_BYTES / threads)
            }
            (_, _) => {
                return Err(Error::unsupported(
                    "clustering of a table with consistent hashing that stores no meta columns (hoodie.populate.meta.fields=false); execute it with Hudi",
                ));
            }
        };
        let mut rows = 0_u64;
        match order {
            None => {
                for batch in stream {
                    let batch = batch?;
                    rows = rows.saturating_add(batch.num_rows() as u64);
                    output.insert(&batch)?;
                }
            }
            Some(order) => {
                let mut sorter = RowSorter::new(&scan.schema(), RUN_BYTES / threads, SpillFolder::new(None));
                for batch in stream {
                    let batch = batch?;
                    rows = rows.saturating_add(batch.num_rows() as u64);
                    sorter.add(&batch, order.keys(&batch)?)?;
                }
                for batch in sorter.finish()? {
                    output.insert(&batch?)?;
                }
            }
        }
        output.finish(rows)
    }
}
