//! Updates of file groups that a pending clustering is to replace (`SparkRejectUpdateStrategy`,
//! `SparkAllowUpdateStrategy`). They are refused when rows are assigned to file groups; or else the clustering is
//! rolled back, whose rows would be those of before.

use std::collections::BTreeSet;
use std::sync::Arc;

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::WriteOptions;
use mortice_merge::config::option_names::{
    CLUSTERING_ROLLBACK_PENDING_REPLACECOMMIT_ON_CONFLICT, CLUSTERING_UPDATES_STRATEGY,
};
use mortice_services::transaction::Transaction;
use mortice_write::index::Tagged;

/// Rolls back the pending clustering of the file groups that rows are tagged with, if options say so.
pub(super) fn roll_back_updated_clustering(transaction: &Transaction, tagged: &mut Tagged) -> Result<()> {
    if !rolls_back(transaction.target().options())? {
        return Ok(());
    }
    let further = tagged.further.iter().map(|further| further.group);
    let groups: BTreeSet<u32> = tagged.locations.iter().flatten().copied().chain(further).collect();
    let groups = groups.into_iter().map(|group| tagged.group(group)).collect::<Result<Vec<_>>>()?;
    // Most groups are under no pending clustering.
    let planned =
        groups.into_iter().filter_map(|group| tagged.view.pending_clustering(&group.partition, &group.file_id));
    let planned: BTreeSet<RequestedTime> = planned.cloned().collect();
    if planned.is_empty() {
        return Ok(());
    }
    transaction.roll_back_plans(&planned)?;
    Arc::make_mut(&mut tagged.view).forget_clustering(&planned);
    Ok(())
}

fn rolls_back(options: &WriteOptions) -> Result<bool> {
    let strategy = options.text(CLUSTERING_UPDATES_STRATEGY).unwrap_or("");
    match strategy.rsplit('.').next().unwrap_or(strategy) {
        // Rows of file groups that a plan of consistent hashing resizes are not written twice: they are refused, too.
        "" | "SparkRejectUpdateStrategy" | "SparkConsistentBucketDuplicateUpdateStrategy" => Ok(false),
        "SparkAllowUpdateStrategy" => options.boolean(CLUSTERING_ROLLBACK_PENDING_REPLACECOMMIT_ON_CONFLICT),
        _ => Err(Error::unsupported(format!(
            "unsupported {CLUSTERING_UPDATES_STRATEGY}={strategy} (supported: SparkRejectUpdateStrategy, SparkAllowUpdateStrategy, SparkConsistentBucketDuplicateUpdateStrategy)"
        ))),
    }
}
