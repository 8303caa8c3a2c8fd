//! What steps do to a table's properties. As in Hudi, each step looks at the properties from before the first one; what
//! one of them removes is not there in the end, even if another one has added it (`UpgradeDowngrade.run`).

use std::collections::BTreeSet;

use super::first_properties::{self, GivenProperties};
use super::property_set::{ORDERING, PRECOMBINE, PropertyChanges};
use super::version_path::VersionStep;
use super::{layout_properties, merge_properties};
use mortice_base::error::{Error, Result};
use mortice_merge::config::{Properties, PropertiesFile, TableConfig};

const VERSION: &str = "hoodie.table.version";
const LAYOUT: &str = "hoodie.timeline.layout.version";
const META_FIELDS_MODE: &str = "hoodie.meta.fields.mode";
const POPULATE_META_FIELDS: &str = "hoodie.populate.meta.fields";
const STORAGE_LAYOUT: &str = "hoodie.table.storage.layout";

/// A property that is changed: its name, and its values before and after; none where it is not set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedProperty {
    /// The name.
    pub name: String,
    /// The value before.
    pub before: Option<String>,
    /// The value after.
    pub after: Option<String>,
}

/// Changes the properties of a table by steps to `version`.
///
/// # Errors
/// `Unsupported` for properties that a version does not have, by name; as for [`first_properties::up_to_6`].
pub(super) fn change_properties(
    file: &mut PropertiesFile,
    steps: &[VersionStep],
    version: u8,
    given: &GivenProperties,
) -> Result<()> {
    if steps.contains(&VersionStep::UpTo6) {
        // Releases of Hudi that know these versions end at 6, so that later steps look at its properties.
        let mut changes = PropertyChanges::default();
        first_properties::up_to_6(&file.properties(), given, &mut changes)?;
        changes.apply(file);
        file.set(VERSION, "6");
        file.update_checksum()?;
    }
    let before = file.properties();
    let mut changes = PropertyChanges::default();
    for step in steps {
        of_step(*step, &before, &mut changes)?;
    }
    changes.apply(file);
    file.set(VERSION, &version.to_string());
    file.set(LAYOUT, if version < 8 { "1" } else { "2" });
    // The reader's own rules: contradictions are found before anything is written.
    TableConfig::from_properties(file.properties())?.check_supported()
}

fn of_step(step: VersionStep, before: &Properties, changes: &mut PropertyChanges) -> Result<()> {
    match step {
        VersionStep::UpTo6 | VersionStep::UpTo10 => {}
        VersionStep::UpTo8 => layout_properties::up_to_8(before, changes)?,
        VersionStep::DownTo6 => layout_properties::down_to_6(before, changes)?,
        VersionStep::UpTo9 => merge_properties::up_to_9(before, changes),
        VersionStep::DownTo8 => {
            if before.list(&[ORDERING, PRECOMBINE]).len() > 1 && !merge_properties::is_of_my_sql(before) {
                return Err(Error::unsupported(format!(
                    "several ordering fields ({ORDERING}) below table version 9; leave the table at version 9"
                )));
            }
            merge_properties::down_to_8(before, changes);
        }
        VersionStep::DownTo9 => {
            changes.remove(STORAGE_LAYOUT);
            // The reader's own rules: a mode that is neither is refused when the table is opened.
            if let Some(mode) = before.first_of(&[META_FIELDS_MODE]) {
                changes
                    .set(POPULATE_META_FIELDS, if mode.trim().eq_ignore_ascii_case("NONE") { "false" } else { "true" });
                changes.remove(META_FIELDS_MODE);
            }
        }
    }
    Ok(())
}

