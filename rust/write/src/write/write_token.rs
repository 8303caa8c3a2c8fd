//! Write tokens: which attempt of which task wrote a file (`FSUtils.makeWriteToken`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// `task-stage-attempt`. No two attempts at once have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WriteToken {
    /// The task's partition: also in the sequence numbers of rows.
    pub task: u32,
    /// The stage.
    pub stage: u32,
    /// The attempt.
    pub attempt: u64,
}

impl WriteToken {
    /// Returns a number of 31 bits that no other attempt to write is likely to have, also of another process.
    #[must_use]
    pub fn new_attempt() -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().1 & 0x7FFF_FFFF
    }
}

impl fmt::Display for WriteToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}-{}", self.task, self.stage, self.attempt)
    }
}
