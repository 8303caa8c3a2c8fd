//! Files of the timeline.

use std::collections::BTreeMap;

use mortice::timeline::metadata::{
    HoodieCleanMetadata, HoodieCleanerPlan, HoodieCommitMetadata, HoodieCompactionPlan, HoodieIndexCommitMetadata,
    HoodieIndexPlan, HoodieReplaceCommitMetadata, HoodieRequestedReplaceMetadata, HoodieRestoreMetadata,
    HoodieRestorePlan, HoodieRollbackMetadata, HoodieRollbackPlan, HoodieSavepointMetadata, MetadataFile, OrderedMap,
    TimelineMetadata,
};
use mortice::timeline::{CommitMetadata, MetadataPart};

/// Metadata of the timeline: the first byte selects the kind, the others are the file. A file that can be written again
/// is read as the same value.
pub fn metadata(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 13 {
        0 => {
            metadata_of::<HoodieCommitMetadata>(data);
            check_planned(data);
        }
        1 => {
            metadata_of::<HoodieReplaceCommitMetadata>(data);
            check_planned(data);
        }
        2 => metadata_of::<HoodieRequestedReplaceMetadata>(data),
        3 => metadata_of::<HoodieCompactionPlan>(data),
        4 => metadata_of::<HoodieCleanerPlan>(data),
        5 => metadata_of::<HoodieCleanMetadata>(data),
        6 => metadata_of::<HoodieRollbackPlan>(data),
        7 => metadata_of::<HoodieRollbackMetadata>(data),
        8 => metadata_of::<HoodieRestorePlan>(data),
        9 => metadata_of::<HoodieRestoreMetadata>(data),
        10 => metadata_of::<HoodieSavepointMetadata>(data),
        11 => metadata_of::<HoodieIndexPlan>(data),
        _ => metadata_of::<HoodieIndexCommitMetadata>(data),
    }
}

fn metadata_of<T: TimelineMetadata>(data: &[u8]) {
    let Ok(Some(file)) = MetadataFile::<T>::parse(data) else { return };
    let Ok(bytes) = file.to_bytes() else { return };
    let again = MetadataFile::<T>::parse(&bytes).ok().flatten().and_then(|again| again.to_bytes().ok());
    assert!(again.as_ref() == Some(&bytes), "other bytes the second time");
    let _ = file.value.to_avro();
    let json = file.value.to_json();
    assert!(T::from_json(&json).is_ok_and(|again| again.to_json() == json), "other JSON the second time");
}

/// What plans go by is what services go by: of a file that both can read, each sees the same files.
fn check_planned(data: &[u8]) {
    let Ok(Some(planned)) = CommitMetadata::parse(data, MetadataPart::All) else { return };
    for part in [MetadataPart::Header, MetadataPart::Replaced] {
        assert!(CommitMetadata::parse(data, part).is_ok_and(|some| some.is_some()), "a part that cannot be read");
    }
    // One that replaces nothing has the other name, and is none in the Avro format.
    let Ok(Some(full)) = MetadataFile::<HoodieReplaceCommitMetadata>::parse(data) else { return };
    let stats = full.value.partition_to_write_stats.iter().flat_map(OrderedMap::iter);
    let mut written: Vec<_> =
        stats.flat_map(|(partition, stats)| stats.iter().map(move |stat| (partition, stat))).collect();
    written.sort_by_key(|(partition, _)| *partition);
    let others =
        planned.write_stats.iter().flat_map(|(partition, stats)| stats.iter().map(move |stat| (partition, stat)));
    assert!(written.len() == others.clone().count(), "other files written: {planned:?}");
    for ((partition, one), (other_partition, other)) in written.into_iter().zip(others) {
        assert!(partition == other_partition && one.path == other.path && one.file_id == other.file_id);
        assert!(one.num_writes == other.num_writes && one.file_size_in_bytes == other.file_size_in_bytes);
    }
    let replaced: BTreeMap<String, Vec<String>> = full
        .value
        .partition_to_replace_file_ids
        .iter()
        .flat_map(OrderedMap::iter)
        .map(|(partition, ids)| (partition.to_owned(), ids.clone()))
        .collect();
    assert!(replaced == planned.replaced, "other file groups replaced: {planned:?}");
}
