//! An iterator of batches from a function that reads the next one.

use arrow_array::RecordBatch;

use super::reader::BaseBatches;
use mortice_base::error::Result;

/// The batches that `read_next` returns, up to the first `None` or error. After that it is not called again.
pub fn batches_until_end(mut read_next: impl FnMut() -> Result<Option<RecordBatch>> + Send + 'static) -> BaseBatches {
    let mut is_at_end = false;
    Box::new(std::iter::from_fn(move || {
        if is_at_end {
            return None;
        }
        let batch = read_next().transpose();
        is_at_end = !matches!(batch, Some(Ok(_)));
        batch
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::Schema;

    use super::*;
    use mortice_base::error::Error;

    #[test]
    fn nothing_follows_an_error() {
        let mut calls = 0;
        let batches = batches_until_end(move || {
            calls += 1;
            match calls {
                1 => Ok(Some(RecordBatch::new_empty(Arc::new(Schema::empty())))),
                2 => Err(Error::corrupt("damaged")),
                _ => Ok(None),
            }
        });
        assert_eq!(batches.map(|batch| batch.is_ok()).collect::<Vec<_>>(), [true, false]);
    }
}
