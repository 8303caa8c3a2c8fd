//! Whole numbers in runs, of either version.

use super::stream::Stream;
use super::{int_runs_v1, int_runs_v2};
use mortice_base::error::{Error, Result};

/// Which form runs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunVersion {
    V1,
    V2,
}

/// Whole numbers in runs.
#[derive(Debug)]
pub(super) struct IntRuns {
    stream: Stream,
    version: RunVersion,
    signed: bool,
    run: Vec<i64>,
    used: usize,
    spare: Vec<u64>,
}

impl IntRuns {
    pub(super) const fn new(stream: Stream, version: RunVersion, signed: bool) -> Self {
        Self { stream, version, signed, run: Vec::new(), used: 0, spare: Vec::new() }
    }

    /// Whether there are more numbers.
    pub(super) fn has_more(&self) -> bool {
        self.used < self.run.len() || self.stream.len() > 0
    }

    /// The next numbers, as they are in one run; at most `most`.
    pub(super) fn read_some(&mut self, most: usize) -> Result<Vec<i64>> {
        if self.used == self.run.len() {
            self.next_run()?;
        }
        self.read(self.run.len().saturating_sub(self.used).min(most))
    }

    /// The next `count` numbers, those without a sign as they are in 64 bits.
    pub(super) fn read(&mut self, count: usize) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            if self.used == self.run.len() {
                self.next_run()?;
            }
            let some = self.run.len().saturating_sub(self.used).min(count - numbers.len());
            let run = self.run.get(self.used..self.used.saturating_add(some));
            numbers.extend_from_slice(run.ok_or_else(|| Error::internal("an integer run beyond its end"))?);
            self.used += some;
        }
        Ok(numbers)
    }

    fn next_run(&mut self) -> Result<()> {
        self.run.clear();
        self.used = 0;
        let Self { stream, version, signed, run, spare, .. } = self;
        stream.read(|cursor| match version {
            RunVersion::V1 => int_runs_v1::run(cursor, *signed, run),
            RunVersion::V2 => int_runs_v2::run(cursor, *signed, spare, run),
        })
    }
}
