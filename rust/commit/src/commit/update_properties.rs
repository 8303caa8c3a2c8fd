//! Changes to `hoodie.properties` of a table that is in use (`HoodieTableConfig.modify`).
//!
//! Hudi copies the file to a backup, deletes it and writes it again, since HDFS cannot replace a file's content. Here
//! it is replaced at once (on HDFS by a rename), under the condition that nobody else has replaced it since it was
//! read, so that a backup is needed nowhere. A backup that a stopped Hudi left is put back first, as Hudi does
//! (`HoodieTableConfig.recoverIfNeeded`).

use bytes::Bytes;

use super::replace_unchanged::{read_to_replace, replace_unchanged};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_merge::config::PropertiesFile;
use mortice_storage::{FileStore, FileVersion};

const MAIN: &str = ".hoodie/hoodie.properties";
const ATTEMPTS: usize = 8;

/// Changes the properties and returns them as they are then. `change` is called again if another writer was faster.
///
/// # Errors
/// Those of `change` and of the storage; `InvalidTable` if neither the file nor its backup is whole; `Io` if other
/// writers keep replacing the file.
pub fn update_properties(
    store: &dyn FileStore,
    change: impl FnMut(&mut PropertiesFile) -> Result<()>,
) -> Result<PropertiesFile> {
    update_file(store, MAIN, change)
}

/// The same, of the table in a folder of the store: the metadata table.
///
/// # Errors
/// As for [`update_properties`].
pub fn update_properties_below(
    store: &dyn FileStore,
    root: &str,
    change: impl FnMut(&mut PropertiesFile) -> Result<()>,
) -> Result<PropertiesFile> {
    update_file(store, &format!("{root}/{MAIN}"), change)
}

fn update_file(
    store: &dyn FileStore,
    path: &str,
    mut change: impl FnMut(&mut PropertiesFile) -> Result<()>,
) -> Result<PropertiesFile> {
    for _ in 0..ATTEMPTS {
        let (old, version) = read_recovered(store, path)?;
        let mut new = old.clone();
        change(&mut new)?;
        if new == old {
            return Ok(old);
        }
        let content = Bytes::from(new.to_hudi_bytes(store.time().now())?);
        if replace_unchanged(store, path, &content, Some(&version))?.is_some() {
            return Ok(new);
        }
    }
    Err(Error::new(
        ErrorKind::Io,
        format!("other writers replaced the file {ATTEMPTS} times while it was being changed"),
    )
    .in_file(store.full_path(path)))
}

/// Returns the properties and their version, after a backup was put back if the main file is not whole.
fn read_recovered(store: &dyn FileStore, path: &str) -> Result<(PropertiesFile, FileVersion)> {
    let backup_path = format!("{path}.backup");
    let found = read_to_replace(store, path)?;
    let torn = found.as_ref().map(|(_, version)| version.clone());
    let main = found.and_then(|(bytes, version)| Some((parse_whole(&bytes)?, version)));
    let backup = whole(store, &backup_path)?;
    match (main, backup) {
        // The main file ends before its checksum: Hudi writes one to every file that it has a backup of.
        (Some((main, version)), Some((backup, _))) if !main.has_checksum() && backup.has_checksum() => {
            put_back(store, path, &backup, Some(&version))
        }
        (Some(main), None) => Ok(main),
        (Some(main), Some(_)) => {
            store.delete(&backup_path)?;
            Ok(main)
        }
        (None, Some((backup, _))) => put_back(store, path, &backup, torn.as_ref()),
        (None, None) => Err(neither_is_whole(store, path)),
    }
}

/// Makes the backup the main file, if that is as it was read, and reads it again: another writer may have changed it
/// since.
fn put_back(
    store: &dyn FileStore,
    path: &str,
    backup: &PropertiesFile,
    read: Option<&FileVersion>,
) -> Result<(PropertiesFile, FileVersion)> {
    replace_unchanged(store, path, &Bytes::from(backup.to_bytes()), read)?;
    let main = whole(store, path)?.ok_or_else(|| neither_is_whole(store, path))?;
    store.delete(&format!("{path}.backup"))?;
    Ok(main)
}

