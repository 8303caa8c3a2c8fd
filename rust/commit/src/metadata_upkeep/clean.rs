//! What a clean of the table writes to the metadata table (`HoodieBackedTableMetadataWriter.update` of a clean).
//!
//! | partition | record |
//! |---|---|
//! | `files` | the deleted files of each partition, as deleted; a partition that is gone is deleted from the list. Its key is not, as Hudi 1.x does it: see [`super::removed_partitions`] |
//! | `column_stats`, `bloom_filters` | the keys of the files are deleted |

use super::build::new_metadata_table::current_schema;
use super::delta_commit::{delete_unfinished, write_delta_commit};
use super::partition_kind::PartitionKind;
use super::records::files::of_clean;
use super::records::indexed_columns::IndexedColumns;
use super::records::partition_records::{PartitionRecords, Records};
use super::upkeep::MetadataUpkeep;
use crate::commit::CleanedFiles;
use mortice_base::error::Result;
use mortice_base::names::{BaseFileName, RequestedTime};
use mortice_table::metadata_table::{ColumnKeys, bloom_filter_key};
use mortice_table::timeline::{Action, InstantState};

impl MetadataUpkeep {
    /// Writes and completes the metadata table's delta commit of the clean `instant`, before the clean is completed in
    /// the table. It can be repeated.
    ///
    /// # Errors
    /// `Unsupported`, by name, for partitions that cannot be maintained; those of the storage.
    pub fn write_clean(&self, instant: &RequestedTime, cleaned: &CleanedFiles) -> Result<()> {
        self.listed.check_known()?;
        let of_instant = self.folder.timeline_writer().files()?;
        let mut of_instant =
            of_instant.iter().filter(|file| file.requested_time == *instant && file.action == Action::DeltaCommit);
        if of_instant.clone().any(|file| file.state == InstantState::Completed) {
            return Ok(());
        }
        if of_instant.next().is_some() {
            delete_unfinished(&self.folder, instant)?;
        }
        let mut records = Records::new();
        for kind in &self.listed.known {
            let of_kind = match kind {
                PartitionKind::Files => of_clean(self.folder.schema(), cleaned),
                PartitionKind::ColumnStats => {
                    let schema = current_schema(&self.table)?;
                    let columns = self.definitions.columns(&self.table.config, &schema, &self.columns);
                    keys_of_statistics(&columns, cleaned)
                }
                PartitionKind::BloomFilters => keys_of_filters(cleaned),
                PartitionKind::RecordIndex | PartitionKind::SecondaryIndex(_) | PartitionKind::PartitionStats => {
                    PartitionRecords::default()
                }
            };
            if !of_kind.is_empty() {
                records.insert(kind.clone(), of_kind);
            }
        }
        write_delta_commit(&self.folder, instant, records, &self.clock, &self.table.timeline)
    }
}

pub(super) fn keys_of_statistics(columns: &IndexedColumns, cleaned: &CleanedFiles) -> PartitionRecords {
    let mut records = PartitionRecords::default();
    for (column, _) in &columns.columns {
        let keys = ColumnKeys::new(column);
        for (partition, files) in &cleaned.partitions {
            records.deletes.extend(files.files.iter().map(|name| keys.key(partition, name)));
        }
    }
    records
}

pub(super) fn keys_of_filters(cleaned: &CleanedFiles) -> PartitionRecords {
    let mut records = PartitionRecords::default();
    for (partition, files) in &cleaned.partitions {
        let bases = files.files.iter().filter(|name| BaseFileName::parse(name).is_some());
        records.deletes.extend(bases.map(|name| bloom_filter_key(partition, name)));
    }
    records
}
