//! Tables that Hudi has written, extracted from their archives.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use crate::zip_archive::ZipArchive;

/// The folders below one that hold a table.
pub(crate) fn cases(folder: &Path) -> Vec<PathBuf> {
    let children = std::fs::read_dir(folder).unwrap().map(|child| child.unwrap().path());
    let mut cases: Vec<PathBuf> = children.filter(|path| path.join("table.zip").exists()).collect();
    cases.sort();
    cases
}

/// The bundled tables, and those of `MORTICE_CORPUS`.
pub(crate) fn all_cases() -> Vec<PathBuf> {
    let mut all = cases(&bundled());
    all.extend(std::env::var_os("MORTICE_CORPUS").iter().flat_map(|folder| cases(Path::new(folder))));
    all
}

/// The folder of bundled tables.
pub(crate) fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

/// Unpacks the table of a case.
pub(crate) fn unpack(case: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in ZipArchive::open(&case.join("table.zip")).files(|name| !name.ends_with('/')) {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}
