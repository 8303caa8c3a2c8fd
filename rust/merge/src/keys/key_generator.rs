//! Key generators (`KeyGeneratorType`, `BaseKeyGenerator`), and how record keys are derived from columns: the key of
//! one column is its value as a string, the key of several is `column:value` pairs. Nothing is known about the keys of
//! custom generators, of Spark SQL's, and of unknown names.

use crate::config::TableConfig;

/// Hudi's key generators, by what is known about the keys and paths that they generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyGenerator {
    Plain,
    NonPartitioned,
    Timestamp,
    Custom,
    Unknown,
}

impl KeyGenerator {
    /// Returns the generator of a type or of a class with its package. A class of the same name in another package is a
    /// custom one.
    fn from_name(name: &str) -> Self {
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
            "TIMESTAMP" | "TimestampBasedKeyGenerator" => Self::Timestamp,
            "CUSTOM" | "CustomKeyGenerator" => Self::Custom,
            _ => Self::Unknown,
        }
    }
}

impl TableConfig {
    /// Returns the key generator that the properties name.
    pub fn generator(&self) -> KeyGenerator {
        self.key_generator.as_deref().map_or(KeyGenerator::Unknown, KeyGenerator::from_name)
    }

    /// Returns the partition columns that Hudi reads as strings, independently of their type: those of the
    /// timestamp-based key generator, whose paths have formatted times
    /// (`SparkHoodieTableFileIndex.getPartitionSchema`). Columns of a custom generator keep their types.
    #[must_use]
    pub fn text_partition_fields(&self) -> &[String] {
        match self.generator() {
            KeyGenerator::Timestamp => &self.partition_fields,
            _ => &[],
        }
    }

    /// Returns the only column that stored record keys are made of: its value as a string is the key. Returns `None` if
    /// there are several, if keys are not stored, and if it is not known.
    #[must_use]
    pub fn key_field(&self) -> Option<&str> {
        match self.record_key_fields.as_slice() {
            [only] if self.populate_meta_fields && self.generator() != KeyGenerator::Unknown => Some(only),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Properties;

    fn table_config(lines: &str) -> TableConfig {
        let text = format!("hoodie.table.name=t\nhoodie.table.version=6\n{lines}\n");
        TableConfig::from_properties(Properties::parse(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn what_generators_say_of_columns() {
        for (generator, is_known) in [
            ("type=SIMPLE", true),
            ("type=COMPLEX_AVRO", true),
            ("class=org.apache.hudi.keygen.ComplexAvroKeyGenerator", true),
            ("class=com.uber.hoodie.SimpleKeyGenerator", true),
            ("type=NON_PARTITION", true),
            ("class=org.apache.hudi.keygen.GlobalAvroDeleteKeyGenerator", true),
            ("type=TIMESTAMP", true),
            ("class=org.apache.hudi.keygen.CustomKeyGenerator", true),
            ("class=org.acme.SimpleKeyGenerator", false),
            ("type=SPARK_SQL", false),
            ("type=USER_PROVIDED", false),
        ] {
            let config =
                table_config(&format!("hoodie.table.keygenerator.{generator}\nhoodie.table.recordkey.fields=id"));
            assert_eq!(config.key_field().is_some(), is_known);
        }
    }

    #[test]
    fn where_the_generator_alone_does_not_tell() {
        let simple = "hoodie.table.keygenerator.type=SIMPLE\nhoodie.table.recordkey.fields=id\n";
        let with = |line: &str| table_config(&format!("{simple}{line}"));
        assert_eq!(with("").key_field(), Some("id"));
        assert_eq!(with("hoodie.populate.meta.fields=false").key_field(), None);
        assert_eq!(
            table_config("hoodie.table.keygenerator.type=COMPLEX\nhoodie.table.recordkey.fields=a,b").key_field(),
            None
        );
    }
}
