//! What writers of a schedule write, and what a table may hold.

use std::collections::BTreeMap;

use super::super::stopped_services::Row;

/// A key that is in the table from the start on, and one that writers insert.
const SHARED: [&str; 2] = ["a", "common"];
/// Keys of one write each, by process and number.
const OWN: [[&str; 3]; 4] = [["k0", "l0", "m0"], ["k1", "l1", "m1"], ["k2", "l2", "m2"], ["k3", "l3", "m3"]];

/// A write: a row of a key of its own, and rows of keys that others write, too. All of them have its time.
#[derive(Debug, Clone)]
pub(super) struct PlannedWrite {
    pub(super) own: &'static str,
    pub(super) shared: Vec<&'static str>,
    pub(super) ts: i64,
}

impl PlannedWrite {
    /// The write with a number of a process. `pattern` chooses the shared keys.
    pub(super) fn new(process: usize, number: usize, pattern: usize) -> Self {
        let shared = SHARED.iter().enumerate().filter(|(at, _)| pattern & (1 << at) != 0).map(|(_, key)| *key);
        let ts = 10 + i64::try_from(number * OWN.len() + process).unwrap();
        Self { own: OWN[process][number], shared: shared.collect(), ts }
    }

    /// Its rows. The first partition has rows from the start on.
    pub(super) fn rows(&self) -> Vec<Row> {
        let partition = |key: &str| if key == SHARED[0] { "x" } else { "n" };
        let keys = std::iter::once(self.own).chain(self.shared.iter().copied());
        keys.map(|key| (key, partition(key), self.ts)).collect()
    }
}

/// Why rows are not the state of a table after some of the writes, each of them entirely: nothing if they are. `first`
/// are the rows before.
pub(super) fn defect(rows: &[(String, i64)], writes: &[PlannedWrite], first: &[Row]) -> Option<String> {
    let by_key: BTreeMap<&str, i64> = rows.iter().map(|(key, ts)| (key.as_str(), *ts)).collect();
    if by_key.len() != rows.len() {
        return Some("a key is there twice".into());
    }
    let mut expected: BTreeMap<&str, i64> = first.iter().map(|(key, _, ts)| (*key, *ts)).collect();
    for write in writes.iter().filter(|write| by_key.contains_key(write.own)) {
        for (key, _, ts) in write.rows() {
            let known = expected.entry(key).or_insert(ts);
            *known = (*known).max(ts);
        }
    }
    (expected != by_key).then(|| format!("rows of a write are there in part, or lost: expected {expected:?}"))
}
