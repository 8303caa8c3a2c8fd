//! What makes a metadata table one that cannot be maintained, each defect by itself; and what does not: a storage that
//! does not answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::by_hand::{ALL, ByHand, metadata_options, time};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::metadata_upkeep::{FoundMetadata, MetadataUpkeep};
use mortice_storage::{
    FileSource, FileStore, FileVersion, FolderEntry, LocalStorage, PutOutcome, RenameOutcome, Storage, StoreUpload,
};

const PROPERTIES: &str = ".hoodie/metadata/.hoodie/hoodie.properties";
const REBUILT: &str = "mortice.metadata.partitions.to.rebuild";

/// A store that does not answer about paths with some text in them.
struct UnreachablePaths {
    inner: LocalStorage,
    text: &'static str,
}

impl UnreachablePaths {
    fn check(&self, path: &str) -> Result<()> {
        match path.contains(self.text) {
            true => Err(Error::new(ErrorKind::Unreachable, "no answer")),
            false => Ok(()),
        }
    }
}

impl Storage for UnreachablePaths {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        self.check(&format!("{folder}/"))?;
        self.inner.list(folder)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.check(path)?;
        self.inner.open(path)
    }
}

impl FileStore for UnreachablePaths {
    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.inner.put_if_absent(path, bytes)
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.inner.put(path, bytes, expected)
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        self.check(path)?;
        self.inner.get(path)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.inner.delete(path)
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        self.inner.create_folder(path)
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        self.inner.remove_empty_folders(path)
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.inner.rename(from, to)
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        self.inner.upload(path)
    }
}

fn table(version: u8) -> ByHand {
    let by_hand = ByHand::new(version, &ALL[..2]);
    by_hand.insert(1, "x", &["a", "b"]);
    by_hand.insert(2, "y", &["c"]);
    by_hand
}

fn find(by_hand: &ByHand) -> Result<FoundMetadata> {
    MetadataUpkeep::find(&by_hand.store(), &by_hand.table.open(false), &metadata_options(&by_hand.given))
}

/// Removes the files whose paths a predicate selects. Returns how many there were.
fn remove(by_hand: &ByHand, is_wanted: impl Fn(&str) -> bool) -> usize {
    let paths: Vec<String> =
        by_hand.files_below(".hoodie/metadata").into_keys().filter(|path| is_wanted(path)).collect();
    paths.iter().for_each(|path| std::fs::remove_file(by_hand.path(path)).unwrap());
    paths.len()
}

/// What is done to a metadata table.
type DamageCase = (&'static str, &'static [u8], fn(&ByHand) -> usize);

const DAMAGES: [DamageCase; 9] = [
    ("no folder", &[6, 9], |table| remove(table, |_| true)),
    ("no properties", &[6, 9], |table| remove(table, |path| path == PROPERTIES)),
    ("properties of no table", &[6, 9], |table| {
        std::fs::write(table.path(PROPERTIES), "hoodie.table.version=none\n").unwrap();
        1
    }),
    ("a commit is missing", &[6, 9], |table| {
        remove(table, |path| path.contains("/.hoodie/") && path.contains(&format!("{}", time(1))))
    }),
    ("the newest commit is missing", &[6, 9], |table| {
        remove(table, |path| path.contains("/.hoodie/") && path.contains(&format!("{}", time(2))))
    }),
    ("no list of files", &[6, 9], |table| remove(table, |path| path.contains("/files/"))),
    ("no record index", &[6, 9], |table| remove(table, |path| path.contains("/record_index/"))),
    ("a file group is missing", &[6, 9], |table| remove(table, |path| path.contains("record-index-0003-0"))),
    ("a log of the list of files is missing", &[9], |table| {
        remove(table, |path| path.contains("/files/") && path.contains(time(1).as_str()))
    }),
];

#[test]
fn each_defect_is_found() {
    let tables = [6, 9].map(|version| (version, table(version)));
    for (name, versions, damage) in DAMAGES {
        for (version, table) in tables.iter().filter(|(version, _)| versions.contains(version)) {
            let by_hand = table.copy();
            assert!(matches!(find(&by_hand).unwrap(), FoundMetadata::Sound(Some(_))), "{name}");
            assert!(damage(&by_hand) > 0, "{name}, version {version}");
            let FoundMetadata::Unusable(error) = find(&by_hand).unwrap() else { panic!("{name}, version {version}") };
            let is_known =
                matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidTable | ErrorKind::CorruptLog);
            assert!(is_known, "{name}, version {version}: {error}");
        }
    }
}

