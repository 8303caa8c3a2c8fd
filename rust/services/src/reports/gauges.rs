//! The last values of the metrics of each table that this process writes to.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Values by name.
pub(super) type Gauges = BTreeMap<String, i64>;

static TABLES: Mutex<BTreeMap<String, Gauges>> = Mutex::new(BTreeMap::new());

/// Sets values of a table, given by its base path. Returns all of its values.
pub(super) fn set(table: &str, values: impl IntoIterator<Item = (String, i64)>) -> Gauges {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let gauges = tables.entry(table.to_owned()).or_default();
    gauges.extend(values);
    gauges.clone()
}

/// The values of a table.
pub(super) fn of_table(table: &str) -> Gauges {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner).get(table).cloned().unwrap_or_default()
}
