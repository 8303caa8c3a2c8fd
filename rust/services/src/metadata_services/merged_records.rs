//! The records of a slice, key by key: a merge of sorted sources, of which as many bytes are in memory as each has in a
//! block.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use bytes::Bytes;

use super::record_merge::merge;
use super::record_schema::{RecordReader, TargetSchema};
use super::sources::{Entry, SortedSource, Sources};
use mortice_avro::{UnknownMembers, Value, encode_value};
use mortice_base::error::{Error, Result};
use mortice_merge::merge::fold::metadata_rules::MergeKind;

/// How often it is looked whether a signal came.
const ROWS_BETWEEN_CHECKS: u64 = 8192;

/// What was read and what comes of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MergeCounts {
    /// Records and deletes in logs.
    pub(super) log_records: u64,
    /// Keys in logs.
    pub(super) log_keys: u64,
    /// Records of keys that the base file has, and that logs have changed.
    pub(super) updates: u64,
    /// Records of other keys of logs.
    pub(super) inserts: u64,
    /// Keys of logs that are deleted, also those that the base file does not have.
    pub(super) deletes: u64,
    /// Records of the result.
    pub(super) records: u64,
}

/// The first entry of a source that was not merged yet.
struct Head {
    key: Bytes,
    source: usize,
    entry: Entry,
}

impl Head {
    fn order(&self) -> Reverse<(&Bytes, usize)> {
        Reverse((&self.key, self.source))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Head {}

/// Receives a key and its record.
pub(super) type WriteRecord<'w> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'w;

/// The merged records.
pub(super) struct MergedRecords {
    sources: Vec<SortedSource>,
    readers: Vec<Option<RecordReader>>,
    target: TargetSchema,
    heads: BinaryHeap<Head>,
    has_base: bool,
    pub(super) counts: MergeCounts,
}

/// The state of a key after some of its entries.
enum State<'a> {
    Missing,
    Deleted,
    /// A record as it is, with the number of its source.
    Stored(usize, &'a [u8]),
    Merged(Value<'a>),
}

impl MergedRecords {
    pub(super) fn new(sources: Sources, target: TargetSchema) -> Result<Self> {
        let has_base = sources.base.is_some();
        let sources: Vec<SortedSource> = sources.base.into_iter().chain(sources.logs).collect();
        let readers = sources.iter().map(|source| Some(RecordReader::new(source.schema.as_ref()?, &target))).collect();
        let (heads, counts) = (BinaryHeap::new(), MergeCounts::default());
        let mut merged = Self { sources, readers, target, heads, has_base, counts };
        (0..merged.sources.len()).try_for_each(|source| merged.advance(source))?;
        Ok(merged)
    }

    fn advance(&mut self, source: usize) -> Result<()> {
        let stream = self.sources.get_mut(source).ok_or_else(|| Error::internal("a source that is not open"))?;
        if let Some((key, entry)) = stream.next_entry()? {
            self.heads.push(Head { key, source, entry });
        }
        Ok(())
    }

    /// Passes each key with its record to `write`, in the order of the keys' bytes.
    pub(super) fn for_each(&mut self, write: &mut WriteRecord<'_>) -> Result<()> {
        let mut entries: Vec<(usize, Entry)> = Vec::new();
        let mut keys = 0_u64;
        while let Some(head) = self.heads.pop() {
            if keys.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                mortice_storage::check_cancelled()?;
            }
            keys = keys.saturating_add(1);
            let key = head.key;
            entries.clear();
            entries.push((head.source, head.entry));
            self.advance(head.source)?;
            while self.heads.peek().is_some_and(|next| next.key == key) {
                let Some(next) = self.heads.pop() else { break };
                entries.push((next.source, next.entry));
                self.advance(next.source)?;
            }
            let record = self.resolve(&entries).map_err(|error| self.named(&error, &entries, &key))?;
            if let Some(record) = &record {
                write(&key, record)?;
            }
            let is_kept = record.is_some();
            self.count(&entries, is_kept);
        }
        Ok(())
    }

    /// An error with the key, and with the file that has its newest entry.
    fn named(&self, error: &Error, entries: &[(usize, Entry)], key: &Bytes) -> Error {
        let key = key.escape_ascii().to_string();
        let message = format!("the records of the key {key:?} cannot be merged: {}", error.text());
        let newest = entries.last().and_then(|(source, _)| self.sources.get(*source));
        let error = Error::new(error.kind(), message);
        newest.into_iter().fold(error, |error, source| error.in_file(source.path()))
    }

    fn count(&mut self, entries: &[(usize, Entry)], is_kept: bool) {
        let is_base = |(source, _): &&(usize, Entry)| self.has_base && *source == 0;
        let in_base = entries.iter().filter(is_base).count();
        let in_logs = entries.len().saturating_sub(in_base) as u64;
        let counts = &mut self.counts;
        counts.log_records = counts.log_records.saturating_add(in_logs);
        counts.records = counts.records.saturating_add(u64::from(is_kept));
        if in_logs == 0 {
            return;
        }
        counts.log_keys = counts.log_keys.saturating_add(1);
        match (in_base > 0, is_kept) {
            (true, true) => counts.updates = counts.updates.saturating_add(1),
            (false, true) => counts.inserts = counts.inserts.saturating_add(1),
            (_, false) => counts.deletes = counts.deletes.saturating_add(1),
        }
    }

    /// The record of a key, of all its entries, the base file's first. Those of logs are merged among themselves first,
    /// as readers do it: a delete of a file that an older log added, and that is in no base file, is remembered. The
    /// delete of a key in a log removes the base file's record, also if records follow.
    fn resolve<'a>(&'a self, entries: &'a [(usize, Entry)]) -> Result<Option<Cow<'a, [u8]>>> {
        let (mut base, mut logs) = (State::Missing, State::Missing);
        for (source, entry) in entries {
            let state = match entry {
                Entry::Delete => State::Deleted,
                Entry::Record(bytes) => State::Stored(*source, bytes),
            };
            if self.has_base && *source == 0 {
                base = state;
            } else {
                if *entry == Entry::Delete {
                    base = State::Missing;
                }
                logs = self.merged(logs, state)?;
            }
        }
        match self.merged(base, logs)? {
            State::Missing | State::Deleted => Ok(None),
            State::Stored(source, bytes) => self.written(source, bytes).map(Some),
            State::Merged(value) => self.encoded(value).map(|bytes| Some(Cow::Owned(bytes))),
        }
    }

    fn merged<'a>(&'a self, older: State<'a>, newer: State<'a>) -> Result<State<'a>> {
        if let (State::Stored(_, old), State::Stored(source, new)) = (&older, &newer) {
            let types = self.type_of(&older, old).zip(self.type_of(&newer, new));
            if let Some((old, new_type)) = types
                && MergeKind::of_types(Some(old), Some(new_type))? == MergeKind::Newer
            {
                return Ok(State::Stored(*source, new));
            }
        }
        match (older, newer) {
            (older, State::Missing) => Ok(older),
            (State::Missing | State::Deleted, newer) | (_, newer @ State::Deleted) => Ok(newer),
            (older, newer) => {
                let (older, newer) = (self.value(older)?, self.value(newer)?);
                merge(older, newer, &self.target.schema).map(State::Merged)
            }
        }
    }

