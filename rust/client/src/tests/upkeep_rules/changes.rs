//! Which partitions a metadata table has after a write: those that options ask for, of those that the table can have;
//! and what was planned is what is done.

use std::collections::BTreeSet;

use super::super::simulation::{Random, seeds};
use super::by_hand::{ByHand, metadata_options, time};
use mortice_base::error::ErrorKind;
use mortice_commit::commit::update_properties;
use mortice_commit::metadata_upkeep::{FoundMetadata, MetadataOptions, MetadataUpkeep, PlannedPartitions};
use mortice_table::timeline::Action;

const COMPLETED: &str = "hoodie.table.metadata.partitions";
const INFLIGHT: &str = "hoodie.table.metadata.partitions.inflight";
const REBUILT: &str = "mortice.metadata.partitions.to.rebuild";
const ENABLE: &str = "hoodie.metadata.enable";
const DROP: (&str, &str) = ("mortice.metadata.drop_unsupported", "true");
/// The option of each index.
const INDEXES: [(&str, &str); 4] = [
    ("column_stats", "hoodie.metadata.index.column.stats.enable"),
    ("bloom_filters", "hoodie.metadata.index.bloom.filter.enable"),
    ("record_index", "hoodie.metadata.record.index.enable"),
    ("partition_stats", "hoodie.metadata.index.partition.stats.enable"),
];
const UNKNOWN: &str = "vector_index_x";

type GivenOptions = Vec<(&'static str, &'static str)>;

fn random_options(random: &mut Random) -> GivenOptions {
    let mut given = GivenOptions::new();
    for (_, option) in INDEXES {
        given.extend([None, Some((option, "true")), Some((option, "false"))][random.below(3)]);
    }
    given
}

fn properties(by_hand: &ByHand, name: &str) -> BTreeSet<String> {
    by_hand.table.open(false).config.properties.list(&[name]).into_iter().collect()
}

fn planned(by_hand: &ByHand, options: &MetadataOptions) -> PlannedPartitions {
    MetadataUpkeep::planned(&by_hand.store(), &by_hand.table.open(false), options).unwrap()
}

fn initialize(by_hand: &ByHand, options: &MetadataOptions) -> bool {
    MetadataUpkeep::initialize(&by_hand.store(), &by_hand.table.open(false), options).unwrap()
}

fn set(by_hand: &ByHand, name: &str, value: &str) {
    let change = |properties: &mut mortice_merge::config::PropertiesFile| {
        properties.set(name, value);
        Ok(())
    };
    update_properties(by_hand.store().as_ref(), change).unwrap();
}

/// The partitions of a table that has `before`, by the rules of the options: Hudi's, without a look at plans.
fn expected(version: u8, before: &BTreeSet<String>, given: &GivenOptions, has_to_wait: bool) -> BTreeSet<String> {
    let asked = |name: &str| {
        let (_, option) = INDEXES.into_iter().find(|(index, _)| *index == name).unwrap();
        given.iter().find(|(given, _)| *given == option).map(|(_, value)| *value == "true")
    };
    let mut after = BTreeSet::from(["files".to_owned()]);
    for (name, _) in INDEXES {
        let had = before.contains(name);
        let is_wanted = match (name, before.is_empty()) {
            // Hudi's defaults on Spark: statistics from table version 8 on.
            ("column_stats", true) => asked(name).unwrap_or(version > 6),
            ("partition_stats", _) => {
                let of_files = after.contains("column_stats") && version > 6;
                let default = before.is_empty() || had || asked("column_stats") == Some(true);
                of_files && asked(name).unwrap_or(default)
            }
            (_, _) => asked(name).unwrap_or(had),
        };
        if is_wanted && (had || !has_to_wait) {
            after.insert(name.to_owned());
        }
    }
    if has_to_wait && before.is_empty() { BTreeSet::new() } else { after }
}

