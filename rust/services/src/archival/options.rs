//! How many commits stay on the active timeline, by Hudi's options (`HoodieArchivalConfig`).

use mortice_base::error::{Error, Result};
use mortice_merge::config::WriteOptions;
use mortice_merge::config::option_names::{
    ARCHIVE_BEYOND_SAVEPOINT, ARCHIVE_BLOCK_ON_LATEST_CLEAN_ECTR, COMPACT_INLINE_MAX_DELTA_COMMITS, KEEP_MAX_COMMITS,
    KEEP_MIN_COMMITS, TIMELINE_COMPACTION_BATCH_SIZE,
};

/// Commits that stay: archival begins above `most`, and leaves `least`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeepCommits {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

/// Options of an archival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivalOptions {
    pub(crate) keep: KeepCommits,
    /// Whether nothing is archived that the last clean retained.
    pub(crate) blocks_on_clean: bool,
    /// Delta commits after which the table is compacted: so many stay.
    pub(crate) compaction_commits: u64,
    /// Files of one level of the history that are merged.
    pub(crate) history_batch: usize,
}

impl ArchivalOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for values that cannot be read; `Unsupported` for archiving beyond
    /// savepoints.
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        if options.boolean(ARCHIVE_BEYOND_SAVEPOINT)? {
            return Err(Error::unsupported(format!(
                "option {ARCHIVE_BEYOND_SAVEPOINT}=true: Hudi 1.2 loses rows of archived instants that are newer than a savepoint; delete the \
                 savepoint instead"
            )));
        }
        let keep = KeepCommits { least: options.integer(KEEP_MIN_COMMITS)?, most: options.integer(KEEP_MAX_COMMITS)? };
        if keep.most <= keep.least {
            let message = format!(
                "option {}={} must be more than {}={}",
                KEEP_MAX_COMMITS, keep.most, KEEP_MIN_COMMITS, keep.least
            );
            return Err(Error::invalid_argument(message));
        }
        Ok(Self {
            keep,
            blocks_on_clean: options.boolean(ARCHIVE_BLOCK_ON_LATEST_CLEAN_ECTR)?,
            compaction_commits: options.integer(COMPACT_INLINE_MAX_DELTA_COMMITS)?,
            history_batch: options.integer::<usize>(TIMELINE_COMPACTION_BATCH_SIZE)?.max(2),
        })
    }
}
