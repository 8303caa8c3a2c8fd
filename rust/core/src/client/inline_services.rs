//! Table services after a write, by the writer's own options (`BaseHoodieWriteClient.runTableServicesInline`).

use super::clustering::cluster_inline;
use super::compaction::{execute_pending, schedule};
use super::transaction::ServiceTarget;
use crate::config::{TableConfig, TableType, option_values};
use crate::error::{Error, ErrorKind, Result};
use crate::names::RequestedTime;
use crate::services::{Archival, Cleaning, TableAccess, TableCompactions};
use crate::storage::open_file_store;

const CLEAN: &str = "hoodie.clean.automatic";
const CLEAN_LATER: &str = "hoodie.clean.async.enabled";
const ARCHIVE: &str = "hoodie.archive.automatic";
const ARCHIVE_LATER: &str = "hoodie.archive.async";
/// Whether tables are cleaned and archived without these options. Hudi does it.
const IS_AUTOMATIC: bool = false;
const INLINE: &str = "hoodie.compact.inline";
const SCHEDULE: &str = "hoodie.compact.schedule.inline";
const FAIL: &str = "hoodie.fail.writes.on.inline.table.service.exception";
/// Delta commits after which a compaction is due (`hoodie.compact.inline.max.delta.commits`).
const COMMITS: u64 = 5;

/// Runs the services that options ask for, after the write `instant` was committed. Returns a warning for each that failed, if options
/// say that these do not fail the write.
///
/// # Errors
/// Those of the services: the write is part of the table, which the message says. `InvalidArgument` for options.
pub(super) fn run_inline_services(
    target: ServiceTarget<'_>,
    config: &TableConfig,
    instant: &RequestedTime,
) -> Result<Vec<String>> {
    let fails = option_values::boolean(target.options, FAIL, true)?;
    let services: [(&str, &dyn Fn() -> Result<()>); 3] = [
        ("clean", &|| clean_and_archive_inline(target)),
        ("compaction", &|| compact_inline(target, config)),
        ("clustering", &|| cluster_inline(target)),
    ];
    let mut warnings = Vec::new();
    for (name, run) in services {
        match run() {
            Ok(()) => {}
            Err(error) if fails || error.kind() == ErrorKind::Interrupted => return Err(after_commit(error, instant)),
            Err(error) => warnings.push(format!("the {name} after the write {instant} failed: {error}")),
        }
    }
    Ok(warnings)
}

/// Cleans the table, then archives its timeline (`BaseHoodieWriteClient.mayBeCleanAndArchive`).
fn clean_and_archive_inline(target: ServiceTarget<'_>) -> Result<()> {
    let is_set = |name: &str, default: bool| option_values::boolean(target.options, name, default);
    let cleans = is_set(CLEAN, IS_AUTOMATIC)? && !is_set(CLEAN_LATER, false)?;
    let archives = is_set(ARCHIVE, IS_AUTOMATIC)? && !is_set(ARCHIVE_LATER, false)?;
    if !cleans && !archives {
        return Ok(());
    }
    let access = TableAccess::of_write(target.uri, target.storage, target.options)?;
    if cleans {
        Cleaning::new(&access)?.run(true)?;
    }
    if archives {
        Archival::new(&access)?.run()?;
    }
    Ok(())
}

/// Compacts, or plans a compaction (`hoodie.compact.inline`, `hoodie.compact.schedule.inline`).
fn compact_inline(target: ServiceTarget<'_>, config: &TableConfig) -> Result<()> {
    if config.table_type != TableType::MergeOnRead {
        return Ok(());
    }
    if option_values::boolean(target.options, INLINE, false)? {
        execute_pending(target)?;
        if schedule(target, COMMITS)?.is_some() {
            execute_pending(target)?;
        }
        return Ok(());
    }
    if option_values::boolean(target.options, SCHEDULE, false)? {
        let compactions = TableCompactions::open(&open_file_store(target.uri, target.storage)?)?;
        if compactions.pending().is_empty() {
            schedule(target, COMMITS)?;
        }
    }
    Ok(())
}

fn after_commit(error: Error, instant: &RequestedTime) -> Error {
    let message = format!("the write {instant} is part of the table, but the table service after it failed");
    Error::new(error.kind(), message).caused_by(error)
}
