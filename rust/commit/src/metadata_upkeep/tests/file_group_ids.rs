//! File group ids, as the record index stores them: readers compose the id again
//! (`HoodieTableMetadataUtil.getLocationFromRecordIndexInfo`).

use proptest::prelude::*;
use uuid::Uuid;

use crate::metadata_upkeep::records::record_bytes::FileGroupId;
use mortice_base::property::check;

/// The id that Java composes: `new UUID(high, low) + "-" + index`, without the index if it is -1.
fn composed(id: &FileGroupId) -> String {
    match id {
        FileGroupId::Text(text) => text.clone(),
        FileGroupId::Uuid { high, low, index } => {
            let uuid = Uuid::from_u64_pair(high.cast_unsigned(), low.cast_unsigned());
            if *index == -1 { uuid.to_string() } else { format!("{uuid}-{index}") }
        }
    }
}

#[test]
fn ids_come_back_as_they_were() {
    let uuid = any::<u128>().prop_map(|bits| Uuid::from_u128(bits).to_string());
    let suffix = prop_oneof![
        Just(String::new()),
        any::<i32>().prop_map(|number| format!("-{number}")),
        any::<u64>().prop_map(|number| format!("-{number}")),
        "-[0-9+-]{0,3}",
        "[-0-9a-zé]{0,5}",
    ];
    let ids = prop_oneof![
        4 => (uuid.clone(), suffix.clone()).prop_map(|(uuid, suffix)| uuid + &suffix),
        1 => (uuid, suffix).prop_map(|(uuid, suffix)| uuid.to_uppercase() + &suffix),
        1 => "[0-9a-f-]{30,40}",
        1 => "\\PC{0,40}",
    ];
    check(2000, &ids, |id| {
        prop_assert_eq!(composed(&FileGroupId::parse(&id)), id);
        Ok(())
    });
}

/// Ids in the usual form take 16 bytes and a number; Hudi compares them so.
#[test]
fn usual_ids_are_numbers() {
    check(500, &(any::<u128>(), 0..i32::MAX), |(bits, number)| {
        let uuid = Uuid::from_u128(bits);
        let (high, low) = uuid.as_u64_pair();
        let expected = |index| FileGroupId::Uuid { high: high.cast_signed(), low: low.cast_signed(), index };
        prop_assert_eq!(FileGroupId::parse(&format!("{uuid}-{number}")), expected(number));
        prop_assert_eq!(FileGroupId::parse(&uuid.to_string()), expected(-1));
        Ok(())
    });
}
