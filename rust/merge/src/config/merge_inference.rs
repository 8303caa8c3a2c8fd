//! The merge mode in force (`HoodieTableConfig.inferMergingConfigsForPreV9Table` and its siblings).
//!
//! | table | goes by |
//! |---|---|
//! | ≤ 7 | the payload class, `OverwriteWithLatestAvroPayload` where none is stored; the strategy only where there is no class |
//! | 8 | the stored mode; else the strategy; else the payload class; else whether there are ordering fields |
//! | 9 | the stored mode; else as 8, with the payload class of before the upgrade |
//!
//! Table version ≤ 7 stores `hoodie.compaction.record.merger.strategy` as a constant that equals the id of event time
//! ordering (0.15 writes it next to every class), so there it says nothing.

use super::table_config::{ordering_fields, payload_class};
use super::{CustomMerge, MergeMode, PayloadClass, Properties, TableVersion, TimelineLayout};
use mortice_base::error::{Error, Result};

const COMMIT_TIME: &str = "ce9acb64-bde0-424c-9b91-f6ebba25356d";
const EVENT_TIME: &str = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5";
const PAYLOAD_BASED: &str = "00000000-0000-0000-0000-000000000000";
const STRATEGY: &str = "hoodie.record.merge.strategy.id";
const OLD_STRATEGY: &str = "hoodie.compaction.record.merger.strategy";
const MODE: &str = "hoodie.record.merge.mode";

/// The mode of a table.
pub(super) fn mode(version: TableVersion, properties: &Properties) -> Result<MergeMode> {
    if version.layout() == TimelineLayout::V1 {
        return Ok(before_version_8(properties));
    }
    match properties.first_of(&[MODE]) {
        Some(stored) => stored_mode(version, stored, properties),
        None => inferred(version, properties),
    }
}

fn before_version_8(properties: &Properties) -> MergeMode {
    match (payload_class(properties), properties.first_of(&[STRATEGY, OLD_STRATEGY])) {
        (Some(class), _) => by_payload(class),
        (None, Some(id)) if id != EVENT_TIME => by_strategy(id),
        (None, _) => MergeMode::CommitTime,
    }
}

fn stored_mode(version: TableVersion, stored: &str, properties: &Properties) -> Result<MergeMode> {
    let mode = match stored {
        "COMMIT_TIME_ORDERING" => MergeMode::CommitTime,
        "EVENT_TIME_ORDERING" => MergeMode::EventTime,
        "CUSTOM" => return custom(properties),
        other => return Err(Error::unsupported(format!("{MODE} {other:?}"))),
    };
    // An upgrade to version 9 can leave the strategy behind; at version 8 Hudi writes and checks it.
    match properties.first_of(&[STRATEGY]) {
        Some(id) if version.number() == 8 && by_strategy(id) != mode => Err(Error::invalid_table(format!(
            "{MODE} is {stored}, but {STRATEGY} is {id}, which is another mode's; set one of them right with Hudi's CLI"
        ))),
        _ => Ok(mode),
    }
}

fn custom(properties: &Properties) -> Result<MergeMode> {
    let strategy = properties.first_of(&[STRATEGY, OLD_STRATEGY]).filter(|id| *id != PAYLOAD_BASED);
    match (strategy, payload_class(properties)) {
        // The default constants stay behind in upgraded tables; they are no custom merger's.
        (Some(COMMIT_TIME | EVENT_TIME) | None, Some(class)) => Ok(MergeMode::Custom(CustomMerge::Payload(class))),
        (Some(id), _) => Ok(MergeMode::Custom(CustomMerge::Merger(id.to_owned()))),
        (None, None) => Err(Error::invalid_table(format!(
            "{MODE} is CUSTOM, but neither hoodie.compaction.payload.class nor a {STRATEGY} of a merger is stored"
        ))),
    }
}

fn inferred(version: TableVersion, properties: &Properties) -> Result<MergeMode> {
    let legacy = properties.first_of(&["hoodie.table.legacy.payload.class"]).filter(|_| version.number() >= 9);
    let payload = payload_class(properties).or(legacy.map(str::to_owned));
    match (properties.first_of(&[STRATEGY, OLD_STRATEGY]), payload) {
        (Some(PAYLOAD_BASED), Some(class)) => Ok(by_payload(class)),
        (Some(PAYLOAD_BASED), None) => {
            Err(Error::invalid_table(format!("{STRATEGY} says that a payload class merges, but none is stored")))
        }
        (Some(id), payload) => {
            let (mode, by_class) = (by_strategy(id), payload.clone().map(by_payload));
            match (&mode, by_class) {
                (MergeMode::Custom(_), _) | (_, None | Some(MergeMode::Custom(_))) => Ok(mode),
                (_, Some(other)) if other == mode => Ok(mode),
                _ => Err(Error::invalid_table(format!(
                    "no {MODE} is stored, and the payload class {} contradicts the strategy {id}",
                    payload.unwrap_or_default()
                ))),
            }
        }
        (None, Some(class)) => Ok(by_payload(class)),
        (None, None) if ordering_fields(properties).is_empty() => Ok(MergeMode::CommitTime),
        (None, None) => Ok(MergeMode::EventTime),
    }
}

