//! Services and writes together, stopped or delayed at every step.

mod guarded_services;
mod service_tests;
mod stalled_services;
mod stopped_services;
