//! Names of the files of an archived timeline of layout 1: `.commits_.archive.<version>[_<writeToken>]`
//! (`HoodieArchivedTimeline`). They are log files by their content, but belong to no file group and no instant.

use super::log_file_name::{is_number, is_token};

/// The parsed name of an archive file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFileName {
    /// The file name.
    pub name: String,
    /// The number of the file, from 1.
    pub version: i64,
}

impl ArchiveFileName {
    /// Parses a file name. Returns `None` if it is not the name of an archive file.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (head, tail) = name.strip_prefix('.')?.rsplit_once(".archive.")?;
        let (version, write_token) =
            tail.split_once('_').map_or((tail, None), |(version, token)| (version, Some(token)));
        let (file_id, _) = head.rsplit_once('_')?;
        if file_id.is_empty() || !is_number(version) || write_token.is_some_and(|token| !is_token(token)) {
            return None;
        }
        Some(Self { name: name.to_owned(), version: version.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_files_are_distinguished_from_others() {
        assert_eq!(ArchiveFileName::parse(".commits_.archive.7_1-0-1").unwrap().version, 7);
        assert_eq!(ArchiveFileName::parse(".commits_.archive.12").unwrap().version, 12);
        for other in [
            ".f_1.log.1_1-0-1",
            ".commits_.archive.x_1-0-1",
            ".commits_.archive.1_1-0-1.crc",
            "commits_.archive.1",
            "._1.archive.1",
        ] {
            assert_eq!(ArchiveFileName::parse(other), None, "{other}");
        }
    }
}
