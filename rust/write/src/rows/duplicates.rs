//! Inserted rows whose keys are in the table (`hoodie.datasource.insert.dup.policy`,
//! `hoodie.datasource.write.insert.drop.duplicates`).
//!
//! | options | what happens to such a row |
//! |---|---|
//! | none | it is written, and the key is there twice |
//! | `…dup.policy=drop`, or `…drop.duplicates=true` | it is left out |
//! | `…dup.policy=fail` | the write fails |
//!
//! As in Hudi, `upsert` with such an option is `insert`, and only `…drop.duplicates` makes one row of those of a key in
//! the same write.

use serde::{Deserialize, Serialize};

use mortice_base::error::{Error, Result};
use mortice_merge::config::option_names::{DATASOURCE_INSERT_DUP_POLICY, DATASOURCE_WRITE_INSERT_DROP_DUPLICATES};
use mortice_table::timeline::WriteOperation;

/// Keys that an error names.
const NAMED: usize = 5;

/// What happens to rows whose keys are in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DuplicatePolicy {
    /// They are written.
    Keep,
    /// They are left out.
    Drop,
    /// The write fails.
    Fail,
}

impl DuplicatePolicy {
    /// The policy of an operation, if inserts have this one.
    ///
    /// # Errors
    /// `InvalidArgument` for values that are not known; `Unsupported` for `bulk_insert`, which looks for no keys.
    pub fn of_write(operation: WriteOperation, policy: Self) -> Result<Self> {
        match operation {
            WriteOperation::Insert => Ok(policy),
            WriteOperation::BulkInsert if policy != Self::Keep => Err(Error::unsupported(format!(
                "options {DATASOURCE_INSERT_DUP_POLICY} and {DATASOURCE_WRITE_INSERT_DROP_DUPLICATES} with bulk_insert, \
                 which does not look for keys; use insert"
            ))),
            _ => Ok(Self::Keep),
        }
    }

    /// The policy of a name in options.
    pub(super) fn parse(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "fail" => Ok(Self::Fail),
            "drop" => Ok(Self::Drop),
            "none" => Ok(Self::Keep),
            other => Err(Error::invalid_argument(format!(
                "option {DATASOURCE_INSERT_DUP_POLICY} must be none, drop or fail, got {other:?}"
            ))),
        }
    }

    /// The rows that are written, by number. `present` says which rows' keys are in the table.
    ///
    /// # Errors
    /// `InvalidArgument`, naming keys, if there are such rows and the write is to fail.
    pub fn kept<'k>(self, present: &[bool], key: impl Fn(usize) -> &'k str) -> Result<Vec<u32>> {
        let duplicates = || present.iter().enumerate().filter(|(_, is_present)| **is_present).map(|(row, _)| row);
        if self == Self::Fail
            && let Some(first) = duplicates().next()
        {
            let named: Vec<String> = std::iter::once(first)
                .chain(duplicates().skip(1))
                .take(NAMED)
                .map(|row| format!("{:?}", key(row)))
                .collect();
            return Err(Error::invalid_argument(format!(
                "{} rows have keys that are in the table ({DATASOURCE_INSERT_DUP_POLICY}=fail), the first of them {}; nothing was written",
                duplicates().count(),
                named.join(", ")
            )));
        }
        let rows = (0_u32..).zip(present).filter(|(_, is_present)| self == Self::Keep || !**is_present);
        Ok(rows.map(|(row, _)| row).collect())
    }
}

/// The operation that a write is with these options, and a sentence if it is another one
/// (`HoodieSparkSqlWriter.deduceOperation`).
#[must_use]
pub fn effective_operation(operation: WriteOperation, policy: DuplicatePolicy) -> (WriteOperation, Option<String>) {
    if operation != WriteOperation::Upsert || policy == DuplicatePolicy::Keep {
        return (operation, None);
    }
    let sentence = format!(
        "the upsert is an insert, as in Hudi: options {DATASOURCE_INSERT_DUP_POLICY} and {DATASOURCE_WRITE_INSERT_DROP_DUPLICATES} are of inserts"
    );
    (WriteOperation::Insert, Some(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    #[test]
    fn duplicates_are_kept_dropped_or_named() {
        let present = [true, false, true];
        let keys = ["a", "b", "c"];
        let kept = |policy: DuplicatePolicy| policy.kept(&present, |row| keys[row]);
        assert_eq!(kept(DuplicatePolicy::Keep).unwrap(), [0, 1, 2]);
        assert_eq!(kept(DuplicatePolicy::Drop).unwrap(), [1]);
        let error = kept(DuplicatePolicy::Fail).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(r#"2 rows have keys that are in the table"#), "{error}");
        assert!(error.to_string().contains(r#""a", "c""#), "{error}");
        assert_eq!(DuplicatePolicy::Fail.kept(&[false; 2], |row| keys[row]).unwrap(), [0, 1]);
    }
}