    fn type_of(&self, state: &State<'_>, record: &[u8]) -> Option<i64> {
        let State::Stored(source, _) = state else { return None };
        self.reader(*source).ok()?.record_type(record)
    }

    fn reader(&self, source: usize) -> Result<&RecordReader> {
        let reader = self.readers.get(source).and_then(Option::as_ref);
        reader.ok_or_else(|| Error::internal("a record of a source without a schema"))
    }

    fn value<'a>(&'a self, state: State<'a>) -> Result<Value<'a>> {
        match state {
            State::Stored(source, bytes) => self.reader(source)?.decode(bytes, &self.target),
            State::Merged(value) => Ok(value),
            State::Missing | State::Deleted => Err(Error::internal("a key without a record is merged")),
        }
    }

    /// The bytes of a record as they are written.
    fn written<'a>(&'a self, source: usize, record: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        let reader = self.reader(source)?;
        if let Some(bytes) = reader.as_target(record) {
            return Ok(bytes);
        }
        self.encoded(reader.decode(record, &self.target)?).map(Cow::Owned)
    }

    fn encoded(&self, value: Value<'_>) -> Result<Vec<u8>> {
        let Value::Object(mut members) = value else {
            return Err(Error::invalid_table("a record of the metadata table of another type"));
        };
        // CompactionResult base files of Hudi have their own name in their records.
        for (_, value) in
            members.iter_mut().filter(|(name, _)| mortice_base::names::meta_columns::ALL.contains(&&**name))
        {
            *value = Value::Null;
        }
        let mut bytes = Vec::new();
        encode_value(&Value::Object(members), self.target.schema.root(), UnknownMembers::Refuse, &mut bytes)?;
        Ok(bytes)
    }
}
