//! Names of files that other tools have written and registered in a table without copying them: XTable, UniForm
//! (`ExternalFilePathUtil`). The metadata table and commits have these names; in storage the files keep their own.
//!
//! | name | file, from the folder of its partition | file group |
//! |---|---|---|
//! | `NAME_INSTANT_hudiext` | `NAME` | `NAME` |
//! | `NAME_INSTANT_fg%3DPREFIX_hudiext` | `PREFIX/NAME`; the prefix is encoded as a partition path is | `PREFIX/NAME` |
//!
//! A name may have folders in front, which are the prefix again.

use super::instants::RequestedTime;
use super::percent_codes::decode_percent_codes;

const SUFFIX: &str = "_hudiext";
const PREFIX: &str = "_fg%3D";

/// The parsed name of a registered file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RegisteredFileName<'a> {
    /// The name without folders.
    pub(super) name: &'a str,
    pub(super) file_id: String,
    pub(super) instant: RequestedTime,
    /// The file, from the folder of its partition.
    pub(super) path: String,
}

/// Returns true for the name of a file that another tool has registered, also if it cannot be parsed.
#[must_use]
pub fn is_registered(name: &str) -> bool {
    name.ends_with(SUFFIX)
}

impl<'a> RegisteredFileName<'a> {
    /// Parses a name. Returns `None` if it is another one, if it has no instant, or if its file is outside the
    /// partition.
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
        let body = name.strip_suffix(SUFFIX)?;
        let (head, prefix) = match body.split_once(PREFIX) {
            Some((head, prefix)) => (head, Some(decode_percent_codes(prefix))),
            None => (body, None),
        };
        let (own, instant) = head.rsplit_once('_')?;
        let instant = RequestedTime::parse(instant)?;
        let joined = |folder: &str| if folder.is_empty() { own.to_owned() } else { format!("{folder}/{own}") };
        let file_id = joined(prefix.as_deref().unwrap_or_default());
        let path = match &prefix {
            Some(prefix) if folder.is_empty() => joined(prefix),
            Some(prefix) => {
                let is_prefix =
                    folder.strip_suffix(prefix.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
                is_prefix.then(|| joined(folder))?
            }
            None => joined(folder),
        };
        let is_inside = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        path.split('/').all(is_inside).then_some(Self { name, file_id, instant, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Option<String> {
        RegisteredFileName::parse(name).map(|name| name.path)
    }

    #[test]
    fn names_without_a_prefix() {
        let name = RegisteredFileName::parse("part-0_a.snappy.parquet_20261126110723360_hudiext").unwrap();
        assert_eq!((name.path.as_str(), name.file_id.as_str()), ("part-0_a.snappy.parquet", "part-0_a.snappy.parquet"));
        assert_eq!(name.instant.as_str(), "20261126110723360");
        assert_eq!(path("sub/a.parquet_20261126110723360_hudiext").unwrap(), "sub/a.parquet");
    }

    #[test]
    fn names_with_a_prefix() {
        for name in ["a.parquet_2026_fg%3Db%2Fc 1%3Dx_hudiext", "b/c 1=x/a.parquet_2026_fg%3Db%2Fc 1%3Dx_hudiext"] {
            let parsed = RegisteredFileName::parse(name).unwrap();
            assert_eq!((parsed.path.as_str(), parsed.file_id.as_str()), ("b/c 1=x/a.parquet", "b/c 1=x/a.parquet"));
            assert_eq!(parsed.name, "a.parquet_2026_fg%3Db%2Fc 1%3Dx_hudiext");
        }
        assert_eq!(path("other/a.parquet_2026_fg%3Db_hudiext"), None);
        assert_eq!(path("a.parquet_2026_fg%3D100%_hudiext").unwrap(), "100%/a.parquet");
    }

    #[test]
    fn no_name_leads_outside_the_partition() {
        for name in [
            "a.parquet_2026_fg%3D..%2F.._hudiext",
            "../a.parquet_2026_hudiext",
            "a.parquet_2026_fg%3D%2Fetc_hudiext",
            "._2026_hudiext",
            ".._2026_hudiext",
            "_2026_hudiext",
            "a.parquet_2026_fg%3Db%00_hudiext",
            "a.parquet_x_hudiext",
            "a.parquet_hudiext",
            "_hudiext",
        ] {
            assert_eq!(path(name), None, "{name}");
            assert!(is_registered(name));
        }
    }
}
