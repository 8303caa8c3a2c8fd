//! Record keys with their places, sent to the slots of the keys: how they are sent, and how they are received.
//!
//! Each source says how many keys it has sent, so that lost ones are noticed.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};

use super::chunk::{Chunk, ChunkKind};
use super::distributor::Distributor;
use super::received_keys::{Received, SourceReport};
use super::slots::{KeyHasher, RowSum};
use super::specs::Slots;
use super::split_stage::SlotAddresses;
use super::stage::{Chunks, Output};
use mortice_base::error::{Error, Result};
use mortice_services::verify::Finding;
use mortice_table::metadata_table::shard;

const KEY: &str = "key";
const PLACE: &str = "place";
const ELSEWHERE: &str = "elsewhere";
/// Keys that are distributed at once.
const BATCH_KEYS: usize = 8192;

/// What decides the slot of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotRule {
    /// Its hash.
    KeyHash,
    /// The file group of the record index that it is in; there are as many slots.
    IndexGroup,
}

/// Where a key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentPlace<'a> {
    /// A number that sender and receiver understand.
    pub(crate) number: u64,
    /// A place without a number.
    pub(crate) elsewhere: Option<&'a str>,
}

/// Sends keys.
pub(crate) struct KeySender {
    rule: SlotRule,
    slots: SlotAddresses,
    slot_count: u32,
    source: u32,
    chunks: Distributor,
    hasher: KeyHasher,
    sent: RowSum,
    held: HeldKeys,
}

/// Keys that wait to be distributed.
#[derive(Default)]
struct HeldKeys {
    keys: StringBuilder,
    places: Vec<u64>,
    elsewhere: StringBuilder,
    targets: Vec<u32>,
}

impl KeySender {
    pub(crate) fn new(rule: SlotRule, slots: &Slots, source: u32) -> Self {
        Self {
            rule,
            slots: SlotAddresses::new(slots),
            slot_count: slots.count,
            source,
            chunks: Distributor::new(ChunkKind::KeyPlaces, source),
            hasher: KeyHasher::new(true),
            sent: RowSum::default(),
            held: HeldKeys::default(),
        }
    }

    /// Sends keys of one place.
    pub(crate) fn send_all(&mut self, keys: &StringArray, number: u64, output: &mut Output) -> Result<()> {
        let place = SentPlace { number, elsewhere: None };
        keys.iter().flatten().try_for_each(|key| self.send(key, place, output))
    }

    /// Sends a key.
    pub(crate) fn send(&mut self, key: &str, place: SentPlace<'_>, output: &mut Output) -> Result<()> {
        let hash = self.hasher.hash(key, "");
        self.sent.add(RowSum { rows: 1, hash });
        self.held.keys.append_value(key);
        self.held.places.push(place.number);
        self.held.elsewhere.append_option(place.elsewhere);
        self.held.targets.push(match self.rule {
            SlotRule::KeyHash => self.slots.slot_of(hash),
            SlotRule::IndexGroup => shard::number_of(key, self.slot_count),
        });
        if self.held.targets.len() >= BATCH_KEYS { self.distribute(output) } else { Ok(()) }
    }

    fn distribute(&mut self, output: &mut Output) -> Result<()> {
        let HeldKeys { mut keys, places, mut elsewhere, targets } = std::mem::take(&mut self.held);
        let columns: [(&str, ArrayRef, bool); 3] = [
            (KEY, Arc::new(keys.finish()), false),
            (PLACE, Arc::new(UInt64Array::from(places)), false),
            (ELSEWHERE, Arc::new(elsewhere.finish()), true),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns)
            .map_err(|error| Error::internal("record keys that are sent").caused_by(error))?;
        let slots = &self.slots;
        self.chunks.distribute(&batch, &targets, |slot| slots.address(slot, None), output)
    }

    /// Sends what is left, and what was sent: of slices and of the record index what cannot be read.
    pub(crate) fn finish(&mut self, [unreadable, index]: [Vec<Finding>; 2], output: &mut Output) -> Result<()> {
        self.distribute(output)?;
        self.chunks.flush(output)?;
        let report = SourceReport { sent: self.sent, unreadable, index };
        let report =
            serde_json::to_vec(&report).map_err(|error| Error::internal("the number of sent keys").caused_by(error))?;
        let (slot, report) = (self.slots.address(0, None)?.slot, Some(report.into()));
        let (kind, source) = (ChunkKind::SentKeys, self.source);
        output.push(Chunk { slot, target: 0, kind, source, number: 0, report, data: None })
    }
}

