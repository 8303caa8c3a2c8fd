//! A merge, resolved: its clauses, the table and the columns of the rows agree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::clauses::{ClauseAction, MergeClauses, NotMatched, RowAction};
use super::refusals::check_table;
use super::spelling::{check_names, spelled};
use super::table_types::own_columns;
use crate::read_state::MergeSource;
use mortice_base::error::{Error, Result};
use mortice_merge::config::{MergeMode, ParsedOptions, TableConfig, TableType};
use mortice_merge::keys::KeyOptions;
use mortice_table::plan::OpenTable;
use mortice_write::index::{IndexOptions, choose_index};
use mortice_write::rows::RowOptions;

/// How rows are merged into a table. Processes that have no table can be sent it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergePlan {
    /// The table's columns, without meta columns.
    pub(super) columns: Schema,
    /// The columns that the rows have.
    pub(super) given: Vec<String>,
    /// The columns by which rows are matched.
    pub(super) on: Vec<String>,
    /// The columns that a matched row gets.
    pub(super) update: Vec<String>,
    /// Whether rows that match no stored row are inserted.
    pub(super) inserts: bool,
    /// What is done to rows. A row has the number of one of them, or none.
    pub(super) actions: Vec<RowAction>,
    /// The columns of the record key.
    pub(super) keys: Vec<String>,
    /// The partition columns.
    pub(super) partitions: Vec<String>,
    /// Whether a key is unique in the table: the write has a global index.
    pub(super) is_global: bool,
    /// Whether a row moves to the partition that its columns say.
    pub(super) moves: bool,
    /// The ordering columns that the rows have, if records are merged by event time.
    pub(super) ordering: Vec<String>,
    /// Whether a deleted row may be in a base file, below a log with its delete.
    pub(super) has_logs: bool,
    /// The table's properties, by which keys are made.
    pub(super) properties: BTreeMap<String, String>,
    /// Options of the write, by which keys are made.
    pub(super) key_options: KeyOptions,
    /// Options of the write, by which rows are read.
    pub(super) row_options: RowOptions,
    /// What the write has to know of the rows that it was made from.
    pub(super) source: MergeSource,
}

/// The options of a write that decide how rows are merged.
struct PlanOptions {
    keys: KeyOptions,
    rows: RowOptions,
    index: IndexOptions,
}

impl PlanOptions {
    fn resolve(table: &OpenTable, options: &BTreeMap<String, String>) -> Result<Self> {
        let ParsedOptions { options, .. } = ParsedOptions::new(options, "upsert", &table.config)?;
        let (rows, index) = (RowOptions::resolve(&options)?, IndexOptions::resolve(&options)?);
        Ok(Self { keys: KeyOptions::resolve(&options)?, rows, index })
    }
}

impl MergePlan {
    /// Resolves a merge of rows with these columns.
    ///
    /// # Errors
    /// `InvalidArgument` for columns that are missing, and clauses that contradict the table or each other;
    /// `Unsupported` for tables and options that cannot be merged into.
    pub fn new(
        table: &OpenTable,
        given: &[String],
        clauses: &MergeClauses,
        options: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let (_, types) = table.schema_at(None)?;
        let options = PlanOptions::resolve(table, options)?;
        check_table(table, &types, &options.rows)?;
        Self::resolved(table, &types, given, clauses, options)
    }

