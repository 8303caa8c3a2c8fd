//! What computes the rows of each procedure.

use std::collections::BTreeMap;

use super::arguments::Arguments;
use super::call::Call;
use super::catalogue::{Procedure, ProcedureKind};
use super::value::{ProcedureRow, ProcedureValue};
use super::{
    bootstrap, cleans, column_bounds, commit_files, commits, export, file_sizes, file_slices, file_status, help,
    instants, lock_audit, log_files, metadata_table, plans, repairs, rollbacks,
};
use mortice_base::error::{Error, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::ReadOptions;

/// Returns the rows of a procedure that is not a table service.
///
/// # Arguments
/// * `location` - The table; the path, of a procedure without a table.
/// * `name` - The procedure.
/// * `given` - The arguments that were given.
///
/// # Errors
/// `InvalidArgument` for other arguments than the procedure has, `Unsupported` for a procedure that is refused; errors
/// of reading the table.
pub fn run_procedure(
    location: &TableLocation,
    name: &str,
    given: BTreeMap<String, ProcedureValue>,
) -> Result<Vec<ProcedureRow>> {
    let procedure = Procedure::named(name)?;
    if procedure.kind == ProcedureKind::Refused {
        let message = format!("unsupported procedure {}: {}", procedure.name, procedure.text);
        return Err(Error::unsupported(message));
    }
    let arguments = Arguments::new(procedure, given)?;
    match procedure.name {
        "help" => return help::help(&arguments),
        "show_fs_path_detail" => return file_sizes::path_detail(location, &arguments),
        _ => {}
    }
    let table = location.open_table(ReadOptions::default())?;
    let call = Call { location, arguments: &arguments, table };
    let run = computed_by(procedure.name)
        .ok_or_else(|| Error::internal(format_args!("nothing computes the rows of {}", procedure.name)))?;
    run(&call)
}

type Run = fn(&Call<'_>) -> Result<Vec<ProcedureRow>>;

/// What computes the rows of a procedure.
fn computed_by(name: &str) -> Option<Run> {
    Some(match name {
        "cleanup_audit_lock" => lock_audit::clean_up,
        "commits_compare" => commits::compare,
        "delete_marker" => repairs::delete_markers,
        "export_instants" => export::export,
        "hudi_filesystem_view" => file_slices::query_view,
        "hudi_query_timeline" => commits::query_timeline,
        "repair_add_partition_meta" => repairs::add_partition_files,
        "repair_corrupted_clean_files" => repairs::delete_unreadable_cleans,
        "repair_migrate_partition_meta" => repairs::migrate_partition_files,
        "set_audit_lock" => lock_audit::set,
        "show_archived_commits" => commits::archived_commits,
        "show_archived_commits_metadata" => commits::archived_files,
        "show_audit_lock_status" => lock_audit::status,
        "show_bootstrap_mapping" => bootstrap::mapping,
        "show_bootstrap_partitions" => bootstrap::partitions,
        "show_clean_plans" => cleans::plans,
        "show_cleans" => cleans::cleans,
        "show_cleans_metadata" => cleans::partitions,
        "show_clustering" => plans::clustering,
        "show_commit_extra_metadata" => commit_files::extra_metadata,
        "show_commit_files" => commit_files::files,
        "show_commit_partitions" => commit_files::partitions,
        "show_commit_write_stats" => commit_files::write_stats,
        "show_commits" => commits::commits,
        "show_commits_metadata" => commits::files,
        "show_compaction" => plans::compaction,
        "show_file_status" => file_status::status,
        "show_fsview_all" => file_slices::all,
        "show_fsview_latest" => file_slices::latest,
        "show_invalid_parquet" => file_sizes::invalid_parquet,
        "show_logfile_metadata" => log_files::blocks,
        "show_logfile_records" => log_files::records,
        "show_metadata_column_stats_overlap" => column_bounds::overlap,
        "show_metadata_table_column_stats" => column_bounds::bounds,
        "show_metadata_table_files" => metadata_table::files,
        "show_metadata_table_partitions" => metadata_table::partitions,
        "show_metadata_table_stats" => metadata_table::sizes,
        "show_rollback_detail" => rollbacks::files,
        "show_rollbacks" => rollbacks::rollbacks,
        "show_savepoints" => rollbacks::savepoints,
        "show_table_properties" => help::properties,
        "show_timeline" => instants::timeline,
        "stats_file_sizes" => file_sizes::by_commit,
        "stats_wa" => commits::write_amplification,
        "validate_audit_lock" => lock_audit::validate,
        "validate_metadata_table_files" => metadata_table::validate,
        _ => return None,
    })
}

/// Returns the rows that Hudi's procedure of a table service has of the instants that the service has run for.
///
/// # Arguments
/// * `location` - The table after the service.
/// * `name` - `run_clean`, `run_clustering` or `run_compaction`.
/// * `instants` - The requested times.
/// * `shows_partitions` - Whether rows of clustering have partitions.
///
/// # Errors
/// Errors of reading the table.
pub fn rows_of_service(
    location: &TableLocation,
    name: &str,
    instants: &[String],
    shows_partitions: bool,
) -> Result<Vec<ProcedureRow>> {
    let table = location.open_table(ReadOptions::default())?;
    match name {
        "run_clean" => cleans::of_run(&table.timeline, instants),
        "run_clustering" => plans::of_clustering_run(&table.timeline, instants, shows_partitions),
        "run_compaction" => plans::of_compaction_run(&table.timeline, instants),
        _ => Err(Error::internal(format_args!("{name} has no rows of instants"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedures::procedures;
    use crate::procedures::services::served_by;

    #[test]
    fn something_computes_all_rows_that_the_catalogue_says() {
        for one in procedures() {
            let is_computed = matches!(one.kind, ProcedureKind::Rows | ProcedureKind::Function);
            let is_of_no_table = ["help", "show_fs_path_detail"].contains(&one.name);
            assert_eq!(is_computed, is_of_no_table || computed_by(one.name).is_some(), "{}", one.name);
            assert_eq!(one.kind == ProcedureKind::Run, served_by(one.name).is_some(), "{}", one.name);
        }
    }
}
