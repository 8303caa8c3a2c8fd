//! The keys of base files, distributed to the slots of their keys.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};

use crate::distributed::exchange::{
    AssignedSlices, Chunk, ChunkKind, Distributor, Input, KeyHasher, OpenWrite, Output, ReadKeysSpec, SlotAddresses,
    StageStep,
};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_write::index::{Location, StoredKeyBatch, group_of, read_stored_keys};

const KEY: &str = "key";
const POSITION: &str = "position";

/// Reads the keys of some base files.
pub(crate) struct KeysStage {
    write: OpenWrite,
    spec: ReadKeysSpec,
    slices: AssignedSlices,
    slots: SlotAddresses,
    chunks: Distributor,
}

impl KeysStage {
    pub(crate) fn new(write: OpenWrite, spec: ReadKeysSpec, input: Input) -> Self {
        let slots = SlotAddresses::new(&spec.slots);
        let chunks = Distributor::new(ChunkKind::StoredKeys, 0);
        Self { write, spec, slices: AssignedSlices::new(input), slots, chunks }
    }

    fn read(&mut self, number: u32, output: &mut Output) -> Result<()> {
        let slice = self.spec.slices.get(at(number));
        let slice = slice.ok_or_else(|| Error::internal("a file slice that is not there"))?;
        let location = group_of(slice);
        let header = serde_json::to_vec(&Header::new(&location))
            .map_err(|error| Error::internal("the name of a file group").caused_by(error))?;
        let (slots, chunks) = (&self.slots, &mut self.chunks);
        chunks.set_source(number, output)?;
        let mut hasher = KeyHasher::new(self.write.is_global());
        // The place of an error: a slice of logs only names its own files.
        let path = slice.base_file.as_ref().map(|base| base.path.clone()).unwrap_or_default();
        let place = Arc::clone(&self.write.table.storage);
        read_stored_keys(&self.write.table, slice, |keys, first| {
            let targets: Vec<u32> =
                keys.iter().flatten().map(|key| slots.slot_of(hasher.hash(key, &location.partition))).collect();
            let positions = match first {
                Some(first) => (first..first.saturating_add(keys.len() as u64)).collect(),
                None => UInt64Array::new_null(keys.len()),
            };
            let columns: [(&str, ArrayRef, bool); 2] =
                [(KEY, Arc::new(keys.clone()), false), (POSITION, Arc::new(positions), true)];
            let batch = RecordBatch::try_from_iter_with_nullable(columns)
                .map_err(|error| Error::internal("keys of a base file").caused_by(error))?;
            chunks.distribute(&batch, &targets, |slot| slots.address(slot, Some(&header)), output)
        })
        .map_err(|error| error.in_file(place.full_path(&path)))?;
        chunks.flush(output)
    }
}

impl StageStep for KeysStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(number) = self.slices.next(&self.spec.tasks)? else { return Ok(false) };
        self.read(number, output)?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        0
    }
}

/// The file group of a chunk of stored keys.
#[derive(serde::Serialize, serde::Deserialize)]
struct Header {
    partition: String,
    file_id: String,
    base_instant: mortice_base::names::RequestedTime,
}

impl Header {
    fn new(location: &Location) -> Self {
        let Location { partition, file_id, base_instant } = location.clone();
        Self { partition, file_id, base_instant }
    }
}

/// The keys of a chunk.
pub(crate) fn stored_keys(chunk: &Chunk) -> Result<StoredKeyBatch> {
    let other = || Error::internal("a chunk that does not consist of stored keys");
    let header = chunk.report.as_deref().ok_or_else(other)?;
    let Header { partition, file_id, base_instant } =
        serde_json::from_slice(header).map_err(|error| other().caused_by(error))?;
    let batch = chunk.batch()?;
    let keys = batch.column_by_name(KEY).and_then(|column| column.as_string_opt::<i32>());
    let keys: StringArray = keys.cloned().ok_or_else(other)?;
    let positions = batch.column_by_name(POSITION).and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let positions = positions.cloned().ok_or_else(other)?;
    Ok(StoredKeyBatch { location: Location { partition, file_id, base_instant }, keys, positions })
}
