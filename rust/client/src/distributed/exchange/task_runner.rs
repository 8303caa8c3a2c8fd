//! The engine that runs stages, for services that do all of their work in one call, and for those after a write.

use mortice_base::error::Result;

/// Tasks of one stage that read files, and of another that gets what they send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange<'a> {
    /// The stage that reads.
    pub read: &'a [u8],
    /// Its tasks.
    pub tasks: u32,
    /// The stage that gets the chunks, those of a slot together.
    pub then: &'a [u8],
    /// Partitions of its data frame.
    pub partitions: u32,
}

/// Runs stages as tasks of an engine.
pub trait TaskRunner: Send + Sync {
    /// How many tasks run at once, as far as it is known.
    fn parallelism(&self) -> u32;

    /// Runs so many tasks of a stage. Returns what they report.
    fn run(&self, stage: &[u8], tasks: u32) -> Result<Vec<Vec<u8>>>;

    /// Runs two stages, with the chunks of the first exchanged between processes. Returns what the tasks of the second
    /// report.
    fn exchange(&self, stages: Exchange<'_>) -> Result<Vec<Vec<u8>>>;
}
