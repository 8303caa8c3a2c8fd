//! Prepared rows, distributed by their keys.

use super::chunk::ChunkKind;
use super::distributor::{Address, Distributor};
use super::sent_rows::SentRows;
use super::slots::{KeyHasher, numbers_for_partitions, slot_of};
use super::specs::Slots;
use super::stage::{Chunks, Input, Output, StageStep, TaskAttempt};
use super::state::OpenWrite;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;

/// The addresses of slots.
pub(crate) struct SlotAddresses {
    count: u32,
    numbers: Vec<i32>,
}

impl SlotAddresses {
    pub(crate) fn new(slots: &Slots) -> Self {
        Self { count: slots.count.max(1), numbers: numbers_for_partitions(slots.count) }
    }

    /// The slot of a key's hash.
    pub(crate) fn slot_of(&self, hash: u64) -> u32 {
        slot_of(hash, self.count)
    }

    /// The address of a slot.
    pub(crate) fn address<'a>(&self, slot: u32, report: Option<&'a [u8]>) -> Result<Address<'a>> {
        let unknown = || Error::internal(format_args!("rows of slot {slot} of {}", self.numbers.len()));
        let number = self.numbers.get(at(slot)).copied().ok_or_else(unknown)?;
        Ok(Address { target: slot, slot: number, report })
    }
}

/// Distributes prepared rows.
pub(crate) struct SplitStage {
    write: OpenWrite,
    input: Chunks,
    slots: SlotAddresses,
    hasher: KeyHasher,
    partition: u32,
    chunks: Distributor,
}

impl SplitStage {
    pub(crate) fn new(write: OpenWrite, slots: &Slots, task: TaskAttempt, input: Input) -> Self {
        Self {
            input: Chunks::new(input),
            slots: SlotAddresses::new(slots),
            hasher: KeyHasher::new(write.is_global()),
            partition: task.partition,
            chunks: Distributor::new(ChunkKind::Rows, task.partition),
            write,
        }
    }
}

impl StageStep for SplitStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(chunk) = self.chunks.next_chunk(&mut self.input, output)? else { return Ok(false) };
        let batch = chunk.batch()?;
        let rows = SentRows::of_batch(&batch, &self.write.row_types())?.rows;
        let hashes = self.hasher.hashes(&rows.keys)?;
        let targets: Vec<u32> = hashes.into_iter().map(|hash| self.slots.slot_of(hash)).collect();
        self.chunks.distribute(&batch, &targets, |slot| self.slots.address(slot, None), output)?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}
