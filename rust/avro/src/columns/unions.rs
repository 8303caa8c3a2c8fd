//! Unions of several types: a struct with one member for each, of which one at most is not null. So Spark has them.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::super::plan::UnionBranch;
use super::column::{Column, ColumnValues};
use super::structs::struct_of;
use mortice_base::error::Result;

pub(super) struct UnionColumn {
    branches: Vec<UnionBranch>,
    members: Vec<Box<dyn Column>>,
    rows: usize,
}

impl UnionColumn {
    pub(super) fn new(branches: Vec<UnionBranch>, members: Vec<Box<dyn Column>>) -> Self {
        Self { branches, members, rows: 0 }
    }
}

impl ColumnValues for UnionColumn {
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        let branch = lane.branch()?;
        let Some(chosen) = self.branches.get(branch) else {
            return Err(lane.corrupt(format!("invalid union: branch {branch} of {}", self.branches.len())));
        };
        if *chosen == UnionBranch::Absent {
            return Err(lane.corrupt(format!("the schema that is read does not have branch {branch} of this union")));
        }
        for (index, member) in self.members.iter_mut().enumerate() {
            if UnionBranch::Member(index) == *chosen { member.run(lane, 1)? } else { member.nulls(1) }
        }
        self.rows += 1;
        Ok(())
    }

    fn absent(&mut self) {
        self.members.iter_mut().for_each(|member| member.nulls(1));
        self.rows += 1;
    }

    fn reserve(&mut self, rows: usize) {
        self.members.iter_mut().for_each(|member| member.reserve(rows));
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        struct_of(data_type, &mut self.members, nulls, std::mem::take(&mut self.rows))
    }
}
