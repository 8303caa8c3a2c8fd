//! Services and writes together, stopped or delayed at every step.

mod assignment;
mod concurrent_inserts;
mod guarded_services;
mod indexes;
mod keys_beside_compaction;
mod late_files;
mod lost_lock;
mod metadata_history;
mod service_tests;
mod simulation;
mod stalled_changes;
mod stalled_services;
mod stalling_services;
mod stopped_services;
mod undone_instants;
mod upkeep_rules;