/// The properties that differ, by name.
pub(super) fn changed_properties(before: &PropertiesFile, after: &PropertiesFile) -> Vec<ChangedProperty> {
    let (before, after) = (before.properties(), after.properties());
    let names: BTreeSet<&str> = before.iter().chain(after.iter()).map(|(name, _)| name).collect();
    let of_name = |name: &str| {
        let value = |properties: &Properties| properties.get(name).map(str::to_owned);
        ChangedProperty { name: name.to_owned(), before: value(&before), after: value(&after) }
    };
    names.into_iter().map(of_name).filter(|one| one.before != one.after).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::super::property_set::{MERGE_MODE, PAYLOAD, STRATEGY};
    use super::*;

    /// Properties before and after a step by Hudi 1.2.0 (`tests/support/hudi/hudi_upgrades.py`).
    const HUDI: &str = include_str!("../../../../tests/data/upgrades/properties.json");

    #[derive(Deserialize)]
    struct Case {
        case: String,
        from: u8,
        to: u8,
        before: BTreeMap<String, String>,
        after: BTreeMap<String, String>,
    }

    #[test]
    fn properties_are_those_of_hudi() {
        let cases: Vec<Case> = serde_json::from_str(HUDI).unwrap();
        assert!(cases.len() > 25);
        for case in cases {
            let mut file: PropertiesFile = case.before.into_iter().collect();
            let steps = VersionStep::path(case.from, case.to).unwrap();
            change_properties(&mut file, &steps, case.to, &GivenProperties::new()).unwrap();
            let mut after: BTreeMap<String, String> =
                file.properties().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            // Hudi leaves a table of version 6 without a class, which Hudi 0.x merges by commit time.
            if case.to == 6 && !case.after.contains_key(PAYLOAD) {
                assert!(after.remove(PAYLOAD).is_some_and(|class| class.ends_with(".DefaultHoodieRecordPayload")));
            }
            assert_eq!(after, case.after, "{}", case.case);
        }
    }

    fn changed(entries: &[(&str, &str)], from: u8, to: u8) -> Result<Properties> {
        let version = from.to_string();
        let entries = entries.iter().copied().chain([("hoodie.table.name", "t"), (VERSION, version.as_str())]);
        let mut file: PropertiesFile = entries.collect();
        change_properties(&mut file, &VersionStep::path(from, to)?, to, &GivenProperties::new())?;
        Ok(file.properties())
    }

    #[test]
    fn there_and_back_again() {
        let entries = [(PAYLOAD, "org.apache.hudi.common.model.AWSDmsAvroPayload"), (PRECOMBINE, "ts")];
        let up = changed(&entries, 6, 9).unwrap();
        let entries: Vec<(&str, &str)> = up.iter().filter(|(name, _)| *name != VERSION).collect();
        let down = changed(&entries, 9, 6).unwrap();
        assert_eq!(down.get(PAYLOAD), Some("org.apache.hudi.common.model.AWSDmsAvroPayload"));
        assert_eq!((down.get(PRECOMBINE), down.get(ORDERING), down.get(MERGE_MODE)), (Some("ts"), None, None));
    }

    #[test]
    fn a_merge_mode_without_a_payload_class_gets_one_below_8() {
        let of = |mode| changed(&[(MERGE_MODE, mode), (ORDERING, "ts")], 9, 6).unwrap().get(PAYLOAD).map(str::to_owned);
        assert!(of("COMMIT_TIME_ORDERING").unwrap().ends_with(".OverwriteWithLatestAvroPayload"));
        assert!(of("EVENT_TIME_ORDERING").unwrap().ends_with(".DefaultHoodieRecordPayload"));
    }

    #[test]
    fn below_10_a_flag_says_which_meta_columns_there_are() {
        for (mode, flag) in [("NONE", "false"), ("ALL", "true")] {
            let after = changed(&[(META_FIELDS_MODE, mode)], 10, 9).unwrap();
            assert_eq!((after.get(POPULATE_META_FIELDS), after.get(META_FIELDS_MODE)), (Some(flag), None));
        }
    }

    #[test]
    fn what_a_version_does_not_have_is_refused() {
        let merger = [(MERGE_MODE, "CUSTOM"), (STRATEGY, "11111111-2222-3333-4444-555555555555")];
        for (entries, word) in
            [(merger.as_slice(), MERGE_MODE), (&[(MERGE_MODE, "EVENT_TIME_ORDERING"), (ORDERING, "a,b")], ORDERING)]
        {
            let error = changed(entries, 9, 6).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::Unsupported);
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
