//! Which key generator a writer uses: the table's own, else the one that the options name, else the one that Hudi
//! infers from the fields (`KeyGenUtils.inferKeyGeneratorType`).

use super::key_options::KeyOptions;
use crate::config::TableConfig;
use crate::config::option_names::{KEY_GENERATOR_CLASS, KEY_GENERATOR_TYPE, WRITE_COMPLEX_KEYGEN_NEW_ENCODING};
use mortice_base::error::{Error, Result};

/// Key generators that rows are written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowGenerator {
    Simple,
    Complex,
    NonPartitioned,
    Timestamp,
    Custom,
    GlobalDelete,
}

impl RowGenerator {
    /// Decides for a table. [`mortice_base::ErrorKind::Unsupported`], by name, for generators of the user's own and of
    /// Spark SQL; [`mortice_base::ErrorKind::InvalidArgument`] if the options name another one than the table.
    pub(super) fn choose(config: &TableConfig, options: &KeyOptions) -> Result<Self> {
        let of_class = options.class.as_deref().map(|class| (KEY_GENERATOR_CLASS, class));
        let option = of_class.or(options.kind.as_deref().map(|kind| (KEY_GENERATOR_TYPE, kind)));
        let named = option.map(|(_, value)| Self::from_name(value)).transpose()?;
        let Some(stored) = config.key_generator.as_deref() else {
            return Ok(named.unwrap_or_else(|| Self::infer(config)));
        };
        let of_table = Self::from_name(stored)?;
        match (option, named) {
            (Some((option, value)), Some(named)) if named != of_table => Err(Error::invalid_argument(format!(
                "option {option} is {value:?}, but the key generator of the table is {stored:?}; leave the option out"
            ))),
            _ => Ok(of_table),
        }
    }

    /// By type, or by class with its package.
    fn from_name(name: &str) -> Result<Self> {
        let class = name.strip_prefix("org.apache.hudi.keygen.").or_else(|| name.strip_prefix("com.uber.hoodie."));
        let kind = class.map(|class| class.replace("Avro", ""));
        let kind = kind.as_deref().unwrap_or_else(|| name.strip_suffix("_AVRO").unwrap_or(name));
        match kind {
            "SIMPLE" | "SimpleKeyGenerator" => Ok(Self::Simple),
            "COMPLEX" | "ComplexKeyGenerator" => Ok(Self::Complex),
            "NON_PARTITION" | "NonpartitionedKeyGenerator" => Ok(Self::NonPartitioned),
            "TIMESTAMP" | "TimestampBasedKeyGenerator" => Ok(Self::Timestamp),
            "CUSTOM" | "CustomKeyGenerator" => Ok(Self::Custom),
            "GLOBAL_DELETE" | "GlobalDeleteKeyGenerator" => Ok(Self::GlobalDelete),
            _ => Err(Error::unsupported(format!(
                "key generator {name:?} (supported: SIMPLE, COMPLEX, NON_PARTITION, TIMESTAMP, CUSTOM, GLOBAL_DELETE); write to this table with Hudi"
            ))),
        }
    }

    fn infer(config: &TableConfig) -> Self {
        let is_custom = || partition_kinds(config).first().is_some_and(Option::is_some);
        match (config.partition_fields.len(), config.record_key_fields.len()) {
            (0, _) => Self::NonPartitioned,
            _ if is_custom() => Self::Custom,
            (1, 0 | 1) => Self::Simple,
            _ => Self::Complex,
        }
    }

    /// Whether keys are `field:value`.
    ///
    /// Of one field, complex keys of tables below version 9 have the name or not, as the release that wrote them
    /// (`KeyGenUtils.encodeSingleKeyFieldNameForComplexKeyGen`; HUDI-7001). Like Hudi, refuses them unless the options
    /// decide.
    pub(super) fn names_fields(self, config: &TableConfig, options: &KeyOptions) -> Result<bool> {
        match (self, config.record_key_fields.len()) {
            (Self::GlobalDelete, _) | (_, 2..) => Ok(true),
            (Self::Complex, 1) if config.version.number() >= 9 => Ok(true),
            (Self::Complex, 1) => {
                if options.new_encoding.is_none() && !options.guesses_encoding {
                    let field = config.record_key_fields.first().map(String::as_str).unwrap_or_default();
                    return Err(Error::invalid_argument(format!(
                        "the complex key generator with the single key field {field:?} wrote keys as \"{field}:value\" or as \"value\", depending on the release of Hudi; look at _hoodie_record_key and set the option {WRITE_COMPLEX_KEYGEN_NEW_ENCODING} to false for \"{field}:value\", to true for \"value\""
                    )));
                }
                Ok(!options.new_encoding.unwrap_or(false))
            }
            _ => Ok(false),
        }
    }
}

/// The key field of a table whose stored keys decide how further ones are written: its complex key generator has one
/// field, its version is below 9, and the options say nothing.
///
/// # Errors
/// As for the choice of the key generator.
pub fn undecided_key_field<'c>(config: &'c TableConfig, options: &KeyOptions) -> Result<Option<&'c str>> {
    let [field] = config.record_key_fields.as_slice() else { return Ok(None) };
    let is_open = config.version.number() < 9
        && config.populate_meta_fields
        && options.new_encoding.is_none()
        && !options.guesses_encoding;
    Ok((is_open && RowGenerator::choose(config, options)? == RowGenerator::Complex).then_some(field))
}

/// What is behind the name of each partition field of a custom key generator, in capitals.
pub(super) fn partition_kinds(config: &TableConfig) -> Vec<Option<String>> {
    let declared = config.properties.get("hoodie.table.partition.fields").unwrap_or_default();
    kinds_of(declared).into_iter().map(|(_, kind)| kind).collect()
}

/// The fields of a list `field:kind,…`.
pub(super) fn kinds_of(declared: &str) -> Vec<(String, Option<String>)> {
    let parts = declared.split(',').map(str::trim).filter(|part| !part.is_empty());
    let kind = |part: &str| match part.split_once(':') {
        Some((name, kind)) => (name.trim().to_owned(), Some(kind.trim().to_ascii_uppercase())),
        None => (part.to_owned(), None),
    };
    parts.map(kind).collect()
}