#[test]
fn a_table_has_the_partitions_that_options_ask_for_as_planned() {
    for seed in seeds(5) {
        let mut random = Random::new(seed);
        let version = [6, 9][random.below(2)];
        let first = random_options(&mut random);
        let by_hand = ByHand::new(version, &first);
        by_hand.insert(1, "x", &["a", "b"]);
        by_hand.insert(2, "y", &["c"]);
        let mut context = format!("MORTICE_TEST_SEED={seed}, version {version}, {first:?}");
        assert_eq!(by_hand.table.partitions(), expected(version, &BTreeSet::new(), &first, false), "{context}");
        let is_off = random.below(4) == 0;
        let has_unknown = random.below(4) == 0;
        let has_to_wait = random.below(3) == 0;
        let mut given = random_options(&mut random);
        context += &format!("; {given:?}, off: {is_off}, unknown: {has_unknown}, a pending write: {has_to_wait}");
        if has_unknown {
            let names: Vec<String> = by_hand.table.partitions().into_iter().chain([UNKNOWN.to_owned()]).collect();
            set(&by_hand, COMPLETED, &names.join(","));
            given.push(DROP);
        }
        if has_to_wait {
            by_hand.begin(&time(3), Action::DeltaCommit);
        }
        let known: BTreeSet<String> = by_hand.table.partitions().into_iter().filter(|name| name != UNKNOWN).collect();
        let expected = match is_off {
            true => BTreeSet::new(),
            false => expected(version, &known, &given, has_to_wait && version == 6),
        };
        given.extend(is_off.then_some((ENABLE, "false")));
        let options = metadata_options(&given);
        // Partitions that cannot be maintained are dropped before anything else is looked at.
        for _ in 0..3 {
            let plan = planned(&by_hand, &options);
            let before: BTreeSet<String> = plan.before.iter().cloned().collect();
            assert_eq!(before, by_hand.table.partitions(), "{context}");
            let changed = initialize(&by_hand, &options);
            assert_eq!(changed, !(plan.added.is_empty() && plan.dropped.is_empty()), "{context}: {plan:?}");
            let mut after: BTreeSet<String> = before.into_iter().filter(|name| !plan.dropped.contains(name)).collect();
            after.extend(plan.added.iter().cloned());
            assert_eq!(by_hand.table.partitions(), after, "{context}: {plan:?}");
        }
        assert_eq!(by_hand.table.partitions(), expected, "{context}");
        for (partition, _) in INDEXES {
            let files = by_hand.files_below(&format!(".hoodie/metadata/{partition}"));
            assert_eq!(files.is_empty(), !expected.contains(partition), "{context}, {partition}: {files:?}");
        }
        assert_eq!(by_hand.table.rows(true), by_hand.table.rows(false), "{context}");
        let open = by_hand.table.open(true);
        let found = MetadataUpkeep::find(&by_hand.store(), &open, &options).unwrap();
        let FoundMetadata::Sound(found) = found else { panic!("{context}") };
        assert_eq!(found.is_some(), !expected.is_empty(), "{context}");
        if expected.contains("record_index") {
            assert_eq!(by_hand.locations().len(), 3, "{context}");
        }
    }
}

/// Options name one partition twice, or the properties do: as complete, and as being built by an indexer of Hudi's.
#[test]
fn partitions_that_are_being_built_are_kept_up_and_dropped_as_others_are() {
    let by_hand = ByHand::new(9, &[]);
    by_hand.insert(1, "x", &["a"]);
    set(&by_hand, INFLIGHT, UNKNOWN);
    let open = by_hand.table.open(false);
    let error = MetadataUpkeep::open(by_hand.store(), &open, &MetadataOptions::default()).err().unwrap();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(UNKNOWN), "{error}");
    assert!(error.to_string().contains("hoodie.properties"), "{error}");
    let error = MetadataUpkeep::check_can_build(&open, &MetadataOptions::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(UNKNOWN), "{error}");
    MetadataUpkeep::check_can_build(&open, &metadata_options(&[DROP])).unwrap();
    let before = properties(&by_hand, COMPLETED);
    assert!(initialize(&by_hand, &metadata_options(&[DROP])));
    assert_eq!((properties(&by_hand, COMPLETED), properties(&by_hand, INFLIGHT)), (before, BTreeSet::new()));
    assert!(!initialize(&by_hand, &metadata_options(&[DROP])));
}

