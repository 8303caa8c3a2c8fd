//! Records of a file group of the metadata table.

/// The records of one file group, sorted by key.
#[derive(Default)]
pub(super) struct GroupRecords<'a> {
    pub(super) upserts: Vec<(&'a str, &'a [u8])>,
    pub(super) deletes: Vec<&'a str>,
}
