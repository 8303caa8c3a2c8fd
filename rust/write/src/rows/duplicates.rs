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

use mortice_base::error::{Error, Result};
use mortice_merge::config::{WriteOption, WriteOptions, option_names};
use mortice_table::timeline::WriteOperation;

const POLICY: WriteOption<option_names::Word> = option_names::DATASOURCE_INSERT_DUP_POLICY;
const DROP: WriteOption<option_names::Boolean> = option_names::DATASOURCE_WRITE_INSERT_DROP_DUPLICATES;
/// Keys that an error names.
const NAMED: usize = 5;

/// What happens to rows whose keys are in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// They are written.
    Keep,
    /// They are left out.
    Drop,
    /// The write fails.
    Fail,
}

impl DuplicatePolicy {
    /// The policy of an operation.
    ///
    /// # Errors
    /// `InvalidArgument` for values that are not known; `Unsupported` for `bulk_insert`, which looks for no keys.
    pub fn of_write(operation: WriteOperation, options: &WriteOptions) -> Result<Self> {
        let policy = Self::from_options(options)?;
        match operation {
            WriteOperation::Insert => Ok(policy),
            WriteOperation::BulkInsert if policy != Self::Keep => Err(Error::unsupported(format!(
                "options {POLICY} and {DROP} with bulk_insert, which does not look for keys; use insert"
            ))),
            _ => Ok(Self::Keep),
        }
    }

    fn from_options(options: &WriteOptions) -> Result<Self> {
        match options.word(POLICY)?.to_ascii_lowercase().as_str() {
            "fail" => Ok(Self::Fail),
            "drop" => Ok(Self::Drop),
            "none" if options.boolean(DROP)? => Ok(Self::Drop),
            "none" => Ok(Self::Keep),
            other => Err(Error::invalid_argument(format!("option {POLICY} must be none, drop or fail, got {other:?}"))),
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
                "{} rows have keys that are in the table ({POLICY}=fail), the first of them {}; nothing was written",
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
///
/// # Errors
/// As for [`DuplicatePolicy::of_write`].
pub fn effective_operation(
    operation: WriteOperation,
    options: &WriteOptions,
) -> Result<(WriteOperation, Option<String>)> {
    if operation != WriteOperation::Upsert || DuplicatePolicy::from_options(options)? == DuplicatePolicy::Keep {
        return Ok((operation, None));
    }
    let sentence = format!("the upsert is an insert, as in Hudi: options {POLICY} and {DROP} are of inserts");
    Ok((WriteOperation::Insert, Some(sentence)))
}

/// Whether rows of one insert with the same key become one, if `hoodie.combine.before.insert` does not say.
pub(crate) fn combines_by_default(options: &WriteOptions) -> Result<bool> {
    options.boolean(DROP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    #[test]
    fn policies_by_option_and_operation() {
        use DuplicatePolicy::{Drop as Dropped, Fail, Keep};
        for (given, policy) in [
            (&[][..], Keep),
            (&[(POLICY.name(), "none")], Keep),
            (&[(POLICY.name(), "DROP")], Dropped),
            (&[(POLICY.name(), "fail")], Fail),
            (&[(DROP.name(), "true")], Dropped),
            (&[(DROP.name(), "true"), (POLICY.name(), "none")], Dropped),
            (&[(DROP.name(), "true"), (POLICY.name(), "fail")], Fail),
        ] {
            let options = WriteOptions::resolve(given.iter().copied()).unwrap();
            assert_eq!(DuplicatePolicy::of_write(WriteOperation::Insert, &options).unwrap(), policy, "{given:?}");
            let (operation, sentence) = effective_operation(WriteOperation::Upsert, &options).unwrap();
            let expected = if policy == Keep { WriteOperation::Upsert } else { WriteOperation::Insert };
            assert_eq!((operation, sentence.is_some()), (expected, policy != Keep));
            assert_eq!(DuplicatePolicy::of_write(WriteOperation::BulkInsert, &options).is_ok(), policy == Keep);
            assert_eq!(DuplicatePolicy::of_write(WriteOperation::InsertOverwrite, &options).unwrap(), Keep);
        }
        assert!(WriteOptions::resolve([(POLICY.name(), "ignore")]).is_err());
    }

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
