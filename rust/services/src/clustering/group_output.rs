//! The new files of a group of a plan: one file group after the other, or under consistent hashing that of each row's
//! node (`ConsistentBucketIndexBulkInsertPartitionerWithRows`).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, BooleanArray, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;

use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::names::meta_columns::RECORD_KEY;
use mortice_storage::{FileStore, check_cancelled};
use mortice_write::index::{ResizedRing, new_group_prefix};
use mortice_write::write::{BaseFileOptions, CreateHandle, CreateTarget, MetaColumns, WriteStatus, WriteToken};

/// What all new files of a group have in common.
pub(super) struct NewFiles<'a> {
    pub(super) store: &'a Arc<dyn FileStore>,
    pub(super) schema: &'a Schema,
    pub(super) partition: &'a str,
    pub(super) instant: &'a RequestedTime,
    pub(super) token: WriteToken,
    pub(super) base: &'a BaseFileOptions,
}

impl NewFiles<'_> {
    fn handle(&self, file_id_prefix: String, base: BaseFileOptions) -> CreateHandle {
        let (partition, instant, token) = (self.partition.to_owned(), self.instant.clone(), self.token);
        let target = CreateTarget { partition, file_id_prefix, instant, token };
        CreateHandle::new(Arc::clone(self.store), self.schema, target, base, false)
    }
}

/// The new files of a group.
pub(super) struct GroupOutput<'a> {
    kind: OutputKind<'a>,
    has_meta: bool,
    /// Bytes of rows that wait for their row group to be complete.
    memory: usize,
}

enum OutputKind<'a> {
    /// As many files as the size of files makes.
    Files(Box<CreateHandle>),
    /// A file for each node that has rows.
    Nodes { files: &'a NewFiles<'a>, ring: ResizedRing<'a>, handles: BTreeMap<u32, CreateHandle> },
}

impl<'a> GroupOutput<'a> {
    /// Files of a limited size.
    pub(super) fn new(files: &NewFiles<'_>, has_meta: bool, memory: usize) -> Self {
        let handle = files.handle(new_group_prefix(), files.base.clone());
        Self { kind: OutputKind::Files(Box::new(handle)), has_meta, memory }
    }

    /// The file groups of a ring's new nodes.
    pub(super) fn by_nodes(files: &'a NewFiles<'a>, ring: ResizedRing<'a>, memory: usize) -> Self {
        Self { kind: OutputKind::Nodes { files, ring, handles: BTreeMap::new() }, has_meta: true, memory }
    }

    pub(super) fn insert(&mut self, rows: &RecordBatch) -> Result<()> {
        check_cancelled()?;
        let meta = if self.has_meta { MetaColumns::Kept } else { MetaColumns::Absent };
        match &mut self.kind {
            OutputKind::Files(handle) => insert(handle, rows, meta, self.memory),
            OutputKind::Nodes { files, ring, handles } => {
                for (node, rows) in by_node(ring, rows)? {
                    let handle = match handles.remove(&node) {
                        Some(handle) => handle,
                        // A node is one file, however large.
                        None => files.handle(ring.prefix(node)?.to_owned(), files.base.clone().of_size(u64::MAX)),
                    };
                    let handle = handles.entry(node).or_insert(handle);
                    insert(handle, &rows, MetaColumns::Kept, self.memory / 2)?;
                }
                Ok(())
            }
        }
    }

    /// Completes the files, which must have so many rows.
    pub(super) fn finish(self, rows: u64) -> Result<Vec<WriteStatus>> {
        let mut statuses = Vec::new();
        match self.kind {
            OutputKind::Files(handle) => statuses = handle.finish()?,
            OutputKind::Nodes { handles, .. } => {
                for handle in handles.into_values() {
                    statuses.extend(handle.finish()?);
                }
            }
        }
        let written = statuses.iter().fold(0_u64, |sum, status| sum.saturating_add(status.writes));
        if written != rows {
            return Err(Error::internal(format!("{written} of {rows} rows of a clustering were written")));
        }
        Ok(statuses)
    }
}

fn insert(handle: &mut CreateHandle, rows: &RecordBatch, meta: MetaColumns<'_>, memory: usize) -> Result<()> {
    handle.insert(rows, meta)?;
    if handle.held_bytes() > memory { handle.end_row_group() } else { Ok(()) }
}

/// The rows of each node.
fn by_node(ring: &ResizedRing<'_>, rows: &RecordBatch) -> Result<Vec<(u32, RecordBatch)>> {
    let keys = rows.column_by_name(RECORD_KEY).and_then(|keys| keys.as_any().downcast_ref::<StringArray>());
    let keys = keys.ok_or_else(|| Error::internal("rows of a clustering without record keys"))?;
    let mut nodes = Vec::with_capacity(keys.len());
    for key in keys {
        nodes.push(ring.node_of(key.ok_or_else(|| Error::invalid_table("a row without a record key"))?)?);
    }
    let mut distinct = nodes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if let [only] = distinct.as_slice() {
        return Ok(vec![(*only, rows.clone())]);
    }
    let of_node = |node: u32| {
        let mask: BooleanArray = nodes.iter().map(|own| Some(*own == node)).collect();
        let rows = filter_record_batch(rows, &mask);
        Ok((node, rows.map_err(|error| Error::internal("the rows of a node").caused_by(error))?))
    };
    distinct.into_iter().map(of_node).collect()
}
