//! Cleans that a user asks for.

use std::collections::BTreeMap;

use super::run::{Clean, Cleaning};
use mortice_base::error::Result;
use mortice_commit::writable_table::{TableLocation, WritableTable};

/// What cleaning did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleaningResult {
    /// The cleans that were completed, those that were pending before a new one.
    pub cleans: Vec<Clean>,
    /// Why nothing is deleted; none if something is.
    pub reason: Option<String>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// Completes cleans that are pending, then plans a new one, if there is anything to delete, and runs it.
///
/// # Errors
/// As for [`Cleaning::new`] and [`Cleaning::run`].
pub fn run_cleaning(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<CleaningResult> {
    clean(location, options, |cleaning| cleaning.run())
}

/// What [`run_cleaning`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_cleaning`].
pub fn plan_cleaning(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<CleaningResult> {
    clean(location, options, |cleaning| cleaning.plan())
}

fn clean(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
    cleans: impl Fn(&Cleaning<'_>) -> Result<Vec<Clean>>,
) -> Result<CleaningResult> {
    cleaning_of(&WritableTable::open(location, options, "clean")?, cleans)
}

/// Plans or runs cleans of an opened table.
pub(crate) fn cleaning_of(
    target: &WritableTable,
    cleans: impl Fn(&Cleaning<'_>) -> Result<Vec<Clean>>,
) -> Result<CleaningResult> {
    let cleaning = Cleaning::new(target)?;
    let cleans = cleans(&cleaning)?;
    let deletes = cleans.iter().any(|clean| !clean.files.is_empty() || !clean.partitions.is_empty());
    let reason = (!deletes).then(|| cleaning.why_nothing());
    target.leave();
    Ok(CleaningResult { cleans, reason, warnings: target.warnings() })
}
