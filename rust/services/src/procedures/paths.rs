//! Folders and files by patterns of their paths, in which `*` and `?` stand for characters of a name.

use regex::Regex;

use mortice_base::error::{Error, Result};
use mortice_storage::{FileStatus, FolderEntry, Storage};

/// A file or a folder below the root of a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundPath {
    pub(super) path: String,
    /// `None` for a folder.
    pub(super) file: Option<FileStatus>,
}

/// Whether a name has characters of a pattern.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Whether a path matches a pattern of as many parts.
pub(super) fn matches_pattern(pattern: &str, path: &str) -> Result<bool> {
    Ok(expression(pattern)?.is_match(path))
}

/// Returns the files and folders whose path from the root matches a pattern, sorted by path.
pub(super) fn find_paths(storage: &dyn Storage, pattern: &str) -> Result<Vec<FoundPath>> {
    let mut found = vec![FoundPath { path: String::new(), file: None }];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let (names, mut below) = (expression(part)?, Vec::new());
        for folder in found.iter().filter(|one| one.file.is_none()) {
            below.extend(children(storage, &folder.path)?.into_iter().filter(|one| names.is_match(name_of(&one.path))));
        }
        found = below;
    }
    Ok(found)
}

/// Returns what is in a folder, without the checksums that Hadoop's local file system keeps and does not list.
pub(super) fn children(storage: &dyn Storage, folder: &str) -> Result<Vec<FoundPath>> {
    let path = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    let entries = storage.list(folder)?.unwrap_or_default().into_iter();
    let found = entries.map(|entry| match entry {
        FolderEntry::File(file) => FoundPath { path: path(&file.name), file: Some(file) },
        FolderEntry::Folder(name) => FoundPath { path: path(&name), file: None },
    });
    Ok(found.filter(|one| !is_checksum(name_of(&one.path))).collect())
}

fn is_checksum(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".crc")
}

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn expression(pattern: &str) -> Result<Regex> {
    let text = regex::escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]");
    Regex::new(&format!("^{text}$"))
        .map_err(|error| Error::invalid_argument(format!("invalid pattern {pattern:?}")).caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_names() {
        let matches = |pattern: &str, path: &str| matches_pattern(pattern, path).unwrap();
        assert!(matches("*", "city=oslo") && matches("city=?slo", "city=oslo") && matches("*/*", "a/b"));
        assert!(!matches("*", "a/b") && !matches("a.c", "abc") && !matches("city", "city=oslo"));
    }
}
