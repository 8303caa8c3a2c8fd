//! Reads values of write options, which have Hudi's names. Defaults and limits are those of the table of values
//! (`write_options/values.tsv`), and are written nowhere else.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::write_options::{check_value, default_of};
use mortice_base::error::{Error, Result};

/// The value of a number, or its default.
///
/// # Errors
/// `InvalidArgument`, naming the option, for what is no number or not within its limits; an internal error for an
/// option without a default.
pub fn number<T: FromStr>(options: &BTreeMap<String, String>, name: &str) -> Result<T> {
    let text = match options.get(name) {
        Some(text) => {
            check_value(name, text)?;
            text.as_str()
        }
        None => default_of(name)?,
    };
    text.trim().parse().map_err(|_| Error::invalid_argument(format!("option {name} must be a number, got {text:?}")))
}

/// The value of a boolean, or its default.
///
/// # Errors
/// As for [`given_boolean`]; an internal error for an option without a default.
pub fn boolean(options: &BTreeMap<String, String>, name: &str) -> Result<bool> {
    match given_boolean(options, name)? {
        Some(value) => Ok(value),
        None => Ok(default_of(name)? == "true"),
    }
}

/// The value of a boolean; none if the option is not given, for options whose default depends on the table or the
/// operation.
///
/// # Errors
/// `InvalidArgument`, naming the option, for other words.
pub fn given_boolean(options: &BTreeMap<String, String>, name: &str) -> Result<Option<bool>> {
    match options.get(name).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(other) => Err(Error::invalid_argument(format!("option {name} must be true or false, got {other:?}"))),
    }
}

/// The word that an option has, or its default.
///
/// # Errors
/// An internal error for an option without a default.
pub fn word<'o>(options: &'o BTreeMap<String, String>, name: &str) -> Result<&'o str> {
    options.get(name).map_or_else(|| default_of(name), |text| Ok(text.trim()))
}

/// The text of an option, or none if it is not given or empty.
#[must_use]
pub fn text<'o>(options: &'o BTreeMap<String, String>, name: &str) -> Option<&'o str> {
    options.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> BTreeMap<String, String> {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn options_that_are_not_given_have_the_defaults_of_the_table_of_values() {
        let none = options(&[]);
        assert_eq!(number::<u64>(&none, "hoodie.parquet.max.file.size").unwrap(), 120 << 20);
        assert!(boolean(&none, "hoodie.clean.automatic").unwrap());
        assert_eq!(word(&none, "hoodie.index.type").unwrap(), "SIMPLE");
        assert_eq!(given_boolean(&none, "hoodie.metadata.enable").unwrap(), None);
        assert_eq!(text(&options(&[("hoodie.write.lock.provider", " ")]), "hoodie.write.lock.provider"), None);
    }

    #[test]
    fn limits_are_those_of_the_table_of_values() {
        let name = "hoodie.parquet.max.file.size";
        for value in ["0", "-1", "1 MB", "9223372036854775808"] {
            let error = number::<u64>(&options(&[(name, value)]), name).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        assert_eq!(number::<u64>(&options(&[(name, " 7 ")]), name).unwrap(), 7);
    }

    #[test]
    fn a_default_that_depends_on_the_table_is_no_value() {
        let error = boolean(&options(&[]), "hoodie.metadata.enable").unwrap_err();
        assert_eq!(error.kind(), mortice_base::ErrorKind::Internal);
    }
}
