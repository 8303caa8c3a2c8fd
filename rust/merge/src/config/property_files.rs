//! Which of a table's property files holds good (`ConfigUtils.fetchConfigs`, `HoodieTableConfig.validateChecksum`).
//!
//! A writer that changes `hoodie.properties` copies it to `hoodie.properties.backup`, deletes it, writes it again and
//! deletes the backup. A reader takes the first of the two that is whole, and looks again after a pause where neither
//! is. `hoodie.table.checksum` is the CRC-32 of `<database>.<table>`: it detects a torn file, nothing else. Files of
//! old releases have none; beside a backup that has one, such a file is torn.

use std::thread::sleep;
use std::time::Duration;

use super::Properties;
use super::no_table::{MAIN, no_table};
use super::properties_file::{CHECKSUM, DATABASE, NAME, table_checksum};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::Storage;

const FOLDER: &str = ".hoodie";
const BACKUP: &str = ".hoodie/hoodie.properties.backup";
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// Reads the properties of the table at `storage`.
pub(super) fn read(storage: &dyn Storage) -> Result<Properties> {
    let mut tries = 1;
    loop {
        match attempt(storage)? {
            Outcome::Whole(properties) => return Ok(properties),
            // Once is no proof: between the two looks a writer may have put the main file back and removed the backup.
            Outcome::Absent if tries > 1 || storage.list(FOLDER)?.is_none() => return Err(no_table(storage)),
            Outcome::Absent => {}
            Outcome::Torn(error) if tries == TRIES => return Err(error),
            Outcome::Torn(_) => sleep(PAUSE),
        }
        tries += 1;
    }
}

enum Outcome {
    Whole(Properties),
    Torn(Error),
    Absent,
}

fn attempt(storage: &dyn Storage) -> Result<Outcome> {
    let main = look(storage, MAIN)?;
    if matches!(&main, Outcome::Whole(properties) if has_checksum(properties)) {
        return Ok(main);
    }
    Ok(match (main, look(storage, BACKUP)?) {
        // The main file ends before its checksum: Hudi writes one to every file that it has a backup of.
        (Outcome::Whole(_), Outcome::Whole(backup)) if has_checksum(&backup) => Outcome::Whole(backup),
        // A writer that was about to write the checksum has done so, and has deleted the backup.
        (Outcome::Whole(_), Outcome::Absent) => look(storage, MAIN)?,
        (Outcome::Absent, backup) | (Outcome::Torn(_), backup @ Outcome::Whole(_)) => backup,
        (main, _) => main,
    })
}

fn has_checksum(properties: &Properties) -> bool {
    properties.first_of(&[CHECKSUM]).is_some()
}

fn look(storage: &dyn Storage, path: &str) -> Result<Outcome> {
    let bytes = match storage.open(path).and_then(|source| source.read_all()) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Outcome::Absent),
        Err(error) => return Err(error),
    };
    Ok(match Properties::parse(&bytes).and_then(verified) {
        Ok(properties) => Outcome::Whole(properties),
        Err(error) => Outcome::Torn(error.in_file(storage.full_path(path))),
    })
}

