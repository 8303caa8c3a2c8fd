//! Values that a partition path cannot have: Hadoop has no folder for them, or a reader would find another value.

use super::partition_path::values;
use mortice_base::error::{Error, Result};

/// The longest name of a folder, in bytes, of local file systems and HDFS
/// (`dfs.namenode.fs-limits.max-component-length`).
const LONGEST: usize = 255;

/// What readers make of the paths of a table.
#[derive(Debug, Clone)]
pub(super) struct PathCheck {
    /// The partition columns.
    pub(super) columns: Vec<String>,
    /// Whether values are encoded. Readers decode them in any case.
    pub(super) encodes: bool,
}

impl PathCheck {
    /// Checks the path of a row. `found` are its values as the strings that the path has: `None` for a value that
    /// the path has in another form, `Some(None)` for null.
    pub(super) fn check(&self, path: &str, found: &[Option<Option<&str>>], row: u64) -> Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        if let Some(reason) = path.split('/').find_map(reason_of_segment) {
            let at = (0..self.columns.len()).find(|at| {
                let text = found.get(*at).copied().flatten().flatten().unwrap_or_default();
                text.is_empty() || text.split('/').any(|segment| reason_of_segment(segment).is_some())
            });
            return Err(self.refused(at.unwrap_or(0), found, (path, row), &reason));
        }
        let read = values(&self.columns, path, true);
        for (at, value) in found.iter().enumerate() {
            let Some(value) = value else { continue };
            let reason = match read.as_ref().and_then(|read| read.get(at)) {
                None => "readers could not say which part of it is the value of which column".to_owned(),
                Some(read) if read.as_deref() == *value => continue,
                Some(Some(other)) => format!("readers would find {other:?} in it"),
                Some(None) => "readers would find null in it; write null".to_owned(),
            };
            return Err(self.refused(at, found, (path, row), &reason));
        }
        Ok(())
    }

    fn refused(&self, at: usize, found: &[Option<Option<&str>>], (path, row): (&str, u64), reason: &str) -> Error {
        let column = self.columns.get(at).map(String::as_str).unwrap_or_default();
        let value = found.get(at).copied().flatten().map(|value| match value {
            Some(text) => format!("the value {text:?}"),
            None => "the value null".to_owned(),
        });
        let remedy = if self.encodes {
            "change the value"
        } else {
            "change the value, or write to a table that is created with hoodie.datasource.write.partitionpath.urlencode=true"
        };
        Error::invalid_argument(format!(
            "row {row}, partition column {column:?}: {} cannot be in the partition path {path:?}: {reason}; {remedy}",
            value.unwrap_or_else(|| "the value".to_owned())
        ))
    }
}

/// Why a folder cannot have a name.
fn reason_of_segment(segment: &str) -> Option<String> {
    match segment {
        "" => Some("the name of a folder is empty".to_owned()),
        "." | ".." | ".hoodie" => Some(format!("{segment:?} is no folder of a partition")),
        _ if segment.contains(':') => Some("Hadoop, and so Hudi, reads no folder whose name has ':'".to_owned()),
        _ if segment.contains('\0') => Some("no file system has a character of code 0 in names".to_owned()),
        _ if segment.len() > LONGEST => {
            Some(format!("the name of a folder has {} bytes, and may have {LONGEST}", segment.len()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(columns: &[&str], path: &str, found: &[Option<&str>]) -> std::result::Result<(), String> {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        let found: Vec<Option<Option<&str>>> = found.iter().map(|value| Some(*value)).collect();
        PathCheck { columns, encodes: false }.check(path, &found, 7).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_that_say_their_values_are_accepted() {
        assert_eq!(checked(&["a"], "x", &[Some("x")]), Ok(()));
        assert_eq!(checked(&["a"], "a=x", &[Some("x")]), Ok(()));
        assert_eq!(checked(&["a"], "2024/01", &[Some("2024/01")]), Ok(()));
        assert_eq!(checked(&["a", "b"], "a=x/y/b=z", &[Some("x/y"), Some("z")]), Ok(()));
        assert_eq!(checked(&["a"], "__HIVE_DEFAULT_PARTITION__", &[None]), Ok(()));
        assert_eq!(checked(&["a"], &"x".repeat(255), &[Some(&"x".repeat(255))]), Ok(()));
    }

    #[test]
    fn others_are_refused_by_value_and_row() {
        for (columns, path, found, message) in [
            (&["a"][..], "10:30", &[Some("10:30")][..], r#"row 7, partition column "a": the value "10:30""#),
            (&["a", "b"], "x/10:30", &[Some("x"), Some("10:30")], r#"column "b""#),
            (&["a"], "x\0", &[Some("x\0")], "code 0"),
            (&["a"], "..", &[Some("..")], "no folder"),
            (&["a"], "x//y", &[Some("x//y")], "empty"),
            (&["a"], "__HIVE_DEFAULT_PARTITION__", &[Some("")], "find null"),
            (&["a"], "__HIVE_DEFAULT_PARTITION__", &[Some("__HIVE_DEFAULT_PARTITION__")], "find null"),
            (&["a"], "a=x", &[Some("a=x")], r#"find "x""#),
            (&["a"], "%41", &[Some("%41")], r#"find "A""#),
            (&["a", "b"], "x/y/z", &[Some("x/y"), Some("z")], "which column"),
            (&["a", "b"], "a=1/b=2/b=3", &[Some("1/b=2"), Some("3")], r#"find "1""#),
        ] {
            let error = checked(columns, path, found).unwrap_err();
            assert!(error.contains(message) && error.contains("urlencode=true"), "{error}");
        }
        let long = "é".repeat(200);
        assert!(checked(&["a"], &long, &[Some(&long)]).unwrap_err().contains("400 bytes"));
    }
}
