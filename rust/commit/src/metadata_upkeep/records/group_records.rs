//! Records of a file group of the metadata table.

/// The records of one file group, sorted by key.
#[derive(Default)]
pub(in crate::metadata_upkeep) struct GroupRecords<'a> {
    pub(in crate::metadata_upkeep) upserts: Vec<(&'a str, &'a [u8])>,
    pub(in crate::metadata_upkeep) deletes: Vec<&'a str>,
}