fn neither_is_whole(store: &dyn FileStore, path: &str) -> Error {
    Error::invalid_table("neither the file nor its backup is whole").in_file(store.full_path(path))
}

/// A file that is there and not torn.
fn whole(store: &dyn FileStore, path: &str) -> Result<Option<(PropertiesFile, FileVersion)>> {
    let found = read_to_replace(store, path)?;
    Ok(found.and_then(|(bytes, version)| Some((parse_whole(&bytes)?, version))))
}

fn parse_whole(bytes: &[u8]) -> Option<PropertiesFile> {
    PropertiesFile::parse(bytes).ok().filter(PropertiesFile::is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::LocalStorage;

    const BACKUP: &str = ".hoodie/hoodie.properties.backup";
    const WHOLE: &[u8] = b"#by hand\nhoodie.table.name=t\nhoodie.table.checksum=498511606\nb=1\n";

    fn table() -> (tempfile::TempDir, LocalStorage) {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true);
        storage.put(MAIN, &Bytes::from_static(WHOLE), None).unwrap();
        (folder, storage)
    }

    fn value(storage: &LocalStorage, key: &str) -> Option<String> {
        PropertiesFile::parse(&storage.get(MAIN).unwrap().0).unwrap().get(key).map(str::to_owned)
    }

    fn set(file: &mut PropertiesFile) -> Result<()> {
        file.set("b", "2");
        Ok(())
    }

    #[test]
    fn the_file_is_replaced_and_its_checksum_file_deleted() {
        let (folder, storage) = table();
        std::fs::write(folder.path().join(".hoodie/.hoodie.properties.crc"), b"crc").unwrap();
        update_properties(&storage, set).unwrap();
        assert_eq!(value(&storage, "b").as_deref(), Some("2"));
        assert!(!folder.path().join(".hoodie/.hoodie.properties.crc").exists());
    }

    #[test]
    fn nothing_is_written_without_a_change() {
        let (_folder, storage) = table();
        let before = storage.get(MAIN).unwrap();
        update_properties(&storage, |_| Ok(())).unwrap();
        assert_eq!(storage.get(MAIN).unwrap(), before);
    }

    #[test]
    fn a_change_of_another_writer_in_between_is_kept() {
        let (_folder, storage) = table();
        let mut calls = 0;
        update_properties(&storage, |file| {
            calls += 1;
            if calls == 1 {
                let mut other = PropertiesFile::parse(WHOLE)?;
                other.set("c", "3");
                storage.put(MAIN, &Bytes::from(other.to_bytes()), None)?;
            }
            set(file)
        })
        .unwrap();
        assert_eq!(
            (calls, value(&storage, "b").as_deref(), value(&storage, "c").as_deref()),
            (2, Some("2"), Some("3"))
        );
    }

    #[test]
    fn a_backup_replaces_a_file_that_is_missing_or_torn() {
        for torn in [None, Some(&b"hoodie.table.na"[..]), Some(b"hoodie.table.name=t\nhoodie.table.checksum=1\n")] {
            let (folder, storage) = table();
            std::fs::rename(folder.path().join(MAIN), folder.path().join(BACKUP)).unwrap();
            if let Some(torn) = torn {
                std::fs::write(folder.path().join(MAIN), torn).unwrap();
            }
            update_properties(&storage, set).unwrap();
            assert_eq!(value(&storage, "b").as_deref(), Some("2"));
            assert!(!folder.path().join(BACKUP).exists());
        }
    }

    #[test]
    fn without_either_nothing_is_written() {
        let (folder, storage) = table();
        std::fs::write(folder.path().join(MAIN), b"x").unwrap();
        assert_eq!(update_properties(&storage, set).unwrap_err().kind(), ErrorKind::InvalidTable);
        assert_eq!(std::fs::read(folder.path().join(MAIN)).unwrap(), b"x");
    }
}
