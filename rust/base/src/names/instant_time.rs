//! Instants that are known by their time.

/// The instant of a metadata-only bootstrap, whose base files are skeletons
/// (`HoodieTimeline.METADATA_BOOTSTRAP_INSTANT_TS`).
pub const METADATA_BOOTSTRAP: &str = "00000000000001";

/// The instant of a full bootstrap (`HoodieTimeline.FULL_BOOTSTRAP_INSTANT_TS`).
pub const FULL_BOOTSTRAP: &str = "00000000000002";
