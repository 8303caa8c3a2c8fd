//! Payload classes of version 8, and the merge modes of version 9 that are the same (`EightToNineUpgradeHandler`,
//! `NineToEightDowngradeHandler`; RFC 97).

use super::property_set::{MERGE_MODE, ORDERING, PAYLOAD, PRECOMBINE, PropertyChanges, STRATEGY};
use mortice_merge::config::{PayloadClass, Properties};

pub(super) const COMMIT_TIME: &str = "COMMIT_TIME_ORDERING";
pub(super) const EVENT_TIME: &str = "EVENT_TIME_ORDERING";
pub(super) const CUSTOM: &str = "CUSTOM";
pub(super) const BY_COMMIT_TIME: &str = "ce9acb64-bde0-424c-9b91-f6ebba25356d";
pub(super) const BY_EVENT_TIME: &str = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5";
pub(super) const BY_PAYLOAD: &str = "00000000-0000-0000-0000-000000000000";
const LEGACY_PAYLOAD: &str = "hoodie.table.legacy.payload.class";
const PARTIAL_UPDATE: &str = "hoodie.table.partial.update.mode";
const DELETE_FIELD: &str = "hoodie.record.merge.property.hoodie.payload.delete.field";
const DELETE_MARKER: &str = "hoodie.record.merge.property.hoodie.payload.delete.marker";
const UNAVAILABLE: &str = "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value";
/// The class of a table that stores none, in Hudi 1.x.
pub(super) const DEFAULT_CLASS: &str = "org.apache.hudi.common.model.DefaultHoodieRecordPayload";
pub(super) const LATEST_CLASS: &str = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload";

/// The payload class of a table, under its Apache name; none if it stores none.
pub(super) fn stored_class(properties: &Properties) -> Option<String> {
    properties.first_of(&[PAYLOAD]).map(|class| class.replace("com.uber.hoodie", "org.apache.hudi"))
}

/// The class that Hudi takes a table for that stores none; none for one that another merger merges.
fn class_of(properties: &Properties) -> Option<String> {
    stored_class(properties).or_else(|| match properties.first_of(&[MERGE_MODE]) {
        Some(COMMIT_TIME) => Some(LATEST_CLASS.to_owned()),
        Some(CUSTOM) => None,
        _ => Some(DEFAULT_CLASS.to_owned()),
    })
}

/// What a class is from version 9 on; none for those that are payload classes still.
struct SameAs {
    mode: Option<(&'static str, &'static str)>,
    partial_update: Option<&'static str>,
    unavailable: Option<&'static str>,
    ordering: Option<&'static str>,
    /// Whether it is a payload class of a custom merge at version 8.
    is_custom: bool,
}

impl SameAs {
    fn of_class(class: PayloadClass) -> Option<Self> {
        let plain = Self { mode: None, partial_update: None, unavailable: None, ordering: None, is_custom: true };
        let (commit, event) = (Some((COMMIT_TIME, BY_COMMIT_TIME)), Some((EVENT_TIME, BY_EVENT_TIME)));
        Some(match class {
            PayloadClass::Default | PayloadClass::OverwriteWithLatest => Self { is_custom: false, ..plain },
            PayloadClass::EventTime => Self { mode: event, is_custom: false, ..plain },
            PayloadClass::AwsDms => Self { mode: commit, ..plain },
            PayloadClass::OverwriteNonDefaults => {
                Self { mode: commit, partial_update: Some("IGNORE_DEFAULTS"), ..plain }
            }
            PayloadClass::PartialUpdate => Self { mode: event, partial_update: Some("IGNORE_DEFAULTS"), ..plain },
            PayloadClass::PostgresDebezium => Self {
                mode: event,
                partial_update: Some("FILL_UNAVAILABLE"),
                unavailable: Some("__debezium_unavailable_value"),
                ordering: Some("_event_lsn"),
                ..plain
            },
            PayloadClass::MySqlDebezium => Self { mode: event, ordering: Some("_event_bin_file,_event_pos"), ..plain },
            PayloadClass::Empty | PayloadClass::FirstValue | PayloadClass::Metadata => return None,
        })
    }
}

/// What the step from 8 to 9 changes.
pub(super) fn up_to_9(before: &Properties, changes: &mut PropertyChanges) {
    let class = class_of(before);
    let same = class.as_deref().and_then(PayloadClass::parse).and_then(SameAs::of_class);
    if before.first_of(&[MERGE_MODE]) != Some(CUSTOM) {
        changes.remove(STRATEGY);
    }
    if let Some((mode, strategy)) = same.as_ref().and_then(|same| same.mode) {
        changes.set(MERGE_MODE, mode);
        changes.set(STRATEGY, strategy);
    }
    if let Some(partial_update) = same.as_ref().and_then(|same| same.partial_update) {
        changes.set(PARTIAL_UPDATE, partial_update);
    }
    if let Some(unavailable) = same.as_ref().and_then(|same| same.unavailable) {
        changes.set(UNAVAILABLE, unavailable);
    }
    let marker = class.as_deref().and_then(PayloadClass::parse).and_then(PayloadClass::delete_marker);
    if let Some((field, marker)) = marker {
        changes.set(DELETE_FIELD, field);
        changes.set(DELETE_MARKER, marker);
    }
    if let (Some(class), Some(_)) = (&class, &same) {
        changes.set(LEGACY_PAYLOAD, class);
        changes.remove(PAYLOAD);
    }
    let ordering = same.as_ref().and_then(|same| same.ordering);
    if let Some(ordering) = ordering.or_else(|| before.first_of(&[ORDERING, PRECOMBINE])) {
        changes.set(ORDERING, ordering);
        changes.remove(PRECOMBINE);
    }
}

/// Whether a table of version 9 had the payload class of Debezium for MySQL, which has two ordering fields now and had
/// one.
pub(super) fn is_of_my_sql(before: &Properties) -> bool {
    legacy_class(before).is_some_and(|(_, class)| class == PayloadClass::MySqlDebezium)
}

/// The payload class of before the upgrade.
pub(super) fn legacy_class(before: &Properties) -> Option<(&str, PayloadClass)> {
    let name = before.first_of(&[LEGACY_PAYLOAD])?;
    let class = PayloadClass::parse(name)?;
    SameAs::of_class(class).map(|_| (name, class))
}

/// What the step from 9 to 8 changes.
pub(super) fn down_to_8(before: &Properties, changes: &mut PropertyChanges) {
    changes.remove(PARTIAL_UPDATE);
    match before.first_of(&[MERGE_MODE]) {
        Some(EVENT_TIME) => changes.set(STRATEGY, BY_EVENT_TIME),
        Some(COMMIT_TIME) => changes.set(STRATEGY, BY_COMMIT_TIME),
        _ => {}
    }
    if let Some((name, class)) = legacy_class(before) {
        changes.remove(LEGACY_PAYLOAD);
        changes.set(PAYLOAD, name);
        if SameAs::of_class(class).is_some_and(|same| same.is_custom) {
            changes.set(STRATEGY, BY_PAYLOAD);
            changes.set(MERGE_MODE, CUSTOM);
        }
        if class.delete_marker().is_some() {
            changes.remove(DELETE_FIELD);
            changes.remove(DELETE_MARKER);
        }
        if class == PayloadClass::PostgresDebezium {
            changes.remove(UNAVAILABLE);
        }
    }
    let ordering = if is_of_my_sql(before) { Some("_event_seq") } else { before.first_of(&[ORDERING, PRECOMBINE]) };
    if let Some(ordering) = ordering {
        changes.set(PRECOMBINE, ordering);
        changes.remove(ORDERING);
    }
}
