//! How many commits stay on the active timeline, by Hudi's options (`HoodieArchivalConfig`).

use mortice_base::error::{Error, Result};
use mortice_merge::config::{WriteOption, WriteOptions, option_names};

const MIN: WriteOption<option_names::Integer> = option_names::KEEP_MIN_COMMITS;
const MAX: WriteOption<option_names::Integer> = option_names::KEEP_MAX_COMMITS;
const BEYOND_SAVEPOINT: WriteOption<option_names::Boolean> = option_names::ARCHIVE_BEYOND_SAVEPOINT;
const BLOCK_ON_CLEAN: WriteOption<option_names::Boolean> = option_names::ARCHIVE_BLOCK_ON_LATEST_CLEAN_ECTR;
const COMPACTION_COMMITS: WriteOption<option_names::Integer> = option_names::COMPACT_INLINE_MAX_DELTA_COMMITS;
const BATCH: WriteOption<option_names::Integer> = option_names::TIMELINE_COMPACTION_BATCH_SIZE;

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
    /// # Errors
    /// `InvalidArgument`, naming the option, for values that cannot be read; `Unsupported` for archiving beyond
    /// savepoints.
    pub fn from_options(options: &WriteOptions) -> Result<Self> {
        if options.boolean(BEYOND_SAVEPOINT)? {
            return Err(Error::unsupported(format!(
                "option {BEYOND_SAVEPOINT}=true: Hudi 1.2 loses rows of archived instants that are newer than a savepoint; delete the \
                 savepoint instead"
            )));
        }
        let keep = KeepCommits { least: options.integer(MIN)?, most: options.integer(MAX)? };
        if keep.most <= keep.least {
            let message = format!("option {}={} must be more than {}={}", MAX, keep.most, MIN, keep.least);
            return Err(Error::invalid_argument(message));
        }
        Ok(Self {
            keep,
            blocks_on_clean: options.boolean(BLOCK_ON_CLEAN)?,
            compaction_commits: options.integer(COMPACTION_COMMITS)?,
            history_batch: options.integer::<usize>(BATCH)?.max(2),
        })
    }
}
