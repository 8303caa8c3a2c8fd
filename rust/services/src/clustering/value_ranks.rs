//! Ranks of values among those of a sample of rows: columns of any types and ranges become coordinates of one scale
//! (`SpaceCurveSortingHelper.orderDataFrameBySamplingValues`).

use arrow_array::{Array, ArrayRef, RecordBatch};

use super::sortable::sortable;
use mortice_base::error::Result;

/// The values of one column in a sample, ascending, as bytes.
#[derive(Debug)]
pub(super) struct ValueRanks {
    values: Vec<Vec<u8>>,
}

impl ValueRanks {
    /// Of each column, by at most `size` rows, evenly spread. `columns` has the columns of a batch.
    pub(super) fn of_sample(
        rows: impl Iterator<Item = Result<RecordBatch>>,
        size: usize,
        columns: impl Fn(&RecordBatch) -> Result<Vec<ArrayRef>>,
    ) -> Result<Vec<Self>> {
        let mut samples: Vec<Vec<Vec<u8>>> = Vec::new();
        // Every so many rows; doubled whenever there are too many.
        let (mut step, mut next) = (1_usize, 0_usize);
        for batch in rows {
            let batch = batch?;
            let keys = columns(&batch)?.into_iter().map(|column| sortable(&[column])).collect::<Result<Vec<_>>>()?;
            samples.resize(keys.len(), Vec::new());
            while next < batch.num_rows() {
                for (sample, keys) in samples.iter_mut().zip(&keys) {
                    sample.push(keys.value(next).to_vec());
                }
                next = next.saturating_add(step);
            }
            next -= batch.num_rows();
            while samples.first().is_some_and(|sample| sample.len() > size) {
                samples.iter_mut().for_each(|sample| {
                    let mut number = 0_usize;
                    sample.retain(|_| {
                        number += 1;
                        number % 2 == 1
                    });
                });
                step = step.saturating_mul(2);
            }
        }
        let ranks = samples.into_iter().map(|mut values| {
            values.sort_unstable();
            values.dedup();
            Self { values }
        });
        Ok(ranks.collect())
    }

    /// The ranks of values, spread over all numbers.
    pub(super) fn coordinates(&self, column: &ArrayRef) -> Result<Vec<u64>> {
        let keys = sortable(std::slice::from_ref(column))?;
        let scale = u64::MAX / (self.values.len() as u64).saturating_add(1);
        let rank = |row: usize| {
            let key = keys.value(row);
            (self.values.partition_point(|value| value.as_slice() < key) as u64).saturating_mul(scale)
        };
        Ok((0..keys.len()).map(rank).collect())
    }
}
