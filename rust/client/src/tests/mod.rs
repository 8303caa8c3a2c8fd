//! Services and writes together, stopped or delayed at every step.

mod assignment;
mod concurrent_inserts;
mod guarded_services;
mod indexes;
mod keys_beside_compaction;
mod late_files;
mod left_tables;
mod lost_lock;
mod metadata_history;
mod partition_ttl;
mod service_needs;
mod service_tests;
mod simulation;
mod stalled_changes;
mod stalled_services;
mod stalling_services;
mod stopped_services;
mod stopped_upgrades;
mod undone_instants;
mod upkeep_rules;

/// The changes to stop at: one in so many, from one on that `MORTICE_TEST_SEED` selects, or all with
/// `MORTICE_EVERY_STOP=1` (`make soak`).
fn stops(step: usize) -> std::iter::StepBy<std::ops::RangeFrom<usize>> {
    let is_every = std::env::var("MORTICE_EVERY_STOP").is_ok_and(|every| every == "1");
    let seed = usize::try_from(simulation::number("MORTICE_TEST_SEED").unwrap_or(1)).unwrap();
    if is_every { (0..).step_by(1) } else { (seed % step..).step_by(step) }
}
