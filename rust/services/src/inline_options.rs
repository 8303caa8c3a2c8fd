//! Which services run after a write, by the writer's own options (`BaseHoodieWriteClient`).

use crate::archival::ArchivalOptions;
use crate::cleaning::CleaningOptions;
use crate::clustering::planning::ClusteringOptions;
use crate::compaction::planning::{CompactionOptions, LogCompactionOptions};
use mortice_base::error::Result;
use mortice_merge::config::{WriteOption, WriteOptions, option_names};

const ENABLED: WriteOption<option_names::Boolean> = option_names::TABLE_SERVICES_ENABLED;
const CLEAN: WriteOption<option_names::Boolean> = option_names::CLEAN_AUTOMATIC;
const CLEAN_LATER: WriteOption<option_names::Boolean> = option_names::CLEAN_ASYNC_ENABLED;
const ARCHIVE: WriteOption<option_names::Boolean> = option_names::ARCHIVE_AUTOMATIC;
const ARCHIVE_LATER: WriteOption<option_names::Boolean> = option_names::ARCHIVE_ASYNC;
const COMPACT: WriteOption<option_names::Boolean> = option_names::COMPACT_INLINE;
const PLAN_COMPACTION: WriteOption<option_names::Boolean> = option_names::COMPACT_SCHEDULE_INLINE;
const COMPACT_LOGS: WriteOption<option_names::Boolean> = option_names::LOG_COMPACTION_INLINE;
const CLUSTER: WriteOption<option_names::Boolean> = option_names::CLUSTERING_INLINE;
const PLAN_CLUSTERING: WriteOption<option_names::Boolean> = option_names::CLUSTERING_SCHEDULE_INLINE;
const CLUSTER_COMMITS: WriteOption<option_names::Integer> = option_names::CLUSTERING_INLINE_MAX_COMMITS;
const PLAN_CLUSTERING_COMMITS: WriteOption<option_names::Integer> = option_names::CLUSTERING_ASYNC_MAX_COMMITS;
const FAIL: WriteOption<option_names::Boolean> = option_names::FAIL_WRITES_ON_INLINE_TABLE_SERVICE_EXCEPTION;

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
    /// Whether a service that fails is an error of the write, which is committed then.
    pub fails: bool,
}

impl InlineServices {
    /// By Hudi's options. Those of services that are to run are checked, too: after the commit it is too late to refuse
    /// them.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported`, naming the option.
    pub fn from_options(options: &WriteOptions) -> Result<Self> {
        let is_enabled = options.boolean(ENABLED)?;
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
        let clustering = step(CLUSTER, PLAN_CLUSTERING)?;
        let commits = if clustering == InlineStep::Plan { PLAN_CLUSTERING_COMMITS } else { CLUSTER_COMMITS };
        let services = Self {
            cleans: is_set(CLEAN)? && !is_set(CLEAN_LATER)?,
            archives: is_set(ARCHIVE)? && !is_set(ARCHIVE_LATER)?,
            compaction: step(COMPACT, PLAN_COMPACTION)?,
            compacts_logs: is_set(COMPACT_LOGS)?,
            clustering,
            clustering_commits: options.integer(commits)?,
            fails: options.boolean(FAIL)?,
        };
        services.check(options)?;
        Ok(services)
    }

    fn check(&self, options: &WriteOptions) -> Result<()> {
        if self.cleans || self.archives {
            CleaningOptions::from_options(options)?;
        }
        if self.archives {
            ArchivalOptions::from_options(options)?;
        }
        if self.compaction != InlineStep::Skip {
            CompactionOptions::from_options(options, None)?;
        }
        if self.compacts_logs {
            LogCompactionOptions::from_options(options)?;
        }
        if self.clustering != InlineStep::Skip {
            ClusteringOptions::resolve(options)?;
        }
        Ok(())
    }
}
