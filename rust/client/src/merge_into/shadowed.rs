//! Inserts that readers would not show: of keys that a log has deleted, if the row in the base file, which a compaction
//! removes, has a greater ordering value.

use super::given_keys::GivenKeys;
use super::matching::Matches;
use super::ordering::{LateRows, late_rows};
use super::plan::MergePlan;
use super::stored_rows::{query_of_keys, read_rows};
use mortice_base::error::Result;
use mortice_merge::spill::RowBatches;
use mortice_table::plan::OpenTable;

/// Refuses such rows among those that are inserted.
pub(super) fn check_inserts(table: &OpenTable, plan: &MergePlan, maker: &GivenKeys, new: &RowBatches) -> Result<()> {
    let ordering = plan.shadow_ordering();
    if ordering.is_empty() || new.num_rows() == 0 {
        return Ok(());
    }
    let (names, by_path) = (plan.shadow_columns(), plan.shadows_by_path());
    let keys = plan.keys_of_all(maker, new, &names)?;
    let scan = table.read_optimized(&query_of_keys(ordering.iter(), &keys, by_path)?, None)?;
    let bases = read_rows(&scan, new.memory().clone())?;
    let (matches, mut late) = (Matches::find(&keys, &bases, by_path)?, LateRows::default());
    for (given, stored) in matches.chunks() {
        let given = new.take(given)?;
        late.add(&late_rows(ordering, &given, &bases.take(stored)?)?, &given, &names)?;
    }
    late.refuse(ordering)
}
