//! Tagged rows that wait for the stored rows of their keys, as values that are sent.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, UInt64Array};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use crate::distributed::exchange::{Chunk, ChunkKind, SentRows, SlotAddresses, encoded, sent_rows};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_write::index::{FurtherLocation, IndexedRows, Location, Tagged};

const GROUP: &str = "_mortice_group";
const POSITION: &str = "_mortice_position";
const LOOKED_UP: &str = "_mortice_looked_up";
const KEY: &str = "key";

/// The tags of a slot's rows, apart from those that are columns.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlotTags {
    /// Partition, file id and base instant.
    groups: Vec<(String, String, RequestedTime)>,
    /// Row, group, position.
    further: Vec<(u32, u32, Option<u64>)>,
    has_positions: bool,
}

impl SlotTags {
    /// The tags, and the rows with the others. `looked_up` says which of the rows wait for stored ones.
    pub(crate) fn of_rows(rows: &IndexedRows, looked_up: &[bool]) -> Result<(Self, RecordBatch)> {
        let Tagged { locations, groups, positions, further, .. } = &rows.tagged;
        let numbers: Int32Array = locations.iter().map(|group| group.map(u32::cast_signed)).collect();
        let known: UInt64Array = if positions.is_empty() {
            UInt64Array::new_null(locations.len())
        } else {
            positions.iter().copied().collect()
        };
        let waits = BooleanArray::from(looked_up.to_vec());
        let columns: Vec<(&str, ArrayRef)> =
            vec![(GROUP, Arc::new(numbers)), (POSITION, Arc::new(known)), (LOOKED_UP, Arc::new(waits))];
        let group = |one: &Location| (one.partition.clone(), one.file_id.clone(), one.base_instant.clone());
        let tags = Self {
            groups: groups.iter().map(group).collect(),
            further: further.iter().map(|one| (one.row, one.group, one.position)).collect(),
            has_positions: !positions.is_empty(),
        };
        Ok((tags, sent_rows::to_batch(&rows.rows, columns)?))
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::internal("tags of rows").caused_by(error))
    }

    /// Reads the tags of a chunk.
    pub(crate) fn of_chunk(chunk: &Chunk) -> Result<Self> {
        let other = || Error::internal("a chunk that does not consist of tags");
        let bytes = chunk.report.as_deref().ok_or_else(other)?;
        serde_json::from_slice(bytes).map_err(|error| other().caused_by(error))
    }

    /// The rows with their tags, and which of them wait for stored ones.
    pub(crate) fn with_rows(self, sent: SentRows) -> Result<(IndexedRows, Vec<bool>)> {
        let numbers: Int32Array = sent.column(GROUP)?;
        let known: UInt64Array = sent.column(POSITION)?;
        let waits: BooleanArray = sent.column(LOOKED_UP)?;
        let groups = self.groups.into_iter();
        let tagged = Tagged {
            locations: numbers.iter().map(|group| group.map(i32::cast_unsigned)).collect(),
            groups: groups
                .map(|(partition, file_id, base_instant)| Location { partition, file_id, base_instant })
                .collect(),
            positions: if self.has_positions { known.iter().collect() } else { Vec::new() },
            further: self
                .further
                .into_iter()
                .map(|(row, group, position)| FurtherLocation { row, group, position })
                .collect(),
            view: Arc::default(),
        };
        if numbers.len() != sent.rows.len() {
            return Err(Error::internal("rows without their tags"));
        }
        let looked_up = waits.iter().map(|waits| waits == Some(true)).collect();
        Ok((IndexedRows { rows: sent.rows, tagged }, looked_up))
    }
}

/// Keys whose stored rows are to be read from a file group. All chunks of a file group go to one process.
pub(crate) fn wanted_chunk(
    slots: &SlotAddresses,
    group: &Location,
    source: u32,
    number: u32,
    keys: ArrayRef,
) -> Result<Chunk> {
    let header = serde_json::to_vec(&(&group.partition, &group.file_id))
        .map_err(|error| Error::internal("the name of a file group").caused_by(error))?;
    let hash = XxHash64::oneshot(0, &header);
    // Groups that share a number have different headers.
    let target = (hash >> 33) as u32;
    let slot = slots.address(slots.slot_of(hash), None)?.slot;
    let data = Some(encoded_keys(KEY, keys)?);
    Ok(Chunk { slot, target, kind: ChunkKind::Wanted, source, number, report: Some(header.into()), data })
}

/// The file group of such a chunk, by partition and file id, and the keys.
pub(crate) fn wanted_keys(chunk: &Chunk) -> Result<((String, String), arrow_array::StringArray)> {
    use arrow_array::cast::AsArray;
    let other = || Error::internal("a chunk that does not consist of keys");
    let header = chunk.report.as_deref().ok_or_else(other)?;
    let group = serde_json::from_slice(header).map_err(|error| other().caused_by(error))?;
    let batch = chunk.batch()?;
    let keys = batch.column_by_name(KEY).and_then(|column| column.as_string_opt::<i32>());
    Ok((group, keys.cloned().ok_or_else(other)?))
}

/// A batch of keys as bytes.
fn encoded_keys(name: &str, keys: ArrayRef) -> Result<arrow_buffer::Buffer> {
    let batch = RecordBatch::try_from_iter([(name, keys)]).map_err(|error| Error::internal("keys").caused_by(error))?;
    encoded(&[batch])
}
