//! Base file names: `<fileId>_<writeToken>_<instant>.<ext>` (`FSUtils.makeBaseFileName`), and those of files that other
//! tools have registered (`registered_file_name`).

use super::instants::RequestedTime;
use super::registered_file_name::RegisteredFileName;
use crate::error::{Error, Result};

/// The parsed name of a base file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BaseFileName {
    /// The file name.
    pub name: String,
    /// The id of the file group.
    pub file_id: String,
    /// `task-stage-attempt`; empty for a registered file.
    pub write_token: String,
    /// The requested time of the instant that wrote the file.
    pub instant: RequestedTime,
    /// The format's extension without the dot: `parquet`, `orc`, `hfile`, `lance`.
    pub extension: String,
    /// The path of a registered file, from the folder of its partition.
    registered_path: Option<String>,
}

impl BaseFileName {
    /// Parses a file name. Returns `None` if it is not the name of a base file.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(registered) = RegisteredFileName::parse(name) {
            return Some(registered.into());
        }
        let (stem, extension) = name.rsplit_once('.')?;
        let mut parts = stem.split('_');
        let (file_id, write_token, instant) = (parts.next()?, parts.next()?, parts.next()?);
        let is_alphanumeric =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let instant = RequestedTime::parse(instant)?;
        let is_supported = ["parquet", "orc", "hfile", "lance"].contains(&extension);
        if parts.next().is_some() || !is_alphanumeric(file_id) || !is_alphanumeric(write_token) || !is_supported {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            file_id: file_id.to_owned(),
            write_token: write_token.to_owned(),
            instant,
            extension: extension.to_owned(),
            registered_path: None,
        })
    }

    /// The path of the file, from the folder of its partition. It is the name, unless another tool has registered the
    /// file.
    #[must_use]
    pub fn path_in_partition(&self) -> &str {
        self.registered_path.as_deref().unwrap_or(&self.name)
    }

    /// Returns true if another tool has written the file, and registered it.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        self.registered_path.is_some()
    }

    /// Builds the name of a new base file.
    ///
    /// # Errors
    /// `InvalidArgument` if [`Self::parse`] would not return the same parts.
    pub fn compose(file_id: &str, write_token: &str, instant: &RequestedTime, extension: &str) -> Result<Self> {
        let name = format!("{file_id}_{write_token}_{instant}.{extension}");
        let is_same = |parsed: &Self| parsed.file_id == file_id && parsed.write_token == write_token;
        Self::parse(&name).filter(is_same).ok_or_else(|| {
            Error::invalid_argument(format!(
                "base file name {name:?}: the file id and the write token must consist of letters, digits and '-'"
            ))
        })
    }
}

impl From<RegisteredFileName<'_>> for BaseFileName {
    fn from(registered: RegisteredFileName<'_>) -> Self {
        let RegisteredFileName { name, file_id, instant, path } = registered;
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension).to_owned();
        let (name, write_token) = (name.to_owned(), String::new());
        Self { name, file_id, write_token, instant, extension, registered_path: Some(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_names_are_parsed() {
        let name = BaseFileName::compose("9a4a-0", "0-17-15", &"20261121022051219".into(), "parquet").unwrap();
        assert_eq!(name.name, "9a4a-0_0-17-15_20261121022051219.parquet");
        for (file_id, token) in [("a_b", "0-1-2"), ("", "0-1-2"), ("a", "0_1"), ("a/b", "0-1-2")] {
            assert!(BaseFileName::compose(file_id, token, &"1".into(), "parquet").is_err());
        }
    }

    #[test]
    fn a_registered_file_is_where_it_was() {
        let name = BaseFileName::parse("part-0.orc_20261126110723360_fg%3Db_hudiext").unwrap();
        assert_eq!((name.path_in_partition(), name.file_id.as_str()), ("b/part-0.orc", "b/part-0.orc"));
        assert_eq!((name.extension.as_str(), name.is_registered()), ("orc", true));
        let own = BaseFileName::parse("9a4a-0_0-17-15_20261121022051219.parquet").unwrap();
        assert_eq!((own.path_in_partition(), own.is_registered()), (own.name.as_str(), false));
    }

    #[test]
    fn parses_base_files_only() {
        let name = BaseFileName::parse("9a4a-0_0-17-15_20261121022051219.parquet").unwrap();
        assert_eq!((name.file_id.as_str(), name.instant.as_str()), ("9a4a-0", "20261121022051219"));
        assert_eq!(name.write_token, "0-17-15");
        for other in [
            ".9a4a-0_2026.log.1_0-1-2",
            "a_b.parquet",
            "a_0-1-2_x.parquet",
            "a_0-1-2_2026.parquet.crc",
            ".a_0-1-2_2026.parquet.crc",
            ".hoodie_partition_metadata.parquet",
            "part-0000.parquet",
            "a_0-1-2_2026_9.parquet",
        ] {
            assert_eq!(BaseFileName::parse(other), None, "{other}");
        }
    }
}
