//! The input of stages that read files: numbers of tasks, one for each partition of the data frame.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::stage::Input;
use crate::error::{Error, Result};

/// Numbers of tasks.
pub(super) struct TaskNumbers {
    input: Input,
    waiting: Vec<usize>,
}

impl TaskNumbers {
    pub(super) fn new(input: Input) -> Self {
        Self { input, waiting: Vec::new() }
    }

    /// The next number.
    ///
    /// # Errors
    /// Those of the input; `Internal` for batches of anything else.
    pub(super) fn next(&mut self) -> Result<Option<usize>> {
        loop {
            if let Some(number) = self.waiting.pop() {
                return Ok(Some(number));
            }
            let Some(batch) = self.input.next().transpose()? else { return Ok(None) };
            let other = || Error::internal("a batch that does not consist of numbers of tasks");
            let column = batch.columns().first().and_then(|column| column.as_primitive_opt::<Int64Type>());
            let numbers = column.ok_or_else(other)?.iter().rev();
            self.waiting = numbers
                .map(|number| number.and_then(|number| usize::try_from(number).ok()).ok_or_else(other))
                .collect::<Result<_>>()?;
        }
    }
}
