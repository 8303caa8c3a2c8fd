//! Which meta columns files have (`hoodie.meta.fields.mode` of Hudi 1.3, `MetaFieldsMode`).

use super::Properties;
use mortice_base::error::{Error, Result};

const MODE: &str = "hoodie.meta.fields.mode";
/// Modes by which files have the columns, and nulls in some of them.
const SELECTIVE: [&str; 3] = ["COMMIT_TIME_ONLY", "FILE_NAME_ONLY", "COMMIT_TIME_AND_FILE_NAME"];

/// Whether files have meta columns. The mode decides, before `populated`, which `hoodie.populate.meta.fields` says.
///
/// # Errors
/// `InvalidTable` for a value that the properties do not have.
pub(super) fn populate_meta_fields(properties: &Properties, populated: bool) -> Result<bool> {
    match properties.first_of(&[MODE]).map(|mode| mode.trim().to_ascii_uppercase()).as_deref() {
        None => Ok(populated),
        Some("NONE") => Ok(false),
        Some("ALL") => Ok(true),
        Some(mode) if SELECTIVE.contains(&mode) => Ok(true),
        Some(mode) => {
            Err(Error::invalid_table(format!("{MODE} must be ALL, NONE or {}, got {mode:?}", SELECTIVE.join(", "))))
        }
    }
}

/// Refuses tables in whose files some meta columns are null: what finds rows by their keys would find none.
///
/// # Errors
/// `Unsupported`, by name.
pub(super) fn check_meta_fields(properties: &Properties) -> Result<()> {
    let mode = properties.first_of(&[MODE]).map(|mode| mode.trim().to_ascii_uppercase());
    match mode.filter(|mode| SELECTIVE.contains(&mode.as_str())) {
        None => Ok(()),
        Some(mode) => Err(Error::unsupported(format!(
            "a table whose files have some of the meta columns ({MODE}={mode}; supported: ALL, NONE): read and write it with Hudi 1.3"
        ))),
    }
}
