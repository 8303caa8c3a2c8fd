//! Inserts that readers would not show: of keys that a log has deleted, if the row in the base file, which a compaction
//! removes, has a greater ordering value.

use super::given_keys::GivenKeys;
use super::matching::Matches;
use super::ordering::{LateRows, late_rows};
use super::plan::MergePlan;
use super::stored_rows::{query_of_keys, read_rows};
use mortice_base::error::Result;
use mortice_merge::keys::RowKeys;
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
    refuse_shadowed(&ShadowRules { ordering, names: &names, by_path }, (&keys, new), &bases)
}

/// By what inserted rows are compared with rows of base files.
pub(crate) struct ShadowRules<'a> {
    /// The ordering columns.
    pub(crate) ordering: &'a [String],
    /// The columns that messages name keys by.
    pub(crate) names: &'a [String],
    /// Whether rows match by partition path, besides the record key.
    pub(crate) by_path: bool,
}

/// Refuses new rows, of which the keys are given, if a row of a base file with the same key has a greater ordering
/// value. Rows of base files have record keys and partition paths.
pub(crate) fn refuse_shadowed(
    rules: &ShadowRules<'_>,
    (keys, new): (&RowKeys, &RowBatches),
    bases: &RowBatches,
) -> Result<()> {
    let (matches, mut late) = (Matches::find(keys, bases, rules.by_path)?, LateRows::default());
    for (given, stored) in matches.chunks() {
        let given = new.take(given)?;
        late.add(&late_rows(rules.ordering, &given, &bases.take(stored)?)?, &given, rules.names)?;
    }
    late.refuse(rules.ordering)
}
