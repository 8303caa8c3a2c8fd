//! The fuzz targets for libFuzzer. A stable test (`tests/rust/fuzz_seeds.rs`) has the module `targets`, too.

#[path = "../../rust/allocations.rs"]
mod allocations;
mod targets;

pub use targets::check;
