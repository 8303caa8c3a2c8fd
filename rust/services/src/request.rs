//! What is asked of a service whose work is planned first, and executed then or later.

/// What is to be done. Each service has a function `plan_…`, which says what would be done and changes nothing, and
/// `run_…`, which does it; both take the table's location, what is asked for, and Hudi's options last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceRequest {
    /// Whether a plan is made, if the service is due.
    pub schedule: bool,
    /// Whether plans are executed, those that were pending before as well.
    pub run: bool,
}

impl ServiceRequest {
    /// A plan is made, and all plans are executed.
    pub const BOTH: Self = Self { schedule: true, run: true };
}
