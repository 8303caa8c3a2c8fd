//! Names of writers.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A name that no other writer has.
pub(super) fn unique_name() -> String {
    // Seeds of hash maps are random.
    let random = || RandomState::new().build_hasher().finish();
    format!("mortice-{}-{:016x}{:016x}", std::process::id(), random(), random())
}
