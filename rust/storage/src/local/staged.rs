//! Temporary files, versions of files, and Hadoop's checksums beside them.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use uuid::Uuid;

use super::anchored::AnchoredName;
use crate::put::FileVersion;
use mortice_base::error::{Error, Result};

/// A temporary file in the folder of its target, removed on drop.
pub(super) struct Staged<'a> {
    target: &'a AnchoredName,
    pub(super) name: String,
    pub(super) file: File,
}

impl<'a> Staged<'a> {
    /// Creates a durable temporary file with contents, whose name has `random`.
    pub(super) fn with(target: &'a AnchoredName, random: Uuid, bytes: &[u8]) -> Result<Self> {
        let (name, file) = new_staged_file(target, random)?;
        let mut staged = Self { target, name, file };
        let written = staged.file.write_all(bytes).and_then(|()| staged.file.sync_all());
        written.map_err(|error| failed("could not write", error, target.path()))?;
        Ok(staged)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // It is not there any more if it was renamed.
        let _ = self.target.remove(&self.name);
    }
}

pub(super) fn new_staged_file(target: &AnchoredName, random: Uuid) -> Result<(String, File)> {
    let name = format!(".{}.{}.tmp", target.name().trim_start_matches('.'), random.simple());
    let could_not = |error| failed("could not create a temporary file", error, target.path());
    let file = target.create_new(&name).map_err(could_not)?;
    Ok((name, file))
}

/// Removes the checksum that Hadoop keeps of a file, if there is one.
pub(super) fn remove_checksum_of(target: &AnchoredName) -> Result<()> {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
    match target.remove(&format!(".{}.crc", target.name())) {
        // A folder is no checksum: macOS does not permit to remove it as a file.
        Err(error) if !matches!(error.kind(), NotFound | NotADirectory | IsADirectory | PermissionDenied) => {
            Err(failed("could not remove the checksum of the file", error, target.path()))
        }
        _ => Ok(()),
    }
}

/// A replaced file has another inode or, if its number is reused, another time.
pub(super) fn version_of(status: &std::fs::Metadata) -> FileVersion {
    let etag = format!("{:x}-{:x}-{:x}.{:x}", status.ino(), status.size(), status.mtime(), status.mtime_nsec());
    FileVersion { etag: Some(etag), version: None }
}

pub(super) fn version_of_file(file: &File, path: &Path) -> Result<FileVersion> {
    file.metadata().map(|status| version_of(&status)).map_err(|error| failed("could not write", error, path))
}

pub(super) fn version_at(path: &Path) -> Result<Option<FileVersion>> {
    match std::fs::metadata(path) {
        Ok(status) => Ok(Some(version_of(&status))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("could not read", error, path)),
    }
}

pub(super) fn failed(what: &str, error: io::Error, path: &Path) -> Error {
    Error::io(what, error).in_file(path.to_string_lossy())
}
