//! Undoes an instant's data files: deletes them, or appends rollback blocks to the slices whose logs it wrote to
//! (`BaseRollbackHelper`). It may be repeated: files that are gone are no error, and a second rollback block undoes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::rollback_plan::{LogRollback, Undo};
use crate::data_paths::DataPath;
use crate::listings::Listings;
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_commit::commit::{RolledBackFiles, RolledBackPartition};
use mortice_formats::log::writer::rollback_block;
use mortice_formats::log::{Block, BlockKind, BlockType, ForwardScan, HeaderKey};
use mortice_storage::{FileStore, PutOutcome};
use mortice_write::write::{Marker, MarkerKind, Markers};

/// The token of log files with rollback blocks (`HoodieLogFormat.UNKNOWN_WRITE_TOKEN`).
const TOKEN: &str = "1-0-1";
/// Versions that are tried for a log file.
const VERSIONS: i64 = 1000;

/// Undoes the files of one instant.
pub(crate) struct UndoFiles<'a> {
    pub(crate) store: &'a Arc<dyn FileStore>,
    /// The instant that is rolled back.
    pub(crate) instant: &'a RequestedTime,
    /// The rollback.
    pub(crate) rollback: &'a RequestedTime,
}

impl UndoFiles<'_> {
    /// Executes a plan.
    ///
    /// # Errors
    /// Those of the store: some of the files may have been undone then.
    pub(crate) fn run(&self, undo: &Undo) -> Result<RolledBackFiles> {
        let mut done = RolledBackFiles::default();
        self.delete(&undo.deletions, &mut done)?;
        let markers = Markers::new(Arc::clone(self.store), self.instant).list()?;
        let mut listings = Listings::new(self.store);
        self.delete_temporary_files(&markers, &mut listings)?;
        self.append_rollbacks(&undo.logs, &mut listings, &mut done)?;
        if !undo.logs.is_empty() {
            self.add_earlier_rollback_logs(undo, &markers, &mut listings, &mut done)?;
        }
        Ok(done)
    }

    /// Undoes what was begun since the plan was made.
    pub(crate) fn undo(&self, since: &Undo, done: &mut RolledBackFiles) -> Result<()> {
        self.delete(&since.deletions, done)?;
        self.append_rollbacks(&since.logs, &mut Listings::new(self.store), done)
    }

    fn append_rollbacks(
        &self,
        slices: &[LogRollback],
        listings: &mut Listings<'_>,
        done: &mut RolledBackFiles,
    ) -> Result<()> {
        for slice in slices {
            let partition = done.partitions.entry(slice.partition.clone()).or_default();
            self.append_rollback(slice, listings, partition)?;
        }
        Ok(())
    }

    /// Deletes data files.
    ///
    /// # Errors
    /// Those of the store: some of the files may have been deleted then.
    fn delete(&self, paths: &BTreeSet<DataPath>, done: &mut RolledBackFiles) -> Result<()> {
        for path in paths {
            self.store.delete(&path.path())?;
            done.partitions.entry(path.partition.clone()).or_default().deleted.push(path.name.clone());
        }
        Ok(())
    }

    /// Deletes what writers that were killed left of files that they had not finished, `.NAME.RANDOM.tmp`. Object
    /// stores have none.
    fn delete_temporary_files(&self, markers: &BTreeSet<Marker>, listings: &mut Listings<'_>) -> Result<()> {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for marker in markers {
            let path = DataPath::parse(&marker.data_path)?;
            names.entry(path.partition).or_default().push(format!(".{}.", path.name.trim_start_matches('.')));
        }
        for (partition, prefixes) in names {
            let is_left = |name: &&String| {
                name.ends_with(".tmp") && prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
            };
            let left: Vec<String> = listings.files(&partition)?.keys().filter(is_left).cloned().collect();
            for name in left {
                self.store.delete(&DataPath { partition: partition.clone(), name }.path())?;
            }
        }
        Ok(())
    }

    /// Appends a rollback block to a slice, in a log file of its own.
    pub(crate) fn append_rollback(
        &self,
        slice: &LogRollback,
        listings: &mut Listings<'_>,
        done: &mut RolledBackPartition,
    ) -> Result<()> {
        let logs = listings.logs(&slice.partition, &slice.file_id, &slice.base_instant)?;
        let failed = logs.iter().filter(|(name, _)| slice.logs.contains_key(&name.name));
        done.failed_logs.extend(failed.map(|(name, len)| (name.name.clone(), *len)));
        let block = Bytes::copy_from_slice(rollback_block(self.rollback, self.instant)?.bytes());
        let newest = logs.iter().max_by_key(|(name, _)| name.version);
        if let Some((name, len)) = newest
            && self.is_appended(&slice.partition, name, *len, &block)?
        {
            done.rollback_logs.insert(name.name.clone(), *len);
            return Ok(());
        }
        let newest = newest.map_or(0, |(name, _)| name.version);
        let markers = Markers::new(Arc::clone(self.store), self.instant);
        for version in newest.saturating_add(1)..newest.saturating_add(VERSIONS) {
            let name = LogFileName::compose(&slice.file_id, &slice.base_instant, version, TOKEN)?.name;
            let path = DataPath { partition: slice.partition.clone(), name }.path();
            // Hudi finds by it what an attempt that failed has written.
            markers.create(&path, MarkerKind::Append)?;
            if let PutOutcome::Written(_) = self.store.put_if_absent(&path, &block)? {
                let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
                done.rollback_logs.insert(name, block.len() as u64);
                return Ok(());
            }
        }
        let message = format!("no free version of a log file of file group {}", slice.file_id);
        Err(Error::internal(message).in_file(self.store.full_path(&slice.partition)))
    }

    /// Whether an attempt that was stopped has appended the block to the newest log file of a slice. The metadata table
    /// may have that file already, and does not take another one from the same rollback.
    fn is_appended(&self, partition: &str, newest: &LogFileName, len: u64, block: &Bytes) -> Result<bool> {
        if newest.write_token.as_deref() != Some(TOKEN) || len != block.len() as u64 {
            return Ok(false);
        }
        let path = DataPath { partition: partition.to_owned(), name: newest.name.clone() }.path();
        Ok(self.store.get(&path)?.0 == *block)
    }

    /// Adds the log files with rollback blocks of attempts that failed: they have markers, and the plan does not name
    /// them.
    fn add_earlier_rollback_logs(
        &self,
        undo: &Undo,
        markers: &BTreeSet<Marker>,
        listings: &mut Listings<'_>,
        done: &mut RolledBackFiles,
    ) -> Result<()> {
        let planned: BTreeSet<(&str, &str)> = undo
            .logs
            .iter()
            .flat_map(|slice| slice.logs.keys().map(|name| (slice.partition.as_str(), name.as_str())))
            .collect();
        for marker in markers {
            let path = DataPath::parse(&marker.data_path)?;
            let is_planned = planned.contains(&(path.partition.as_str(), path.name.as_str()));
            if marker.kind != MarkerKind::Append || is_planned || path.is_of(self.instant) {
                continue;
            }
            let Some(len) = listings.files(&path.partition)?.get(&path.name).map(|status| status.len) else { continue };
            // A writer that is alive may have begun a log file since the plan was made.
            if rolls_back(self.store, &path, self.instant)? {
                let partition = done.partitions.entry(path.partition).or_default();
                partition.rollback_logs.entry(path.name).or_insert(len);
            }
        }
        Ok(())
    }
}

/// Whether a log file has a block that rolls an instant back.
pub(crate) fn rolls_back(store: &Arc<dyn FileStore>, path: &DataPath, instant: &RequestedTime) -> Result<bool> {
    let is_rollback = |block: Block| {
        matches!(block.kind, BlockKind::Sound(BlockType::Command))
            && block.header.get(HeaderKey::TargetInstantTime).is_some_and(|target| *instant == *target)
    };
    let mut blocks = store.open(&path.path()).map(ForwardScan::new)?;
    Ok(blocks.any(|block| block.is_ok_and(is_rollback)))
}
