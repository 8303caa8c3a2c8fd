//! Table services after a write, by the writer's own options (`BaseHoodieWriteClient.runTableServicesInline`).

use super::clustering::cluster_inline;
use super::compaction::{execute_pending, log_compact_pending, schedule};
use crate::services::{
    Archival, COMPACTION_COMMITS, Cleaning, InlineServices, InlineStep, TableAccess, TableCompactions,
};
use crate::transaction::ServiceTarget;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::{ReadOptions, TableConfig, TableType};
use mortice_storage::open_file_store;
use mortice_table::plan::OpenTable;

/// Runs the services that options ask for, after the write `instant` was committed. Returns a warning for each that failed, if options
/// say that these do not fail the write.
///
/// # Errors
/// `TableService`, with the write's instant and the reason, as the write is part of the table; `Interrupted` by a signal. Options were
/// checked before the write.
pub(crate) fn run_inline_services(
    target: ServiceTarget<'_>,
    config: &TableConfig,
    instant: &RequestedTime,
) -> Result<Vec<String>> {
    let inline = InlineServices::from_options(target.options)?;
    let services: [(&str, &dyn Fn() -> Result<()>); 4] = [
        ("clean", &|| clean_and_archive_inline(target, &inline)),
        ("compaction", &|| compact_inline(target, config, inline.compaction)),
        ("log compaction", &|| log_compact_inline(target, config, &inline)),
        ("clustering", &|| cluster_inline(target, &inline)),
    ];
    let mut warnings = Vec::new();
    for (name, run) in services {
        match run() {
            Ok(()) => {}
            Err(error) if inline.fails || error.kind() == ErrorKind::Interrupted => {
                return Err(after_commit(name, error, instant));
            }
            Err(error) => warnings.push(format!("the {name} after the write {instant} failed: {error}")),
        }
    }
    Ok(warnings)
}

/// Cleans the table, then archives its timeline (`BaseHoodieWriteClient.mayBeCleanAndArchive`).
fn clean_and_archive_inline(target: ServiceTarget<'_>, inline: &InlineServices) -> Result<()> {
    let InlineServices { cleans, archives, .. } = *inline;
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

/// Compacts, or plans a compaction.
fn compact_inline(target: ServiceTarget<'_>, config: &TableConfig, step: InlineStep) -> Result<()> {
    if config.table_type != TableType::MergeOnRead {
        return Ok(());
    }
    match step {
        InlineStep::Skip => {}
        InlineStep::Run => {
            execute_pending(target)?;
            if schedule(target, COMPACTION_COMMITS)?.is_some() {
                execute_pending(target)?;
            }
        }
        InlineStep::Plan => {
            let compactions = TableCompactions::open(&open_file_store(target.uri, target.storage)?)?;
            if compactions.pending().is_empty() {
                schedule(target, COMPACTION_COMMITS)?;
            }
        }
    }
    Ok(())
}

/// Compacts logs into logs.
fn log_compact_inline(target: ServiceTarget<'_>, config: &TableConfig, inline: &InlineServices) -> Result<()> {
    if !inline.compacts_logs || config.table_type != TableType::MergeOnRead {
        return Ok(());
    }
    let table = OpenTable::open(target.uri, target.storage, ReadOptions::default())?;
    log_compact_pending(target, &table).map(|_| ())
}

fn after_commit(service: &str, error: Error, instant: &RequestedTime) -> Error {
    let message = format!(
        "the write {instant} is part of the table and must not be repeated, but the {service} after it failed; the next write or a job \
         of the service takes it up"
    );
    // The kind of the cause would say that the write failed: a conflict that it was rolled back.
    let kind = match error.kind() {
        ErrorKind::Interrupted => ErrorKind::Interrupted,
        _ => ErrorKind::TableService,
    };
    Error::new(kind, message).at_instant(instant).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_failed_says_that_the_write_is_committed() {
        let conflict = Error::new(ErrorKind::WriteConflict, "another writer was first").at_instant("007");
        let error = after_commit("compaction", conflict, &"001".into());
        assert_eq!((error.kind(), error.location().instant.as_deref()), (ErrorKind::TableService, Some("001")));
        let text = error.to_string();
        for part in ["MORTICE-TABLE-SERVICE", "001 is part of the table", "compaction", "another writer was first"] {
            assert!(text.contains(part), "{text}");
        }
        let signal = Error::new(ErrorKind::Interrupted, "interrupted by a signal");
        assert_eq!(after_commit("clean", signal, &"001".into()).kind(), ErrorKind::Interrupted);
    }
}
