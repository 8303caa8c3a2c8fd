//! How keys of one field by the complex key generator are written to tables below version 9: as the stored ones.
//!
//! Releases of Hudi differ (HUDI-7001): the key is `field:value` up to 0.14.0 and from 1.1.0 on, `value` in between.
//! Nothing in the table says which, other than its rows. A table without rows gets `field:value`.

use arrow_array::cast::AsArray;

use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_merge::keys::{KeyOptions, undecided_key_field};
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};

/// Whether keys are `field:value`, by the stored ones; none if the table or an option decides on it.
pub(super) fn stored_encoding(table: &OpenTable, options: &KeyOptions) -> Result<Option<bool>> {
    match undecided_key_field(&table.config, options)? {
        Some(field) => Ok(Some(stored_key_names_field(table, field)?.unwrap_or(true))),
        None => Ok(None),
    }
}

/// Whether a stored key is `field:value`; `None` if the table has no row.
fn stored_key_names_field(table: &OpenTable, field: &str) -> Result<Option<bool>> {
    let (_, types) = table.schema_at(None)?;
    let has_field = types.fields().find(field).is_some();
    let columns = [meta_columns::RECORD_KEY, field].into_iter().take(1 + usize::from(has_field));
    let columns = Some(columns.map(str::to_owned).collect());
    let query = QueryOptions { columns, ..QueryOptions::default() };
    for batch in table.snapshot(&query, None, SnapshotRows::Merged)?.stream() {
        let batch = batch?;
        let keys = batch.column_by_name(meta_columns::RECORD_KEY).and_then(|column| column.as_string_opt::<i32>());
        let Some(key) = keys.and_then(|keys| keys.iter().next().flatten()) else { continue };
        // A string may begin with the name of its column.
        let values = batch.column_by_name(field).and_then(|column| column.as_string_opt::<i32>());
        let is_value = values.and_then(|values| values.iter().next().flatten()) == Some(key);
        return Ok(Some(!is_value && key.strip_prefix(field).is_some_and(|rest| rest.starts_with(':'))));
    }
    Ok(None)
}
