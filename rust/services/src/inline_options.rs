//! Which services run after a write, by the writer's own options (`BaseHoodieWriteClient`).

use crate::archival::ArchivalOptions;
use crate::cleaning::CleaningOptions;
use crate::clustering::planning::ClusteringOptions;
use crate::compaction::planning::{CompactionOptions, LogCompactionOptions};
use crate::partition_ttl::PartitionTtlOptions;
use mortice_base::error::Result;
use mortice_merge::config::{WriteOption, WriteOptions, option_names};

/// What is done with a service that has plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InlineStep {
    /// Nothing.
    Skip,
    /// A plan is made.
    Plan,
    /// Plans are executed, and a new one is made and executed.
    Run,
}

/// The services that run after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InlineServices {
    /// Whether files are cleaned.
    pub cleans: bool,
    /// Whether the timeline is archived.
    pub archives: bool,
    /// What is done about compaction.
    pub compaction: InlineStep,
    /// Whether logs are compacted into logs, by plans that are executed at once.
    pub compacts_logs: bool,
    /// What is done about clustering.
    pub clustering: InlineStep,
    /// Commits after which a clustering is due.
    pub clustering_commits: usize,
    /// Whether partitions that have expired are deleted.
    pub expires_partitions: bool,
    /// Whether a service that fails is an error of the write, which is committed then.
    pub fails: bool,
}

impl InlineServices {
    /// By Hudi's options. Those of services that are to run are checked, too: after the commit it is too late to refuse
    /// them.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported`, naming the option.
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        let is_enabled = options.boolean(option_names::TABLE_SERVICES_ENABLED)?;
        let is_set = |name: WriteOption<option_names::Boolean>| Result::Ok(is_enabled && options.boolean(name)?);
        let step = |run: WriteOption<option_names::Boolean>, plan: WriteOption<option_names::Boolean>| {
            let (runs, plans) = (is_set(run)?, is_set(plan)?);
            Result::Ok(if runs {
                InlineStep::Run
            } else if plans {
                InlineStep::Plan
            } else {
                InlineStep::Skip
            })
        };
        let clustering = step(option_names::CLUSTERING_INLINE, option_names::CLUSTERING_SCHEDULE_INLINE)?;
        let commits = if clustering == InlineStep::Plan {
            option_names::CLUSTERING_ASYNC_MAX_COMMITS
        } else {
            option_names::CLUSTERING_INLINE_MAX_COMMITS
        };
        let services = Self {
            cleans: is_set(option_names::CLEAN_AUTOMATIC)? && !is_set(option_names::CLEAN_ASYNC_ENABLED)?,
            archives: is_set(option_names::ARCHIVE_AUTOMATIC)? && !is_set(option_names::ARCHIVE_ASYNC)?,
            compaction: step(option_names::COMPACT_INLINE, option_names::COMPACT_SCHEDULE_INLINE)?,
            compacts_logs: is_set(option_names::LOG_COMPACTION_INLINE)?,
            clustering,
            clustering_commits: options.integer(commits)?,
            expires_partitions: is_set(option_names::PARTITION_TTL_INLINE)?,
            fails: options.boolean(option_names::FAIL_WRITES_ON_INLINE_TABLE_SERVICE_EXCEPTION)?,
        };
        services.check(options)?;
        Ok(services)
    }

    fn check(&self, options: &WriteOptions) -> Result<()> {
        if self.cleans || self.archives {
            CleaningOptions::resolve(options)?;
        }
        if self.archives {
            ArchivalOptions::resolve(options)?;
        }
        if self.compaction != InlineStep::Skip {
            CompactionOptions::resolve(options, None)?;
        }
        if self.compacts_logs {
            LogCompactionOptions::resolve(options)?;
        }
        if self.clustering != InlineStep::Skip {
            ClusteringOptions::resolve(options)?;
        }
        if self.expires_partitions {
            PartitionTtlOptions::resolve(options)?;
        }
        Ok(())
    }
}
