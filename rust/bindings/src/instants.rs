//! Instants that users write.

use mortice::names;
use pyo3::prelude::*;

use crate::errors::released;

fn zone(utc: bool) -> names::TimelineZone {
    if utc { names::TimelineZone::Utc } else { names::TimelineZone::Local }
}

/// Returns the digits of an instant in any format of the core. `utc` says that the timeline has the times of UTC, not
/// those of this machine's zone.
#[pyfunction]
pub(crate) fn query_instant(py: Python<'_>, argument: &str, text: &str, utc: bool) -> PyResult<String> {
    released(py, || names::query_instant(argument, text, zone(utc)))
}

/// Returns the position right before an instant in any format of the core; None if there is none.
#[pyfunction]
pub(crate) fn position_before(py: Python<'_>, argument: &str, text: &str, utc: bool) -> PyResult<Option<String>> {
    released(py, || names::position_before(argument, text, zone(utc)))
}
