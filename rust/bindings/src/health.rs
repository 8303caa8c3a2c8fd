//! `Health`: what slows queries of a table down, and what its services would gain.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use mortice::services::{MaintainedService, grouped, health as core};
use mortice::time::system_time;
use pyo3::prelude::*;

use crate::errors::{raised, released};
use crate::instants::Instant;
use crate::needs::ServiceNeed;
use crate::results::{fields_repr, result_class, visible};
use crate::table::Table;

result_class! {
    /// What a query of a file group reads besides its base file.
    GroupDebt(partition, file_id, base_bytes, log_files, log_bytes) {
        partition: String,
        file_id: String,
        base_bytes: u64,
        log_files: usize,
        log_bytes: u64,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// An instant that has not completed.
    PendingInstant(instant, action, state, age_seconds, is_stale) {
        instant: String,
        action: String,
        state: String,
        age_seconds: Option<Seconds>,
        is_stale: bool,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// The state of the metadata table.
    MetadataHealth(partitions, is_used, listing, base_bytes, log_files, log_bytes, problem=None) {
        partitions: Vec<String>,
        is_used: bool,
        listing: String,
        base_bytes: u64,
        log_files: usize,
        log_bytes: u64,
        problem: Option<String>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// The health of a table.
    Health(
        uri, at, version, table_type, partitions, file_groups, base_files, base_bytes, log_files, log_bytes, debt,
        small_files, small_bytes, active_instants, writes_since_compaction, last_write, last_compaction,
        last_clustering, last_clean, archived_until, pending, metadata, services, timeline_zone, problems
    ) {
        uri: String,
        at: String,
        version: u8,
        table_type: String,
        partitions: usize,
        file_groups: usize,
        base_files: usize,
        base_bytes: u64,
        log_files: usize,
        log_bytes: u64,
        debt: Vec<GroupDebt>,
        small_files: usize,
        small_bytes: u64,
        active_instants: usize,
        writes_since_compaction: usize,
        last_write: Option<Instant>,
        last_compaction: Option<Instant>,
        last_clustering: Option<Instant>,
        last_clean: Option<Instant>,
        archived_until: Option<Instant>,
        pending: Vec<PendingInstant>,
        metadata: Option<MetadataHealth>,
        services: Vec<ServiceNeed>,
        timeline_zone: String,
        problems: Vec<String>,
    }
    repr = health_repr;

    /// The bytes of logs per byte of base files: how much more a query reads than after a compaction.
    #[getter]
    fn log_ratio(&self) -> f64 {
        match self.base_bytes {
            0 => f64::from(u8::from(self.log_bytes > 0)),
            base => self.log_bytes as f64 / base as f64,
        }
    }

    /// The services that are due.
    #[getter]
    fn due(&self) -> Vec<String> {
        self.services.iter().filter(|one| one.is_due).map(|one| one.service.clone()).collect()
    }
}

/// Seconds, a float in Python.
#[derive(Debug, Clone, Copy, FromPyObject, IntoPyObject)]
#[pyo3(transparent)]
pub(crate) struct Seconds(f64);

impl PartialEq for Seconds {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Seconds {}

impl Hash for Seconds {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

#[pymethods]
impl Table {
    /// What slows queries of the table down, what is pending, and what its services would gain.
    fn health(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<Health> {
        let names = MaintainedService::IN_ORDER.map(|service| service.name().to_owned());
        let services = self.service_needs(py, options, names.to_vec())?;
        let table = self.seen(py)?;
        let found = released(py, || core::health(table.opened(), system_time().now()))?;
        let config = table.config();
        let property = |name: &str, default: &str| config.properties.get(name).unwrap_or(default).to_owned();
        let last = |kind: &str| found.last.get(kind).map(Instant::from);
        let unused = found.metadata.as_ref().map(|one| one.unused(|error| text_of(py, error))).transpose()?.flatten();
        Ok(Health {
            uri: table.uri().to_owned(),
            at: found.at,
            version: config.version.number(),
            table_type: property("hoodie.table.type", "COPY_ON_WRITE"),
            partitions: found.partitions,
            file_groups: found.file_groups,
            base_files: found.base_files.files,
            base_bytes: found.base_files.bytes,
            log_files: found.log_files.files,
            log_bytes: found.log_files.bytes,
            debt: found.debt.into_iter().map(debt_of).collect(),
            small_files: found.small_files.files,
            small_bytes: found.small_files.bytes,
            active_instants: table.timeline().instants().len(),
            writes_since_compaction: found.writes_since_compaction,
            last_write: last("write"),
            last_compaction: last("compaction"),
            last_clustering: last("clustering"),
            last_clean: last("clean"),
            archived_until: found.archived_until.as_ref().map(Instant::from),
            problems: found.pending.iter().filter_map(core::PendingInstant::problem).chain(unused).collect(),
            pending: found.pending.iter().map(pending_of).collect(),
            metadata: found.metadata.map(|one| metadata_of(py, one)).transpose()?,
            services,
            timeline_zone: property("hoodie.table.timeline.timezone", "LOCAL"),
        })
    }
}

fn debt_of(debt: core::GroupDebt) -> GroupDebt {
    let core::GroupDebt { partition, file_id, base_bytes, log_files } = debt;
    GroupDebt { partition, file_id, base_bytes, log_files: log_files.files, log_bytes: log_files.bytes }
}

fn pending_of(pending: &core::PendingInstant) -> PendingInstant {
    let Instant { requested_time, action, state, .. } = Instant::from(&pending.instant);
    PendingInstant {
        instant: requested_time,
        action,
        state,
        age_seconds: pending.age_millis.map(|millis| Seconds(millis as f64 / 1000.0)),
        is_stale: pending.is_stale,
    }
}

fn metadata_of(py: Python<'_>, metadata: core::MetadataHealth) -> PyResult<MetadataHealth> {
    Ok(MetadataHealth {
        partitions: metadata.partitions,
        is_used: metadata.is_used,
        listing: metadata.listing,
        base_bytes: metadata.base_files.bytes,
        log_files: metadata.log_files.files,
        log_bytes: metadata.log_files.bytes,
        problem: metadata.problem.as_ref().map(|error| text_of(py, error)).transpose()?,
    })
}

/// An error as Python shows it.
fn text_of(py: Python<'_>, error: &mortice::Error) -> PyResult<String> {
    Ok(raised(py, error).value(py).str()?.to_string())
}

fn health_repr(health: &Bound<'_, Health>) -> PyResult<String> {
    let (uri, one) = (health.getattr("uri")?.repr()?, health.get());
    let groups = grouped(one.file_groups);
    let state = if one.problems.is_empty() { "no problems".to_owned() } else { one.problems.join("; ") };
    let due = one.due();
    let due = if due.is_empty() { "nothing".to_owned() } else { due.join(", ") };
    let (bases, logs, files) = (grouped(one.base_bytes), grouped(one.log_bytes), one.log_files);
    visible(
        health.py(),
        &format!(
            "Health({uri}: {groups} file groups, {bases} bytes in base files, {logs} in {files} logs; {state}; due: {due})"
        ),
    )
}
