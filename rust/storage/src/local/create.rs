//! Writes on the local file system: `O_EXCL` for creation, `O_APPEND` for every write, `fsync` of file and folder.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::anchored::{AnchoredName, MissingFolder};
use crate::{Appendable, FileSink, LocalStorage, Storage, WritableStorage};
use mortice_base::error::{Error, Result};

/// A local file that can be appended to.
pub struct LocalSink {
    path: String,
    file: File,
    position: u64,
}

impl LocalSink {
    fn opened(path: &Path, file: File) -> Result<Self> {
        let path = path.to_string_lossy().into_owned();
        let status = file.metadata().map_err(|error| Error::io("could not open the file", error).in_file(&path))?;
        Ok(Self { position: status.len(), path, file })
    }

    fn failed(&self, what: &str, error: std::io::Error) -> Error {
        Error::io(what, error).in_file(&self.path).at_offset(self.position)
    }
}

impl FileSink for LocalSink {
    fn path(&self) -> &str {
        &self.path
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            // A full disk may have written a part. It is cut off, so that the file ends validly.
            let restored = self.file.set_len(self.position).is_ok();
            let what = if restored {
                "could not write; the file was left as it was"
            } else {
                "could not write; a part of it may stand at the end of the file"
            };
            return Err(self.failed(what, error));
        }
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_all().map_err(|error| self.failed("could not make the file durable", error))
    }
}

impl WritableStorage for LocalStorage {
    fn create_new(&self, path: &str) -> Result<Option<Box<dyn FileSink>>> {
        let Some(target) = AnchoredName::open(self.folder(), path, MissingFolder::Absent)? else {
            return Err(Error::not_found("the directory to write to does not exist; create it first")
                .in_file(self.full_path(path)));
        };
        match target.create_new(target.name()) {
            Ok(file) => {
                target.sync_folder()?;
                Ok(Some(Box::new(LocalSink::opened(target.path(), file)?)))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(Error::io("could not create the file", error).in_file(target.path().to_string_lossy())),
        }
    }

    fn append_to(&self, path: &str) -> Result<Appendable> {
        let Some(target) = AnchoredName::open(self.folder(), path, MissingFolder::Absent)? else {
            return Ok(Appendable::Missing);
        };
        match target.append()? {
            Some(file) => Ok(Appendable::Opened(Box::new(LocalSink::opened(target.path(), file)?))),
            None => Ok(Appendable::Missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn folder(name: &str) -> (std::path::PathBuf, LocalStorage) {
        let path = std::env::temp_dir().join(format!("mortice create {name} {}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        let storage = LocalStorage::new(&path.to_string_lossy(), true);
        (path, storage)
    }

    #[test]
    fn a_file_is_created_once_and_then_appended_to() {
        let (path, storage) = folder("once");
        let mut sink = storage.create_new("a").unwrap().unwrap();
        assert_eq!(sink.position(), 0);
        sink.write(b"12").unwrap();
        sink.sync().unwrap();
        assert_eq!(sink.position(), 2);
        assert!(storage.create_new("a").unwrap().is_none());
        let Appendable::Opened(mut again) = storage.append_to("a").unwrap() else { panic!("not opened") };
        again.write(b"3").unwrap();
        assert_eq!(again.position(), 3);
        assert_eq!(storage.open("a").unwrap().read(0..3).unwrap(), "123");
        assert!(matches!(storage.append_to("b").unwrap(), Appendable::Missing));
        assert_eq!(storage.create_new("none/a").err().unwrap().kind(), ErrorKind::NotFound);
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_io_error_with_its_place() {
        let storage = LocalStorage::new("/dev", true);
        let Appendable::Opened(mut sink) = storage.append_to("full").unwrap() else { panic!("not opened") };
        let error = sink.write(b"x").unwrap_err();
        assert_eq!((error.kind(), error.location().offset), (ErrorKind::Io, Some(0)));
        assert_eq!(error.location().path.as_deref(), Some("/dev/full"));
    }
}
