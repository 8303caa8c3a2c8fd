//! Opens a table for a service.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::recovery::check_no_restore;
use mortice_base::error::Result;
use mortice_commit::commit::check_writable;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_table::plan::OpenTable;

/// Opens a table of which a service is to rewrite files.
pub(super) fn open_for_service(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
    service: &str,
) -> Result<WritableTable> {
    checked(location, WritableTable::open(location, options, service)?)
}

/// The same, of a table that was opened before.
pub(super) fn of_opened(
    location: &TableLocation,
    table: Arc<OpenTable>,
    options: &BTreeMap<String, String>,
    service: &str,
) -> Result<WritableTable> {
    checked(location, WritableTable::of_table(location, table, options, service)?)
}

fn checked(location: &TableLocation, target: WritableTable) -> Result<WritableTable> {
    let table = target.latest();
    check_writable(&table.config).map_err(|error| error.in_file(location.uri()))?;
    check_no_restore(&table.timeline).map_err(|error| error.in_file(location.uri()))?;
    Ok(target)
}
