//! Options that Hudi does not have.

/// Options that Hudi does not have.
pub(super) const OWN_OPTIONS: [&str; 4] = [OWN_BOOLEANS[0], OWN_BOOLEANS[1], "mortice.on_damage", SCHEMA_CHANGES];

/// Those of them that are booleans.
pub(super) const OWN_BOOLEANS: [&str; 2] = ["mortice.metadata.drop_unsupported", "mortice.metadata.rebuild_unusable"];

/// Which changes of the table's columns a write may make: `exact`, `add` or `evolve`.
pub const SCHEMA_CHANGES: &str = "mortice.write.schema";
