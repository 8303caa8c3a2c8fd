//! Instants of timelines, and those that users write.

use mortice::names;
use mortice::timeline::{self, ReadPosition};
use pyo3::prelude::*;

use crate::errors::released;
use crate::results::{fields_repr, result_class};

result_class! {
    /// One action on the timeline.
    Instant(requested_time, completion_time, action, state) {
        requested_time: String,
        completion_time: Option<String>,
        action: String,
        state: String,
    }
    repr = |one| fields_repr(one, Self::FIELDS);

    /// True if the action has completed.
    #[getter]
    fn is_completed(&self) -> bool {
        self.state.eq_ignore_ascii_case("COMPLETED")
    }
}

impl From<&timeline::Instant> for Instant {
    fn from(one: &timeline::Instant) -> Self {
        Self {
            requested_time: one.requested_time.to_string(),
            completion_time: one.completion_time.as_ref().map(String::from),
            action: one.action.name().to_owned(),
            state: one.state.name().to_owned(),
        }
    }
}

/// Adds the functions to the module.
pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(query_instant, module)?)?;
    module.add_function(wrap_pyfunction!(position_before, module)?)
}

fn zone(utc: bool) -> names::TimelineZone {
    if utc { names::TimelineZone::Utc } else { names::TimelineZone::Local }
}

/// Returns the digits of an instant in any format of the core. `utc` says that the timeline has the times of UTC, not
/// those of this machine's zone. Bounds of ranges may be positions, with the writes that were pending.
#[pyfunction]
fn query_instant(py: Python<'_>, argument: &str, text: &str, utc: bool) -> PyResult<String> {
    released(py, || match argument != "as_of" && text.contains('~') {
        true => ReadPosition::from_query(argument, text, zone(utc)).map(String::from),
        false => names::query_instant(argument, text, zone(utc)),
    })
}

/// Returns the position right before an instant in any format of the core; None if there is none.
#[pyfunction]
fn position_before(py: Python<'_>, argument: &str, text: &str, utc: bool) -> PyResult<Option<String>> {
    released(py, || names::position_before(argument, text, zone(utc)))
}
