//! The files of instants as typed values that are read and written: commit metadata, plans and results of table
//! services.
//!
//! The types have the names of Hudi's classes and one member for each field that Hudi up to 1.2 has. Fields of other
//! releases are kept in `extra`. A file that is read with [`MetadataFile`] and written again has the same bytes.
//!
//! | instant | file | type |
//! |---|---|---|
//! | commit, delta commit, compaction, log compaction | completed | [`HoodieCommitMetadata`] |
//! | commit, delta commit, replace commit | inflight | [`HoodieCommitMetadata`], or empty |
//! | replace commit, clustering | completed | [`HoodieReplaceCommitMetadata`] |
//! | replace commit, clustering | requested | [`HoodieRequestedReplaceMetadata`] |
//! | compaction, log compaction | requested | [`HoodieCompactionPlan`] |
//! | clean | requested, completed | [`HoodieCleanerPlan`], [`HoodieCleanMetadata`] |
//! | rollback | requested, completed | [`HoodieRollbackPlan`], [`HoodieRollbackMetadata`] |
//! | restore | requested, completed | [`HoodieRestorePlan`], [`HoodieRestoreMetadata`] |
//! | savepoint | completed | [`HoodieSavepointMetadata`] |
//! | indexing | requested, completed | [`HoodieIndexPlan`], [`HoodieIndexCommitMetadata`] |
//!
//! ```
//! use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieWriteStat, TimelineMetadata, OrderedMap};
//!
//! let stat = HoodieWriteStat { file_id: Some("f-0".into()), path: Some("p/f-0_0-1-2_1.parquet".into()), ..Default::default() };
//! let stats = OrderedMap::from_iter([("p", vec![stat])]);
//! let commit = HoodieCommitMetadata { partition_to_write_stats: Some(stats), ..Default::default() };
//! let (avro, json) = (commit.to_avro()?, commit.to_json());
//! assert_eq!(HoodieCommitMetadata::from_json(&json)?, commit);
//! # assert!(avro.starts_with(b"Obj"));
//! # Ok::<(), mortice_base::Error>(())
//! ```
//!
//! The files in `schemas/` are the Avro schemas of Hudi 1.2 (Apache License 2.0).

mod archived_entry;
mod clean;
mod cleaner_plan;
mod commit;
mod compaction_plan;
mod field;
mod file;
mod index_commit;
mod index_plan;
mod json;
mod ordered_map;
mod record;
mod replace_commit;
mod requested_replace;
mod restore;
mod restore_plan;
mod rollback;
mod rollback_plan;
mod savepoint;

pub(super) use archived_entry::content_of_member;
pub use archived_entry::{ARCHIVED_ENTRY_SCHEMA, ArchivedEntryEncoder, HISTORY_SCHEMA};
pub use clean::{HoodieCleanMetadata, HoodieCleanPartitionMetadata};
pub use cleaner_plan::{HoodieActionInstant, HoodieCleanFileInfo, HoodieCleanerPlan};
pub use commit::{HoodieCommitMetadata, HoodieRuntimeStats, HoodieWriteStat};
pub use compaction_plan::{HoodieCompactionOperation, HoodieCompactionPlan, HoodieCompactionStrategy};
pub use field::{FieldMismatch, MetadataField};
pub use file::{MetadataFile, TimelineMetadata};
pub use index_commit::HoodieIndexCommitMetadata;
pub use index_plan::{HoodieIndexPartitionInfo, HoodieIndexPlan};
pub use ordered_map::OrderedMap;
pub use record::ExtraFields;
pub use replace_commit::HoodieReplaceCommitMetadata;
pub use requested_replace::{
    HoodieClusteringGroup, HoodieClusteringPlan, HoodieClusteringStrategy, HoodieRequestedReplaceMetadata,
    HoodieSliceInfo,
};
pub use restore::HoodieRestoreMetadata;
pub use restore_plan::HoodieRestorePlan;
pub use rollback::{HoodieRollbackMetadata, HoodieRollbackPartitionMetadata};
pub use rollback_plan::{HoodieInstantInfo, HoodieRollbackPlan, HoodieRollbackRequest};
pub use savepoint::{HoodieSavepointMetadata, HoodieSavepointPartitionMetadata};
