//! Procedures of table services that need nothing of an engine: savepoints, rollbacks, restores, versions.

use std::collections::BTreeMap;

use super::arguments::Arguments;
use super::catalogue::Procedure;
use super::value::{ProcedureRow, ProcedureValue, row};
use crate::build_metadata::{MetadataBuildRequest, run_metadata_build};
use crate::recovery::{SavepointRequest, run_restore, run_rollback, run_savepoint, run_savepoint_deletion};
use crate::upgrade::{UpgradeRequest, VersionChange, run_upgrade};
use mortice_base::error::{Error, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::ReadOptions;
use mortice_table::metadata_table;
use mortice_table::timeline::Action;

/// Hudi's names of table versions.
const VERSIONS: [(&str, u8); 4] = [("SIX", 6), ("EIGHT", 8), ("NINE", 9), ("TEN", 10)];

/// What a procedure of a service has done.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceRows {
    /// Its rows.
    pub rows: Vec<ProcedureRow>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// Runs a procedure of a table service that needs nothing of an engine.
///
/// # Arguments
/// * `location` - The table.
/// * `name` - The procedure.
/// * `given` - The arguments that were given.
/// * `options` - Options of the service, by Hudi's names.
///
/// # Errors
/// `InvalidArgument` for other arguments than the procedure has; those of the service.
pub fn run_service(
    location: &TableLocation,
    name: &str,
    given: BTreeMap<String, ProcedureValue>,
    options: &BTreeMap<String, String>,
) -> Result<ServiceRows> {
    let procedure = Procedure::named(name)?;
    let arguments = Arguments::new(procedure, given)?;
    let run = served_by(procedure.name)
        .ok_or_else(|| Error::internal(format_args!("nothing runs the service of {}", procedure.name)))?;
    run(&ServiceCall { location, arguments, options })
}

/// A call of a procedure of a service.
pub(super) struct ServiceCall<'a> {
    location: &'a TableLocation,
    arguments: Arguments,
    options: &'a BTreeMap<String, String>,
}

type Run = fn(&ServiceCall<'_>) -> Result<ServiceRows>;

/// What runs a procedure.
pub(super) fn served_by(name: &str) -> Option<Run> {
    Some(match name {
        "create_savepoint" => create_savepoint,
        "delete_metadata_table" => delete_metadata,
        "delete_savepoint" => delete_savepoint,
        "downgrade_table" => |call| to_version(call, VersionChange::Downgrade),
        "restore_to_instant" => restore,
        "rollback_to_instant" => rollback,
        "rollback_to_savepoint" => restore_savepoint,
        "run_rollback_inflight_tableservice" => rollback_service,
        "upgrade_table" => |call| to_version(call, VersionChange::Upgrade),
        _ => return None,
    })
}

fn done(row: ProcedureRow) -> Result<ServiceRows> {
    Ok(ServiceRows { rows: vec![row], warnings: Vec::new() })
}

impl ServiceCall<'_> {
    /// Runs the service, and returns how many milliseconds it took.
    fn timed<T>(&self, service: impl FnOnce() -> Result<T>) -> Result<(T, i64)> {
        let time = self.location.open_store()?.time();
        let begin = time.monotonic();
        Ok((service()?, time.millis_since(begin)))
    }

    /// The savepoints that are named, or the latest one.
    fn savepoints(&self) -> Result<Vec<String>> {
        let table = self.location.open_table(ReadOptions::default())?;
        let instants = table.timeline.instants().iter();
        let savepoints = instants.filter(|one| one.is_completed() && one.action == Action::Savepoint);
        let mut found: Vec<String> = savepoints.map(|one| one.requested_time.to_string()).collect();
        found.sort();
        let Some(latest) = found.last() else {
            return Err(Error::invalid_argument("the table has no savepoint").in_file(self.location.uri()));
        };
        let named = self.arguments.list("instant_time");
        if let Some(unknown) = named.iter().find(|one| !found.contains(one)) {
            let known = found.join(", ");
            let message = format!("there is no savepoint of {unknown}; those of the table are {known}");
            return Err(Error::invalid_argument(message).in_file(self.location.uri()));
        }
        Ok(if named.is_empty() { vec![latest.clone()] } else { named })
    }
}

fn create_savepoint(call: &ServiceCall<'_>) -> Result<ServiceRows> {
    let latest = || {
        let table = call.location.open_table(ReadOptions::default())?;
        let write = table.timeline.instants().iter().rfind(|one| one.is_completed_write());
        write.map(|write| write.requested_time.to_string()).ok_or_else(|| {
            Error::invalid_argument("the table has no completed write yet, of which a savepoint could be made")
        })
    };
    let text = |name: &str| call.arguments.text(name).unwrap_or_default();
    let instant = call.arguments.text("commit_time").map_or_else(latest, Ok)?;
    let request = SavepointRequest { instant, user: text("user"), comment: text("comments") };
    run_savepoint(call.location, &request, call.options)?;
    done(row![true])
}

fn delete_savepoint(call: &ServiceCall<'_>) -> Result<ServiceRows> {
    for instant in call.savepoints()? {
        run_savepoint_deletion(call.location, &instant, call.options)?;
    }
    done(row![true])
}

fn restore_savepoint(call: &ServiceCall<'_>) -> Result<ServiceRows> {
    for instant in call.savepoints()? {
        run_restore(call.location, &instant, call.options)?;
    }
    done(row![true])
}

fn restore(call: &ServiceCall<'_>) -> Result<ServiceRows> {
    let instant = call.arguments.required("instant_time")?;
    let (restored, millis) = call.timed(|| run_restore(call.location, &instant, call.options))?;
    let by = restored.restore.map(|time| time.to_string());
    done(row![true, by, millis, restored.undone.len()])
}

/// Undoes one instant, as the procedure of Hudi does despite its name.
fn rollback(call: &ServiceCall<'_>) -> Result<ServiceRows> {
    run_rollback(call.location, &call.arguments.required("instant_time")?, call.options)?;
    done(row![true])
}

fn rollback_service(call: &ServiceCall<'_>) -> Result<ServiceRows> {
    if !call.arguments.boolean("delete_request_instant_file") {
        let message = "the plan goes with the rollback; pass delete_request_instant_file => true, or execute the plan";
        return Err(Error::unsupported(message).in_file(call.location.uri()));
    }
    let instant = call.arguments.required("pending_instant")?;
    let (_, millis) = call.timed(|| run_rollback(call.location, &instant, call.options))?;
    done(row![instant, millis.to_string()])
}

fn to_version(call: &ServiceCall<'_>, change: VersionChange) -> Result<ServiceRows> {
    let given = call.arguments.required("to_version")?;
    let named = VERSIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&given)).map(|(_, version)| *version);
    let to = named.or_else(|| given.parse().ok()).ok_or_else(|| {
        let names = VERSIONS.map(|(name, _)| name).join(", ");
        Error::invalid_argument(format!("to_version must be one of {names}, got '{given}'"))
    })?;
    let upgraded = run_upgrade(call.location, &UpgradeRequest { change, to }, call.options)?;
    Ok(ServiceRows { rows: vec![row![true]], warnings: upgraded.warnings })
}

fn delete_metadata(call: &ServiceCall<'_>) -> Result<ServiceRows> {
    let request = MetadataBuildRequest { added: Vec::new(), dropped: Vec::new(), rebuilds: false, deletes: true };
    let built = run_metadata_build(call.location, &request, call.options)?;
    let folder = metadata_table::uri_of(call.location.uri());
    Ok(ServiceRows { rows: vec![row![format!("Deleted Metadata Table at '{folder}'")]], warnings: built.warnings })
}