    fn resolved(
        table: &OpenTable,
        types: &Schema,
        given: &[String],
        clauses: &MergeClauses,
        options: PlanOptions,
    ) -> Result<Self> {
        let config = &table.config;
        check_names(types, given)?;
        let index = choose_index(config, &options.index)?;
        let is_global = index.is_global();
        let columns = Schema::new(own_columns(types).cloned().collect::<Vec<FieldRef>>());
        let on = matched_columns(config, given, clauses, is_global)?;
        let update = updated_columns(&columns, given, clauses, &on)?;
        check_places(config, &on, &update, is_global)?;
        let inserts = clauses.not_matched == NotMatched::Insert;
        if inserts {
            check_insertable(config, given)?;
        }
        let actions = actions_of(&columns, config, given, (&on, &update), inserts);
        let by_event_time = table.merge.mode == MergeMode::EventTime;
        let ordering = config.ordering_fields.iter().filter(|name| by_event_time && given.contains(name));
        Ok(Self {
            columns,
            given: given.to_vec(),
            on,
            inserts,
            actions,
            keys: config.record_key_fields.clone(),
            partitions: config.partition_fields.clone(),
            is_global,
            moves: index.updates_partition(),
            ordering: ordering.cloned().collect(),
            has_logs: config.table_type == TableType::MergeOnRead,
            properties: config.properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            key_options: options.keys,
            row_options: options.rows,
            source: MergeSource::new(table, &update),
            update,
        })
    }

    /// The same, of rows whose columns are named without regard to case. The plan names them as the table does.
    ///
    /// # Errors
    /// As for [`Self::new`]; `InvalidArgument` for two columns whose names differ in case only.
    pub fn ignoring_case(
        table: &OpenTable,
        given: &[String],
        clauses: &MergeClauses,
        options: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let (_, types) = table.schema_at(None)?;
        Self::new(table, &spelled(&types, given)?, clauses, options)
    }

