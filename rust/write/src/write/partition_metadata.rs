//! `.hoodie_partition_metadata`: the file by which Hudi knows that a folder is a partition (`HoodiePartitionMetadata`).

use bytes::Bytes;

use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::FileStore;

const NAME: &str = ".hoodie_partition_metadata";

/// Makes a folder a partition, unless it is one. Before the first data file: Hudi's listings find no partition without
/// it.
///
/// A table with `hoodie.partition.metafile.use.base.format` has these properties in the footer of a base file instead;
/// Hudi reads this form first in any table.
///
/// # Errors
/// Those of the store.
pub fn create_partition_metadata(table: &dyn FileStore, partition: &str, instant: &RequestedTime) -> Result<()> {
    let depth = partition.split('/').filter(|part| !part.is_empty()).count();
    let path = path_of(partition);
    match table.len_of(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        known => return known.map(|_| ()),
    }
    let time = chrono::Utc::now().format("%a %b %d %H:%M:%S UTC %Y");
    let text = format!("#partition metadata\n#{time}\ncommitTime={instant}\npartitionDepth={depth}\n");
    table.put_if_absent(&path, &Bytes::from(text)).map(|_| ())
}

/// The write that made a folder a partition; none if the file does not say so.
///
/// # Errors
/// `NotFound` without the file: a table with `hoodie.partition.metafile.use.base.format` has none; those of the store.
pub fn partition_created_by(table: &dyn FileStore, partition: &str) -> Result<Option<RequestedTime>> {
    let (bytes, _) = table.get(&path_of(partition))?;
    let text = String::from_utf8_lossy(&bytes);
    let time = text.lines().find_map(|line| line.trim().strip_prefix("commitTime="));
    Ok(time.and_then(|time| RequestedTime::parse(time.trim())))
}

fn path_of(partition: &str) -> String {
    if partition.is_empty() { NAME.to_owned() } else { format!("{partition}/{NAME}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::LocalStorage;

    #[test]
    fn the_first_writer_makes_the_partition() {
        let folder = tempfile::tempdir().unwrap();
        let table = LocalStorage::new(&folder.path().to_string_lossy(), true);
        for (partition, instant) in [("", "001"), ("a/b=1", "002"), ("a/b=1", "003")] {
            create_partition_metadata(&table, partition, &instant.into()).unwrap();
        }
        let lines = |path| {
            let (bytes, _) = table.get(path).unwrap();
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lines(".hoodie_partition_metadata"), ["commitTime=001", "partitionDepth=0"]);
        assert_eq!(partition_created_by(&table, "a/b=1").unwrap(), Some("002".into()));
        assert_eq!(partition_created_by(&table, "none").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(lines("a/b=1/.hoodie_partition_metadata"), ["commitTime=002", "partitionDepth=2"]);
    }
}
