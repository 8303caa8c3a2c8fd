//! Reads of a local file that is in the page cache: mapped, by windows, by pages of parquet. A record has 1,000 bytes,
//! all of which are touched.
//!
//! `cargo bench -p mortice-benches --bench parts -- local_reads [--rows N] [--rounds N]`.

use std::hint::black_box;
use std::io::Write;

use crate::rounds::{BenchArguments, Contender, race};
use mortice::storage::{FileSource, LocalStorage};

const RECORD: usize = 1_000;

fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    words.fold(0, u64::wrapping_add)
}

fn read(source: &dyn FileSource, step: u64) -> u64 {
    let starts = (0..source.len()).step_by(usize::try_from(step).expect("a step"));
    let ranges = starts.map(|start| start..(start + step).min(source.len()));
    ranges.map(|range| sum(&source.read(range).expect("bytes"))).fold(0, u64::wrapping_add)
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(300_000, 9);
    asked.run(|| {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        for at in 0..asked.rows {
            file.write_all(&[u8::try_from(at % 251).expect("a byte"); RECORD]).expect("a record");
        }
        let open = |mapped| LocalStorage::open_file(file.path(), mapped).expect("an open file");
        let by = |step: u64, mapped| move || _ = black_box(read(open(mapped).as_ref(), step));
        race(
            &asked,
            "cached",
            &mut [
                Contender::new("mapped", by(256 << 10, true)),
                Contender::new("windows of 256 KiB", by(256 << 10, false)),
                Contender::new("pages of 64 KiB", by(64 << 10, false)),
                Contender::new("pages of 1 MiB", by(1 << 20, false)),
            ],
        );
    });
}
