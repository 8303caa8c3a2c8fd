//! Descriptors of files that are read. A process may have a thousand at once, on some systems 256, and a file slice may
//! have more log files than that: beyond a number of them, a file is opened again for each read.

use std::fs::{File, Metadata};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::OFlags;

use mortice_base::error::{Error, ErrorKind, Result};

/// How many descriptors are kept.
const MOST: usize = 128;

static KEPT: AtomicUsize = AtomicUsize::new(0);

/// An open file, or what it takes to open it again.
pub(super) struct Descriptor {
    kept: Option<File>,
    path: PathBuf,
    /// Device and inode: another file that has the path by now is not read in its place.
    identity: (u64, u64),
}

impl Descriptor {
    /// Keeps an open file, if few are kept.
    pub(super) fn new(path: &Path, file: File, status: &Metadata) -> Self {
        let one_more = |kept: usize| (kept < MOST).then_some(kept.saturating_add(1));
        let is_kept = KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        Self { kept: is_kept.then_some(file), path: path.to_owned(), identity: identity(status) }
    }

    /// Reads from the file.
    ///
    /// # Errors
    /// Those of opening it again; `FileChanged` if its path is that of another file by now; those of `read`.
    pub(super) fn with<T>(&self, read: impl FnOnce(&File) -> Result<T>) -> Result<T> {
        if let Some(file) = &self.kept {
            return read(file);
        }
        let (file, status) = open_regular(&self.path)?;
        if identity(&status) != self.identity {
            let message = "the file was replaced by another one while it was read";
            return Err(Error::new(ErrorKind::FileChanged, message).in_file(self.path.to_string_lossy()));
        }
        read(&file)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if self.kept.is_some() {
            KEPT.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn identity(status: &Metadata) -> (u64, u64) {
    (status.dev(), status.ino())
}

/// Opens a regular file. A named pipe would block for ever, and a device has no end.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata)> {
    let name = path.to_string_lossy();
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let opened = match File::options().read(true).custom_flags(flags).open(path) {
        // Another process has a lease of the file, for which the call waits if it may block.
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && path.is_file() => File::open(path),
        opened => opened,
    };
    let file = opened.map_err(|error| unopened(&name, error))?;
    let status = file.metadata().map_err(|error| unopened(&name, error))?;
    match status.file_type() {
        found if found.is_dir() => Err(Error::not_found("expected a file, found a directory").in_file(name)),
        found if found.is_file() => Ok((file, status)),
        _ => Err(Error::invalid_table("not a regular file").in_file(name)),
    }
}

/// Returns true if there is no such file; also below a file, where there is none.
pub(super) fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn unopened(path: &str, error: std::io::Error) -> Error {
    if is_absent(&error) {
        return Error::not_found("no such file").in_file(path);
    }
    Error::io("could not open the file", error).in_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalStorage;

    #[test]
    fn files_beyond_the_kept_ones_are_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: usize| folder.path().join(number.to_string());
        let open = |number: usize| {
            std::fs::write(path(number), number.to_string().repeat(3)).unwrap();
            LocalStorage::open_file(&path(number), false).unwrap()
        };
        let files: Vec<_> = (0..3 * MOST).map(open).collect();
        let descriptors = std::fs::read_dir("/dev/fd").unwrap().filter_map(|entry| {
            std::fs::read_link(entry.unwrap().path()).ok().filter(|target| target.starts_with(folder.path()))
        });
        assert!(descriptors.count() <= MOST);
        for (number, file) in files.iter().enumerate() {
            let text = number.to_string();
            assert_eq!(file.read(text.len() as u64..2 * text.len() as u64).unwrap(), text);
        }
        let last = files.last().unwrap();
        std::fs::rename(path(0), path(3 * MOST - 1)).unwrap();
        assert_eq!(last.read(0..1).unwrap_err().kind(), ErrorKind::FileChanged);
        std::fs::remove_file(path(3 * MOST - 1)).unwrap();
        assert_eq!(last.read(0..1).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
