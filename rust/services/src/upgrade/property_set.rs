//! The properties that steps set and remove, and names of those that several steps change.

use std::collections::{BTreeMap, BTreeSet};

use mortice_merge::config::PropertiesFile;

/// Names of properties, of which a newer one of the same meaning is written beside the older.
pub(super) const MERGE_MODE: &str = "hoodie.record.merge.mode";
pub(super) const STRATEGY: &str = "hoodie.record.merge.strategy.id";
const OLD_STRATEGY: &str = "hoodie.compaction.record.merger.strategy";
pub(super) const PAYLOAD: &str = "hoodie.compaction.payload.class";
pub(super) const ORDERING: &str = "hoodie.table.ordering.fields";
pub(super) const PRECOMBINE: &str = "hoodie.table.precombine.field";
/// Older names that Hudi sets together with a property (`ConfigProperty.getAlternatives`).
const ALTERNATIVES: [(&str, &str); 2] = [(STRATEGY, OLD_STRATEGY), (ORDERING, PRECOMBINE)];

/// Properties that steps set and remove.
#[derive(Debug, Default)]
pub(super) struct PropertyChanges {
    added: BTreeMap<&'static str, String>,
    removed: BTreeSet<&'static str>,
}

impl PropertyChanges {
    pub(super) fn set(&mut self, name: &'static str, value: &str) {
        self.added.insert(name, value.to_owned());
    }

    pub(super) fn remove(&mut self, name: &'static str) {
        self.removed.insert(name);
    }

    /// Changes the properties. What is removed is not there in the end.
    pub(super) fn apply(&self, file: &mut PropertiesFile) {
        for (name, value) in &self.added {
            file.set(name, value);
            for (_, older) in ALTERNATIVES.iter().filter(|(newer, _)| newer == name) {
                file.set(older, value);
            }
        }
        for name in &self.removed {
            file.remove(name);
        }
    }
}
