//! Values of write options, which have Hudi's names.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The value of a boolean, or `default` if the option is not set. [`crate::Kind::InvalidArgument`] for anything else.
pub(crate) fn boolean(options: &BTreeMap<String, String>, name: &str, default: bool) -> Result<bool> {
    match options.get(name).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(Error::invalid_argument(format!("option {name} must be true or false, got {other:?}"))),
    }
}
