//! What came to a slot of the record keys that were sent, and whether it is all of them.

use serde::{Deserialize, Serialize};

use super::slots::RowSum;
use mortice_base::error::{Error, Result};
use mortice_services::verify::Finding;

/// What a source has sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceReport {
    pub(crate) sent: RowSum,
    /// File slices that cannot be read.
    pub(crate) unreadable: Vec<Finding>,
    /// The record index, if it cannot be read.
    pub(crate) index: Vec<Finding>,
}

/// What came to a slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Received {
    pub(crate) taken: RowSum,
    /// What the sources say of all slots: it comes to one of them.
    pub(crate) sources: Vec<SourceReport>,
}

impl Received {
    /// Makes sure that all keys that so many tasks have sent were received, and returns what the tasks could not read.
    pub(crate) fn check_all(all: Vec<Self>, tasks: u32) -> Result<[Vec<Finding>; 2]> {
        let (mut taken, mut sent, mut sources) = (RowSum::default(), RowSum::default(), 0_u32);
        let mut found = [Vec::new(), Vec::new()];
        for received in all {
            taken.add(received.taken);
            for source in received.sources {
                sent.add(source.sent);
                sources = sources.saturating_add(1);
                let [unreadable, index] = &mut found;
                unreadable.extend(source.unreadable);
                index.extend(source.index);
            }
        }
        if taken != sent || sources != tasks {
            return Err(Error::internal(format!(
                "{sources} of {tasks} tasks sent {} record keys, of which {} came to other tasks: keys were lost or doubled",
                sent.rows, taken.rows
            )));
        }
        Ok(found)
    }
}
