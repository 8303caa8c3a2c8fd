//! Values of Hudi's options.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A number.
pub(super) fn number<T: FromStr>(options: &BTreeMap<String, String>, name: &str, default: T) -> Result<T> {
    let Some(text) = options.get(name) else { return Ok(default) };
    text.trim().parse().map_err(|_| Error::invalid_argument(format!("option {name} must be a number, got {text:?}")))
}

/// A number of at least 1.
pub(super) fn positive(options: &BTreeMap<String, String>, name: &str, default: usize) -> Result<usize> {
    match number(options, name, default)? {
        0 => Err(Error::invalid_argument(format!("option {name} must be at least 1, got 0"))),
        number => Ok(number),
    }
}

/// A boolean.
pub(super) fn boolean(options: &BTreeMap<String, String>, name: &str, default: bool) -> Result<bool> {
    match options.get(name).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(Error::invalid_argument(format!("option {name} must be true or false, got {other:?}"))),
    }
}
