//! Key generators: how record keys and partition paths were made of columns (`KeyGeneratorType`, `BaseKeyGenerator`).
//!
//! | | record key | partition path |
//! |---|---|---|
//! | simple, complex | the fields' values as text | likewise |
//! | non-partitioned, global delete | likewise | none |
//! | timestamp-based, custom | likewise | values may be formatted anew |
//! | of a user, of Spark SQL, unknown | anything | anything |

use super::TableConfig;

/// Hudi's own key generators, by what can be told of columns from what they made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyGenerator {
    Plain,
    NonPartitioned,
    Formatting,
    Unknown,
}

impl KeyGenerator {
    /// By type, or by class with its package: a class of the same name elsewhere is another.
    fn of(name: &str) -> Self {
        let own = |class: &str| class.rsplit('.').next().unwrap_or_default().replace("Avro", "");
        let kind = match name.strip_prefix("org.apache.hudi.").or_else(|| name.strip_prefix("com.uber.hoodie.")) {
            Some(class) => own(class),
            None => name.trim_end_matches("_AVRO").to_owned(),
        };
        match kind.as_str() {
            "SIMPLE" | "COMPLEX" | "SimpleKeyGenerator" | "ComplexKeyGenerator" => Self::Plain,
            "NON_PARTITION" | "GLOBAL_DELETE" | "NonpartitionedKeyGenerator" | "GlobalDeleteKeyGenerator" => {
                Self::NonPartitioned
            }
            "TIMESTAMP" | "CUSTOM" | "TimestampBasedKeyGenerator" | "CustomKeyGenerator" => Self::Formatting,
            _ => Self::Unknown,
        }
    }
}

impl TableConfig {
    fn generator(&self) -> KeyGenerator {
        self.key_generator.as_deref().map_or(KeyGenerator::Unknown, KeyGenerator::of)
    }

    /// The one column that stored record keys are made of: as text, its value and the key tell each other. None where there are
    /// several, where keys are not stored, and where it is not known.
    #[must_use]
    pub fn key_field(&self) -> Option<&str> {
        match self.record_key_fields.as_slice() {
            [only] if self.populate_meta_fields && self.generator() != KeyGenerator::Unknown => Some(only),
            _ => None,
        }
    }

    /// Whether partition paths are made of the values of the partition columns as they are.
    #[must_use]
    pub fn has_plain_partition_paths(&self) -> bool {
        let declared = self.properties.get("hoodie.table.partition.fields").unwrap_or_default();
        self.generator() == KeyGenerator::Plain && !self.slash_separated_dates && !declared.contains(':')
    }
}

#[cfg(test)]
mod tests {
    use super::super::Properties;
    use super::*;

    fn of(lines: &str) -> TableConfig {
        let text = format!("hoodie.table.name=t\nhoodie.table.version=6\n{lines}\n");
        TableConfig::from_properties(Properties::parse(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn what_generators_say_of_columns() {
        for (generator, is_known, is_plain) in [
            ("type=SIMPLE", true, true),
            ("type=COMPLEX_AVRO", true, true),
            ("class=org.apache.hudi.keygen.ComplexAvroKeyGenerator", true, true),
            ("class=com.uber.hoodie.SimpleKeyGenerator", true, true),
            ("type=NON_PARTITION", true, false),
            ("class=org.apache.hudi.keygen.GlobalAvroDeleteKeyGenerator", true, false),
            ("type=TIMESTAMP", true, false),
            ("class=org.apache.hudi.keygen.CustomKeyGenerator", true, false),
            ("class=org.acme.SimpleKeyGenerator", false, false),
            ("type=SPARK_SQL", false, false),
            ("type=USER_PROVIDED", false, false),
        ] {
            let config = of(&format!("hoodie.table.keygenerator.{generator}\nhoodie.table.recordkey.fields=id"));
            assert_eq!((config.key_field().is_some(), config.has_plain_partition_paths()), (is_known, is_plain));
        }
        assert!(!of("hoodie.table.recordkey.fields=id").has_plain_partition_paths());
    }

    #[test]
    fn where_the_generator_alone_does_not_tell() {
        let simple = "hoodie.table.keygenerator.type=SIMPLE\nhoodie.table.recordkey.fields=id\n";
        let with = |line: &str| of(&format!("{simple}{line}"));
        assert_eq!(with("").key_field(), Some("id"));
        assert_eq!(with("hoodie.populate.meta.fields=false").key_field(), None);
        assert_eq!(of("hoodie.table.keygenerator.type=COMPLEX\nhoodie.table.recordkey.fields=a,b").key_field(), None);
        assert!(!with("hoodie.table.partition.fields=day:TIMESTAMP").has_plain_partition_paths());
        assert!(!with("hoodie.datasource.write.slash.separated.date.partitioning=true").has_plain_partition_paths());
    }
}
