//! Runs one task of a stage.

use crate::distributed::exchange::{Input, SplitStage, StageBatches, StageSpec, TaskAttempt, Work, work_of};
use crate::distributed::rows::{
    InsertStage, KeysStage, MoveStage, PrepareStage, RouteStage, RowsStage, TagStage, WriteStage,
};
use crate::distributed::services::ServiceStage;
use mortice_base::error::Result;

/// Runs one task of a stage.
///
/// Args:
///     stage: The serialised write state, from the driver.
///     task: The attempt.
///     input: Its batches: rows of the user, chunks sorted by target, kind, source and number, or numbers of tasks.
///
/// # Errors
/// `InvalidArgument` for a state of another release; those of opening the table's storage. Errors of the work come with
/// the batches, or, if another attempt would fail alike, as a report to the driver.
pub fn run_stage(stage: &[u8], task: TaskAttempt, input: Input) -> Result<StageBatches> {
    let (state, spec) = match work_of(stage)? {
        Work::Write(state, spec) => (state, spec),
        Work::Table(work) => return work.run(task, input),
    };
    let write = state.open()?;
    Ok(match spec {
        StageSpec::Prepare(spec) => StageBatches::new(PrepareStage::new(write, &spec, task, input)),
        StageSpec::Split(slots) => StageBatches::new(SplitStage::new(write, &slots, task, input)),
        StageSpec::ReadKeys(spec) => StageBatches::new(KeysStage::new(write, spec, input)),
        StageSpec::Tag(spec) => StageBatches::new(TagStage::new(write, spec, task, input)),
        StageSpec::ReadRows(spec) => StageBatches::new(RowsStage::new(write, spec, task, input)),
        StageSpec::Move(_) => StageBatches::new(MoveStage::new(write, task, input)),
        StageSpec::Route(spec) => StageBatches::new(RouteStage::new(write, spec, task, input)),
        StageSpec::Insert(_) => StageBatches::new(InsertStage::new(write, task, input)?),
        StageSpec::Service(spec) => StageBatches::new(ServiceStage::new(write, spec, task, input)?),
        StageSpec::Write(spec) => StageBatches::new(WriteStage::new(write, spec, task, input)?),
    })
}
