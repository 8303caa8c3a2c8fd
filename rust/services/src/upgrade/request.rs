//! What is asked of an upgrade or downgrade, and what it did.

use super::property_changes::ChangedProperty;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// The direction in which the version of a table is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionChange {
    /// To a later version.
    Upgrade,
    /// To an earlier version.
    Downgrade,
}

impl VersionChange {
    /// The name of the service.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::Downgrade => "downgrade",
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpgradeRequest {
    /// The direction.
    pub change: VersionChange,
    /// The table version afterwards.
    pub to: u8,
}

impl UpgradeRequest {
    /// Makes sure that the table is not of a version on the other side.
    pub(super) fn check_direction(self, from: u8) -> Result<()> {
        let (is_wrong, other) = match self.change {
            VersionChange::Upgrade => (from > self.to, VersionChange::Downgrade),
            VersionChange::Downgrade => (from < self.to, VersionChange::Upgrade),
        };
        if !is_wrong {
            return Ok(());
        }
        let message = format!("the table has version {from}: to bring it to {}, {} it", self.to, other.name());
        Err(Error::invalid_argument(message))
    }
}

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpgradeResult {
    /// The table version before.
    pub from: u8,
    /// The table version afterwards.
    pub to: u8,
    /// The properties that change, by name.
    pub properties: Vec<ChangedProperty>,
    /// The failed writes that are rolled back first.
    pub rolled_back: Vec<RequestedTime>,
    /// The compactions that are run before; those that would be planned only then are not among them.
    pub compactions: Vec<RequestedTime>,
    /// The log files that are merged into base files before.
    pub log_files: u64,
    /// The files of the active timeline that are written in another layout.
    pub timeline_files: u64,
    /// The archived instants that are written in another layout.
    pub archived: u64,
    /// The partitions of the metadata table, if it is deleted and built again.
    pub rebuilt: Vec<String>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}
