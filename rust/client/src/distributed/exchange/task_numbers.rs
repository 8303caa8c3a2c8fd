//! The input of stages that read files: numbers of tasks, one for each partition of the data frame, and the file slices
//! of each.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::stage::Input;
use mortice_base::error::{Error, Result};

/// The file slices of the tasks of one partition, by their numbers in a specification.
pub(crate) struct AssignedSlices {
    tasks: TaskNumbers,
    waiting: Vec<u32>,
}

impl AssignedSlices {
    pub(crate) fn new(input: Input) -> Self {
        Self { tasks: TaskNumbers::new(input), waiting: Vec::new() }
    }

    /// The next slice, given those of each task; none at the end of the input.
    pub(crate) fn next(&mut self, assigned: &[Vec<u32>]) -> Result<Option<u32>> {
        loop {
            if let Some(number) = self.waiting.pop() {
                return Ok(Some(number));
            }
            let Some(task) = self.tasks.next()? else { return Ok(None) };
            let slices = assigned.get(task).ok_or_else(|| Error::internal("a task that is not there"))?;
            self.waiting = slices.iter().rev().copied().collect();
        }
    }
}

/// Numbers of tasks.
struct TaskNumbers {
    input: Input,
    waiting: Vec<usize>,
}

impl TaskNumbers {
    fn new(input: Input) -> Self {
        Self { input, waiting: Vec::new() }
    }

    /// The next number.
    fn next(&mut self) -> Result<Option<usize>> {
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
