//! Names of writers.

use uuid::Uuid;

/// A name that no other writer has.
pub(super) fn unique_name() -> String {
    format!("mortice-{}-{}", std::process::id(), Uuid::new_v4().simple())
}
