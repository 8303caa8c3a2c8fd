//! Properties that versions up to 7 and from 8 on store differently (`SevenToEightUpgradeHandler`,
//! `EightToSevenDowngradeHandler`).

use super::key_generators::{class_of_type, type_of_class};
use super::merge_properties::{
    BY_COMMIT_TIME, BY_EVENT_TIME, BY_PAYLOAD, COMMIT_TIME, CUSTOM, DEFAULT_CLASS, EVENT_TIME, LATEST_CLASS,
    legacy_class, stored_class,
};
use super::property_set::{MERGE_MODE, ORDERING, PAYLOAD, PRECOMBINE, PropertyChanges, STRATEGY};
use mortice_base::error::{Error, Result};
use mortice_merge::config::{PayloadClass, Properties};

const TIMELINE_PATH: &str = "hoodie.timeline.path";
const INITIAL_VERSION: &str = "hoodie.table.initial.version";
const KEY_GENERATOR_CLASS: &str = "hoodie.table.keygenerator.class";
const KEY_GENERATOR_TYPE: &str = "hoodie.table.keygenerator.type";
const BOOTSTRAP_CLASS: &str = "hoodie.bootstrap.index.class";
const BOOTSTRAP_TYPE: &str = "hoodie.bootstrap.index.type";
const BOOTSTRAP_ENABLE: &str = "hoodie.bootstrap.index.enable";
const BOOTSTRAP_INDEXES: [(&str, &str); 2] = [
    ("HFILE", "org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex"),
    ("NONE", "org.apache.hudi.common.bootstrap.index.NoOpBootstrapIndex"),
];

/// What the step from 6 to 8 changes.
///
/// # Errors
/// `Unsupported` for a bootstrap index that Hudi does not have.
pub(super) fn up_to_8(before: &Properties, changes: &mut PropertyChanges) -> Result<()> {
    changes.set(TIMELINE_PATH, "timeline");
    let (class, mode, strategy) = merge_of(before);
    changes.set(PAYLOAD, &class);
    changes.set(MERGE_MODE, mode);
    changes.set(STRATEGY, strategy);
    changes.set(INITIAL_VERSION, before.first_of(&["hoodie.table.version"]).unwrap_or("6"));
    if let Some(class) = key_generator_class(before) {
        changes.set(KEY_GENERATOR_CLASS, &class);
        changes.set(KEY_GENERATOR_TYPE, type_of_class(&class));
    }
    if let Some(class) = bootstrap_class(before)? {
        let found = BOOTSTRAP_INDEXES.iter().find(|(_, known)| *known == class);
        let (name, _) = found.ok_or_else(|| unknown_index(BOOTSTRAP_CLASS, &class))?;
        changes.set(BOOTSTRAP_CLASS, &class);
        changes.set(BOOTSTRAP_TYPE, name);
    }
    Ok(())
}

/// The payload class, merge mode and strategy of a table of version 6. In a merge-on-read table the ordering fields
/// decide, and not the class: Hudi compares them there.
fn merge_of(before: &Properties) -> (String, &'static str, &'static str) {
    let stored = stored_class(before).unwrap_or_else(|| DEFAULT_CLASS.to_owned());
    let mode = PayloadClass::parse(&stored).and_then(PayloadClass::mode);
    if mode.is_none() {
        return (stored, CUSTOM, BY_PAYLOAD);
    }
    let is_merge_on_read = before.first_of(&["hoodie.table.type"]) == Some("MERGE_ON_READ");
    let has_ordering = before.first_of(&[ORDERING, PRECOMBINE]).is_some();
    if stored == DEFAULT_CLASS || is_merge_on_read && has_ordering {
        return (DEFAULT_CLASS.to_owned(), EVENT_TIME, BY_EVENT_TIME);
    }
    (LATEST_CLASS.to_owned(), COMMIT_TIME, BY_COMMIT_TIME)
}

/// What the step from 8 to 6 changes.
///
/// # Errors
/// `Unsupported` for a table whose records another merger than a payload class merges.
pub(super) fn down_to_6(before: &Properties, changes: &mut PropertyChanges) -> Result<()> {
    changes.remove(MERGE_MODE);
    changes.remove(STRATEGY);
    if stored_class(before).is_none() && legacy_class(before).is_none() {
        match before.first_of(&[MERGE_MODE]) {
            Some(COMMIT_TIME) => changes.set(PAYLOAD, LATEST_CLASS),
            Some(EVENT_TIME) => changes.set(PAYLOAD, DEFAULT_CLASS),
            other => {
                return Err(Error::unsupported(format!(
                    "{MERGE_MODE} {} without {PAYLOAD} below table version 8; leave the table at version 8",
                    other.unwrap_or("(not set)")
                )));
            }
        }
    }
    if let Some(class) = key_generator_class(before) {
        changes.set(KEY_GENERATOR_CLASS, &class);
    }
    if let Some(class) = bootstrap_class(before)? {
        changes.set(BOOTSTRAP_CLASS, &class);
    }
    Ok(())
}

/// The class of the key generator, by its own name or that of its type.
fn key_generator_class(before: &Properties) -> Option<String> {
    let class = before.first_of(&[KEY_GENERATOR_CLASS]);
    class.or_else(|| class_of_type(before.first_of(&[KEY_GENERATOR_TYPE])?)).map(str::to_owned)
}

/// The class of the bootstrap index; none for a table that names neither class nor type.
fn bootstrap_class(before: &Properties) -> Result<Option<String>> {
    let (class, kind) = (before.first_of(&[BOOTSTRAP_CLASS]), before.first_of(&[BOOTSTRAP_TYPE]));
    if class.is_none() && kind.is_none() {
        return Ok(None);
    }
    let of_type = |kind: &str| BOOTSTRAP_INDEXES.iter().find(|(name, _)| *name == kind).map(|(_, class)| *class);
    if before.first_of(&[BOOTSTRAP_ENABLE]).is_some_and(|value| value.eq_ignore_ascii_case("false")) {
        return Ok(of_type("NONE").map(str::to_owned));
    }
    let kind = kind.unwrap_or_default();
    let found = class.or_else(|| of_type(kind)).ok_or_else(|| unknown_index(BOOTSTRAP_TYPE, kind))?;
    Ok(Some(found.to_owned()))
}

fn unknown_index(name: &str, value: &str) -> Error {
    Error::unsupported(format!("{name} {value:?}, which is not a bootstrap index of Hudi"))
}
