//! Table services after a write, by the writer's own options (`BaseHoodieWriteClient.runTableServicesInline`).

use std::sync::Arc;

use super::clustering;
use crate::archival::Archival;
use crate::cleaning::Cleaning;
use crate::compaction::{self, Compaction};
use crate::inline_options::{InlineServices, InlineStep};
use crate::partition_ttl::expire_inline;
use crate::request::ServiceRequest;
use crate::transaction::{Committed, ExecutePlan, Transaction};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::WritableTable;
use mortice_merge::config::TableType;
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::write::LogCompactHandle;

/// Executes a plan of a service in this process.
///
/// # Errors
/// Those of the service. The plan stays on the timeline.
pub fn execute_in_process(plan: Transaction) -> Result<Committed> {
    match plan.operation() {
        WriteOperation::Cluster => clustering::execute_plan(plan),
        _ => compaction::execute_plan(plan),
    }
}

/// Runs the services that options ask for, after the write `instant` was committed. Returns a warning for each that
/// failed, if options say that these do not fail the write.
///
/// # Errors
/// `TableService`, with the write's instant and the reason, as the write is part of the table; `Interrupted` by a
/// signal. Options were checked before the write.
pub fn run_inline_services(
    target: &Arc<WritableTable>,
    instant: &RequestedTime,
    execute: ExecutePlan<'_>,
) -> Result<Vec<String>> {
    let inline = InlineServices::resolve(target.options())?;
    let services: [(&str, &dyn Fn() -> Result<()>); 5] = [
        ("clean", &|| clean_and_archive_inline(target, &inline)),
        ("compaction", &|| compact_inline(target, inline.compaction, execute)),
        ("log compaction", &|| log_compact_inline(target, &inline, execute)),
        ("clustering", &|| clustering::cluster_inline(target, &inline, execute)),
        ("deletion of expired partitions", &|| expire_partitions_inline(target, &inline)),
    ];
    let mut warnings = Vec::new();
    for (name, run) in services {
        match run() {
            Ok(()) => {}
            Err(error) if inline.fails || error.kind() == ErrorKind::Interrupted => {
                return Err(after_commit(name, error, instant));
            }
            Err(error) => {
                // What it has done until then is not known here.
                target.mark_changed();
                warnings.push(format!("the {name} after the write {instant} failed: {error}"));
            }
        }
    }
    Ok(warnings)
}

/// Cleans the table, then archives its timeline (`BaseHoodieWriteClient.mayBeCleanAndArchive`).
fn clean_and_archive_inline(target: &WritableTable, inline: &InlineServices) -> Result<()> {
    if inline.cleans {
        Cleaning::new(target)?.run_if_due()?;
    }
    if inline.archives {
        let archival = Archival::new(target)?;
        if archival.may_be_due() {
            archival.run()?;
        }
    }
    Ok(())
}

/// Compacts, or plans a compaction.
fn compact_inline(target: &Arc<WritableTable>, step: InlineStep, execute: ExecutePlan<'_>) -> Result<()> {
    let table = target.latest();
    if table.config.table_type != TableType::MergeOnRead {
        return Ok(());
    }
    let request = match step {
        InlineStep::Skip => return Ok(()),
        InlineStep::Run => ServiceRequest::BOTH,
        // While a compaction is pending, no other one is planned.
        InlineStep::Plan => {
            ServiceRequest { schedule: table.timeline.pending(Action::Compaction).next().is_none(), run: false }
        }
    };
    request.run_compactions(target, Compaction::IntoBaseFiles { commits: None }, execute).map(drop)
}

/// Compacts logs into logs.
fn log_compact_inline(target: &Arc<WritableTable>, inline: &InlineServices, execute: ExecutePlan<'_>) -> Result<()> {
    let table = target.latest();
    if !inline.compacts_logs || table.config.table_type != TableType::MergeOnRead {
        return Ok(());
    }
    LogCompactHandle::check(&table)?;
    ServiceRequest::BOTH.run_compactions(target, Compaction::IntoLogs, execute).map(drop)
}

/// Deletes partitions that have expired.
fn expire_partitions_inline(target: &Arc<WritableTable>, inline: &InlineServices) -> Result<()> {
    if inline.expires_partitions { expire_inline(target) } else { Ok(()) }
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
