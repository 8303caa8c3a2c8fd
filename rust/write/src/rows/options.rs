//! What options say of the rows of a write.

use serde::{Deserialize, Serialize};

use super::duplicates::DuplicatePolicy;
use super::sort_mode::SortMode;
use mortice_base::error::Result;
use mortice_merge::config::{WriteOptions, option_names};
use mortice_merge::spill::{RowMemory, SpillFolder};

/// Options of the rows of a write. None is a value whose default depends on the table or the operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowOptions {
    /// Which columns of the table the write may change, as users name it.
    pub(super) schema_changes: Option<String>,
    /// Whether new columns and wider types are taken into the table, if nothing else is said, and nullable columns that
    /// the rows do not have are null.
    pub(super) reconciles: bool,
    /// Whether nullable columns and fields of the table that the rows do not have are null.
    pub fills_missing: bool,
    /// Whether files may get the column of operations.
    pub(super) allows_operations: Option<bool>,
    /// What happens to inserted rows whose keys are in the table.
    pub duplicates: DuplicatePolicy,
    /// Whether such rows are dropped if the policy says nothing, and those of one write with the same key combined.
    pub drops_duplicates: bool,
    /// Whether rows of one insert that have the same key are combined.
    pub combines_inserts: Option<bool>,
    /// The same of an upsert.
    pub(super) combines_upserts: bool,
    /// Whether inserted rows are added to small files without a look at the keys that these have.
    pub appends_duplicates: bool,
    /// The order of the rows of a bulk insert.
    pub sort_mode: SortMode,
    /// Whether logs get the changed columns of merged rows alone.
    pub(super) partial_updates: Option<bool>,
    /// Whether rows that cannot be written are left out. Otherwise they end the write.
    pub ignores_failed: bool,
    /// The partitions that `insert_overwrite` replaces, whether or not rows are written to them; none: those of the
    /// rows.
    pub static_partitions: Option<Vec<String>>,
    /// Bytes of rows that wait in memory.
    memory_bytes: usize,
    /// Where other rows wait; none is the system's folder of temporary files.
    spill_folder: Option<String>,
}

impl RowOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// Those of [`WriteOptions`].
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        let listed = |paths: &str| paths.split(',').map(|path| path.trim().to_owned()).collect();
        Ok(Self {
            schema_changes: options.given_text(option_names::WRITE_SCHEMA).map(str::to_owned),
            reconciles: options.boolean(option_names::DATASOURCE_WRITE_RECONCILE_SCHEMA)?,
            fills_missing: options.boolean(option_names::WRITE_SET_NULL_FOR_MISSING_COLUMNS)?,
            allows_operations: options.given_boolean(option_names::ALLOW_OPERATION_METADATA_FIELD)?,
            duplicates: DuplicatePolicy::parse(options.word(option_names::DATASOURCE_INSERT_DUP_POLICY)?)?,
            drops_duplicates: options.boolean(option_names::DATASOURCE_WRITE_INSERT_DROP_DUPLICATES)?,
            combines_inserts: options.given_boolean(option_names::COMBINE_BEFORE_INSERT)?,
            combines_upserts: options.boolean(option_names::COMBINE_BEFORE_UPSERT)?,
            appends_duplicates: options.boolean(option_names::MERGE_ALLOW_DUPLICATE_ON_INSERTS)?,
            sort_mode: SortMode::parse(options.word(option_names::BULKINSERT_SORT_MODE)?)?,
            partial_updates: options.given_boolean(option_names::SPARK_SQL_MERGE_INTO_PARTIAL_UPDATES)?,
            ignores_failed: options.boolean(option_names::WRITE_IGNORE_FAILED)?,
            static_partitions: options.text(option_names::STATIC_OVERWRITE_PARTITION_PATHS).map(listed),
            memory_bytes: options.integer(option_names::MEMORY_MERGE_MAX_SIZE)?,
            spill_folder: options.text(option_names::MEMORY_SPILLABLE_MAP_PATH).map(str::to_owned),
        })
    }

    /// What happens to inserted rows whose keys are in the table, by all options.
    #[must_use]
    pub fn insert_policy(&self) -> DuplicatePolicy {
        match self.duplicates {
            DuplicatePolicy::Keep if self.drops_duplicates => DuplicatePolicy::Drop,
            policy => policy,
        }
    }

    /// How many bytes of rows wait in memory, and where others do.
    #[must_use]
    pub fn memory(&self) -> RowMemory {
        RowMemory::new(SpillFolder::new(self.spill_folder.as_deref()), self.memory_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::duplicates::effective_operation;
    use super::*;
    use mortice_table::timeline::WriteOperation;

    const POLICY: &str = option_names::DATASOURCE_INSERT_DUP_POLICY.name();
    const DROP: &str = option_names::DATASOURCE_WRITE_INSERT_DROP_DUPLICATES.name();

    #[test]
    fn policies_by_option_and_operation() {
        use DuplicatePolicy::{Drop as Dropped, Fail, Keep};
        for (given, policy) in [
            (&[][..], Keep),
            (&[(POLICY, "none")], Keep),
            (&[(POLICY, "DROP")], Dropped),
            (&[(POLICY, "fail")], Fail),
            (&[(DROP, "true")], Dropped),
            (&[(DROP, "true"), (POLICY, "none")], Dropped),
            (&[(DROP, "true"), (POLICY, "fail")], Fail),
        ] {
            let options = RowOptions::resolve(&WriteOptions::resolve(given.iter().copied()).unwrap()).unwrap();
            assert_eq!(
                DuplicatePolicy::of_write(WriteOperation::Insert, options.insert_policy()).unwrap(),
                policy,
                "{given:?}"
            );
            let (operation, sentence) = effective_operation(WriteOperation::Upsert, options.insert_policy());
            let expected = if policy == Keep { WriteOperation::Upsert } else { WriteOperation::Insert };
            assert_eq!((operation, sentence.is_some()), (expected, policy != Keep));
            assert_eq!(
                DuplicatePolicy::of_write(WriteOperation::BulkInsert, options.insert_policy()).is_ok(),
                policy == Keep
            );
            assert_eq!(
                DuplicatePolicy::of_write(WriteOperation::InsertOverwrite, options.insert_policy()).unwrap(),
                Keep
            );
        }
        assert!(WriteOptions::resolve([(POLICY, "ignore")]).is_err());
    }

    #[test]
    fn rows_of_a_bulk_insert_are_not_sorted_by_default() {
        let options = RowOptions::resolve(&WriteOptions::default()).unwrap();
        assert_eq!(options.sort_mode, SortMode::None);
        assert!(WriteOptions::resolve([(option_names::BULKINSERT_SORT_MODE, "SORTED")]).is_err());
    }
}
