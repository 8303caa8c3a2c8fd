//! Values of write options, which have Hudi's names.

use std::collections::BTreeMap;
use std::str::FromStr;

use mortice_base::error::{Error, Result};

/// The value of a number, or `default` if the option is not set. [`mortice_base::ErrorKind::InvalidArgument`] for
/// anything else.
pub fn number<T: FromStr>(options: &BTreeMap<String, String>, name: &str, default: T) -> Result<T> {
    let Some(text) = options.get(name) else { return Ok(default) };
    text.trim().parse().map_err(|_| Error::invalid_argument(format!("option {name} must be a number, got {text:?}")))
}

/// The value of a number of at least 1.
pub fn positive<T: FromStr + Default + PartialEq>(
    options: &BTreeMap<String, String>,
    name: &str,
    default: T,
) -> Result<T> {
    let number = number(options, name, default)?;
    if number == T::default() {
        return Err(Error::invalid_argument(format!("option {name} must be at least 1, got 0")));
    }
    Ok(number)
}

/// The value of a boolean.
pub fn boolean(options: &BTreeMap<String, String>, name: &str, default: bool) -> Result<bool> {
    match options.get(name).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(Error::invalid_argument(format!("option {name} must be true or false, got {other:?}"))),
    }
}
