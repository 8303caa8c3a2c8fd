//! The benchmarks of the parts, selected by name: `cargo bench -p mortice-benches --bench parts -- key_pass --rows
//! 100000`. Without a name all of them run. `--list` prints the names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, dead_code, unreachable_pub)]

mod avro_decode;
#[path = "../../tests/rust/hfile/builder.rs"]
mod builder;
mod key_pass;
mod local_reads;
mod log_slice;
mod merge_partial;
mod merge_slice;
mod plan_memory;
mod plan_table;
mod read_slice;
mod records;
mod rounds;
mod slice_table;
#[path = "../../tests/rust/planning/synthetic.rs"]
mod synthetic;
mod theirs;

const BENCHES: [(&str, fn()); 9] = [
    ("avro_decode", avro_decode::run),
    ("key_pass", key_pass::run),
    ("local_reads", local_reads::run),
    ("log_slice", log_slice::run),
    ("merge_partial", merge_partial::run),
    ("merge_slice", merge_slice::run),
    ("plan_memory", plan_memory::run),
    ("plan_table", plan_table::run),
    ("read_slice", read_slice::run),
];

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        BENCHES.iter().for_each(|(name, _)| println!("{name}"));
        return;
    }
    let named = rounds::named_bench();
    let is_known = |name: &String| BENCHES.iter().any(|(bench, _)| bench == name);
    assert!(named.as_ref().is_none_or(is_known), "no such benchmark; --list prints their names");
    for (name, run) in BENCHES.iter().filter(|(name, _)| named.as_ref().is_none_or(|named| named == name)) {
        println!("{name}");
        run();
    }
}
