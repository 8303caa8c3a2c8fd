//! Transactions and table services.
//!
//! [`services`] decides what a table service does. A [`transaction`] takes a write from its requested instant to its
//! completed one, and [`maintenance`] executes table services in it.

pub mod maintenance;
pub mod services;
pub mod transaction;
