//! Buckets of several file groups: two writers without a common lock have each made one. A key is read from both of
//! them, and writes by the bucket index are refused.

use super::findings::{Finding, FindingKind};
use super::stored_files::joined;
use mortice_base::error::Result;
use mortice_formats::filter::Filter;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_write::index::{are_buckets, shared_buckets};

/// Finds them, in tables whose file groups are buckets.
pub(super) fn duplicate_buckets(table: &OpenTable) -> Result<Vec<Finding>> {
    Ok(among(&table.file_slices(None, &Filter::default())?))
}

fn among(slices: &[FileSlice]) -> Vec<Finding> {
    let file_ids: Vec<&str> = slices.iter().map(|slice| slice.file_id.as_str()).collect();
    if !are_buckets(&file_ids) {
        return Vec::new();
    }
    let buckets = shared_buckets(slices).into_iter();
    buckets
        .map(|((partition, bucket), groups)| {
            duplicate_bucket(partition, bucket, groups.iter().map(|group| group.file_id.as_str()))
        })
        .collect()
}

/// The finding of a bucket with these file groups.
pub(crate) fn duplicate_bucket<'a>(partition: &str, bucket: u32, file_ids: impl Iterator<Item = &'a str>) -> Finding {
    let mut file_ids: Vec<&str> = file_ids.collect();
    file_ids.sort_unstable();
    let first = file_ids.first().copied().unwrap_or_default();
    let message = format!("bucket {bucket} has {} file groups: {}", file_ids.len(), file_ids.join(", "));
    Finding::new(FindingKind::DuplicateBucket, joined(partition, first), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(groups: &[(&str, &str)]) -> Vec<String> {
        let slice = |(partition, digits): &(&str, &str)| FileSlice {
            partition: (*partition).to_owned(),
            file_id: format!("{digits}-4ee4-bed8-6170a8190a22-0"),
            base_instant: "1".into(),
            base_file: None,
            log_files: Vec::new(),
        };
        among(&groups.iter().map(slice).collect::<Vec<_>>()).into_iter().map(|one| one.path).collect()
    }

    #[test]
    fn a_bucket_of_two_file_groups_is_found() {
        let group = |start: &str| format!("{start}-4ee4-bed8-6170a8190a22-0");
        assert!(found(&[("p", "00000000-1"), ("p", "00000001-1"), ("q", "00000000-1")]).is_empty());
        let two = found(&[("p", "00000000-2"), ("p", "00000001-1"), ("p", "00000000-1")]);
        assert_eq!(two, [format!("p/{}", group("00000000-1"))]);
    }

    #[test]
    fn other_file_groups_are_no_buckets() {
        assert!(found(&[("p", "00000000-1"), ("p", "00000000-2"), ("p", "1f2e3d4c-1")]).is_empty());
        assert!(found(&[]).is_empty());
    }
}
