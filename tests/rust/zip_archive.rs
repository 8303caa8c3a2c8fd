//! Files of zip archives: bundled tables, and jars of Hudi's tests.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::Read as _;
use std::path::Path;

/// The bytes of a zip archive.
pub(crate) struct ZipArchive(Vec<u8>);

impl ZipArchive {
    /// The archive at a path.
    pub(crate) fn open(path: &Path) -> Self {
        Self(std::fs::read(path).unwrap())
    }

    fn number(&self, at: usize, bytes: usize) -> usize {
        self.0[at..at + bytes].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    /// Returns name and content of each selected entry, by the central directory.
    pub(crate) fn files(&self, wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
        let end = self.0.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").unwrap();
        let (entries, mut at) = (self.number(end + 10, 2), self.number(end + 16, 4));
        let mut found = Vec::new();
        for _ in 0..entries {
            let [name_len, extra, comment] = [28, 30, 32].map(|field| self.number(at + field, 2));
            let name = std::str::from_utf8(&self.0[at + 46..][..name_len]).unwrap();
            if wanted(name) {
                found.push((name.to_owned(), self.content(at)));
            }
            at += 46 + name_len + extra + comment;
        }
        found
    }

    fn content(&self, entry: usize) -> Vec<u8> {
        let [method, packed, local] =
            [(10, 2), (20, 4), (42, 4)].map(|(field, bytes)| self.number(entry + field, bytes));
        let from = local + 30 + self.number(local + 26, 2) + self.number(local + 28, 2);
        let stored = &self.0[from..from + packed];
        let mut content = Vec::new();
        match method {
            0 => content.extend_from_slice(stored),
            _ => drop(flate2::read::DeflateDecoder::new(stored).read_to_end(&mut content).unwrap()),
        }
        content
    }
}
