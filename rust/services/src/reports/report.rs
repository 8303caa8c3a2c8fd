//! What is reported of a commit, a clean and an archival. A report never fails: what it fails with is a warning.

use std::time::Duration;

use super::callback::CalledCommit;
use super::metrics::{Metric, action_of, of_archival, of_clean, of_commit};
use super::options::{MetricsOptions, ReportOptions, Reporter};
use super::{gauges, graphite, prometheus_server, push_gateway};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::epoch_millis;
use mortice_commit::writable_table::WritableTable;
use mortice_table::timeline::metadata::HoodieCommitMetadata;
use mortice_table::timeline::{Action, WriteOperation};

/// Reports a commit that is part of the table.
///
/// Args:
///     target: The table.
///     operation: What the commit did.
///     action: Its action, before it was completed.
///     instant: Its requested time, from which it took until now.
///     metadata: What it wrote.
pub(crate) fn report_commit(
    target: &WritableTable,
    operation: WriteOperation,
    action: Action,
    instant: &RequestedTime,
    metadata: &HoodieCommitMetadata,
) {
    let Some(ReportOptions { metrics, callback }) = options_of(target) else { return };
    if metrics.is_none() && callback.is_none() {
        return;
    }
    let table = target.latest();
    if let Some(metrics) = &metrics {
        let now = target.time().now().timestamp_millis();
        let began = epoch_millis(instant.as_str(), table.config.timeline_zone).unwrap_or(now);
        let duration = now.saturating_sub(began).max(0);
        let name = action_of(operation, action.name());
        report_metrics(target, metrics, of_commit(name, began, duration, metadata));
    }
    if let Some(callback) = &callback {
        let commit = CalledCommit {
            instant: instant.as_str(),
            table: &table.config.name,
            base_path: target.uri(),
            action: action.completes_as().name(),
            metadata,
        };
        warn(target, "the callback of the commit", commit.send(callback));
    }
}

/// Reports a clean that has deleted files.
pub(crate) fn report_clean(target: &WritableTable, took: Duration, files: usize) {
    report_service(target, of_clean(millis(took), files));
}

/// Reports an archival.
pub(crate) fn report_archival(target: &WritableTable, took: Duration, instants: usize) {
    report_service(target, of_archival(millis(took), instants));
}

fn report_service(target: &WritableTable, values: Vec<Metric>) {
    if let Some(metrics) = options_of(target).and_then(|options| options.metrics) {
        report_metrics(target, &metrics, values);
    }
}

/// The options, which were checked when the write began.
fn options_of(target: &WritableTable) -> Option<ReportOptions> {
    ReportOptions::resolve(target.options(), &target.latest().config.name).ok()
}

fn report_metrics(target: &WritableTable, options: &MetricsOptions, values: Vec<Metric>) {
    let name = |name: String| match options.prefix.is_empty() {
        true => name,
        false => format!("{}.{name}", options.prefix),
    };
    let all = gauges::set(target.uri(), values.into_iter().map(|(metric, value)| (name(metric), value)));
    let sent = match &options.reporter {
        Reporter::InMemory => Ok(()),
        Reporter::Graphite { host, port, prefix } => {
            graphite::send(host, *port, prefix, &all, target.time().now().timestamp())
        }
        Reporter::PushGateway { host, port, job, labels } => push_gateway::push(host, *port, job, labels, &all),
        Reporter::Prometheus { port, labels } => prometheus_server::serve(*port, target.uri(), labels),
    };
    warn(target, "metrics", sent);
}

fn warn(target: &WritableTable, what: &str, done: Result<()>) {
    if let Err(error) = done {
        target.add_failed_report(format!("{what} could not be reported: {error}"));
    }
}

fn millis(took: Duration) -> i64 {
    i64::try_from(took.as_millis()).unwrap_or(i64::MAX)
}
