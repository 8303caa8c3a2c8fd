//! Opens a table for a service.

use std::collections::BTreeMap;

use crate::recovery::check_no_restore;
use mortice_base::error::Result;
use mortice_commit::commit::check_writable;
use mortice_commit::writable_table::{TableLocation, WritableTable};

/// Opens a table of which a service is to rewrite files.
pub(super) fn open_for_service(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
    service: &str,
) -> Result<WritableTable> {
    let target = WritableTable::open(location, options, service)?;
    let table = target.latest();
    check_writable(&table.config).map_err(|error| error.in_file(location.uri()))?;
    check_no_restore(&table.timeline).map_err(|error| error.in_file(location.uri()))?;
    Ok(target)
}
