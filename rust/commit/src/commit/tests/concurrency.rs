//! Options of several writers: which combinations are taken, and as what.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::commit::lock_options::lock_wait;
use crate::commit::{Concurrency, ConflictUnit, FailedWrites, LockedTable};
use mortice_base::error::ErrorKind;
use mortice_merge::config::WriteOptions;
use mortice_storage::{FileStore, LocalStorage, StorageOptions};

type Options = BTreeMap<String, String>;

/// Modes, lock providers and strategies of conflicts: as they are written, and whether they are taken.
const MODES: [&str; 5] =
    ["single_writer", "Single_Writer", "OPTIMISTIC_CONCURRENCY_CONTROL", "non_blocking_concurrency_control", "both"];
const PROVIDERS: [(&str, Result<(), ErrorKind>); 6] = [
    ("FileSystemBasedLockProvider", Ok(())),
    ("org.apache.hudi.client.transaction.lock.StorageBasedLockProvider", Ok(())),
    ("InProcessLockProvider", Err(ErrorKind::InvalidArgument)),
    ("org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider", Ok(())),
    ("org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider", Err(ErrorKind::Unsupported)),
    ("org.example.lock.FileSystemBasedLockProvider", Err(ErrorKind::Unsupported)),
];
const POLICIES: [(&str, FailedWrites); 4] = [
    ("EAGER", FailedWrites::Eager),
    ("lazy", FailedWrites::Lazy),
    ("LAZY", FailedWrites::Lazy),
    ("NEVER", FailedWrites::Never),
];
const STRATEGIES: [&str; 3] = [
    "org.apache.hudi.client.transaction.SimpleConcurrentFileWritesConflictResolutionStrategy",
    "BucketIndexConcurrentFileWritesConflictResolutionStrategy",
    "org.example.PreferWriterConflictResolutionStrategy",
];

#[derive(Debug, Clone)]
struct Choice {
    mode: Option<&'static str>,
    provider: Option<(&'static str, Result<(), ErrorKind>)>,
    policy: Option<(&'static str, FailedWrites)>,
    /// The policy by its older name.
    is_old_name: bool,
    strategy: Option<&'static str>,
    index: Option<&'static str>,
}

fn choice() -> impl Strategy<Value = Choice> {
    let mode = option::of(prop_oneof![select(&MODES[..]), Just(MODES[2])]);
    let provider = option::weighted(0.9, select(&PROVIDERS[..]));
    let policy = (option::of(select(&POLICIES[..])), any::<bool>());
    let strategy = option::of(select(&STRATEGIES[..]));
    let index = option::of(select(vec!["BUCKET", "bucket", "SIMPLE"]));
    (mode, provider, policy, strategy, index).prop_map(|(mode, provider, (policy, is_old_name), strategy, index)| {
        Choice { mode, provider, policy, is_old_name, strategy, index }
    })
}

impl Choice {
    fn options(&self) -> Options {
        let policy =
            if self.is_old_name { "hoodie.cleaner.policy.failed.writes" } else { "hoodie.clean.failed.writes.policy" };
        let given = [
            ("hoodie.write.concurrency.mode", self.mode),
            ("hoodie.write.lock.provider", self.provider.map(|(class, _)| class)),
            (policy, self.policy.map(|(name, _)| name)),
            ("hoodie.write.lock.conflict.resolution.strategy", self.strategy),
            ("hoodie.index.type", self.index),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect()
    }

    /// Whether there may be other writers, what is done about failed writes, and what is compared; or the kind of the
    /// error.
    fn expected(&self) -> Result<(bool, FailedWrites, ConflictUnit), ErrorKind> {
        let policy = self.policy.map(|(_, policy)| policy);
        match self.mode.map(str::to_lowercase).as_deref() {
            None | Some("single_writer") => {
                return Ok((false, policy.unwrap_or(FailedWrites::Eager), ConflictUnit::FileGroup));
            }
            Some("optimistic_concurrency_control") => {}
            Some(_) => return Err(ErrorKind::Unsupported),
        }
        let policy = policy.unwrap_or(FailedWrites::Lazy);
        if policy == FailedWrites::Eager {
            return Err(ErrorKind::InvalidArgument);
        }
        self.provider.map_or(Err(ErrorKind::InvalidArgument), |(_, taken)| taken)?;
        let has_buckets = self.index.is_some_and(|index| index.to_lowercase() == "bucket");
        let asks_for_buckets = self.strategy.is_some_and(|strategy| strategy.contains("Bucket"));
        match self.strategy {
            Some(strategy) if strategy.contains("Prefer") => Err(ErrorKind::Unsupported),
            _ if asks_for_buckets && !has_buckets => Err(ErrorKind::InvalidArgument),
            _ if has_buckets => Ok((true, policy, ConflictUnit::Bucket)),
            _ => Ok((true, policy, ConflictUnit::FileGroup)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn combinations_are_taken_or_refused(choice in choice()) {
        let store: Arc<dyn FileStore> = Arc::new(LocalStorage::new("/nowhere", true));
        let table = LockedTable { name: "trips", uri: "/nowhere" };
        let found = WriteOptions::resolve(choice.options())
            .and_then(|options| Concurrency::resolve(&store, table, &StorageOptions::new(), &options));
        let found = found.map_err(|error| error.kind());
        if let Ok(found) = &found {
            // Others must be able to tell a failed write from one under way.
            let needed = found.has_several_writers() || found.failed_writes == FailedWrites::Lazy;
            prop_assert_eq!(found.has_heartbeats(), needed);
        }
        let found = found.map(|found| (found.has_several_writers(), found.failed_writes, found.conflict_unit));
        prop_assert_eq!(found, choice.expected());
    }

    /// Each attempt of the client waits for as long as the provider does, and between attempts it pauses.
    #[test]
    fn a_lock_is_waited_for_as_long_as_all_attempts_take(
        once in 0_u64..100_000, pause in 0_u64..5_000, retries in 0_u64..60, between in 0_u64..100_000,
    ) {
        let given = [
            ("hoodie.write.lock.wait_time_ms", once),
            ("hoodie.write.lock.wait_time_ms_between_retry", pause),
            ("hoodie.write.lock.client.num_retries", retries),
            ("hoodie.write.lock.client.wait_time_ms_between_retry", between),
        ];
        let options = WriteOptions::resolve(given.map(|(name, value)| (name, value.to_string()))).unwrap();
        let wait = lock_wait(&options).unwrap();
        let mut limit = Duration::from_millis(once);
        for _ in 0..retries {
            limit += Duration::from_millis(between) + Duration::from_millis(once);
        }
        prop_assert_eq!(wait.limit, limit);
        // It is neither asked for without a pause, nor less often than each second.
        prop_assert_eq!(wait.pause, Duration::from_millis(pause.clamp(1, 1_000)));
    }
}
