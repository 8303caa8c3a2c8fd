//! Structs: a column for each field. The fields of sixty-four structs are read in lockstep as those of a record are.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::super::lanes::Lanes;
use super::super::plan::{FieldStep, UnionTags};
use super::super::skip::{skip_lane, skip_lanes};
use super::column::{Column, ColumnValues, read_tags};
use super::lists::other_type;
use super::numbers::arrow;
use mortice_base::error::Result;

/// Reads the fields of a record in every active lane.
pub(in super::super) fn step_lanes(
    steps: &[FieldStep],
    columns: &mut [Box<dyn Column>],
    lanes: &mut Lanes<'_>,
) -> Result<()> {
    for step in steps {
        match step {
            FieldStep::Skip(steps) => skip_lanes(steps, lanes)?,
            FieldStep::Read(column) => {
                if let Some(column) = columns.get_mut(*column) {
                    column.group(lanes)?;
                }
            }
            FieldStep::Peek(column) => {
                if let Some(column) = columns.get_mut(*column) {
                    let places = lanes.places();
                    column.group(lanes)?;
                    lanes.go_back(places);
                }
            }
        }
    }
    Ok(())
}

pub(super) struct StructColumn {
    columns: Vec<Box<dyn Column>>,
    steps: Vec<FieldStep>,
    rows: usize,
}

impl StructColumn {
    pub(super) fn new(columns: Vec<Box<dyn Column>>, steps: Vec<FieldStep>) -> Self {
        Self { columns, steps, rows: 0 }
    }
}

impl ColumnValues for StructColumn {
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        for step in &self.steps {
            match step {
                FieldStep::Skip(steps) => skip_lane(steps, lane)?,
                FieldStep::Read(column) | FieldStep::Peek(column) => {
                    if let Some(column) = self.columns.get_mut(*column) {
                        column.run(lane, 1)?;
                    }
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn absent(&mut self) {
        self.columns.iter_mut().for_each(|column| column.nulls(1));
        self.rows += 1;
    }

    fn values(&mut self, tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let there = read_tags(tags, lanes)?;
        let before = lanes.set_active(there);
        step_lanes(&self.steps, &mut self.columns, lanes)?;
        lanes.set_active(before);
        self.rows += lanes.count();
        Ok(there)
    }

    fn reserve(&mut self, rows: usize) {
        self.columns.iter_mut().for_each(|column| column.reserve(rows));
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        struct_of(data_type, &mut self.columns, nulls, std::mem::take(&mut self.rows))
    }
}

/// A struct array of the columns' rows.
pub(super) fn struct_of(
    data_type: &DataType,
    columns: &mut [Box<dyn Column>],
    nulls: Option<NullBuffer>,
    rows: usize,
) -> Result<ArrayRef> {
    let DataType::Struct(fields) = data_type else { return Err(other_type(data_type)) };
    let arrays = columns.iter_mut().map(|column| column.finish()).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, nulls, rows).map_err(arrow)?))
}
