//! Table services one after the other, and writes between them.

use std::collections::BTreeSet;

use super::stopped_services::{FIRST, Table, options};
use super::{VerifyOptions, delete_partitions, verify};
use crate::services::{CleanResult, Cleaning, TableAccess};
use crate::storage::StorageOptions;

const NO_SERVICES: [(&str, &str); 3] = [
    ("hoodie.clean.automatic", "false"),
    ("hoodie.archive.automatic", "false"),
    ("hoodie.parquet.small.file.limit", "0"),
];
const FILE_VERSIONS: [(&str, &str); 2] =
    [("hoodie.clean.policy", "KEEP_LATEST_FILE_VERSIONS"), ("hoodie.clean.fileversions.retained", "1")];

fn clean(table: &Table, given: &[(&str, &str)]) -> Vec<CleanResult> {
    let (access, _) = TableAccess::open(&table.uri(), &StorageOptions::new(), &options(given), "clean").unwrap();
    Cleaning::new(&access).unwrap().run(false).unwrap()
}

/// What verification of the files and keys of a table finds.
fn findings(table: &Table) -> Vec<String> {
    let checks = VerifyOptions { contents: true, keys: true, ..VerifyOptions::default() };
    let report = verify(&table.uri(), &StorageOptions::new(), checks).unwrap();
    report.findings.iter().map(|finding| format!("{finding:?}")).collect()
}

fn keys(table: &Table) -> BTreeSet<String> {
    let (listed, stored) = (table.rows(true), table.rows(false));
    assert_eq!(listed, stored);
    listed.into_iter().map(|(key, _)| key).collect()
}

#[test]
fn a_partition_that_a_clean_removes_leaves_the_metadata_table_usable() {
    for version in [6, 8, 9] {
        let table = Table::new(version);
        let given = [NO_SERVICES.as_slice(), &[("hoodie.metadata.compact.max.delta.commits", "100")]].concat();
        let compacting = [NO_SERVICES.as_slice(), &[("hoodie.metadata.compact.max.delta.commits", "1")]].concat();
        table.upsert(&FIRST, &given);
        // Compacts before it writes: the base file lists the partition, and then a log does.
        table.upsert(&[("c", "y", 2)], &compacting);
        let y = ["y".to_owned()];
        delete_partitions(&table.uri(), &StorageOptions::new(), &y, &options(&given)).unwrap();
        let cleaned = clean(&table, &[given.as_slice(), &FILE_VERSIONS].concat());
        assert_eq!(cleaned.iter().flat_map(|one| &one.partitions).collect::<Vec<_>>(), ["y"], "{version}");
        for (at, given) in [&given, &given, &compacting, &given].into_iter().enumerate() {
            let open = table.open(true);
            let listing = open.metadata_table().unwrap().list(None).unwrap();
            let files = listing.files.iter().filter(|files| files.partition == "y");
            assert!(files.clone().all(|files| files.base_files.is_empty() && files.log_files.is_empty()));
            assert_eq!(findings(&table), [""; 0], "{version} {at}");
            assert_eq!(keys(&table), BTreeSet::from(["a".into(), "b".into()]), "{version} {at}");
            table.upsert(&[("a", "x", 3)], given);
        }
        table.upsert(&[("d", "y", 3)], &given);
        assert_eq!(findings(&table), [""; 0], "{version}");
        assert_eq!(keys(&table), BTreeSet::from(["a".into(), "b".into(), "d".into()]), "{version}");
    }
}