/// Files of a pending write could be taken for complete, up to version 7.
#[test]
fn a_metadata_table_is_built_beside_a_pending_write_from_version_8_on() {
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &[]);
        by_hand.insert(1, "x", &["a"]);
        let off = metadata_options(&[(ENABLE, "false")]);
        assert!(initialize(&by_hand, &off) && !initialize(&by_hand, &off));
        assert!(by_hand.files_below(".hoodie/metadata").is_empty());
        by_hand.begin(&time(2), Action::DeltaCommit);
        let is_built = version > 6;
        let check = MetadataUpkeep::check_can_build(&by_hand.table.open(false), &MetadataOptions::default());
        assert_eq!(check.is_ok(), is_built, "version {version}");
        let message = check.err().map(|error| error.to_string());
        assert!(message.is_none_or(|message| message.contains(time(2).as_str())));
        assert_eq!(planned(&by_hand, &MetadataOptions::default()).added.is_empty(), !is_built, "version {version}");
        assert_eq!(initialize(&by_hand, &MetadataOptions::default()), is_built, "version {version}");
        assert_eq!(by_hand.table.partitions().is_empty(), !is_built, "version {version}");
        // So is an index.
        let by_hand = ByHand::new(version, &[]);
        by_hand.insert(1, "x", &["a"]);
        by_hand.begin(&time(2), Action::DeltaCommit);
        let index = metadata_options(&[(INDEXES[2].1, "true")]);
        assert_eq!(planned(&by_hand, &index).added.is_empty(), !is_built, "version {version}");
        assert_eq!(initialize(&by_hand, &index), is_built, "version {version}");
        assert_eq!(by_hand.table.partitions().contains("record_index"), is_built, "version {version}");
    }
}

/// A deletion that was stopped: the next writer builds the partitions of before, with what its own options add, and
/// once only.
#[test]
fn the_partitions_of_a_metadata_table_that_is_to_be_built_again_are_remembered() {
    for version in [6, 9] {
        let all: GivenOptions = vec![(INDEXES[1].1, "true"), (INDEXES[2].1, "true")];
        let by_hand = ByHand::new(version, &all);
        by_hand.insert(1, "x", &["a"]);
        let before = by_hand.table.partitions();
        let none = MetadataOptions::default();
        let drop_again =
            || MetadataUpkeep::drop_to_rebuild(&by_hand.store(), &by_hand.table.open(false), &none).unwrap();
        let again = drop_again();
        assert_eq!((properties(&by_hand, REBUILT), by_hand.table.partitions()), (before.clone(), BTreeSet::new()));
        // Stopped, and repeated: what is remembered is not lost.
        assert_eq!(drop_again(), again, "version {version}");
        assert_eq!(properties(&by_hand, REBUILT), before);
        assert_eq!(planned(&by_hand, &none).added.into_iter().collect::<BTreeSet<_>>(), before, "version {version}");
        // A writer of other options gets what it asks for.
        let without = metadata_options(&[(INDEXES[1].1, "false")]);
        assert!(!planned(&by_hand, &without).added.contains(&"bloom_filters".to_owned()));
        assert!(initialize(&by_hand, &none));
        assert_eq!((by_hand.table.partitions(), properties(&by_hand, REBUILT)), (before.clone(), BTreeSet::new()));
        // Another one has built them meanwhile.
        set(&by_hand, REBUILT, "bloom_filters");
        assert!(!initialize(&by_hand, &none));
        assert_eq!((by_hand.table.partitions(), properties(&by_hand, REBUILT)), (before.clone(), BTreeSet::new()));
        // Without a metadata table nothing is remembered either.
        drop_again();
        assert!(initialize(&by_hand, &metadata_options(&[(ENABLE, "false")])));
        assert!(properties(&by_hand, REBUILT).is_empty() && by_hand.table.partitions().is_empty());
    }
}

/// What was left in folders of partitions that the table does not have would be taken for theirs once they are built.
#[test]
fn what_a_stopped_deletion_left_is_deleted_and_nothing_else() {
    let by_hand = ByHand::new(9, &[(INDEXES[2].1, "true")]);
    by_hand.insert(1, "x", &["a"]);
    let before = by_hand.files_below(".hoodie/metadata");
    let left = ".hoodie/metadata/bloom_filters/.bloom-filters-0000-0_00000000000000009.log.1_0-0-0";
    std::fs::create_dir_all(by_hand.path(left).parent().unwrap()).unwrap();
    std::fs::write(by_hand.path(left), b"left").unwrap();
    let delete = || MetadataUpkeep::delete_unlisted(&by_hand.store(), &by_hand.table.open(false)).unwrap();
    delete();
    assert_eq!(by_hand.files_below(".hoodie/metadata"), before);
    set(&by_hand, COMPLETED, "");
    delete();
    assert!(by_hand.files_below(".hoodie/metadata").is_empty());
    assert_eq!(by_hand.table.rows(true).len(), 1);
}