fn by_payload(class: String) -> MergeMode {
    let mode = PayloadClass::parse(&class).and_then(PayloadClass::mode);
    mode.unwrap_or(MergeMode::Custom(CustomMerge::Payload(class)))
}

fn by_strategy(id: &str) -> MergeMode {
    match id {
        COMMIT_TIME => MergeMode::CommitTime,
        EVENT_TIME => MergeMode::EventTime,
        other => MergeMode::Custom(CustomMerge::Merger(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    const LATEST: &str = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload";
    const DEFAULT: &str = "org.apache.hudi.common.model.DefaultHoodieRecordPayload";
    const OWN: &str = "com.acme.Payload";
    const OWN_MERGER: &str = "11111111-2222-3333-4444-555555555555";

    fn infer(version: &str, entries: &[(&str, &str)]) -> Result<MergeMode> {
        let entries = entries.iter().map(|(key, value)| match *key {
            "payload" => ("hoodie.compaction.payload.class", *value),
            "legacy" => ("hoodie.table.legacy.payload.class", *value),
            "mode" => (MODE, *value),
            "strategy" => (STRATEGY, *value),
            "old strategy" => (OLD_STRATEGY, *value),
            "ordering" => ("hoodie.table.ordering.fields", *value),
            other => (other, *value),
        });
        let properties: Properties = entries.chain([("hoodie.table.version", version)]).collect();
        mode(TableVersion::from_properties(&properties)?, &properties)
    }

    fn payload(class: &str) -> MergeMode {
        MergeMode::Custom(CustomMerge::Payload(class.to_owned()))
    }

    fn merger(id: &str) -> MergeMode {
        MergeMode::Custom(CustomMerge::Merger(id.to_owned()))
    }

    #[test]
    fn up_to_version_7_the_payload_class_decides() {
        for (entries, expected) in [
            (vec![], MergeMode::CommitTime),
            (vec![("ordering", "ts")], MergeMode::CommitTime),
            (vec![("payload", LATEST), ("old strategy", EVENT_TIME)], MergeMode::CommitTime),
            (vec![("payload", DEFAULT)], MergeMode::EventTime),
            (vec![("payload", DEFAULT), ("strategy", COMMIT_TIME)], MergeMode::EventTime),
            (vec![("payload", OWN), ("old strategy", EVENT_TIME)], payload(OWN)),
            (vec![("old strategy", EVENT_TIME)], MergeMode::CommitTime),
            (vec![("old strategy", OWN_MERGER)], merger(OWN_MERGER)),
        ] {
            assert_eq!(infer("6", &entries).unwrap(), expected, "{entries:?}");
            assert_eq!(infer("2", &entries).unwrap(), expected, "{entries:?}");
        }
    }

    #[test]
    fn version_8_stores_the_mode_or_infers_it() {
        for (entries, expected) in [
            (vec![("mode", "EVENT_TIME_ORDERING"), ("payload", LATEST)], MergeMode::EventTime),
            (vec![("mode", "COMMIT_TIME_ORDERING"), ("old strategy", EVENT_TIME)], MergeMode::CommitTime),
            (vec![("mode", "CUSTOM"), ("payload", OWN), ("strategy", PAYLOAD_BASED)], payload(OWN)),
            (vec![("mode", "CUSTOM"), ("payload", OWN), ("strategy", OWN_MERGER)], merger(OWN_MERGER)),
            (vec![("ordering", "ts")], MergeMode::EventTime),
            (vec![], MergeMode::CommitTime),
            (vec![("strategy", COMMIT_TIME), ("payload", OWN)], MergeMode::CommitTime),
            (vec![("strategy", OWN_MERGER), ("payload", LATEST)], merger(OWN_MERGER)),
            (vec![("payload", LATEST), ("ordering", "ts")], MergeMode::CommitTime),
            (vec![("payload", OWN)], payload(OWN)),
        ] {
            assert_eq!(infer("8", &entries).unwrap(), expected, "{entries:?}");
        }
    }

    #[test]
    fn version_9_goes_by_the_mode_alone() {
        let upgraded = [("mode", "COMMIT_TIME_ORDERING"), ("strategy", EVENT_TIME), ("legacy", DEFAULT)];
        assert_eq!(infer("9", &upgraded).unwrap(), MergeMode::CommitTime);
        assert_eq!(infer("9", &[("legacy", LATEST), ("ordering", "ts")]).unwrap(), MergeMode::CommitTime);
        assert_eq!(infer("9", &[("mode", "CUSTOM"), ("strategy", OWN_MERGER)]).unwrap(), merger(OWN_MERGER));
    }

    #[test]
    fn contradictions_are_errors() {
        for (version, entries, kind) in [
            ("8", vec![("mode", "EVENT_TIME_ORDERING"), ("strategy", COMMIT_TIME)], ErrorKind::InvalidTable),
            ("8", vec![("payload", LATEST), ("strategy", EVENT_TIME)], ErrorKind::InvalidTable),
            ("9", vec![("mode", "CUSTOM")], ErrorKind::InvalidTable),
            ("8", vec![("strategy", PAYLOAD_BASED)], ErrorKind::InvalidTable),
            ("9", vec![("mode", "OVERWRITE_WITH_LATEST")], ErrorKind::Unsupported),
        ] {
            assert_eq!(infer(version, &entries).unwrap_err().kind(), kind, "{entries:?}");
        }
    }
}
