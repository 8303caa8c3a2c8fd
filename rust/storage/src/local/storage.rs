//! The local file system: files are read in windows. If the user asks for it, large ones on a local disk are mapped.
//!
//! A mapped file that somebody makes shorter (a copy over it, `rsync --inplace`) ends the process with SIGBUS, where a
//! read is an error. A read that copies costs no more than to map: page faults take as long as the copy (`benches/rust/
//! local_reads.rs`).

use std::fs::{File, Metadata, read_dir};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, pread};

use super::mmap::truncated;
use super::open_files::{Descriptor, is_absent, open_regular};
use crate::source::out_of_range;
use crate::{FileSource, FileStatus, FolderEntry, MappedFile, Storage};
use mortice_base::error::{Error, Result};
use mortice_base::time::{Time, system_time};

/// The number of bytes of one windowed read.
const WINDOW: u64 = 256 * 1024;

/// Files of fewer bytes are not mapped: Hudi writes `hoodie.properties` again in place.
const SMALLEST_MAPPED: u64 = WINDOW;

/// A local file that is read by range, without mapping.
pub struct LocalFile {
    path: String,
    descriptor: Descriptor,
    len: u64,
}

impl LocalFile {
    #[cold]
    fn too_large(&self, bytes: usize) -> Error {
        let message = format!("cannot allocate {bytes} bytes to read a part of the file; give the process more memory");
        Error::new(mortice_base::ErrorKind::MemoryLimit, message).in_file(&self.path)
    }

    /// Reads so many bytes from an offset on.
    fn fill(&self, file: &File, start: u64, wanted: usize, bytes: &mut Vec<u8>) -> Result<()> {
        while bytes.len() < wanted {
            let offset = start.saturating_add(bytes.len() as u64);
            match pread(file, spare_capacity(bytes), offset) {
                Ok(0) => return Err(truncated(&self.path, offset, self.len)),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    return Err(Error::io("could not read", error.into()).in_file(&self.path).at_offset(offset));
                }
            }
        }
        Ok(())
    }
}

impl FileSource for LocalFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn window(&self) -> Option<u64> {
        Some(WINDOW)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let wanted = range.end.checked_sub(range.start).filter(|_| range.end <= self.len);
        let Some(wanted) = wanted.and_then(|wanted| usize::try_from(wanted).ok()) else {
            return Err(out_of_range(self, &range));
        };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(wanted).map_err(|_| self.too_large(wanted))?;
        self.descriptor.with(|file| self.fill(file, range.start, wanted, &mut bytes))?;
        // A vector may have more capacity than was asked for.
        bytes.truncate(wanted);
        Ok(bytes.into())
    }
}

/// A folder of the local file system.
pub struct LocalStorage {
    root: String,
    folder: PathBuf,
    mapped: bool,
    time: Arc<dyn Time>,
}

impl LocalStorage {
    /// Returns the folder at `path`. If `mapped` is true, large files on local disks are mapped.
    #[must_use]
    pub fn new(path: &str, mapped: bool) -> Self {
        Self { root: path.to_owned(), folder: PathBuf::from(path), mapped, time: system_time() }
    }

    /// The same folder in another time than the machine's, which its files have all the same.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn in_time(self, time: Arc<dyn Time>) -> Self {
        Self { time, ..self }
    }

    /// The time of those who use it.
    pub(crate) fn clock(&self) -> &Arc<dyn Time> {
        &self.time
    }

    /// Returns the local path of a path in this storage.
    pub(crate) fn local_path(&self, path: &str) -> Result<PathBuf> {
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            let message = format!("the path {path:?} leads out of the table");
            return Err(Error::invalid_table(message).in_file(&self.root));
        }
        Ok(self.folder.join(path))
    }

    /// The root.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens one file by its path, to read it in windows. With `mapped`, it is mapped if it is large, on a local disk,
    /// and if that is possible.
    pub fn open_file(path: &Path, mapped: bool) -> Result<Arc<dyn FileSource>> {
        let name = path.to_string_lossy();
        let (file, status) = open_regular(path)?;
        let len = status.len();
        if mapped
            && len >= SMALLEST_MAPPED
            && is_on_local_disk(&file)
            && let Ok(mapped) = file.try_clone().and_then(|file| MappedFile::map_shared(file, &name))
        {
            return Ok(Arc::new(mapped));
        }
        let descriptor = Descriptor::new(path, file, &status);
        Ok(Arc::new(LocalFile { path: name.into_owned(), descriptor, len }))
    }
}

impl LocalStorage {
    /// Returns the status of what a link in `folder` stands for.
    fn followed(&self, folder: &str, link: &Path) -> Result<std::io::Result<Metadata>> {
        let status = match std::fs::metadata(link) {
            Ok(status) if status.is_dir() => status,
            status => return Ok(status),
        };
        let is_same = |above: &Path| {
            std::fs::metadata(above).is_ok_and(|above| (above.dev(), above.ino()) == (status.dev(), status.ino()))
        };
        let mut above = self.folder.clone();
        let mut is_loop = is_same(if self.root.is_empty() { Path::new(".") } else { &above });
        for part in folder.split('/') {
            above.push(part);
            is_loop |= is_same(&above);
        }
        if is_loop {
            let message = "a symbolic link leads to a folder that it is in: remove it";
            return Err(Error::invalid_table(message).in_file(link.to_string_lossy()));
        }
        Ok(Ok(status))
    }
}

