//! Which series of file groups the rows of a bulk insert go to.
//!
//! That depends on the rows and on the number of threads, not on which thread is how fast.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::keyed_rows::RowPlace;
use super::partition_writers::OPEN_FILES;

/// Bytes of rows after which a place gets a further series, if threads would have nothing to do otherwise. Fewer rows
/// make one file.
const BYTES_OF_SERIES: usize = 48 << 20;

/// How the rows of a place are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// To several series if there are fewer places than threads.
    OverThreads,
    /// To one series.
    Together,
    /// To one series. Rows come sorted by place, so that only one has open files.
    Sorted,
}

/// Where rows go. Lanes have numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// A series that has rows.
    Series(usize),
    /// A new one, which gets the next number. Others are complete.
    NewSeries { completed: Vec<usize> },
    /// Rows that wait until the files of other places are complete: those of this number.
    Waiting(usize),
}

/// Chooses the series of rows.
pub(super) struct Spreading {
    threads: usize,
    spread: Spread,
    series: HashMap<RowPlace, Series>,
    /// Bytes of rows so far.
    bytes: usize,
    hasher: RandomState,
}

/// The series of one place.
#[derive(Debug, Default)]
struct Series {
    lanes: Vec<usize>,
    /// Bytes of rows so far.
    bytes: usize,
    /// The lane that gets the next rows, counted round.
    turn: usize,
}

impl Spreading {
    pub(super) fn new(threads: usize, spread: Spread) -> Self {
        Self { threads: threads.max(1), spread, series: HashMap::new(), bytes: 0, hasher: RandomState::new() }
    }

    /// Where the next rows of a place, of so many bytes, go. `next` is the number of the lane that a new series would
    /// have.
    pub(super) fn choose(&mut self, place: &RowPlace, bytes: usize, next: usize) -> Choice {
        self.bytes = self.bytes.saturating_add(bytes);
        let mut completed = Vec::new();
        if !self.series.contains_key(place) {
            if self.spread == Spread::Sorted {
                completed.extend(self.series.drain().flat_map(|(_, series)| series.lanes));
            } else if self.series.len() >= OPEN_FILES && place.output.is_none() {
                let number = self.hasher.hash_one(place) % self.threads as u64;
                return Choice::Waiting(usize::try_from(number).unwrap_or_default());
            }
        }
        let (all, threads) = (self.bytes, self.threads);
        let series = self.series.entry(place.clone()).or_default();
        series.bytes = series.bytes.saturating_add(bytes);
        let most = if self.spread == Spread::OverThreads { share(threads, series.bytes, all) } else { 1 };
        let count = series.lanes.len();
        let is_full = series.bytes >= count.saturating_mul(BYTES_OF_SERIES) && count < most;
        let known = series.lanes.get(series.turn).copied().filter(|_| !is_full);
        let choice = match known {
            Some(lane) => Choice::Series(lane),
            None => {
                series.turn = count;
                series.lanes.push(next);
                Choice::NewSeries { completed }
            }
        };
        series.turn = series.turn.saturating_add(1).checked_rem(series.lanes.len()).unwrap_or_default();
        choice
    }
}

/// How many of the threads the rows of a place keep busy, by its share of all bytes; at least one. A quarter of a
/// thread is no reason for a further series: places of the same size are never exactly so.
fn share(threads: usize, bytes: usize, all: usize) -> usize {
    let (threads, bytes, all) = (threads as u128, bytes as u128, all.max(1) as u128);
    let share = (4 * threads * bytes + 3 * all) / (4 * all);
    usize::try_from(share.clamp(1, threads)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    fn place(number: usize) -> RowPlace {
        RowPlace { partition: format!("p{number}"), output: None }
    }

    /// The bytes of each series, if so many MiB of each place come, turn by turn.
    fn series(threads: usize, spread: Spread, places: usize, megabytes: usize) -> Vec<usize> {
        let mut spreading = Spreading::new(threads, spread);
        let mut series = Vec::new();
        for _ in 0..megabytes {
            for number in 0..places {
                match spreading.choose(&place(number), MB, series.len()) {
                    Choice::Series(lane) => series[lane] += MB,
                    Choice::NewSeries { completed } if completed.is_empty() => series.push(MB),
                    other => panic!("{other:?}"),
                }
            }
        }
        series
    }

    #[test]
    fn as_many_partitions_as_threads_have_one_series_each() {
        for threads in [1, 4, 16] {
            assert_eq!(series(threads, Spread::OverThreads, 16, 200), [200 * MB; 16]);
            assert_eq!(series(threads, Spread::Together, 2, 500), [500 * MB; 2]);
            assert_eq!(series(threads, Spread::OverThreads, 1, 47), [47 * MB], "too few rows for two files");
        }
    }

    #[test]
    fn few_partitions_are_spread_over_the_threads() {
        for (threads, places) in [(2, 1), (16, 1), (16, 3), (5, 4)] {
            let bytes = series(threads, Spread::OverThreads, places, 3000);
            assert!(bytes.len() >= threads && bytes.len() <= threads + places, "{threads} threads: {}", bytes.len());
            let (least, most) =
                bytes.iter().fold((usize::MAX, 0), |(least, most), one| (least.min(*one), most.max(*one)));
            assert!(most <= 3 * least, "{threads} threads, {places} places: {least} to {most}");
        }
    }

    #[test]
    fn many_partitions_wait() {
        let mut spreading = Spreading::new(4, Spread::OverThreads);
        let choices: Vec<Choice> = (0..1000).map(|number| spreading.choose(&place(number), 1, number)).collect();
        let opened = |choice: &&Choice| matches!(choice, Choice::NewSeries { .. });
        assert_eq!(choices.iter().filter(opened).count(), OPEN_FILES);
        // The rows of a place wait in the same place.
        let again = (0..1000).map(|number| spreading.choose(&place(number), 1, 1000));
        for (first, then) in choices.into_iter().zip(again) {
            assert!(matches!((&first, &then), (Choice::NewSeries { .. }, Choice::Series(_))) || first == then);
        }
        let output = RowPlace { output: Some(1), ..place(2000) };
        assert_eq!(spreading.choose(&output, 1, 7), Choice::NewSeries { completed: vec![] });
    }

    #[test]
    fn sorted_places_come_one_after_the_other() {
        let mut spreading = Spreading::new(4, Spread::Sorted);
        assert_eq!(spreading.choose(&place(0), 500 * MB, 0), Choice::NewSeries { completed: vec![] });
        assert_eq!(spreading.choose(&place(0), 500 * MB, 1), Choice::Series(0));
        assert_eq!(spreading.choose(&place(1), 1, 1), Choice::NewSeries { completed: vec![0] });
    }

    #[test]
    fn a_place_has_its_share_of_the_threads() {
        assert_eq!(share(16, 100, 100), 16);
        assert_eq!((share(16, 1, 32), share(16, 17, 32)), (1, 9));
        assert_eq!((share(1, 5, 5), share(16, 0, 0)), (1, 1));
    }
}
