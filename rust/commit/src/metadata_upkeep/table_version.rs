//! What an upgrade or downgrade of the table does to the metadata table.

use super::metadata_folder::ROOT;
use super::partition_kind::PartitionKind;
use super::records::indexed_columns::{undefine_indexes, version_definitions};
use super::upkeep::MetadataUpkeep;
use crate::commit::{read_to_replace, update_properties_below};
use mortice_base::error::Result;
use mortice_merge::config::PropertiesFile;
use mortice_storage::FileStore;

const VERSION: &str = "hoodie.table.version";

impl MetadataUpkeep {
    /// Names the version of definitions of indexes that have none, before table version 9, from which on there are two
    /// (`EightToNineUpgradeHandler.populateIndexVersionIfMissing`).
    ///
    /// # Errors
    /// `InvalidTable` if the definitions cannot be read; those of the storage.
    pub fn define_versions(store: &dyn FileStore) -> Result<()> {
        version_definitions(store)
    }

    /// Removes the definitions of indexes, whose partitions were deleted: built again, they may be of another version.
    ///
    /// # Errors
    /// As for [`Self::define_versions`].
    pub fn forget_definitions(store: &dyn FileStore) -> Result<()> {
        undefine_indexes(store, &PartitionKind::SINGLE.map(|kind| kind.folder().to_owned()))
    }

    /// Gives the metadata table the version of its table, if it is there and has another one. Its files stay as they
    /// are.
    ///
    /// # Errors
    /// `InvalidTable` if its properties cannot be read; those of the storage.
    pub fn set_version(store: &dyn FileStore, version: u8) -> Result<()> {
        if read_to_replace(store, &format!("{ROOT}/.hoodie/hoodie.properties"))?.is_none() {
            return Ok(());
        }
        let set = |properties: &mut PropertiesFile| {
            properties.set(VERSION, &version.to_string());
            Ok(())
        };
        update_properties_below(store, ROOT, set).map(drop)
    }
}
