//! Properties that tables up to version 5 do not store (`OneToTwoUpgradeHandler` to `ThreeToFourUpgradeHandler` of Hudi
//! 0.15). As there, options of the upgrade say what they are, by the names that writers give them.

use std::collections::BTreeMap;

use super::property_set::PropertyChanges;
use mortice_base::error::{Error, Result};
use mortice_merge::config::Properties;

const RECORD_KEY: &str = "hoodie.table.recordkey.fields";
const PARTITION: &str = "hoodie.table.partition.fields";
const BASE_FORMAT: &str = "hoodie.table.base.file.format";
const URL_ENCODE: &str = "hoodie.datasource.write.partitionpath.urlencode";
const HIVE_STYLE: &str = "hoodie.datasource.write.hive_style_partitioning";
const KEY_GENERATOR_CLASS: &str = "hoodie.table.keygenerator.class";
/// Names of properties of older releases, by which a table may store them.
const OLDER_BASE_FORMAT: &str = "hoodie.table.ro.file.format";
const VERSION: &str = "hoodie.table.version";

/// What options say of a table's properties, by the properties' names.
pub(super) type GivenProperties = BTreeMap<&'static str, String>;

/// The version that properties name; 0 for those that name none.
pub(super) fn version_of(properties: &Properties) -> u8 {
    properties.first_of(&[VERSION]).and_then(|version| version.trim().parse().ok()).unwrap_or(0)
}

/// What the steps from 0 to 6 change. What a table stores of it before is kept.
///
/// # Errors
/// `InvalidArgument`, naming the option, if neither the table nor an option says what the key and partition fields are.
pub(super) fn up_to_6(before: &Properties, given: &GivenProperties, changes: &mut PropertyChanges) -> Result<()> {
    let version = version_of(before);
    let known =
        |name: &'static str| given.get(name).map(String::as_str).or_else(|| before.get(name)).map(str::to_owned);
    if version < 2 {
        let needed = |property, option| {
            known(property).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "a table of version {version} does not store its {option}: give it as an option of the upgrade (an empty one for a table \
                     without partitions)"
                ))
            })
        };
        // Tables of that age have keys: none were generated before 0.14.
        changes.set(RECORD_KEY, &needed(RECORD_KEY, "hoodie.datasource.write.recordkey.field")?);
        changes.set(PARTITION, &needed(PARTITION, "hoodie.datasource.write.partitionpath.field")?);
        let format = before.first_of(&[BASE_FORMAT, OLDER_BASE_FORMAT]).unwrap_or("PARQUET");
        changes.set(BASE_FORMAT, format);
    }
    if version < 3 {
        changes.set(URL_ENCODE, &known(URL_ENCODE).unwrap_or_else(|| "false".to_owned()));
        changes.set(HIVE_STYLE, &known(HIVE_STYLE).unwrap_or_else(|| "false".to_owned()));
        let class = known(KEY_GENERATOR_CLASS);
        let inferred = || inferred_class(&known(RECORD_KEY).unwrap_or_default(), &known(PARTITION).unwrap_or_default());
        changes.set(KEY_GENERATOR_CLASS, &class.unwrap_or_else(|| inferred().to_owned()));
    }
    Ok(())
}

/// The class that Hudi infers from fields (`KeyGenUtils.inferKeyGeneratorType`).
fn inferred_class(record_key: &str, partition: &str) -> &'static str {
    let count = |fields: &str| fields.split(',').filter(|field| !field.trim().is_empty()).count();
    match (count(record_key), count(partition)) {
        (_, 0) => "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        (1, 1) => "org.apache.hudi.keygen.SimpleKeyGenerator",
        _ => "org.apache.hudi.keygen.ComplexKeyGenerator",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;
    use mortice_merge::config::PropertiesFile;

    fn after(stored: &[(&str, &str)], given: &[(&'static str, &str)]) -> Result<Properties> {
        let mut file: PropertiesFile = stored.iter().copied().collect();
        let given = given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let mut changes = PropertyChanges::default();
        up_to_6(&file.properties(), &given, &mut changes)?;
        changes.apply(&mut file);
        Ok(file.properties())
    }

    #[test]
    fn what_is_stored_is_kept_and_what_is_given_counts() {
        let stored = [(VERSION, "1"), (RECORD_KEY, "id"), (OLDER_BASE_FORMAT, "ORC")];
        let found = after(&stored, &[(PARTITION, "a,b"), (HIVE_STYLE, "true")]).unwrap();
        for (name, value) in [
            (RECORD_KEY, "id"),
            (PARTITION, "a,b"),
            (BASE_FORMAT, "ORC"),
            (URL_ENCODE, "false"),
            (HIVE_STYLE, "true"),
            (KEY_GENERATOR_CLASS, "org.apache.hudi.keygen.ComplexKeyGenerator"),
        ] {
            assert_eq!(found.get(name), Some(value), "{name}");
        }
    }

    #[test]
    fn a_table_of_version_3_or_later_stores_all_of_it() {
        for version in ["3", "4", "5"] {
            let stored = [(VERSION, version), (RECORD_KEY, "id"), (PARTITION, "p")];
            assert_eq!(after(&stored, &[]).unwrap().iter().count(), stored.len());
        }
    }

    #[test]
    fn key_and_partition_fields_are_asked_for() {
        for (given, word) in [(&[][..], "recordkey.field"), (&[(RECORD_KEY, "id")], "partitionpath.field")] {
            let error = after(&[], given).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(word), "{error}");
        }
        let found = after(&[], &[(RECORD_KEY, "id"), (PARTITION, "")]).unwrap();
        assert_eq!(found.get(KEY_GENERATOR_CLASS), Some("org.apache.hudi.keygen.NonpartitionedKeyGenerator"));
    }
}
