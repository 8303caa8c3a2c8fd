//! Hudi's own payload classes, by name, and which of them a merge follows.
//!
//! `tests/data/payload_classes` lists the classes that each release ships; a test holds this file to it.

use super::MergeSemantics;

/// Packages of Hudi's classes.
const PACKAGES: [&str; 2] = ["org.apache.hudi.", "org.apache.spark.sql.hudi."];

/// The bare name of a payload class of Hudi; `None` for a user-defined class of any name.
#[must_use]
pub fn hudis_own(class: &str) -> Option<&str> {
    let is_hudis = PACKAGES.iter().any(|package| class.starts_with(package));
    is_hudis.then(|| class.rsplit(['.', '$']).next().unwrap_or(class))
}

/// The class of a table of 0.x that stores none.
pub(super) const DEFAULT_0_X: &str = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload";

/// The class of metadata tables.
pub const METADATA: &str = "HoodieMetadataPayload";

/// The payload classes that can be merged under either semantics.
const KNOWN: [&str; 10] = [
    "AWSDmsAvroPayload",
    "DefaultHoodieRecordPayload",
    "EmptyHoodieRecordPayload",
    "EventTimeAvroPayload",
    METADATA,
    "MySqlDebeziumAvroPayload",
    "OverwriteNonDefaultsWithLatestAvroPayload",
    "OverwriteWithLatestAvroPayload",
    "PartialUpdateAvroPayload",
    "PostgresDebeziumAvroPayload",
];

/// Keeps the first of records with equal ordering values. Hudi 0.15 and 1.0 ship it, 1.1 and later do not.
const FIRST_VALUE: &str = "FirstValueAvroPayload";

/// Returns true if rows of a table with this class can be merged.
pub(super) fn is_known(class: &str, semantics: MergeSemantics) -> bool {
    hudis_own(class)
        .is_some_and(|name| KNOWN.contains(&name) || semantics == MergeSemantics::V0x && name == FIRST_VALUE)
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
    match hudis_own(class) {
        Some(FIRST_VALUE) => {
            ", which Hudi removed in 1.1; tables up to version 7 can be read by the rules of 0.x, which has it (semantics=\"0.x\")"
        }
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
    use super::{hudis_own, is_known};
    use crate::config::MergeSemantics;

    #[test]
    fn classes_of_others_are_not_hudis() {
        assert_eq!(hudis_own("org.apache.hudi.common.model.debezium.X"), Some("X"));
        assert_eq!(hudis_own("com.acme.DefaultHoodieRecordPayload"), None);
    }

    #[test]
    fn first_value_is_a_class_of_0_x() {
        let class = "org.apache.hudi.common.model.FirstValueAvroPayload";
        assert!(is_known(class, MergeSemantics::V0x) && !is_known(class, MergeSemantics::V1x));
        assert!(!is_known("com.acme.FirstValueAvroPayload", MergeSemantics::V0x));
    }
}
