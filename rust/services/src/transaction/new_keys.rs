//! The keys that a write inserts, compared with those that others have inserted since it began. Both have looked for
//! the key and not found it, and put it into file groups of their own: the key would have two rows.
//!
//! The keys are in the files that commits name, so that the check is exact, covers writes of Hudi, and reads nothing if
//! no other write inserted rows meanwhile. Most of it is done before the lock is taken.

use std::collections::BTreeSet;

use super::Transaction;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_commit::commit::ConflictCheck;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{CommitMetadata, Instant, WriteOperation};
use mortice_write::index::{WrittenRows, choose_index, common_key};
use mortice_write::rows::DuplicatePolicy;
use mortice_write::write::WriteStatus;

/// The files in which a write has inserted rows.
pub(super) struct NewKeys {
    is_global: bool,
    own: Vec<WrittenRows>,
    /// Writes of others that have no key of this one.
    checked: BTreeSet<RequestedTime>,
}

impl Transaction {
    /// The keys that the write inserts; none if no other writer can insert the same: there is one writer, rows have no
    /// keys, keys may be there twice, or each key has a bucket, in which both write.
    pub(super) fn new_keys(&self, statuses: &[WriteStatus]) -> Result<Option<NewKeys>> {
        let (config, options) = (&self.table.config, self.target.settings());
        let is_unique = match self.operation {
            WriteOperation::Upsert | WriteOperation::InsertOverwrite | WriteOperation::InsertOverwriteTable => true,
            WriteOperation::Insert => {
                DuplicatePolicy::of_write(self.operation, options.rows.insert_policy())? != DuplicatePolicy::Keep
            }
            _ => false,
        };
        if !is_unique || !self.target.concurrency().has_several_writers() || config.record_key_fields.is_empty() {
            return Ok(None);
        }
        let index = choose_index(config, &options.index)?;
        if index.buckets().is_some() {
            return Ok(None);
        }
        let inserted = statuses.iter().filter(|status| status.inserts > 0).filter_map(|status| {
            let file = status.file.as_ref()?;
            Some(WrittenRows {
                partition: status.partition.clone(),
                path: file.path.clone(),
                bytes: Some(file.bytes),
                instant: self.instant.clone(),
            })
        });
        let own: Vec<WrittenRows> = inserted.collect();
        let is_global = index.is_global();
        Ok((!own.is_empty()).then(|| NewKeys { is_global, own, checked: BTreeSet::new() }))
    }

    /// Whether others have completed writes since this one began: one listing.
    pub(super) fn has_completed_since(&self) -> Result<bool> {
        let is_new =
            |file: &Instant| file.is_completed_write() && !self.table.timeline.is_completed(&file.requested_time);
        Ok(self.files.files()?.iter().any(is_new))
    }
}

impl NewKeys {
    /// Makes sure that no write that was completed since has inserted one of the keys. Each is looked at once.
    pub(super) fn check(&mut self, check: &ConflictCheck<'_>, now: &OpenTable) -> Result<()> {
        let (mut others, mut files) = (Vec::new(), Vec::new());
        check.visit_completed_since(&mut |other, metadata| {
            if self.checked.insert(other.requested_time.clone()) && metadata.may_insert_keys() {
                let written = files_of(other, metadata);
                others.extend(std::iter::repeat_n(other.clone(), written.len()));
                files.extend(written);
            }
            Ok(())
        })?;
        if files.is_empty() {
            return Ok(());
        }
        let found = match common_key(now, &self.own, &files, self.is_global) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let message = "a file that another writer has completed meanwhile is gone, so that its keys are not known; nothing was \
                               committed, write again";
                return Err(Error::new(ErrorKind::WriteConflict, message).caused_by(error).at_instant(check.instant));
            }
            found => found?,
        };
        let Some(common) = found else { return Ok(()) };
        let other = others.get(common.other).ok_or_else(|| Error::internal("a key of a file that was not read"))?;
        let place =
            if common.partition.is_empty() { String::new() } else { format!(" (partition {})", common.partition) };
        let message = format!(
            "write {} and {other} of another writer have both inserted the record key {:?}{place}; nothing was committed, write again",
            check.instant, common.key
        );
        Err(Error::new(ErrorKind::WriteConflict, message).at_instant(check.instant))
    }
}

/// The files in which a write may have inserted rows: base files that say so, and all logs, whose statistics are
/// estimates of Hudi's.
fn files_of(other: &Instant, metadata: CommitMetadata) -> Vec<WrittenRows> {
    let stats = metadata
        .write_stats
        .into_iter()
        .flat_map(|(partition, stats)| stats.into_iter().map(move |stat| (partition.clone(), stat)));
    let written = stats.filter_map(|(partition, stat)| {
        let path = stat.path?;
        let is_base = LogFileName::parse(path.rsplit('/').next().unwrap_or(&path)).is_none();
        let has_inserts = stat.num_inserts.is_none_or(|inserts| inserts > 0);
        let bytes = stat.file_size_in_bytes.and_then(|bytes| u64::try_from(bytes).ok());
        (!is_base || has_inserts).then(|| WrittenRows { partition, path, bytes, instant: other.requested_time.clone() })
    });
    written.collect()
}
