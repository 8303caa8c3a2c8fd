//! What each table service would do now.

use std::collections::BTreeMap;

use mortice::services::{self, MaintainedService};
use pyo3::prelude::*;

use crate::errors::raised;
use crate::results::{fields_repr, result_class, warn};
use crate::table::Table;

result_class! {
    /// What a table service would do now.
    ServiceNeed(service, is_due, gain, files, bytes, pending, problem=None) {
        service: String,
        is_due: bool,
        gain: String,
        files: usize,
        bytes: u64,
        pending: usize,
        problem: Option<String>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

#[pymethods]
impl Table {
    /// What services of the table would do. The problem of one that cannot run says why.
    pub(crate) fn service_needs(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        names: Vec<String>,
    ) -> PyResult<Vec<ServiceNeed>> {
        let found = self.planned(py, |location| {
            let services =
                names.iter().map(|name| MaintainedService::parse(name)).collect::<mortice::Result<Vec<_>>>()?;
            Ok(services::service_needs(location, &options, &services))
        })?;
        warn(py, &found.warnings)?;
        found.needs.into_iter().map(|(service, need)| need_of(py, service, need)).collect()
    }
}

fn need_of(
    py: Python<'_>,
    service: MaintainedService,
    need: mortice::Result<services::ServiceNeed>,
) -> PyResult<ServiceNeed> {
    let service = service.name().to_owned();
    match need {
        Ok(services::ServiceNeed { is_due, gain, files, bytes, pending }) => {
            Ok(ServiceNeed { service, is_due, gain, files, bytes, pending, problem: None })
        }
        Err(error) => {
            let error = raised(py, &error);
            if !error.is_instance(py, &py.import("mortice.errors")?.getattr("MorticeError")?) {
                return Err(error);
            }
            let problem = Some(error.value(py).str()?.to_string());
            Ok(ServiceNeed { service, is_due: false, gain: "unknown".into(), files: 0, bytes: 0, pending: 0, problem })
        }
    }
}
