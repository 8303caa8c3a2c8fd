//! The functions of the fuzz targets. Each takes arbitrary bytes; none may panic, hang, or use memory beyond a multiple
//! of its input. A stable test runs the committed seeds through the same functions.

mod files;
mod filters;
mod logs;
mod memory;
mod metadata;
mod native_logs;
mod schemas;
mod sent;
mod settings;

use crate::allocations::peak_of;

/// A function that takes arbitrary bytes, and how much memory it may hold.
pub struct Target {
    /// The name of the target, its seeds and its dictionary.
    pub name: &'static str,
    bound: Bound,
    run: fn(&[u8]),
}

/// How many bytes may be held at once.
#[derive(Clone, Copy)]
struct Bound {
    /// For each byte of the input.
    factor: usize,
    /// Besides: tables that are made once, and what is bounded by a number of its own.
    fixed: usize,
}

/// Of fields that are copied as they are.
const FIELDS: Bound = Bound { factor: 4, fixed: 4 << 20 };
/// Of trees, lines and records: one that takes a byte or two of the input takes about a hundred in memory.
const TREES: Bound = Bound { factor: 256, fixed: 4 << 20 };
/// Of columns and blocks: a schema has at most 65,536 types, references counted as often as they occur, the targets
/// read at most 10,000 rows, and a block inflates to at most 1,032 times its size.
const COLUMNS: Bound = Bound { factor: 256, fixed: 256 << 20 };

impl Target {
    const fn new(name: &'static str, bound: Bound, run: fn(&[u8])) -> Self {
        Self { name, bound, run }
    }

    /// Runs the target.
    pub fn check(&self, data: &[u8]) {
        let ((), held) = peak_of(|| (self.run)(data));
        let most = self.bound.fixed + self.bound.factor * data.len();
        assert!(held <= most, "{} bytes of input took {held} bytes of memory, expected at most {most}", data.len());
    }
}

/// Runs the target of that name.
#[allow(dead_code, reason = "the stable test runs all of them")]
pub fn check(name: &str, data: &[u8]) {
    TARGETS.iter().find(|target| target.name == name).expect("the name of a target").check(data);
}

/// All targets.
pub const TARGETS: [Target; 19] = [
    Target::new("framing", COLUMNS, logs::framing),
    Target::new("block", COLUMNS, logs::block),
    Target::new("native", COLUMNS, native_logs::native),
    Target::new("header", FIELDS, logs::header),
    Target::new("avro", COLUMNS, schemas::avro),
    Target::new("deletes", TREES, logs::deletes),
    Target::new("hfile", COLUMNS, files::hfile),
    Target::new("orc", COLUMNS, files::orc),
    Target::new("positions", FIELDS, logs::positions),
    Target::new("bloom", FIELDS, files::bloom),
    Target::new("names", FIELDS, files::names),
    Target::new("metadata", TREES, metadata::metadata),
    Target::new("schemas", COLUMNS, schemas::schemas),
    Target::new("evolution", COLUMNS, schemas::evolution),
    Target::new("properties", TREES, settings::properties),
    Target::new("options", TREES, settings::options),
    Target::new("filter", TREES, filters::filter),
    Target::new("split", COLUMNS, sent::split),
    Target::new("write_state", COLUMNS, sent::write_state),
];
