//! The keys of all rows and of the record index, sent to the slots of the keys.

use crate::distributed::exchange::{
    AssignedSlices, Input, KeySender, Output, ReadPlacesSpec, SentPlace, SlotRule, StageStep, TaskAttempt,
};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_services::verify::{FileGroupNumbers, Finding, Origin, joined, keys_of_slice, unreadable_index};
use mortice_table::metadata_table::{PartitionPart, RECORD_INDEX};
use mortice_table::plan::OpenTable;

/// Reads keys.
pub(crate) struct KeyPlacesStage {
    table: OpenTable,
    numbers: FileGroupNumbers,
    spec: ReadPlacesSpec,
    items: AssignedSlices,
    sender: KeySender,
    partition: u32,
    /// The slices that cannot be read, and the record index.
    found: [Vec<Finding>; 2],
    is_done: bool,
}

/// What a number of a place stands for: an origin, and a file group; `None` for one that has no number.
pub(crate) fn place_number(origin: Origin, group: Option<u32>) -> u64 {
    u64::from(origin.byte()) << 32 | u64::from(group.unwrap_or(u32::MAX))
}

/// The inverse of [`place_number`].
pub(crate) fn place_of(number: u64) -> Option<(Origin, Option<u32>)> {
    let origin = Origin::from_byte(u8::try_from(number >> 32).ok()?)?;
    let group = u32::try_from(number & u64::from(u32::MAX)).ok()?;
    Some((origin, Some(group).filter(|group| *group != u32::MAX)))
}

impl KeyPlacesStage {
    /// Prepares to read.
    pub(crate) fn new(table: OpenTable, spec: ReadPlacesSpec, task: TaskAttempt, input: Input) -> Result<Self> {
        Ok(Self {
            table,
            numbers: FileGroupNumbers::of_slices(&spec.slices)?,
            sender: KeySender::new(SlotRule::KeyHash, &spec.slots, task.partition),
            spec,
            items: AssignedSlices::new(input),
            partition: task.partition,
            found: [Vec::new(), Vec::new()],
            is_done: false,
        })
    }

    fn read_slice(&mut self, number: u32, output: &mut Output) -> Result<()> {
        let slice = self.spec.slices.get(at(number)).ok_or_else(|| Error::internal("a slice that is not there"))?;
        let scan = self.table.record_keys(std::slice::from_ref(slice))?;
        let place = place_number(Origin::Row, self.numbers.known(&slice.partition, &slice.file_id));
        let [unreadable, _] = &mut self.found;
        for split in scan.splits() {
            let mut each = |keys: &_| self.sender.send_all(keys, place, output);
            unreadable.extend(keys_of_slice(&scan, split, self.table.options.memory_limit, &mut each)?);
        }
        Ok(())
    }

    fn read_index(&mut self, part: usize, output: &mut Output) -> Result<()> {
        let part = PartitionPart { number: part, count: self.spec.index_parts };
        let mut sent: Result<()> = Ok(());
        let read = self.table.metadata_index(RECORD_INDEX).and_then(|metadata| {
            let metadata = metadata.ok_or_else(|| Error::internal("a record index that is not there"))?;
            metadata.key_locations_of_part(part, &mut |location| {
                let group = self.numbers.known(location.partition, &location.file_id);
                let elsewhere = group.is_none().then(|| joined(location.partition, &location.file_id));
                let place = place_number(Origin::Index, group);
                let place = SentPlace { number: place, elsewhere: elsewhere.as_deref() };
                sent = self.sender.send(location.key, place, output);
                if sent.is_ok() { Ok(()) } else { Err(Error::internal("record keys that were not sent")) }
            })
        });
        sent?;
        if let Err(error) = read {
            let [_, index] = &mut self.found;
            index.push(unreadable_index(error)?);
        }
        Ok(())
    }
}

impl StageStep for KeyPlacesStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(number) = self.items.next(&self.spec.tasks)? else {
            if !std::mem::replace(&mut self.is_done, true) {
                self.sender.finish(std::mem::take(&mut self.found), output)?;
            }
            return Ok(false);
        };
        match at(number).checked_sub(self.spec.slices.len()) {
            None => self.read_slice(number, output)?,
            Some(part) => self.read_index(part, output)?,
        }
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}
