//! Archival that a user asks for.

use std::collections::BTreeMap;

use super::run::{Archival, ArchivedInstant};
use mortice_base::error::Result;
use mortice_commit::writable_table::{TableLocation, WritableTable};

/// What an archival did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchivalResult {
    /// The instants that are in the archive now, oldest first.
    pub archived: Vec<ArchivedInstant>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// Archives the instants that options do not keep.
///
/// # Errors
/// As for [`Archival::new`] and [`Archival::run`].
pub fn run_archival(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<ArchivalResult> {
    archive(location, options, |archival| archival.run())
}

/// What [`run_archival`] would archive. Nothing is changed.
///
/// # Errors
/// As for [`run_archival`].
pub fn plan_archival(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<ArchivalResult> {
    archive(location, options, |archival| archival.plan())
}

fn archive(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
    archived: impl Fn(&Archival<'_>) -> Result<Vec<ArchivedInstant>>,
) -> Result<ArchivalResult> {
    let target = WritableTable::open(location, options, "archive")?;
    let archived = archived(&Archival::new(&target)?)?;
    Ok(ArchivalResult { archived, warnings: target.warnings() })
}
