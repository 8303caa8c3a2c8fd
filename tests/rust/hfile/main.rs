//! HFiles: real ones, ones built here in every form, and damaged ones.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, unreachable_pub)]

mod allocations;
mod base_file;
mod builder;
mod damage;
mod properties;
mod real;
mod seeks;
mod source;
mod written;
#[path = "../zip_archive.rs"]
mod zip_archive;
