//! What options say of record keys and partition paths, besides the table's properties.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::{WriteOptions, option_names};
use mortice_base::error::Result;

/// Formats of times in partition paths, which options name as the table's properties do.
const TIME_FORMATS: &str = "hoodie.keygen.timebased.";

/// Options of the key generator. Those that contradict the table are refused where keys are made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyOptions {
    /// The class of the key generator.
    pub(super) class: Option<String>,
    /// Its type.
    pub(super) kind: Option<String>,
    /// Whether keys of one field by the complex key generator are `value`, not `field:value`.
    pub(super) new_encoding: Option<bool>,
    /// Whether such keys are `field:value` where nothing says how the table's writers encode them. Otherwise they are
    /// refused.
    pub(super) guesses_encoding: bool,
    /// `hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled`.
    pub(super) consistent: bool,
    /// Partition fields, with their kinds.
    pub(super) partition_fields: Option<String>,
    time_formats: BTreeMap<String, String>,
}

impl KeyOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// Those of [`WriteOptions`].
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        let time_formats = options.properties(TIME_FORMATS).map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Self {
            class: options.text(option_names::KEY_GENERATOR_CLASS).map(str::to_owned),
            kind: options.text(option_names::KEY_GENERATOR_TYPE).map(str::to_owned),
            new_encoding: options.given_boolean(option_names::WRITE_COMPLEX_KEYGEN_NEW_ENCODING)?,
            guesses_encoding: !options.boolean(option_names::WRITE_COMPLEX_KEYGEN_VALIDATION_ENABLE)?,
            consistent: options
                .boolean(option_names::DATASOURCE_WRITE_KEYGENERATOR_CONSISTENT_LOGICAL_TIMESTAMP_ENABLED)?,
            partition_fields: options.given_text(option_names::PARTITION_PATH_FIELD).map(str::to_owned),
            time_formats: time_formats.collect(),
        })
    }

    /// A format of times, by the name of its property.
    pub(super) fn time_format(&self, property: &str) -> Option<&str> {
        self.time_formats.get(property).map(String::as_str)
    }
}