/// A metadata table is built again with all keys and files of the table; readers list the storage until it is.
#[test]
fn a_metadata_table_that_is_built_again_has_all_that_it_lacked() {
    let tables = [6, 9].map(|version| (version, table(version)));
    for (name, versions, damage) in DAMAGES {
        // Each defect of one of the versions that have it.
        let version = versions[name.len() % versions.len()];
        let by_hand = tables.iter().find(|(other, _)| *other == version).unwrap().1.copy();
        let (listed, locations, partitions) = (by_hand.listed(), by_hand.locations(), by_hand.table.partitions());
        damage(&by_hand);
        let (store, options) = (by_hand.store(), metadata_options(&[]));
        MetadataUpkeep::drop_unusable(&store, &by_hand.table.open(false), &options, Some(name)).unwrap();
        assert!(by_hand.files_below(".hoodie/metadata").is_empty(), "{name}");
        let open = by_hand.table.open(false);
        assert!(open.config.metadata_partitions.is_empty(), "{name}");
        let waiting: BTreeSet<String> = open.config.properties.list(&[REBUILT]).into_iter().collect();
        assert_eq!(waiting, partitions, "{name}: the next writer builds the same ones");
        assert_eq!(by_hand.table.rows(true), by_hand.table.rows(false), "{name}");
        MetadataUpkeep::rebuild_dropped(&store, &open, &options).unwrap();
        assert_eq!((by_hand.listed(), by_hand.locations()), (listed, locations), "{name}");
        assert_eq!(by_hand.table.partitions(), partitions, "{name}");
        let open = by_hand.table.open(false);
        assert!(open.config.properties.list(&[REBUILT]).is_empty(), "{name}");
        assert!(matches!(find(&by_hand).unwrap(), FoundMetadata::Sound(Some(_))), "{name}");
        // Nothing is to be built again of a table that has it.
        let files = by_hand.files_below(".hoodie");
        MetadataUpkeep::rebuild_dropped(&store, &open, &options).unwrap();
        assert_eq!(by_hand.files_below(".hoodie"), files, "{name}");
    }
}

#[test]
fn a_metadata_table_that_is_not_to_be_built_again_is_left_as_it_is() {
    let by_hand = table(9);
    let open = by_hand.table.open(false);
    let before = by_hand.files_below(".hoodie");
    let kept = metadata_options(&[("mortice.metadata.rebuild_unusable", "false")]);
    let error = MetadataUpkeep::drop_unusable(&by_hand.store(), &open, &kept, Some("a log is missing")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidTable);
    for part in ["a log is missing", "mortice.metadata.rebuild_unusable", "mortice metadata build --rebuild"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(by_hand.files_below(".hoodie"), before);
    // A writer that keeps none deletes it in spite of that option, and no writer builds it again.
    let off = metadata_options(&[("mortice.metadata.rebuild_unusable", "false"), ("hoodie.metadata.enable", "false")]);
    MetadataUpkeep::drop_unusable(&by_hand.store(), &open, &off, None).unwrap();
    let open = by_hand.table.open(false);
    assert!(open.config.metadata_partitions.is_empty() && open.config.properties.list(&[REBUILT]).is_empty());
    assert!(by_hand.files_below(".hoodie/metadata").is_empty());
    assert!(matches!(find(&by_hand).unwrap(), FoundMetadata::Sound(None)));
}

/// A metadata table that was deleted for a failure of the network would have to be built again.
#[test]
fn a_storage_that_does_not_answer_is_no_defect() {
    for version in [6, 9] {
        let origin = table(version);
        for text in ["metadata/.hoodie/", "hoodie.properties", "metadata/files/", "metadata/record_index/"] {
            let by_hand = origin.copy();
            let (open, before) = (by_hand.table.open(false), by_hand.files_below(".hoodie"));
            let inner = LocalStorage::new(&by_hand.table.uri(), true);
            let store: Arc<dyn FileStore> = Arc::new(UnreachablePaths { inner, text });
            let options = metadata_options(&by_hand.given);
            let error = match MetadataUpkeep::find(&store, &open, &options) {
                Ok(_) => panic!("{text}"),
                Err(error) => error,
            };
            assert_eq!(error.kind(), ErrorKind::Unreachable, "{text}: {error}");
            if text.contains(".hoodie/") || text.contains("properties") {
                let opened = MetadataUpkeep::open(store, &open, &options).err().unwrap();
                assert_eq!(opened.kind(), ErrorKind::Unreachable, "{text}: {opened}");
            }
            assert_eq!(by_hand.files_below(".hoodie"), before);
        }
    }
}
