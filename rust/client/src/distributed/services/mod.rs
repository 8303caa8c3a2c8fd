//! Table services whose plans tasks execute.
//!
//! | file | job |
//! |---|---|
//! | `planned_service`, `service_kind` | the driver's part of services that are planned and executed |
//! | `running_plan` | one plan of such a service; those of services after a write |
//! | `service_stage` | the part of a plan that a task executes |

mod planned_service;
mod running_plan;
mod service_kind;
mod service_stage;

pub use planned_service::{ServiceRun, run_service_by_tasks};
pub(crate) use running_plan::{execute_by_tasks, reads_at_most};
pub use service_kind::PlannedService;
pub(crate) use service_stage::ServiceStage;
