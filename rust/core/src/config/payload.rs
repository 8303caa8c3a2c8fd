//! Hudi's own payload classes, by name, and which of them a merge follows.

/// The bare name of a payload class that is Hudi's own; none for a class of anybody else, whatever it is called.
#[must_use]
pub fn hudis_own(class: &str) -> Option<&str> {
    class.starts_with("org.apache.hudi.").then(|| class.rsplit(['.', '$']).next().unwrap_or(class))
}

/// The class of a table of 0.x that stores none.
pub(super) const DEFAULT_0_X: &str = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload";

/// The class of metadata tables.
pub const METADATA: &str = "HoodieMetadataPayload";

/// The payload classes whose rules are known, beside those that amount to a merge mode.
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

/// Whether rows of a table with this class can be merged.
pub(super) fn is_known(class: &str) -> bool {
    hudis_own(class).is_some_and(|name| KNOWN.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::hudis_own;

    #[test]
    fn classes_of_others_are_not_hudis() {
        assert_eq!(hudis_own("org.apache.hudi.common.model.debezium.X"), Some("X"));
        assert_eq!(hudis_own("com.acme.DefaultHoodieRecordPayload"), None);
    }
}
