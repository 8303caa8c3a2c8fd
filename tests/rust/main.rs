//! The integration tests: one program, which is compiled and linked once.

mod allocations;
mod assignment;
mod avro_properties;
mod base_files;
mod corpus_slices;
mod crash;
mod fuzz_seeds;
mod hfile;
mod kryo_properties;
mod layering;
mod log_properties;
mod metadata_round_trip;
mod metadata_upkeep;
mod planning;
mod row_keys;
mod storage_dependencies;
mod table_cases;
mod tagging;
mod zip_archive;
