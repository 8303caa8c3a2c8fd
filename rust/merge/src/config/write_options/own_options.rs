//! Options that Hudi does not have.

use super::option_names::{DROP_UNSUPPORTED, ON_DAMAGE, REBUILD_UNUSABLE, SCHEMA_CHANGES};

/// Options that Hudi does not have.
pub(super) const OWN_OPTIONS: [&str; 4] = [OWN_BOOLEANS[0], OWN_BOOLEANS[1], ON_DAMAGE.name(), SCHEMA_CHANGES.name()];

/// Those of them that are booleans.
pub(super) const OWN_BOOLEANS: [&str; 2] = [DROP_UNSUPPORTED.name(), REBUILD_UNUSABLE.name()];
