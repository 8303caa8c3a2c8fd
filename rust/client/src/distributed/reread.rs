//! Payloads read as tasks and drivers read them, and written again: for tests that change them.

use crate::distributed::exchange::{ReadReport, WriteState};
use mortice_base::error::Result;

/// Reads the state for a stage, and writes it again.
///
/// # Errors
/// `InvalidArgument` for bytes that no task would take.
pub fn reread_stage(bytes: &[u8]) -> Result<Vec<u8>> {
    let (state, stage) = WriteState::from_bytes(bytes)?;
    state.to_bytes(stage)
}

/// Opens the table of a state for a stage, as a task does before it runs the stage.
///
/// # Errors
/// `InvalidArgument` for bytes that no task would take; those of opening the table.
pub fn open_stage(bytes: &[u8]) -> Result<()> {
    WriteState::from_bytes(bytes)?.0.open().map(drop)
}

/// Reads the report of a task, and writes it again.
///
/// # Errors
/// `InvalidArgument` for bytes that no driver would take; the error that the task reports.
pub fn reread_report(bytes: &[u8]) -> Result<Vec<u8>> {
    ReadReport::read_all(&[bytes.to_vec()])?.iter().try_fold(Vec::new(), |_, report| report.to_bytes())
}
