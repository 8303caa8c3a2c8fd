//! What the services of a table would do, and whether they are due.

use super::stopped_services::{FIRST, Table, options};
use mortice_services::{MaintainedService, ServiceNeed, ServiceRequest, run_compaction, service_needs};

const NO_SERVICES: [(&str, &str); 3] = [
    ("hoodie.clean.automatic", "false"),
    ("hoodie.archive.automatic", "false"),
    ("hoodie.parquet.small.file.limit", "0"),
];

fn compaction(table: &Table, given: &[(&str, &str)]) -> ServiceNeed {
    let found = service_needs(&table.location(), &options(given), &[MaintainedService::Compaction]);
    found.needs.into_iter().map(|(_, need)| need.unwrap()).next().unwrap()
}

#[test]
fn a_compaction_is_due_by_its_option_and_by_a_pending_plan() {
    let table = Table::new(9);
    table.upsert(&FIRST, &NO_SERVICES);
    let one = [("hoodie.compact.inline.max.delta.commits", "1")];
    let nothing = compaction(&table, &one);
    assert_eq!((nothing.is_due, nothing.gain.as_str()), (false, "nothing to merge"));
    table.upsert(&FIRST, &NO_SERVICES);
    let by_default = compaction(&table, &[]);
    assert_eq!((by_default.is_due, by_default.pending), (false, 0));
    assert!(by_default.gain.starts_with("merges "), "{by_default:?}");
    assert!(by_default.files > 0 && by_default.bytes > 0, "{by_default:?}");
    assert_eq!(compaction(&table, &one), ServiceNeed { is_due: true, ..by_default });
    run_compaction(&table.location(), ServiceRequest { schedule: true, run: false }, &options(&NO_SERVICES)).unwrap();
    let planned = compaction(&table, &[]);
    assert_eq!((planned.is_due, planned.pending), (true, 1));
}

#[test]
fn a_service_that_cannot_run_keeps_no_other_from_being_asked() {
    let table = Table::new(9);
    table.upsert(&FIRST, &NO_SERVICES);
    let wrong = [("hoodie.clustering.inline.max.commits", "many")];
    let found = service_needs(&table.location(), &options(&wrong), &MaintainedService::IN_ORDER).needs;
    assert_eq!(found.len(), MaintainedService::IN_ORDER.len());
    assert!(found.iter().all(|(_, need)| need.is_err()));
    let found = service_needs(&table.location(), &options(&[]), &MaintainedService::IN_ORDER).needs;
    let names: Vec<_> = found.iter().map(|(service, _)| service.name()).collect();
    assert_eq!(names, ["compact", "cluster", "clean", "archive"]);
    assert!(found.iter().all(|(_, need)| need.as_ref().is_ok_and(|need| !need.is_due)), "{found:?}");
}
