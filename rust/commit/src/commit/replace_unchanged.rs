//! Files that several writers replace: each on condition that the file is as the writer has read it.

use bytes::Bytes;

use mortice_base::error::{ErrorKind, Result};
use mortice_storage::{FileStore, FileVersion, PutOutcome};

/// Reads a file, to replace it later; `None` if it does not exist.
///
/// # Errors
/// Those of the storage.
pub fn read_to_replace(store: &dyn FileStore, path: &str) -> Result<Option<(Bytes, FileVersion)>> {
    match store.get(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file if it still has the version that was read, or still does not exist. Returns its new version; `None` if
/// another writer has written it since.
///
/// Storage that cannot compare versions has it compared right before, as Hudi has: a writer that is not alone holds the
/// table's lock.
///
/// # Errors
/// Those of the storage: it is not known whether the file was written.
pub fn replace_unchanged(
    store: &dyn FileStore,
    path: &str,
    content: &Bytes,
    read: Option<&FileVersion>,
) -> Result<Option<FileVersion>> {
    let put = match read {
        None => store.put_if_absent(path, content)?,
        Some(read) if store.compares_versions() => store.put(path, content, Some(read))?,
        Some(read) if read_to_replace(store, path)?.is_some_and(|(_, now)| now == *read) => {
            store.put(path, content, None)?
        }
        Some(_) => PutOutcome::Refused,
    };
    match put {
        PutOutcome::Written(version) => Ok(Some(version)),
        PutOutcome::Refused => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::LocalStorage;

    #[test]
    fn a_file_is_replaced_as_it_was_read_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = LocalStorage::new(&folder.path().to_string_lossy(), true);
        let replace = |content: &'static str, read: Option<&FileVersion>| {
            replace_unchanged(&store, "a", &content.into(), read).unwrap()
        };
        assert_eq!(read_to_replace(&store, "a").unwrap(), None);
        let first = replace("1", None).unwrap();
        assert_eq!(replace("other", None), None);
        assert_eq!(read_to_replace(&store, "a").unwrap(), Some(("1".into(), first.clone())));
        let second = replace("2", Some(&first)).unwrap();
        assert_eq!(replace("other", Some(&first)), None);
        store.delete("a").unwrap();
        assert_eq!(replace("other", Some(&second)), None);
        assert!(replace("3", None).is_some());
    }
}