    /// Resolves changes of rows for which another engine chooses the action, and computes the values. Rows stay where
    /// they are, unless the index of the write moves them; columns that say where a row is may be given the values that
    /// they have. The keys of the table may be generated: rows are known by their meta columns then.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn of_actions(table: &OpenTable, actions: Vec<RowAction>, options: &BTreeMap<String, String>) -> Result<Self> {
        let (_, types) = table.schema_at(None)?;
        let names: Vec<String> = own_columns(&types).map(|field| field.name().clone()).collect();
        let clauses = MergeClauses { on: None, update: Some(Vec::new()), not_matched: NotMatched::Insert };
        let options = PlanOptions::resolve(table, options)?;
        if !table.config.record_key_fields.is_empty() {
            check_table(table, &types, &options.rows)?;
        }
        let plan = Self::resolved(table, &types, &names, &clauses, options)?;
        let updates = actions.iter().filter(|one| one.action == ClauseAction::Update);
        let assigned: BTreeSet<&String> = updates.flat_map(|one| one.values.keys()).collect();
        let stays = |name: &&String| plan.on.contains(name) || (!plan.moves && plan.partitions.contains(name));
        let update: Vec<String> = assigned.into_iter().filter(|name| !stays(name)).cloned().collect();
        Ok(Self { actions, source: MergeSource::new(table, &update), update, ..plan })
    }

    /// Makes sure that keys and partition paths suffice to join given rows with stored ones. If the rows have some of
    /// several partition columns, which paths have their values is known row by row only.
    ///
    /// # Errors
    /// `Unsupported` otherwise.
    pub fn check_joined_by_keys(&self) -> Result<()> {
        let (on, left): (Vec<&String>, Vec<&String>) = self.partitions.iter().partition(|name| self.on.contains(name));
        if on.is_empty() || left.is_empty() {
            return Ok(());
        }
        let left: Vec<&str> = left.into_iter().map(String::as_str).collect();
        Err(Error::unsupported(format!(
            "merge_into of a DataFrame without the partition column {}; add it to the rows and to on, or match by the record key alone",
            left.join(", ")
        )))
    }

    /// The columns of the rows, by the names that the table has for them.
    #[must_use]
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// The table's columns, without meta columns.
    #[must_use]
    pub fn columns(&self) -> SchemaRef {
        Arc::new(self.columns.clone())
    }

    /// The columns by which rows are matched.
    #[must_use]
    pub fn on(&self) -> &[String] {
        &self.on
    }

    /// The columns of the rows that the merge uses; values of others need not be those of the table's types.
    #[must_use]
    pub fn used(&self) -> Vec<&str> {
        let is_used = |name: &&String| self.inserts || self.on.contains(name) || self.update.contains(name);
        self.given.iter().filter(is_used).map(String::as_str).collect()
    }

    /// What is done to rows, by the numbers of actions.
    #[must_use]
    pub fn actions(&self) -> &[RowAction] {
        &self.actions
    }

    /// Whether keys are columns, and not generated.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The partition columns.
    #[must_use]
    pub fn partitions(&self) -> &[String] {
        &self.partitions
    }

    /// Whether the rows have partition paths, by which they are matched. Otherwise a key is matched in each partition,
    /// or in those that have the values of the partition columns among those that match.
    #[must_use]
    pub fn by_path(&self) -> bool {
        !self.partitions.is_empty() && self.partitions.iter().all(|name| self.on.contains(name))
    }

    /// Whether inserted rows are matched with deleted ones by partition path.
    pub(super) fn shadows_by_path(&self) -> bool {
        !self.partitions.is_empty() && !self.is_global
    }

    /// The ordering columns that a matched row gets.
    pub(super) fn updated_ordering(&self) -> Vec<String> {
        self.ordering.iter().filter(|name| self.update.contains(name)).cloned().collect()
    }

    /// The ordering columns that inserted rows have, by which a deleted row may win over them; none if no deleted row
    /// can.
    pub(super) fn shadow_ordering(&self) -> &[String] {
        if self.has_logs && self.inserts { &self.ordering } else { &[] }
    }

    /// The columns by which inserted rows are matched with deleted ones.
    pub(super) fn shadow_columns(&self) -> Vec<String> {
        let partitions = self.partitions.iter().filter(|name| !self.is_global && !self.keys.contains(name));
        self.keys.iter().chain(partitions).cloned().collect()
    }

    /// The partition columns that neither match rows nor are updated: of a matched row they are those of the stored
    /// row.
    pub(super) fn kept_partitions(&self) -> Vec<&str> {
        let is_kept = |name: &&String| !self.on.contains(name) && !self.update.contains(name);
        self.partitions.iter().filter(is_kept).map(String::as_str).collect()
    }

    /// What the write has to know of the rows that it was made from.
    pub(crate) fn source(&self) -> &MergeSource {
        &self.source
    }

    /// The columns of the table that are matched or written, any of them null.
    pub(super) fn used_columns(&self) -> Schema {
        let is_used = |name: &String| self.inserts || self.on.contains(name) || self.update.contains(name);
        let used = self.columns.fields().iter().filter(|field| is_used(field.name()));
        Schema::new(used.map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<Field>>())
    }

    /// The serialised form.
    ///
    /// # Errors
    /// `Internal` if the values cannot be serialised.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::internal("a merge cannot be serialised").caused_by(error))
    }

    /// Reads the serialised form.
    ///
    /// # Errors
    /// `InvalidArgument` for the form of another release.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|error| {
            let message =
                "the merge cannot be read: install the same release of mortice on the driver and on all executors";
            Error::invalid_argument(message).caused_by(error)
        })
    }
}

/// What is done to matched rows, of which some are deleted, and to others.
fn actions_of(
    columns: &Schema,
    config: &TableConfig,
    given: &[String],
    (on, update): (&[String], &[String]),
    inserts: bool,
) -> Vec<RowAction> {
    // The values of partition columns that queries return may differ from those that the files have.
    let is_matched = |name: &String| config.partition_fields.contains(name) && on.contains(name);
    let own = || columns.fields().iter().map(|field| field.name()).filter(|name| given.contains(name));
    let taken = own().filter(|name| update.contains(name) || is_matched(name));
    let taken: BTreeMap<String, String> = taken.map(|name| (name.clone(), name.clone())).collect();
    let mut actions = vec![RowAction { action: ClauseAction::Delete, values: taken.clone() }];
    if !update.is_empty() {
        actions.push(RowAction { action: ClauseAction::Update, values: taken });
    }
    if inserts {
        let values = own().map(|name| (name.clone(), name.clone())).collect();
        actions.push(RowAction { action: ClauseAction::Insert, values });
    }
    actions
}

