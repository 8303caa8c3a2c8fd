//! Options of a write or a service, resolved: each has a value of its kind, read once from the text that a user gave.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::decisions::decision_for;
use super::option_names::{Boolean, Integer, IsText, Number, OptionalBoolean, Word, WriteOption};
use super::option_value::OptionValue;
use super::values::{default_of, is_own_option, resolve_value};
use mortice_base::error::{Error, Result};

/// Options by their newest names. They are resolved before there is an instant, so that no reader of an option gets a
/// value that it cannot have.
/// Their defaults and limits are those of the table of values (`values.tsv`), and are written nowhere else.
///
/// The serialised form is a map of values; what is no option, or not a value of it, is refused when it is read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, OptionValue>", into = "BTreeMap<String, OptionValue>")]
pub struct WriteOptions {
    values: BTreeMap<String, OptionValue>,
}

impl WriteOptions {
    /// Resolves options without comparing them with a table. Older names are replaced by the newest; what is no option
    /// is left out.
    ///
    /// # Errors
    /// As for [`super::ParsedOptions::new`], but for what contradicts a table.
    pub fn resolve<N: AsRef<str>, V: AsRef<str>>(given: impl IntoIterator<Item = (N, V)>) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in given {
            if let Some(name) = newest_name(name.as_ref())? {
                options.add(name, value.as_ref())?;
            }
        }
        Ok(options)
    }

    /// Adds an option by its newest name.
    pub(super) fn add(&mut self, name: &str, value: &str) -> Result<()> {
        let value = resolve_value(name, value)?;
        match self.values.get(name) {
            Some(other) if *other != value => {
                let message = format!("option {name} is given under two names with two values");
                Err(Error::invalid_argument(message))
            }
            _ => {
                self.values.insert(name.to_owned(), value);
                Ok(())
            }
        }
    }

    /// Sets a boolean; returns the one that it replaces.
    pub fn set(&mut self, option: WriteOption<OptionalBoolean>, value: bool) -> Option<bool> {
        match self.values.insert(option.name().to_owned(), OptionValue::Boolean(value)) {
            Some(OptionValue::Boolean(before)) => Some(before),
            _ => None,
        }
    }

    /// Whether an option is given.
    #[must_use]
    pub fn is_given<K>(&self, option: WriteOption<K>) -> bool {
        self.values.contains_key(option.name())
    }

    /// Whether an option is given, and is neither `false` nor `none`.
    #[must_use]
    pub fn is_set<K>(&self, option: WriteOption<K>) -> bool {
        match self.values.get(option.name()) {
            None | Some(OptionValue::Boolean(false)) => false,
            Some(OptionValue::Text(text)) => text != "none",
            Some(_) => true,
        }
    }

    /// A whole number, or its default.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for a number that the caller's type cannot hold.
    pub fn integer<T: TryFrom<i64>>(&self, option: WriteOption<Integer>) -> Result<T> {
        match self.value(option.name())?.as_ref() {
            OptionValue::Integer(number) => T::try_from(*number)
                .map_err(|_| Error::invalid_argument(format!("option {option} must be a number, got \"{number}\""))),
            other => Err(wrong_kind(option.name(), other)),
        }
    }

    /// A number, or its default.
    ///
    /// # Errors
    /// An internal error if the table of values is not well formed.
    pub fn number(&self, option: WriteOption<Number>) -> Result<f64> {
        match self.value(option.name())?.as_ref() {
            OptionValue::Number(number) => Ok(*number),
            other => Err(wrong_kind(option.name(), other)),
        }
    }

    /// A boolean, or its default.
    ///
    /// # Errors
    /// An internal error if the table of values is not well formed.
    pub fn boolean(&self, option: WriteOption<Boolean>) -> Result<bool> {
        match self.value(option.name())?.as_ref() {
            OptionValue::Boolean(value) => Ok(*value),
            other => Err(wrong_kind(option.name(), other)),
        }
    }

    /// A boolean; none if the option is not given, for options whose default depends on the table or the operation.
    ///
    /// # Errors
    /// An internal error for a value of another kind.
    pub fn given_boolean(&self, option: WriteOption<OptionalBoolean>) -> Result<Option<bool>> {
        match self.values.get(option.name()) {
            None => Ok(None),
            Some(OptionValue::Boolean(value)) => Ok(Some(*value)),
            Some(other) => Err(wrong_kind(option.name(), other)),
        }
    }

    /// The word that an option has, or its default.
    ///
    /// # Errors
    /// An internal error if the table of values is not well formed.
    pub fn word(&self, option: WriteOption<Word>) -> Result<&str> {
        match self.values.get(option.name()) {
            None => default_of(option.name()),
            Some(OptionValue::Text(text)) => Ok(text.trim()),
            Some(other) => Err(wrong_kind(option.name(), other)),
        }
    }

    /// The text of an option, or none if it is not given or empty.
    #[must_use]
    pub fn text<K: IsText>(&self, option: WriteOption<K>) -> Option<&str> {
        self.given_text(option).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The text of an option as it was given.
    #[must_use]
    pub fn given_text<K: IsText>(&self, option: WriteOption<K>) -> Option<&str> {
        match self.values.get(option.name()) {
            Some(OptionValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The given options whose names begin like this, with their text: those that are named as properties of the table,
    /// such as the many of a key generator (`hoodie.keygen.timebased.*`), have no line in the table of values.
    pub fn properties(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let named = self.values.iter().filter(move |(name, _)| name.starts_with(prefix));
        named.filter_map(|(name, value)| match value {
            OptionValue::Text(text) => Some((name.as_str(), text.as_str())),
            _ => None,
        })
    }

    fn value(&self, name: &str) -> Result<Cow<'_, OptionValue>> {
        match self.values.get(name) {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => resolve_value(name, default_of(name)?).map(Cow::Owned),
        }
    }
}

/// The newest name of an option; none for what is no option.
fn newest_name(name: &str) -> Result<Option<&str>> {
    Ok(match decision_for(name)? {
        Some(option) => Some(option.name),
        None => is_own_option(name)?.then_some(name),
    })
}

#[cold]
fn wrong_kind(name: &str, value: &OptionValue) -> Error {
    Error::internal(format!("option {name} is read as another kind than that of {value}"))
}

impl TryFrom<BTreeMap<String, OptionValue>> for WriteOptions {
    type Error = Error;

    fn try_from(values: BTreeMap<String, OptionValue>) -> Result<Self> {
        for (name, value) in &values {
            if newest_name(name)? != Some(name) || resolve_value(name, &value.to_string())? != *value {
                return Err(Error::invalid_argument(format!("{value} is no value of an option {name}")));
            }
        }
        Ok(Self { values })
    }
}

impl From<WriteOptions> for BTreeMap<String, OptionValue> {
    fn from(options: WriteOptions) -> Self {
        options.values
    }
}

#[cfg(test)]
mod tests {
    use super::super::option_names;
    use super::*;

    const MAX_FILE: &str = option_names::PARQUET_MAX_FILE_SIZE.name();

    #[test]
    fn options_that_are_not_given_have_the_defaults_of_the_table_of_values() {
        let none = WriteOptions::default();
        assert_eq!(none.integer::<u64>(option_names::PARQUET_MAX_FILE_SIZE).unwrap(), 120 << 20);
        assert!((none.number(option_names::INDEX_BLOOM_FPP).unwrap() - 1e-9).abs() < 1e-12);
        assert!(none.boolean(option_names::CLEAN_AUTOMATIC).unwrap());
        assert_eq!(none.word(option_names::INDEX_TYPE).unwrap(), "SIMPLE");
        assert_eq!(none.given_boolean(option_names::METADATA_ENABLE).unwrap(), None);
        let empty = WriteOptions::resolve([("hoodie.write.lock.provider", " ")]).unwrap();
        assert_eq!(empty.text(option_names::WRITE_LOCK_PROVIDER), None);
        assert!(empty.is_given(option_names::WRITE_LOCK_PROVIDER));
    }

    #[test]
    fn values_are_read_once_and_refused_by_name() {
        let options = WriteOptions::resolve([
            (MAX_FILE, " 7 "),
            ("hoodie.metadata.enable", " TRUE "),
            ("hoodie.parquet.small.file.limit", "-1"),
            ("hoodie.datasource.clustering.inline.enable", "true"),
            ("hoodie.index.bloom.fpp", "0.5"),
            ("no.option.of.hudi", "x"),
        ])
        .unwrap();
        assert_eq!(options.integer::<u64>(option_names::PARQUET_MAX_FILE_SIZE).unwrap(), 7);
        assert_eq!(options.given_boolean(option_names::METADATA_ENABLE).unwrap(), Some(true));
        assert!(options.boolean(option_names::CLUSTERING_INLINE).unwrap(), "by its older name");
        assert_eq!(options.properties("no.option").next(), None);
        for value in ["0", "-1", "1 MB", "9223372036854775808"] {
            let error = WriteOptions::resolve([(MAX_FILE, value)]).unwrap_err().to_string();
            assert!(error.contains(MAX_FILE), "{error}");
        }
        let unsigned = options.integer::<u32>(option_names::PARQUET_SMALL_FILE_LIMIT).unwrap_err();
        assert_eq!(unsigned.kind(), mortice_base::ErrorKind::InvalidArgument);
    }

    #[test]
    fn what_is_sent_between_processes_has_the_kinds_of_its_options() {
        let given = [(MAX_FILE, "7"), ("hoodie.clean.automatic", "false"), ("hoodie.index.bloom.fpp", "1e-3")];
        let options = WriteOptions::resolve(given.into_iter().chain([("hoodie.index.type", "BLOOM")])).unwrap();
        let sent = serde_json::to_string(&options).unwrap();
        assert!(sent.contains("\"hoodie.parquet.max.file.size\":7}"), "{sent}");
        assert_eq!(serde_json::from_str::<WriteOptions>(&sent).unwrap(), options);
        for forged in [
            "{\"hoodie.parquet.max.file.size\":0}",
            "{\"hoodie.parquet.max.file.size\":\"7\"}",
            "{\"hoodie.clean.automatic\":1}",
            "{\"hoodie.datasource.clustering.inline.enable\":true}",
            "{\"no.option.of.hudi\":\"x\"}",
            "{\"hoodie.index.bloom.fpp\":2.5}",
        ] {
            assert!(serde_json::from_str::<WriteOptions>(forged).is_err(), "{forged}");
        }
    }
}