/// Receives the keys of a slot.
pub(crate) fn receive_keys(
    input: &mut Chunks,
    slot: u32,
    each: &mut dyn FnMut(&str, SentPlace<'_>) -> Result<()>,
) -> Result<Received> {
    let (mut received, mut hasher) = (Received::default(), KeyHasher::new(true));
    while let Some(chunk) = input.next_of(slot, ChunkKind::KeyPlaces)? {
        let batch = chunk.batch()?;
        let (keys, places, elsewhere) = columns_of(&batch).ok_or_else(other_chunk)?;
        for ((key, number), elsewhere) in keys.iter().zip(places.values()).zip(elsewhere) {
            let key = key.ok_or_else(other_chunk)?;
            received.taken.add(RowSum { rows: 1, hash: hasher.hash(key, "") });
            each(key, SentPlace { number: *number, elsewhere })?;
        }
    }
    while let Some(chunk) = input.next_of(slot, ChunkKind::SentKeys)? {
        let report = chunk.report.as_deref().ok_or_else(other_chunk)?;
        let report = serde_json::from_slice(report).map_err(|error| other_chunk().caused_by(error))?;
        received.sources.push(report);
    }
    Ok(received)
}

fn other_chunk() -> Error {
    Error::internal("a chunk that does not consist of record keys")
}

fn columns_of(batch: &RecordBatch) -> Option<(&StringArray, &UInt64Array, &StringArray)> {
    let text = |name| batch.column_by_name(name)?.as_string_opt::<i32>();
    let places = batch.column_by_name(PLACE)?.as_primitive_opt::<UInt64Type>()?;
    Some((text(KEY)?, places, text(ELSEWHERE)?)).filter(|_| places.null_count() == 0)
}

#[cfg(test)]
mod tests {
    use super::super::chunk;
    use super::*;
    use mortice_services::verify::FindingKind;

    fn sent(rule: SlotRule, count: u32, keys: &[String]) -> Vec<Chunk> {
        let (mut output, mut sender) = (Output::default(), KeySender::new(rule, &Slots { count }, 7));
        for (number, key) in (0..).zip(keys) {
            let elsewhere = (number % 3 == 0).then_some("p/q/f-0");
            sender.send(key, SentPlace { number, elsewhere }, &mut output).unwrap();
        }
        let finding = Finding {
            kind: FindingKind::UnreadableFile,
            path: "p/f".to_owned(),
            message: "no".to_owned(),
            bytes: None,
        };
        sender.finish([vec![finding], Vec::new()], &mut output).unwrap();
        let mut chunks = output.into_chunks().unwrap();
        chunks.sort_by_key(|chunk| (chunk.target, chunk.kind, chunk.source, chunk.number));
        chunks
    }

    fn input(chunks: &[Chunk]) -> Chunks {
        Chunks::new(Box::new(std::iter::once(chunk::to_batch(chunks))))
    }

    #[test]
    fn keys_come_to_their_slots_with_their_places() {
        let keys: Vec<String> = (0..20_000).map(|number| format!("k{number}")).collect();
        for (rule, count) in [(SlotRule::KeyHash, 3), (SlotRule::IndexGroup, 4), (SlotRule::KeyHash, 1)] {
            let chunks = sent(rule, count, &keys);
            let (mut input, mut found, mut all) = (input(&chunks), Vec::new(), Vec::new());
            while let Some(slot) = input.next_target().unwrap() {
                let mut each = |key: &str, place: SentPlace<'_>| {
                    if rule == SlotRule::IndexGroup {
                        assert_eq!(shard::number_of(key, count), slot);
                    }
                    found.push((place.number, key.to_owned(), place.elsewhere.map(str::to_owned)));
                    Ok(())
                };
                all.push(receive_keys(&mut input, slot, &mut each).unwrap());
            }
            found.sort();
            assert_eq!(found.len(), keys.len());
            for ((number, key, elsewhere), expected) in found.iter().zip(&keys) {
                assert_eq!((key, elsewhere.is_some()), (expected, number % 3 == 0));
            }
            let [unreadable, index] = Received::check_all(all.clone(), 1).unwrap();
            assert_eq!((unreadable.len(), index.len()), (1, 0));
            assert!(Received::check_all(all.clone(), 2).is_err(), "a task is missing");
            all.iter_mut().for_each(|received| received.taken.rows = received.taken.rows.saturating_sub(1));
            assert!(Received::check_all(all, 1).is_err(), "keys are missing");
        }
    }
}
