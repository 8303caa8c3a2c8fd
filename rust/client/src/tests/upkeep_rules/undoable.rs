//! Which instants can be undone in the metadata table: those that nothing has taken into base files since.

use std::collections::BTreeMap;

use super::super::simulation::{Random, seeds};
use super::by_hand::{ALL, ByHand, Written, time, write_options};
use mortice_base::error::ErrorKind;
use mortice_commit::commit::{Clock, RolledBackFiles};
use mortice_services::{MetadataServiceOptions, MetadataServices};
use mortice_table::timeline::{Action, Instant, WriteOperation};

/// What happens to a table, in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A commit of one key, with the minute that it has.
    Commit(usize),
    /// The metadata table is compacted.
    Compaction,
    /// An index is built, from a listing.
    Index,
}

/// Compacts the metadata table. Returns whether there was anything to compact.
fn compact(by_hand: &ByHand) -> bool {
    let options =
        MetadataServiceOptions::resolve(&write_options(&[("hoodie.metadata.compact.max.delta.commits", "1")])).unwrap();
    let (store, open) = (by_hand.store(), by_hand.table.open(false));
    let clock = Clock::new(&open.config, store.time());
    let services = MetadataServices {
        store: &store,
        config: &open.config,
        timeline: &open.timeline,
        clock: &clock,
        options: &options,
    };
    services.run(by_hand.upkeep().timeline()).unwrap()
}

fn instant(by_hand: &ByHand, minute: usize) -> Instant {
    by_hand.table.open(false).timeline.writes_at(&time(minute)).next().unwrap().clone()
}

/// A table after random events, and what the metadata table had before each commit.
struct Past {
    by_hand: ByHand,
    events: Vec<Event>,
    before: BTreeMap<usize, BTreeMap<String, BTreeMap<String, String>>>,
}

fn past(seed: u64, version: u8) -> Past {
    let mut random = Random::new(seed);
    let (mut by_hand, mut events, mut before) = (ByHand::new(version, &ALL[..2]), Vec::new(), BTreeMap::new());
    for minute in 1..6 {
        before.insert(minute, by_hand.records());
        by_hand.insert(minute, ["x", "y"][random.below(2)], &[format!("k{minute}").as_str()]);
        events.push(Event::Commit(minute));
        match random.below(5) {
            0 if compact(&by_hand) => events.push(Event::Compaction),
            1 if by_hand.given.len() == 2 => {
                by_hand.given.push(ALL[3]);
                assert!(by_hand.initialize());
                events.push(Event::Index);
            }
            _ => {}
        }
    }
    Past { by_hand, events, before }
}

impl Past {
    /// What happened after a commit.
    fn since(&self, minute: usize) -> &[Event] {
        let at = self.events.iter().position(|event| *event == Event::Commit(minute)).unwrap();
        &self.events[at + 1..]
    }

    fn is_in_logs_alone(&self, minute: usize) -> bool {
        self.since(minute).iter().all(|event| matches!(event, Event::Commit(_)))
    }
}

#[test]
fn commits_are_undone_as_long_as_nothing_has_them_in_base_files() {
    for seed in seeds(2) {
        let version = [6, 9][usize::try_from(seed % 2).unwrap()];
        let past = past(seed, version);
        let context = format!("MORTICE_TEST_SEED={seed}, version {version}, {:?}", past.events);
        let (by_hand, upkeep) = (&past.by_hand, past.by_hand.upkeep());
        for minute in 1..6 {
            let compacted = past.since(minute).contains(&Event::Compaction);
            let check = upkeep.check_not_compacted(&time(minute));
            assert_eq!(check.is_err(), compacted, "{minute}: {context}");
            let kind = check.err().map(|error| error.kind());
            assert!(kind.is_none_or(|kind| kind == ErrorKind::Unsupported), "{minute}: {context}");
            let undone: Vec<Instant> = (minute..6).map(|minute| instant(by_hand, minute)).collect();
            let expected = version > 6 && past.is_in_logs_alone(minute);
            assert_eq!(upkeep.can_undo(&undone, &[]), expected, "{minute}: {context}");
        }
        let can = past.is_in_logs_alone(5);
        assert_eq!(upkeep.can_roll_back(&instant(by_hand, 5)), can, "{context}");
        if !can {
            continue;
        }
        // What can be undone is what it was before.
        by_hand.timeline().revert_to_inflight(&time(5), Action::DeltaCommit).unwrap();
        by_hand.upkeep().roll_back(&time(5), &time(6), &RolledBackFiles::default()).unwrap();
        by_hand.timeline().delete_instant(&time(5), Action::DeltaCommit).unwrap();
        assert_eq!(by_hand.records(), past.before[&5], "{context}");
    }
}

/// Readers use the metadata table only if it has the newest write: one that lacks what is left is built again instead.
#[test]
fn nothing_is_undone_in_a_metadata_table_that_lacks_a_write() {
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &[]);
        let lacking = |minute: usize| {
            by_hand.begin(&time(minute), Action::DeltaCommit);
            let statuses = vec![by_hand.base_file(("x", minute), &time(minute), &["a".to_owned()].into(), None)];
            let written = Written { statuses, ..Written::default() };
            by_hand.complete(&time(minute), WriteOperation::Insert, &written);
        };
        by_hand.insert(1, "x", &["a"]);
        by_hand.insert(2, "x", &["b"]);
        let upkeep = by_hand.upkeep();
        let newest = instant(&by_hand, 2);
        assert_eq!(upkeep.can_undo(std::slice::from_ref(&newest), &[]), version > 6);
        assert!(upkeep.can_roll_back(&newest));
        // An instant that is off the table's timeline, and still in the metadata table.
        assert!(!upkeep.can_undo(std::slice::from_ref(&newest), &[time(1)]));
        assert_eq!(upkeep.can_undo(std::slice::from_ref(&newest), &[time(7)]), version > 6, "it is gone from both");
        lacking(3);
        let upkeep = by_hand.upkeep();
        let [missing, before] = [3, 2].map(|minute| instant(&by_hand, minute));
        assert!(
            !upkeep.can_undo(std::slice::from_ref(&missing), &[]),
            "version {version}: it is not there to be undone"
        );
        assert!(!upkeep.can_undo(std::slice::from_ref(&before), &[]), "version {version}: the newest one is not there");
        assert!(!upkeep.can_roll_back(&missing), "version {version}");
    }
}