impl Storage for LocalStorage {
    fn root(&self) -> &str {
        &self.root
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        let path = self.local_path(folder)?;
        let failed = |error| Error::io("could not list the folder", error).in_file(path.to_string_lossy());
        let children = match read_dir(&path) {
            Ok(children) => children,
            // A file in place of the folder is an error; below a file there is none.
            Err(error) if is_absent(&error) && !path.is_file() => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut entries = Vec::new();
        for child in children {
            let child = child.map_err(failed)?;
            let Ok(name) = child.file_name().into_string() else { continue };
            // A file may be removed while the folder is listed (by a cleaner, or a temporary file of a writer): then it
            // is omitted.
            // Relative to the open folder, so that the path is not resolved again; links are followed.
            let status = match child.metadata() {
                Ok(status) if status.is_symlink() => self.followed(folder, &child.path())?,
                status => status,
            };
            let Ok(status) = status else { continue };
            entries.push((name, status));
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Some(entries.into_iter().map(|(name, status)| entry(name, &status)).collect()))
    }

    /// Cached files are read from memory, which keeps a core busy; network mounts wait. A few more requests than cores
    /// suit both.
    fn requests_at_once(&self) -> usize {
        crate::parallel::cores().saturating_mul(4)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        Self::open_file(&self.local_path(path)?, self.mapped)
    }
}

/// Returns true if a file is on a file system that only this machine changes. On others, NFS, SMB and what runs in user
/// space (FUSE), pages of a mapping may vanish at any time.
fn is_on_local_disk(file: &File) -> bool {
    #[cfg(target_os = "linux")]
    {
        // From linux/magic.h: ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, F2FS, overlayfs, ZFS, bcachefs.
        const LOCAL: [u32; 9] = [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x8584_58F6,
            0xF2F5_2010,
            0x794C_7630,
            0x2FC1_2FC1,
            0xCA45_1A4E,
        ];
        // The magic has 32 bits; the type of the field depends on the platform.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bit pattern of 32 bits")]
        return rustix::fs::fstatfs(file).is_ok_and(|found| LOCAL.contains(&(found.f_type as u32)));
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        false
    }
}

fn entry(name: String, status: &Metadata) -> FolderEntry {
    if status.is_dir() {
        return FolderEntry::Folder(name);
    }
    let since_epoch = status.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ms = since_epoch.and_then(|time| i64::try_from(time.as_millis()).ok()).unwrap_or(0);
    FolderEntry::File(FileStatus { name, len: status.len(), modified_ms, etag: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_and_windowed_reads_agree() {
        let path = std::env::temp_dir().join(format!("mortice local {}.bin", std::process::id()));
        for len in [10, SMALLEST_MAPPED] {
            let content: Vec<u8> = b"0123456789".iter().copied().cycle().take(usize::try_from(len).unwrap()).collect();
            std::fs::write(&path, content).unwrap();
            for mapped in [true, false] {
                let source = LocalStorage::open_file(&path, mapped).unwrap();
                assert_eq!(source.len(), len);
                assert_eq!(source.read(3..6).unwrap(), "345");
                assert_eq!(source.read(len..len).unwrap(), "");
                assert!(source.read(3..len + 1).is_err());
                assert_eq!(source.window().is_none(), mapped && len >= SMALLEST_MAPPED);
            }
        }
        std::fs::remove_file(&path).unwrap();
        let error = LocalStorage::open_file(&path, true).err().unwrap();
        assert_eq!(error.kind(), mortice_base::ErrorKind::NotFound);
    }

    #[test]
    fn links_in_a_loop_and_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true);
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("../b", folder.path().join("a/b/self")).unwrap();
        let error = storage.list_recursively("").unwrap_err();
        assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidTable);
        assert!(error.location().path.as_ref().unwrap().ends_with("a/b/self"), "{error}");
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, folder.path().join("pipe"), pipe, 0o600.into(), 0).unwrap();
        assert_eq!(storage.open("pipe").err().unwrap().kind(), mortice_base::ErrorKind::InvalidTable);
        for outside in ["/etc/passwd", "a/../../x", ".."] {
            assert_eq!(storage.open(outside).err().unwrap().kind(), mortice_base::ErrorKind::InvalidTable);
        }
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for (len, mapped) in [(100_000, true), (1_000_000, true), (1_000_000, false)] {
            std::fs::write(&path, vec![1; len]).unwrap();
            let source = LocalStorage::open_file(&path, mapped).unwrap();
            std::fs::write(&path, b"").unwrap();
            let error = source.read(50_000..60_000).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::FileChanged, "{error}");
            assert_eq!(error.location().offset, Some(50_000));
        }
    }

    #[test]
    fn a_range_that_memory_does_not_hold_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("f")).unwrap();
        file.set_len(1 << 62).or_else(|_| file.set_len(1 << 43)).unwrap();
        let source = LocalStorage::open_file(&folder.path().join("f"), false).unwrap();
        assert_eq!(source.read(0..source.len()).unwrap_err().kind(), mortice_base::ErrorKind::MemoryLimit);
    }
}