fn matched_columns(
    config: &TableConfig,
    given: &[String],
    clauses: &MergeClauses,
    is_global: bool,
) -> Result<Vec<String>> {
    let TableConfig { record_key_fields: keys, partition_fields: partitions, .. } = config;
    let on = match &clauses.on {
        Some(on) => {
            let is_key = |name: &String| keys.contains(name) || partitions.contains(name);
            if !keys.iter().all(|name| on.contains(name)) || !on.iter().all(is_key) {
                let got = on.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
                return Err(Error::invalid_argument(format!(
                    "on must have the record key ({}) and nothing but partition columns besides, got [{got}]",
                    keys.join(", ")
                )));
            }
            on.clone()
        }
        None => {
            let located = |name: &&String| !is_global && given.contains(name) && !keys.contains(name);
            keys.iter().chain(partitions.iter().filter(located)).cloned().collect()
        }
    };
    match missing(&on, given) {
        None => Ok(on),
        Some(names) => {
            Err(Error::invalid_argument(format!("the rows have no column {names}, by which they are matched")))
        }
    }
}

/// The names that rows do not have, if any.
fn missing<'a>(names: impl IntoIterator<Item = &'a String>, given: &[String]) -> Option<String> {
    let missing: Vec<&str> = names.into_iter().filter(|name| !given.contains(name)).map(String::as_str).collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}

fn updated_columns(columns: &Schema, given: &[String], clauses: &MergeClauses, on: &[String]) -> Result<Vec<String>> {
    let Some(update) = &clauses.update else {
        let names = columns.fields().iter().map(|field| field.name());
        return Ok(names.filter(|name| given.contains(name) && !on.contains(name)).cloned().collect());
    };
    for name in update {
        let side = match (columns.fields().find(name), given.contains(name)) {
            (None, _) => "table does",
            (Some(_), false) => "rows do",
            (Some(_), true) => continue,
        };
        return Err(Error::invalid_argument(format!("when_matched_update names '{name}', which the {side} not have")));
    }
    Ok(update.clone())
}

/// Refuses updates of columns that say where a row is, unless they are known to be equal.
fn check_places(config: &TableConfig, on: &[String], update: &[String], is_global: bool) -> Result<()> {
    let partitions = config.partition_fields.iter().filter(|_| !is_global);
    let located = config.record_key_fields.iter().chain(partitions);
    let mut moved: Vec<&str> =
        located.filter(|name| !on.contains(name) && update.contains(name)).map(String::as_str).collect();
    if moved.is_empty() {
        return Ok(());
    }
    moved.sort_unstable();
    moved.dedup();
    Err(Error::invalid_argument(format!(
        "{} of a matched row cannot be updated: the row would be in two places; add it to on",
        moved.join(", ")
    )))
}

