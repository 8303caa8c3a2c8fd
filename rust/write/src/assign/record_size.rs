//! Bytes of a row, estimated from the base files of earlier commits (`AverageRecordSizeEstimator`).

use super::options::AssignOptions;
use mortice_base::error::Result;
use mortice_base::names::BaseFileName;
use mortice_table::timeline::{Action, MetadataPart, Timeline};

/// Commits that are looked at.
const COMMITS: usize = 5;

/// The bytes of a row in the newest commit that wrote enough; the configured size if none of the last five did.
pub(super) fn estimate(timeline: &Timeline, options: &AssignOptions) -> Result<u64> {
    let threshold = options.estimation_threshold * options.small_file_limit as f64;
    let recent =
        timeline.completed_writes().rev().filter(|write| matches!(write.action, Action::Commit | Action::DeltaCommit));
    for write in recent.take(COMMITS) {
        let Some(metadata) = timeline.commit_metadata(write, MetadataPart::All)? else { continue };
        let (mut bytes, mut rows) = (0_u64, 0_u64);
        for stat in metadata.write_stats.values().flatten() {
            // Sizes of rows in logs are others.
            let name = stat.path.as_deref().and_then(|path| path.rsplit('/').next());
            if name.and_then(BaseFileName::parse).is_none() {
                continue;
            }
            // An estimate: what a writer has not counted adds nothing to it.
            let positive = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
            bytes = bytes.saturating_add(positive(stat.file_size_in_bytes).saturating_sub(options.metadata_size));
            rows = rows.saturating_add(positive(stat.num_writes));
        }
        if bytes as f64 > threshold && rows > 0 {
            return Ok(bytes.div_ceil(rows).max(1));
        }
    }
    Ok(options.record_size)
}
