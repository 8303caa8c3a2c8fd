//! Updates of file groups that a pending clustering is to replace (`SparkRejectUpdateStrategy`,
//! `SparkAllowUpdateStrategy`). They are refused when rows are assigned to file groups; or else the clustering is
//! rolled back, whose rows would be those of before.

use std::collections::BTreeSet;
use std::sync::Arc;

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::{WriteOption, WriteOptions, option_names};
use mortice_services::transaction::Transaction;
use mortice_write::index::Tagged;

const STRATEGY: WriteOption<option_names::Word> = option_names::CLUSTERING_UPDATES_STRATEGY;
const ROLL_BACK: WriteOption<option_names::Boolean> =
    option_names::CLUSTERING_ROLLBACK_PENDING_REPLACECOMMIT_ON_CONFLICT;

/// Rolls back the pending clustering of the file groups that rows are tagged with, if options say so.
pub(super) fn roll_back_updated_clustering(
    transaction: &Transaction,
    tagged: &mut Tagged,
    options: &WriteOptions,
) -> Result<()> {
    if !rolls_back(options)? {
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
    let strategy = options.text(STRATEGY).unwrap_or("");
    match strategy.rsplit('.').next().unwrap_or(strategy) {
        "" | "SparkRejectUpdateStrategy" => Ok(false),
        "SparkAllowUpdateStrategy" => options.boolean(ROLL_BACK),
        _ => Err(Error::unsupported(format!(
            "unsupported {STRATEGY}={strategy} (supported: SparkRejectUpdateStrategy, SparkAllowUpdateStrategy)"
        ))),
    }
}