fn check_insertable(config: &TableConfig, given: &[String]) -> Result<()> {
    match missing(config.record_key_fields.iter().chain(&config.partition_fields), given) {
        None => Ok(()),
        Some(names) => Err(Error::invalid_argument(format!(
            "the rows have no column {names}, so that those which are not matched cannot be inserted; add it, or use when_not_matched=\"ignore\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestTable;
    use super::super::testing::names;
    use super::super::testing::options;
    use super::*;

    const GLOBAL: (&str, &str) = ("hoodie.index.type", "GLOBAL_SIMPLE");

    fn clauses(on: Option<&[&str]>, update: Option<&[&str]>, not_matched: NotMatched) -> MergeClauses {
        MergeClauses { on: on.map(names), update: update.map(names), not_matched }
    }

    fn planned(given: &[&str], clauses: &MergeClauses, with: &[(&str, &str)]) -> Result<MergePlan> {
        MergePlan::new(&TestTable::new().open(), &names(given), clauses, &options(with))
    }

    fn error(given: &[&str], clauses: &MergeClauses) -> String {
        planned(given, clauses, &[]).unwrap_err().text()
    }

    #[test]
    fn rows_match_by_key_and_the_partition_columns_that_they_have() {
        let all = clauses(None, None, NotMatched::Ignore);
        let plan = planned(&["id", "city", "fare", "op"], &all, &[]).unwrap();
        assert_eq!((plan.on(), plan.by_path()), (names(&["id", "city"]).as_slice(), true));
        assert_eq!(plan.update, ["fare"]);
        let plan = planned(&["id", "fare"], &all, &[]).unwrap();
        assert_eq!((plan.on(), plan.by_path()), (names(&["id"]).as_slice(), false));
        assert_eq!(plan.kept_partitions(), ["city"]);
        let plan = planned(&["id", "city", "fare"], &all, &[GLOBAL]).unwrap();
        assert_eq!((plan.on(), plan.by_path()), (names(&["id"]).as_slice(), false));
        // Under a global index a row moves.
        assert_eq!(plan.update, ["city", "fare"]);
        assert_eq!(plan.kept_partitions(), [""; 0]);
    }

    #[test]
    fn columns_are_checked_by_name() {
        use NotMatched::{Ignore, Insert};
        let all = clauses(None, None, Insert);
        assert!(error(&["city"], &all).contains("no column id, by which"));
        assert!(error(&["id"], &all).contains("no column city, so that"));
        assert!(error(&["id", "ID", "city"], &all).contains("'ID', and the table 'id'"));
        assert!(error(&["id", "op", "op", "city"], &all).contains("several columns 'op'"));
        let given = ["id", "city", "fare"];
        let on = |names: &[&str]| error(&given, &clauses(Some(names), None, Ignore));
        assert!(on(&["city"]).contains("on must have the record key (id)"));
        assert!(on(&["id", "fare"]).ends_with("got ['id', 'fare']"));
        let update = |names: &[&str]| error(&given, &clauses(None, Some(names), Ignore));
        assert!(update(&["ts"]).contains("'ts', which the rows do not have"));
        assert!(update(&["x"]).contains("'x', which the table does not have"));
        let moved = clauses(Some(&["id"]), Some(&["city"]), Ignore);
        assert!(error(&given, &moved).starts_with("city of a matched row cannot be updated"));
        assert!(planned(&given, &moved, &[GLOBAL]).is_ok());
    }

    #[test]
    fn ordering_columns_are_those_that_the_rows_have() {
        let given = ["id", "city", "fare", "ts"];
        let plan = planned(&given, &clauses(None, Some(&["fare"]), NotMatched::Insert), &[]).unwrap();
        assert_eq!(plan.updated_ordering(), [""; 0]);
        assert_eq!(plan.shadow_ordering(), ["ts"]);
        assert_eq!(plan.shadow_columns(), ["id", "city"]);
        let plan = planned(&given, &clauses(None, None, NotMatched::Ignore), &[]).unwrap();
        assert_eq!(plan.updated_ordering(), ["ts"]);
        // Nothing is inserted.
        assert_eq!(plan.shadow_ordering(), [""; 0]);
        let plan = planned(&given, &clauses(None, None, NotMatched::Insert), &[GLOBAL]).unwrap();
        assert_eq!((plan.shadow_columns(), plan.shadows_by_path()), (names(&["id"]), false));
    }

    #[test]
    fn unknown_options_are_refused_and_a_plan_can_be_sent() {
        let all = clauses(None, None, NotMatched::Insert);
        assert!(planned(&["id", "city"], &all, &[("hoodie.index.tpye", "SIMPLE")]).is_err());
        let plan = planned(&["id", "city", "fare"], &all, &[]).unwrap();
        assert_eq!(MergePlan::from_bytes(&plan.to_bytes().unwrap()).unwrap(), plan);
        assert!(MergePlan::from_bytes(b"{}").is_err());
    }
}
