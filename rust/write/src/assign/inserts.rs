//! Rows with new keys: how many go to each small file, and how many to each new file group.

use super::options::AssignOptions;
use mortice_table::file_group::FileSlice;

/// Where some of a partition's new rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bin<'v> {
    SmallFile(&'v FileSlice),
    NewGroup,
}

/// Distributes so many rows: small files are filled up to the size of a file, the others go to new groups of equal
/// numbers of rows.
pub(super) fn distribute<'v>(
    mut rows: u64,
    small_files: &[&'v FileSlice],
    record_size: u64,
    options: &AssignOptions,
) -> Vec<(Bin<'v>, u64)> {
    let mut bins = Vec::new();
    for slice in small_files {
        // A group of logs only has all its room.
        let len = slice.base_file.as_ref().map_or(0, |base| base.len);
        let room = options.max_file_size.saturating_sub(len) / record_size.max(1);
        let taken = room.min(rows);
        if taken > 0 {
            bins.push((Bin::SmallFile(slice), taken));
            rows -= taken;
        }
    }
    let of_group = options.insert_split.unwrap_or_else(|| options.max_file_size.div_ceil(record_size.max(1))).max(1);
    while rows > 0 {
        let taken = of_group.min(rows);
        bins.push((Bin::NewGroup, taken));
        rows -= taken;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::names::RequestedTime;
    use mortice_table::file_group::BaseFile;
    use proptest::prelude::*;

    fn options(max_file_size: u64, insert_split: Option<u64>) -> AssignOptions {
        AssignOptions {
            max_file_size,
            small_file_limit: max_file_size,
            small_file_candidates: 1,
            insert_split,
            record_size: 1,
            estimation_threshold: 1.0,
            metadata_size: 0,
            estimator: None,
            bucket: None,
        }
    }

    fn slice(file_id: usize, len: Option<u64>) -> FileSlice {
        let (name, instant) = (format!("{file_id}_0-1-2_7.parquet"), RequestedTime::from("7"));
        let base = |len| BaseFile {
            path: format!("p/{name}"),
            len,
            etag: None,
            instant: instant.clone(),
            source: None,
            registered_name: None,
        };
        FileSlice {
            partition: "p".to_owned(),
            file_id: file_id.to_string(),
            base_file: len.map(base),
            base_instant: instant,
            log_files: Vec::new(),
        }
    }

    #[test]
    fn small_files_are_filled_before_groups_are_created() {
        let slices = [slice(0, Some(70)), slice(1, Some(200)), slice(2, None)];
        let small: Vec<&FileSlice> = slices.iter().collect();
        let bins = distribute(25, &small, 10, &options(100, None));
        // The second is full; a group without a base file has room for a whole one.
        assert_eq!(
            bins,
            [
                (Bin::SmallFile(&slices[0]), 3),
                (Bin::SmallFile(&slices[2]), 10),
                (Bin::NewGroup, 10),
                (Bin::NewGroup, 2)
            ]
        );
        assert_eq!(distribute(25, &[], 10, &options(100, Some(20))), [(Bin::NewGroup, 20), (Bin::NewGroup, 5)]);
        assert_eq!(distribute(0, &small, 10, &options(100, None)), []);
    }

    proptest! {
        #[test]
        fn each_row_has_one_bin_and_no_file_is_overfilled(
            rows in 0_u64..500,
            lens in proptest::collection::vec(0_u64..150, 0..5),
            record_size in 1_u64..40,
            split in proptest::option::of(1_u64..60),
        ) {
            let slices: Vec<FileSlice> = lens.iter().enumerate().map(|(id, len)| slice(id, Some(*len))).collect();
            let small: Vec<&FileSlice> = slices.iter().collect();
            let bins = distribute(rows, &small, record_size, &options(100, split));
            prop_assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), rows);
            for (bin, count) in bins {
                prop_assert!(count > 0);
                match bin {
                    Bin::SmallFile(slice) => {
                        let len = slice.base_file.as_ref().map_or(0, |base| base.len);
                        prop_assert!(len + count * record_size <= 100);
                    }
                    Bin::NewGroup => prop_assert!(count <= split.unwrap_or_else(|| 100_u64.div_ceil(record_size))),
                }
            }
        }
    }
}
