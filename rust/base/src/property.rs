//! Runs a test with random input. A failure prints the smallest input that was found, and the seed, which
//! `MORTICE_TEST_SEED` repeats.

#![allow(clippy::unwrap_used, clippy::panic, reason = "it is a part of tests")]

use std::hash::{BuildHasher, RandomState};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};

/// Runs `test` with so many inputs.
pub fn check<S: Strategy>(cases: u32, input: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let random = || RandomState::new().hash_one(0);
    let seed = std::env::var("MORTICE_TEST_SEED").map_or_else(|_| random(), |seed| seed.parse().unwrap());
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_time: 5000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    if let Err(error) = runner.run(input, test) {
        panic!("MORTICE_TEST_SEED={seed}: {error}");
    }
}

#[test]
#[should_panic(expected = "MORTICE_TEST_SEED=")]
fn a_failure_names_its_seed() {
    check(64, &(0_u32..100), |number| {
        proptest::prop_assert!(number < 3);
        Ok(())
    });
}
