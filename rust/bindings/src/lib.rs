//! The Python interface of mortice: `mortice._mortice`. One file per class; the core crate contains all of Hudi's
//! logic.
//!
//! The GIL is released while Rust works. Arrow data is passed through the PyCapsule interface only.

// Miri runs no C code.
#[cfg(not(miri))]
mod allocator;
mod alter_schema;
mod archive;
mod arguments;
mod arrow;
mod arrow_in;
mod arrow_stream;
mod bootstrap;
mod catalog;
mod clean;
mod cluster;
mod commit;
mod compact;
mod create_table;
mod credentials;
mod distributed;
mod distributed_service;
mod erase;
mod errors;
mod expire_partitions;
mod expression;
mod file_slice;
mod filter;
mod follower;
#[cfg(feature = "object")]
mod forks;
mod health;
mod instants;
mod literals;
mod log_file;
mod log_writer;
mod merge_into;
mod merge_rows;
mod merger;
mod metadata;
mod needs;
mod plain_files;
mod procedures;
mod restore;
mod results;
mod row_changes;
mod scan;
mod sound_values;
mod split;
mod statement_options;
mod statements;
mod stream;
mod table;
mod task_runner;
mod upgrade;
mod validator;
mod verify;
mod write;

use pyo3::prelude::*;

/// The native module.
#[pymodule]
fn _mortice(module: &Bound<'_, PyModule>) -> PyResult<()> {
    mortice::storage::set_interrupt_check(errors::is_interrupted);
    mortice::storage::set_credentials_supplier(credentials::supply);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("debug_build", cfg!(debug_assertions))?;
    module.add("has_hdfs", cfg!(feature = "hdfs"))?;
    #[cfg(feature = "object")]
    forks::register(module)?;
    expression::add(module)?;
    catalog::add(module)?;
    filter::add(module)?;
    procedures::add(module)?;
    statement_options::add(module)?;
    statements::add(module)?;
    module.add_class::<table::Table>()?;
    module.add_class::<instants::Instant>()?;
    module.add_class::<file_slice::DataFile>()?;
    module.add_class::<file_slice::FileSlice>()?;
    module.add_class::<follower::Follower>()?;
    module.add_class::<scan::QueryPlan>()?;
    module.add_class::<scan::Scan>()?;
    module.add_class::<plain_files::PlainFiles>()?;
    module.add_class::<split::SharedQuery>()?;
    module.add_class::<split::Split>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<log_file::LogFile>()?;
    module.add_class::<log_file::RecordBatches>()?;
    module.add_class::<log_file::Block>()?;
    module.add_class::<log_file::Blocks>()?;
    module.add_class::<log_writer::LogWriter>()?;
    module.add_class::<log_writer::LogBlock>()?;
    instants::add_functions(module)?;
    module.add_function(wrap_pyfunction!(create_table::create_table, module)?)?;
    module.add_function(wrap_pyfunction!(bootstrap::bootstrap, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::create_table_by_options, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::forget_schema, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::begin_task_insert, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::commit_task_insert, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::abort_task_insert, module)?)?;
    module.add_class::<distributed::DistributedWrite>()?;
    module.add_class::<merge_into::MergePlan>()?;
    row_changes::add_functions(module)?;
    module.add_function(wrap_pyfunction!(merge_into::merge_into, module)?)?;
    module.add_class::<distributed::StageBatches>()?;
    merge_rows::add_functions(module)?;
    module.add_function(wrap_pyfunction!(distributed_service::run_service_by_tasks, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::run_stage, module)?)?;
    add_stream_functions(module)?;
    add_option_functions(module)?;
    module.add_class::<erase::ErasedValues>()?;
    module.add_function(wrap_pyfunction!(erase::distinct_values, module)?)?;
    add_results(module)?;
    module.add_class::<arrow::ArrowSchema>()?;
    module.add_class::<arrow::ArrowBatch>()?;
    Ok(())
}

/// Adds what callers of writes ask of their options.
fn add_option_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(write::is_followed_option, module)?)?;
    module.add_function(wrap_pyfunction!(write::is_table_property, module)?)?;
    module.add_function(wrap_pyfunction!(write::option_default, module)?)?;
    module.add_function(wrap_pyfunction!(write::pause_after_conflict, module)?)
}

/// Adds the functions that decide which batches of a stream are written.
fn add_stream_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(distributed::stream_batch_options, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::is_stream_batch_written, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::refuse_other_writer, module)?)
}

/// Adds the classes of what writes and services did.
fn add_results(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<archive::ArchivedInstant>()?;
    module.add_class::<archive::ArchiveResult>()?;
    module.add_class::<clean::Clean>()?;
    module.add_class::<clean::CleanedFile>()?;
    module.add_class::<clean::CleanResult>()?;
    module.add_class::<expire_partitions::ExpiredPartition>()?;
    module.add_class::<expire_partitions::ExpireResult>()?;
    module.add_class::<cluster::ClusterResult>()?;
    module.add_class::<cluster::ClusteringGroup>()?;
    module.add_class::<compact::PlannedCompaction>()?;
    module.add_class::<compact::PlannedSlice>()?;
    module.add_class::<compact::CompactResult>()?;
    module.add_class::<erase::Erasure>()?;
    module.add_class::<health::GroupDebt>()?;
    module.add_class::<health::Health>()?;
    module.add_class::<health::MetadataHealth>()?;
    module.add_class::<health::PendingInstant>()?;
    module.add_class::<metadata::MetadataResult>()?;
    module.add_class::<needs::ServiceNeed>()?;
    module.add_class::<restore::RestoreResult>()?;
    module.add_class::<restore::RollbackResult>()?;
    module.add_class::<restore::SavepointResult>()?;
    module.add_class::<upgrade::UpgradeResult>()?;
    module.add_class::<verify::Finding>()?;
    module.add_class::<verify::RepairResult>()?;
    module.add_class::<verify::VerifyResult>()?;
    module.add_class::<commit::RowError>()?;
    module.add_class::<commit::Commit>()?;
    module.add_class::<commit::CommitEvent>()?;
    module.add_class::<commit::FileGroupStats>()?;
    module.add_class::<commit::SchemaChange>()?;
    Ok(())
}
