//! What indexes differ in. Each is in a file of its own, which `choice` names.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use super::bucket_layout::BucketLayout;
use super::layout_check;
use super::options::{BucketOptions, IndexType};
use super::tagged::Tagged;
use super::task_look_up::TaskLookUp;
use mortice_base::error::Result;
use mortice_merge::config::TableType;
use mortice_merge::keys::RowKeys;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, WriteView};

/// An index of a table: it finds the file groups of record keys (`HoodieIndex`).
///
/// What is not said otherwise is that of an index which finds keys where writers have put them, and knows nothing of
/// new ones.
pub trait Index: Debug + Send + Sync {
    /// Its type.
    fn kind(&self) -> IndexType;

    /// Hudi's name.
    fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Whether a key is in one partition only.
    fn is_global(&self) -> bool {
        self.kind().is_global()
    }

    /// Of global indexes: whether a row whose partition is another one than its key's moves there. Otherwise it stays.
    fn updates_partition(&self) -> bool {
        false
    }

    /// The buckets of keys, if they say which file group a key is in, or will be.
    fn buckets(&self) -> Option<&BucketOptions> {
        None
    }

    /// The same of a table, which may have stored some of it.
    ///
    /// # Errors
    /// As for [`BucketLayout::of_table`].
    fn bucket_layout(&self, table: &OpenTable) -> Result<Option<Arc<BucketLayout>>> {
        let layout = |options: &BucketOptions| BucketLayout::of_table(table, options).map(Arc::new);
        self.buckets().map(layout).transpose()
    }

    /// Whether rows of inserts are tagged, too (`HoodieIndex.requiresTagging`).
    fn tags_inserts(&self) -> bool {
        false
    }

    /// Finds the file group of each row's key. Under a global index it may be in another partition than the row.
    fn tag(&self, table: &Arc<OpenTable>, keys: &RowKeys) -> Result<Tagged>;

    /// The same, of keys whose rows were read from these partitions.
    fn tag_rows_of(&self, table: &Arc<OpenTable>, keys: &RowKeys, _partitions: BTreeSet<String>) -> Result<Tagged> {
        self.tag(table, keys)
    }

    /// How the tasks of a write find keys whose rows are spread over them.
    fn task_look_up(&self, table: &OpenTable) -> Result<TaskLookUp>;

    /// Whether a key that is tagged with a file slice has a row there, so that nothing needs to be read. Logs delete
    /// keys of base files.
    fn is_certain(&self, slice: &FileSlice) -> bool {
        slice.log_files.is_empty()
    }

    /// Whether keys may be tagged with file groups that have them no more: base files of merge-on-read tables hold keys
    /// that logs have deleted, or moved to another partition.
    fn may_be_stale(&self, table: &OpenTable) -> Result<bool> {
        Ok(table.config.table_type == TableType::MergeOnRead)
    }

    /// The same of keys that are tagged with one file group alone.
    fn may_be_stale_alone(&self, table: &OpenTable) -> Result<bool> {
        self.may_be_stale(table)
    }

    /// Refuses to insert rows without looking for their keys into a table that was written with another index than this
    /// one.
    fn check_inserts(&self, table: &OpenTable) -> Result<()> {
        layout_check::refuse_buckets(table, &table.write_view(None)?, self.name())
    }

    /// Refuses file slices in which keys are to be found, if another index than this one has made them.
    fn check_view(&self, table: &OpenTable, view: &WriteView) -> Result<()> {
        layout_check::refuse_buckets(table, view, self.name())?;
        layout_check::refuse_logs_alone(table, view, self.name())
    }

    /// The partitions, of those of the rows, that keys are looked for in; none: all of the table.
    fn partitions<'p>(&self, of_rows: &'p BTreeSet<String>) -> Option<&'p BTreeSet<String>> {
        (!self.is_global()).then_some(of_rows)
    }

    /// The checked file slices of these partitions.
    fn view(&self, table: &OpenTable, partitions: Option<&BTreeSet<String>>) -> Result<Arc<WriteView>> {
        let view = table.write_view(partitions)?;
        self.check_view(table, &view)?;
        Ok(Arc::new(view))
    }
}
