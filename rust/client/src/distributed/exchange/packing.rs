//! Packs tasks into bins of about equal costs: the heaviest first, each into the lightest bin.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The bin of each task, given their costs. No bin is empty if there are as many tasks as bins.
pub(crate) fn bins_of(costs: &[u64], bins: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    // Costs decide the balance only: each task has a bin.
    let cost_of = |task: usize| costs.get(task).copied().unwrap_or_default();
    order.sort_by_key(|task| Reverse(cost_of(*task)));
    let mut loads: BinaryHeap<Reverse<(u64, u32)>> = (0..bins.max(1)).map(|bin| Reverse((0, bin))).collect();
    let mut bin_of = vec![0; costs.len()];
    for task in order {
        let Some(Reverse((load, bin))) = loads.pop() else { break };
        if let Some(slot) = bin_of.get_mut(task) {
            *slot = bin;
        }
        // A task without cost counts as well.
        loads.push(Reverse((load.saturating_add(cost_of(task).max(1)), bin)));
    }
    bin_of
}

/// How many bins of at most about `bytes` hold `total`: at least `least`, at most `most`.
pub(crate) fn bin_count(total: u64, bytes: u64, least: u32, most: usize) -> u32 {
    let wanted = u32::try_from(total.div_ceil(bytes.max(1))).unwrap_or(u32::MAX).max(least);
    wanted.min(u32::try_from(most).unwrap_or(u32::MAX)).max(1)
}

/// The parts of each task, given what the parts cost: tasks of about `bytes`, at least `least` of them if there are
/// enough parts.
pub(crate) fn tasks_by_cost(costs: &[u64], bytes: u64, least: u32) -> Vec<Vec<u32>> {
    let total = costs.iter().fold(0_u64, |sum, cost| sum.saturating_add(*cost));
    let bins = bins_of(costs, bin_count(total, bytes, least, costs.len()));
    let mut tasks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (part, bin) in (0..).zip(bins) {
        tasks.entry(bin).or_default().push(part);
    }
    tasks.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_tasks_are_alone() {
        let bins = bins_of(&[1, 10, 2, 3, 0], 2);
        assert!([0, 2, 3].iter().all(|light| bins[*light] != bins[1]), "{bins:?}");
        assert_eq!(bins_of(&[5, 5, 5], 3).iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        assert!(bins_of(&[], 3).is_empty());
    }

    #[test]
    fn each_part_is_in_one_task() {
        assert_eq!(tasks_by_cost(&[1, 10, 2, 3, 0], 8, 1).concat().len(), 5);
        assert_eq!(tasks_by_cost(&[5, 5], 100, 7), [[0], [1]]);
        assert!(tasks_by_cost(&[], 100, 7).is_empty());
    }

    #[test]
    fn bins_by_size() {
        assert_eq!([bin_count(100, 10, 2, 50), bin_count(100, 10, 2, 5), bin_count(0, 10, 4, 9)], [10, 5, 4]);
        assert_eq!(bin_count(0, 0, 0, 0), 1);
    }
}