fn verified(properties: Properties) -> Result<Properties> {
    let Some(name) = properties.get(NAME) else {
        return Err(Error::invalid_table(format!(
            "{NAME} is missing: the file is truncated, or was not written by Hudi; restore it, or create it again with Hudi's CLI"
        )));
    };
    let Some(stored) = properties.first_of(&[CHECKSUM]) else { return Ok(properties) };
    let expected = table_checksum(properties.get(DATABASE).unwrap_or_default(), name);
    if stored == expected.to_string() {
        return Ok(properties);
    }
    Err(Error::invalid_table(format!(
        "hoodie.table.checksum is {stored}, but the table's names have {expected}: the file is truncated, or the table was renamed by hand; restore the file"
    )))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use mortice_storage::{self as storage, StorageOptions};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("mortice-properties-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join(".hoodie")).unwrap();
            Self(path)
        }

        fn put(&self, name: &str, text: &str) -> &Self {
            fs::write(self.0.join(name), text).unwrap();
            self
        }

        fn read(&self) -> Result<Properties> {
            read(&*storage::open(self.0.to_str().unwrap(), &StorageOptions::new(), true)?)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const WHOLE: &str = "hoodie.table.name=basic\nhoodie.table.checksum=3661580203\n";

    #[test]
    fn checksum_is_that_of_the_names() {
        let folder = Folder::new("checksum");
        assert_eq!(folder.put(MAIN, WHOLE).read().unwrap().get(NAME), Some("basic"));
    }

    #[test]
    fn the_backup_is_read_instead() {
        let folder = Folder::new("backup");
        folder.put(BACKUP, WHOLE);
        assert_eq!(folder.read().unwrap().get(NAME), Some("basic"));
        folder.put(MAIN, "hoodie.table.na");
        assert_eq!(folder.read().unwrap().get(NAME), Some("basic"));
    }

    #[test]
    fn a_file_that_ends_before_its_checksum_is_torn_if_the_backup_has_one() {
        let folder = Folder::new("cut");
        folder.put(MAIN, "hoodie.table.name=basic\n").put(BACKUP, &format!("{WHOLE}hoodie.table.type=MERGE_ON_READ\n"));
        assert_eq!(folder.read().unwrap().get("hoodie.table.type"), Some("MERGE_ON_READ"));
    }

    #[test]
    fn a_file_of_an_old_release_has_no_checksum() {
        let folder = Folder::new("old");
        folder.put(MAIN, "hoodie.table.name=basic\na=1\n");
        assert_eq!(folder.read().unwrap().get("a"), Some("1"));
        folder.put(BACKUP, "hoodie.table.name=basic\na=2\n");
        assert_eq!(folder.read().unwrap().get("a"), Some("1"));
    }

    #[test]
    fn a_torn_file_is_an_error() {
        let folder = Folder::new("torn");
        let error = folder.put(MAIN, &WHOLE.replace("basic", "other")).read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTable);
        assert!(error.to_string().contains("checksum"), "{error}");
        assert!(error.location().path.as_deref().is_some_and(|path| path.ends_with(MAIN)));
    }

    #[test]
    fn a_path_that_is_no_table_is_described() {
        let folder = Folder::new("kinds");
        fs::remove_dir_all(folder.0.join(".hoodie")).unwrap();
        let said = |path: &str| {
            let storage = storage::open(path, &StorageOptions::new(), true).unwrap();
            let error = read(&*storage).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            error.to_string()
        };
        let below = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
        for name in ["delta/_delta_log", "iceberg/metadata", "files"] {
            fs::create_dir_all(folder.0.join(name)).unwrap();
        }
        for name in ["x.parquet", "x.txt", "iceberg/metadata/v1.metadata.json", "files/a.parquet"] {
            folder.put(name, "");
        }
        assert!(said(&below("delta")).contains("it is a Delta table"));
        assert!(said(&below("iceberg")).contains("it is an Iceberg table"));
        assert!(said(&below("files")).contains("it is a folder of Parquet files"));
        assert!(said(&below("x.parquet")).contains("it is a Parquet file"));
        assert!(said(&below("x.txt")).contains("it is a file; give the base path"));
        assert!(said(&below("nothing.parquet")).contains("give the base path"));
        assert!(said(&below("*")).contains("names are not matched with *"));
        assert!(said(&below("C:\\lake")).contains("a path of Windows"));
        assert!(said("dbfs:/lake/t").contains("open /dbfs/lake/t"));
    }

    #[test]
    fn a_partition_leads_to_its_table() {
        let folder = Folder::new("above");
        let error = folder.read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("base path"), "{error}");
        folder.put(MAIN, WHOLE);
        let table = folder.0.to_str().unwrap();
        for below in [".hoodie", "a/b", "a"] {
            fs::create_dir_all(folder.0.join(below)).unwrap();
            let storage = storage::open(&format!("{table}/{below}"), &StorageOptions::new(), true).unwrap();
            let error = read(&*storage).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(error.to_string().contains(&format!("open {table}, which is a table")), "{error}");
        }
    }
}
