//! Hudi's own payload classes, by name, and which of them a merge follows.
//!
//! `tests/data/payload_classes` lists the classes that each release ships; a test holds this file to it.

use super::{MergeMode, MergeSemantics};

/// Packages of Hudi's classes.
const PACKAGES: [&str; 2] = ["org.apache.hudi.", "org.apache.spark.sql.hudi."];

/// The bare name of a payload class of Hudi; `None` for a user-defined class of any name.
fn hudis_own(class: &str) -> Option<&str> {
    let is_hudis = PACKAGES.iter().any(|package| class.starts_with(package));
    is_hudis.then(|| class.rsplit(['.', '$']).next().unwrap_or(class))
}

/// The class of a table of 0.x that stores none.
pub(super) const DEFAULT_0_X: &str = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload";

/// A payload class of Hudi that records are merged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadClass {
    /// Of AWS Database Migration Service.
    AwsDms,
    /// The greater ordering value wins.
    Default,
    /// All records are deletes.
    Empty,
    /// As [`Self::Default`].
    EventTime,
    /// Keeps the first of records with equal ordering values. Hudi 0.15 and 1.0 ship it, 1.1 and later do not.
    FirstValue,
    /// Of metadata tables.
    Metadata,
    /// Of Debezium for MySQL.
    MySqlDebezium,
    /// Columns that have their default keep the older value.
    OverwriteNonDefaults,
    /// The newer record wins.
    OverwriteWithLatest,
    /// Columns that are null keep the older value.
    PartialUpdate,
    /// Of Debezium for PostgreSQL.
    PostgresDebezium,
}

impl PayloadClass {
    const ALL: [Self; 11] = [
        Self::AwsDms,
        Self::Default,
        Self::Empty,
        Self::EventTime,
        Self::FirstValue,
        Self::Metadata,
        Self::MySqlDebezium,
        Self::OverwriteNonDefaults,
        Self::OverwriteWithLatest,
        Self::PartialUpdate,
        Self::PostgresDebezium,
    ];

    /// Its name without the package.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AwsDms => "AWSDmsAvroPayload",
            Self::Default => "DefaultHoodieRecordPayload",
            Self::Empty => "EmptyHoodieRecordPayload",
            Self::EventTime => "EventTimeAvroPayload",
            Self::FirstValue => "FirstValueAvroPayload",
            Self::Metadata => "HoodieMetadataPayload",
            Self::MySqlDebezium => "MySqlDebeziumAvroPayload",
            Self::OverwriteNonDefaults => "OverwriteNonDefaultsWithLatestAvroPayload",
            Self::OverwriteWithLatest => "OverwriteWithLatestAvroPayload",
            Self::PartialUpdate => "PartialUpdateAvroPayload",
            Self::PostgresDebezium => "PostgresDebeziumAvroPayload",
        }
    }

    /// The class of a name with its package; `None` for user-defined classes, and for those of Hudi that do not merge.
    #[must_use]
    pub fn parse(class: &str) -> Option<Self> {
        Self::by_name(hudis_own(class)?)
    }

    /// The class of a name without a package.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Returns true if rows of a table with this class can be merged.
    #[must_use]
    pub fn is_merged(self, semantics: MergeSemantics) -> bool {
        self != Self::FirstValue || semantics == MergeSemantics::V0x
    }

    /// The merge mode that is the same; `None` for classes that no mode merges as.
    #[must_use]
    pub const fn mode(self) -> Option<MergeMode> {
        match self {
            Self::OverwriteWithLatest => Some(MergeMode::CommitTime),
            Self::Default | Self::EventTime => Some(MergeMode::EventTime),
            Self::AwsDms
            | Self::Empty
            | Self::FirstValue
            | Self::Metadata
            | Self::MySqlDebezium
            | Self::OverwriteNonDefaults
            | Self::PartialUpdate
            | Self::PostgresDebezium => None,
        }
    }

    /// The column and its value by which the class itself knows a delete, before table version 9.
    #[must_use]
    pub const fn delete_marker(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::AwsDms => Some(("Op", "D")),
            Self::MySqlDebezium | Self::PostgresDebezium => Some(("_change_operation_type", "d")),
            Self::Default
            | Self::Empty
            | Self::EventTime
            | Self::FirstValue
            | Self::Metadata
            | Self::OverwriteNonDefaults
            | Self::OverwriteWithLatest
            | Self::PartialUpdate => None,
        }
    }
}

/// Returns true if rows of a table with this class can be merged.
pub(super) fn is_known(class: &str, semantics: MergeSemantics) -> bool {
    PayloadClass::parse(class).is_some_and(|class| class.is_merged(semantics))
}

/// What a user can do about a class or strategy that is not merged, for messages.
pub const ALTERNATIVES: &str = "; register a merge function (mortice.register_merger), or read base files only (read_optimized), or unmerged records (merge=False)";

/// What a user can do if a write has to merge by it: the merge functions of queries are Python's, which files are not
/// rewritten with.
pub(super) const WRITE_WITH_HUDI: &str =
    "; writes do not use registered merge functions (mortice.register_merger): write to this table with Hudi";

/// What the message that refuses a class adds to its name: why it is not merged, and the remedy that only this class
/// has. Empty for user-defined classes.
pub(super) fn refusal(class: &str) -> &'static str {
    if PayloadClass::parse(class) == Some(PayloadClass::FirstValue) {
        return ", which Hudi removed in 1.1; tables up to version 7 can be read by the rules of 0.x, which has it (semantics=\"0.x\")";
    }
    match hudis_own(class) {
        Some(
            "BootstrapRecordPayload"
            | "EmptyHoodieRecordPayloadWithPartition"
            | "ExpressionPayload"
            | "HoodieJsonPayload"
            | "RewriteAvroPayload"
            | "ValidateDuplicateKeyPayload",
        ) => ", which Hudi uses within a write and never to read a table",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{PayloadClass, hudis_own, is_known};
    use crate::config::MergeSemantics;

    #[test]
    fn classes_of_others_are_not_hudis() {
        assert_eq!(hudis_own("org.apache.hudi.common.model.debezium.X"), Some("X"));
        assert_eq!(hudis_own("com.acme.DefaultHoodieRecordPayload"), None);
    }

    #[test]
    fn names_are_those_of_hudis_classes() {
        for class in PayloadClass::ALL {
            assert_eq!(PayloadClass::parse(&format!("org.apache.hudi.common.model.{}", class.name())), Some(class));
            assert_eq!(PayloadClass::parse(&format!("com.acme.{}", class.name())), None);
        }
    }

    #[test]
    fn first_value_is_a_class_of_0_x() {
        let class = "org.apache.hudi.common.model.FirstValueAvroPayload";
        assert!(is_known(class, MergeSemantics::V0x) && !is_known(class, MergeSemantics::V1x));
        assert!(!is_known("com.acme.FirstValueAvroPayload", MergeSemantics::V0x));
    }
}
