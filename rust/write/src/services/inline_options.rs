//! Which services run after a write, by the writer's own options (`BaseHoodieWriteClient`).

use super::archival::ArchivalOptions;
use super::cleaning::CleaningOptions;
use super::clustering::ClusteringOptions;
use super::compaction::{CompactionOptions, LogCompactionOptions};
use mortice_base::error::Result;
use mortice_merge::config::WriteOptions;

const ENABLED: &str = "hoodie.table.services.enabled";
const CLEAN: &str = "hoodie.clean.automatic";
const CLEAN_LATER: &str = "hoodie.clean.async.enabled";
const ARCHIVE: &str = "hoodie.archive.automatic";
const ARCHIVE_LATER: &str = "hoodie.archive.async";
const COMPACT: &str = "hoodie.compact.inline";
const PLAN_COMPACTION: &str = "hoodie.compact.schedule.inline";
const COMPACT_LOGS: &str = "hoodie.log.compaction.inline";
const CLUSTER: &str = "hoodie.clustering.inline";
const PLAN_CLUSTERING: &str = "hoodie.clustering.schedule.inline";
const CLUSTER_COMMITS: &str = "hoodie.clustering.inline.max.commits";
const PLAN_CLUSTERING_COMMITS: &str = "hoodie.clustering.async.max.commits";
const FAIL: &str = "hoodie.fail.writes.on.inline.table.service.exception";

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
    /// By Hudi's options. Those of services that are to run are checked, too: after the commit it is too late to refuse them.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported`, naming the option.
    pub fn from_options(options: &WriteOptions) -> Result<Self> {
        let is_enabled = options.boolean(ENABLED)?;
        let is_set = |name: &str| Result::Ok(is_enabled && options.boolean(name)?);
        let step = |run: &str, plan: &str| {
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
            ClusteringOptions::from_options(options)?;
        }
        Ok(())
    }
}
