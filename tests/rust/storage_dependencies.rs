//! The dependencies of object stores and HDFS: only the crate of the storage uses their crates, and none of them needs
//! a C compiler for TLS.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(source_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn only_storage_names_the_crates_of_object_stores() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut inside, mut outside) = (0, Vec::new());
    for path in source_files(&crates) {
        let text = std::fs::read_to_string(&path).unwrap();
        let names = ["object_store::", "tokio::", "reqwest::", "rustls::", "futures_util::", "hdfs_native::"];
        let names_one = text.lines().any(|line| names.iter().any(|name| line.contains(name)));
        match path.starts_with(crates.join("storage")) {
            true => inside += usize::from(names_one),
            false if names_one => outside.push(path),
            false => {}
        }
    }
    assert!(inside > 3, "only {inside} files name the crates: the search is broken");
    assert_eq!(outside, Vec::<PathBuf>::new());
}

/// The crates that the native module is built of.
fn tree(features: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let arguments = ["tree", "--locked", "--package", "mortice-python", "--edges", "normal,build"];
    let tree = Command::new(cargo).args(arguments).args(["--prefix", "none"]).args(features).current_dir(root).output();
    let tree = tree.unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    String::from_utf8(tree.stdout).unwrap()
}

#[test]
fn no_tls_library_needs_a_c_compiler_and_an_assembler_beyond_ring() {
    for features in [&[][..], &["--features", "hdfs"][..]] {
        let text = tree(features);
        assert!(text.contains("object_store v") && text.contains("ring v"), "{text}");
        assert_eq!(text.contains("hdfs-native v"), !features.is_empty());
        for unwanted in ["aws-lc-rs v", "aws-lc-sys v", "openssl-sys v", "native-tls v"] {
            assert!(!text.contains(unwanted), "{unwanted}");
        }
    }
}
