//! A table of many partitions in memory: the files that a plan reads, without rows. Requests are counted, and may be
//! delayed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mortice::storage::{FileSource, FileStatus, FolderEntry, MemoryFile, Storage, StorageOptions};
use mortice::{Error, ReadOptions, Result, Table};

use super::builder::{HFileForm, hfile};

const INSTANT: &str = "20240101000000000";
const TABLE_SCHEMA: &str =
    r#"{"type":"record","name":"t","fields":[{"name":"id","type":"string"},{"name":"day","type":"int"}]}"#;
const METADATA_SCHEMA: &str = r#"{"type":"record","name":"HoodieMetadataRecord","fields":[{"name":"key","type":"string"},{"name":"type","type":"int"},{"name":"filesystemMetadata","type":["null",{"type":"map","values":{"type":"record","name":"HoodieMetadataFileInfo","fields":[{"name":"size","type":"long"},{"name":"isDeleted","type":"boolean"}]}}]}]}"#;

/// Files by path.
pub struct Synthetic {
    files: BTreeMap<String, Bytes>,
    folders: BTreeMap<String, BTreeSet<(String, bool)>>,
    pub latency: Duration,
    pub listed: AtomicUsize,
    pub opened: AtomicUsize,
}

impl Synthetic {
    /// So many partitions with so many base files each; the table says that it has a metadata table or not. It always
    /// has one.
    pub fn new(partitions: usize, groups: usize, with_metadata: bool) -> Self {
        let mut files = BTreeMap::new();
        let mut put = |path: String, bytes: Vec<u8>| drop(files.insert(path, Bytes::from(bytes)));
        let listed = if with_metadata { "hoodie.table.metadata.partitions=files\n" } else { "" };
        put(
            ".hoodie/hoodie.properties".into(),
            format!("hoodie.table.name=t\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=6\nhoodie.table.recordkey.fields=id\nhoodie.table.partition.fields=day\nhoodie.table.keygenerator.class=org.apache.hudi.keygen.SimpleKeyGenerator\nhoodie.datasource.write.hive_style_partitioning=true\n{listed}").into_bytes(),
        );
        put(format!(".hoodie/{INSTANT}.deltacommit"), commit(TABLE_SCHEMA));
        let mut records = vec![("__all_partitions__".to_owned(), 1, Vec::new())];
        for partition in 0..partitions {
            let folder = format!("day={partition:06}");
            put(format!("{folder}/.hoodie_partition_metadata"), Vec::new());
            let names: Vec<String> = (0..groups)
                .map(|group| format!("{partition:08x}-0000-4000-8000-{group:012x}-0_0-1-2_{INSTANT}.parquet"))
                .collect();
            for name in &names {
                put(format!("{folder}/{name}"), vec![0]);
            }
            if let Some((_, _, all)) = records.first_mut() {
                all.push(folder.clone());
            }
            records.push((folder, 2, names));
        }
        records.sort();
        let entries: Vec<_> =
            records.into_iter().map(|(key, kind, names)| (key.into_bytes(), record(kind, &names))).collect();
        let form = HFileForm { cells: 64, index_entries: 128, schema: METADATA_SCHEMA, ..HFileForm::default() };
        let metadata = ".hoodie/metadata";
        put(
            format!("{metadata}/.hoodie/hoodie.properties"),
            b"hoodie.table.name=t_metadata\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=6\nhoodie.table.recordkey.fields=key\nhoodie.populate.meta.fields=false\nhoodie.table.base.file.format=HFILE\nhoodie.compaction.payload.class=org.apache.hudi.metadata.HoodieMetadataPayload\n".to_vec(),
        );
        put(format!("{metadata}/.hoodie/{INSTANT}.deltacommit"), commit(METADATA_SCHEMA));
        put(format!("{metadata}/files/.hoodie_partition_metadata"), Vec::new());
        put(format!("{metadata}/files/files-0000-0_0-1-2_{INSTANT}.hfile"), hfile(&entries, &form));
        let mut folders: BTreeMap<String, BTreeSet<(String, bool)>> = BTreeMap::new();
        for path in files.keys() {
            let mut is_file = true;
            let mut path = path.as_str();
            loop {
                let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
                let is_new = folders.entry(folder.to_owned()).or_default().insert((name.to_owned(), is_file));
                if folder.is_empty() || !is_new {
                    break;
                }
                (path, is_file) = (folder, false);
            }
        }
        let zero = AtomicUsize::default;
        Self { files, folders, latency: Duration::ZERO, listed: zero(), opened: zero() }
    }

    /// The table in it.
    pub fn table(self: &Arc<Self>) -> Table {
        let place: Arc<dyn Storage> = Arc::clone(self) as _;
        Table::at(place, "memory:t", &StorageOptions::new(), ReadOptions::default()).unwrap()
    }

    /// Requests since the last time: listings, files opened.
    pub fn requests(&self) -> (usize, usize) {
        (self.listed.swap(0, Ordering::SeqCst), self.opened.swap(0, Ordering::SeqCst))
    }

    fn wait(&self) {
        if !self.latency.is_zero() {
            std::thread::sleep(self.latency);
        }
    }
}

impl Storage for Synthetic {
    fn root(&self) -> &str {
        "memory:t"
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        self.wait();
        let entry = |(name, is_file): &(String, bool)| match is_file {
            true => FolderEntry::File(FileStatus { name: name.clone(), len: 1, modified_ms: 0, etag: None }),
            false => FolderEntry::Folder(name.clone()),
        };
        let len = |entry: FolderEntry| match entry {
            FolderEntry::File(mut status) => {
                let path = if folder.is_empty() { status.name.clone() } else { format!("{folder}/{}", status.name) };
                status.len = self.files.get(&path).map_or(0, |bytes| bytes.len() as u64);
                FolderEntry::File(status)
            }
            other => other,
        };
        Ok(self.folders.get(folder).map(|names| names.iter().map(entry).map(len).collect()))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        self.wait();
        let bytes = self.files.get(path).ok_or_else(|| Error::not_found("no such file").in_file(path))?;
        Ok(Arc::new(MemoryFile::new(path, bytes.clone())))
    }
}

fn commit(schema: &str) -> Vec<u8> {
    let schema = schema.replace('"', "\\\"");
    format!(r#"{{"partitionToWriteStats":{{}},"extraMetadata":{{"schema":"{schema}"}},"operationType":"BULK_INSERT"}}"#)
        .into_bytes()
}

/// A record of the metadata table in Avro, its key left to the HFile.
fn record(kind: u64, names: &[String]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend(long(kind));
    bytes.extend(long(1));
    if !names.is_empty() {
        bytes.extend(long(names.len() as u64));
    }
    for name in names {
        bytes.extend(long(name.len() as u64));
        bytes.extend(name.as_bytes());
        bytes.extend(long(1));
        bytes.push(0);
    }
    bytes.push(0);
    bytes
}

/// A number that is not negative, as Avro writes it.
fn long(number: u64) -> Vec<u8> {
    let (mut rest, mut bytes) = (number << 1, Vec::new());
    while rest >= 0x80 {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}
