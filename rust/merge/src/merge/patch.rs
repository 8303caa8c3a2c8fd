//! Replaces rows of a batch in place: most base rows of a merge stay.
//!
//! | column | how |
//! |---|---|
//! | fixed width, boolean | the whole column is copied, then rows are replaced one by one |
//! | string, binary | runs of rows that stay are copied as one, offsets shifted |
//! | struct | its children and its validity, each the same way |
//! | any other | `interleave` |
//!
//! Copying runs costs a fraction of picking every row by its index, as `interleave` does.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, BinaryType, ByteArrayType, Utf8Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, GenericByteArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StructArray, downcast_primitive,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::interleave::interleave;

use mortice_base::trusted::strings;

/// A row that another one replaces.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowPatch {
    pub(super) row: usize,
    /// The batch of the other, and its row there.
    pub(super) batch: usize,
    pub(super) from: usize,
}

type PatchedArray<T> = Result<T, ArrowError>;

/// Replaces rows of the batch by rows of `batches`. `patches` are in ascending order of rows, at most one for a row.
/// All batches have the schema.
pub(super) fn patched(
    schema: &SchemaRef,
    base: &RecordBatch,
    batches: &[RecordBatch],
    patches: &[RowPatch],
) -> PatchedArray<RecordBatch> {
    if patches.is_empty() {
        return Ok(base.clone());
    }
    let rows = base.num_rows();
    let is_there = |patch: &RowPatch| {
        patch.row < rows && batches.get(patch.batch).is_some_and(|batch| patch.from < batch.num_rows())
    };
    if !patches.iter().all(is_there) || !patches.is_sorted_by(|one, next| one.row < next.row) {
        return Err(wrong("rows that are not there"));
    }
    let columns = base.columns().iter().enumerate().map(|(at, column)| {
        let others = batches.iter().map(|batch| batch.columns().get(at));
        let others: Option<Vec<&ArrayRef>> = others.collect();
        patched_column(column, &others.ok_or_else(|| wrong("batches of other columns"))?, patches)
    });
    let columns = columns.collect::<PatchedArray<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn wrong(what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(what.to_owned())
}

/// A column with values of `others` in place of some of its own. The patches are by ascending rows, one at most for a
/// row, and the rows that they name are there.
pub(super) fn patched_column(base: &ArrayRef, others: &[&ArrayRef], patches: &[RowPatch]) -> PatchedArray<ArrayRef> {
    if others.iter().any(|other| other.data_type() != base.data_type()) {
        return Err(wrong("columns of other types"));
    }
    macro_rules! primitive {
        ($type:ty) => {
            Arc::new(primitive::<$type>(base.as_primitive(), &all(others, |other| other.as_primitive_opt())?, patches)?)
        };
    }
    Ok(downcast_primitive! {
        base.data_type() => (primitive),
        DataType::Boolean => Arc::new(booleans(base.as_boolean(), &all(others, |other| other.as_boolean_opt())?, patches)?),
        DataType::Utf8 => {
            let others_of_it = all(others, |other| other.as_string_opt())?;
            let Some(parts) = parts::<Utf8Type>(base.as_string(), &others_of_it, patches) else {
                return picked(base, others, patches);
            };
            // SAFETY: every run of bytes is of whole values of string arrays.
            #[allow(unsafe_code)]
            let strings = unsafe { strings(parts.ends.into(), Buffer::from_vec(parts.bytes), parts.nulls) };
            Arc::new(strings.ok_or_else(|| wrong("strings that do not end where they say"))?)
        }
        DataType::Binary => {
            let others_of_it = all(others, |other| other.as_binary_opt())?;
            let Some(parts) = parts::<BinaryType>(base.as_binary(), &others_of_it, patches) else {
                return picked(base, others, patches);
            };
            let ends = OffsetBuffer::new(ScalarBuffer::from(parts.ends));
            Arc::new(BinaryArray::try_new(ends, Buffer::from_vec(parts.bytes), parts.nulls)?)
        }
        DataType::Struct(_) => Arc::new(structs(base.as_struct(), &all(others, |other| other.as_struct_opt())?, patches)?),
        _ => picked(base, others, patches)?,
    })
}

fn all<'a, A: ?Sized>(others: &[&'a ArrayRef], of: impl Fn(&'a ArrayRef) -> Option<&'a A>) -> PatchedArray<Vec<&'a A>> {
    let found: Option<Vec<&A>> = others.iter().map(|other| of(other)).collect();
    found.ok_or_else(|| wrong("columns of other types"))
}

fn primitive<T: ArrowPrimitiveType>(
    base: &PrimitiveArray<T>,
    others: &[&PrimitiveArray<T>],
    patches: &[RowPatch],
) -> PatchedArray<PrimitiveArray<T>> {
    let mut values = base.values().to_vec();
    let sources: Vec<&[T::Native]> = others.iter().map(|other| other.values().as_ref()).collect();
    for patch in patches {
        let value = sources.get(patch.batch).and_then(|source| source.get(patch.from));
        if let (Some(slot), Some(value)) = (values.get_mut(patch.row), value) {
            *slot = *value;
        }
    }
    let nulls = patched_nulls(base, others, patches);
    Ok(PrimitiveArray::try_new(values.into(), nulls)?.with_data_type(base.data_type().clone()))
}

fn booleans(base: &BooleanArray, others: &[&BooleanArray], patches: &[RowPatch]) -> PatchedArray<BooleanArray> {
    let sources: Vec<Option<&BooleanBuffer>> = others.iter().map(|other| Some(other.values())).collect();
    let values = patched_bits(Some(base.values()), base.len(), &sources, patches);
    Ok(BooleanArray::new(values, patched_nulls(base, others, patches)))
}

fn structs(base: &StructArray, others: &[&StructArray], patches: &[RowPatch]) -> PatchedArray<StructArray> {
    let children = base.columns().iter().enumerate().map(|(at, child)| {
        let others: Option<Vec<&ArrayRef>> = others.iter().map(|other| other.columns().get(at)).collect();
        patched_column(child, &others.ok_or_else(|| wrong("structs of other fields"))?, patches)
    });
    let children = children.collect::<PatchedArray<Vec<_>>>()?;
    let nulls = patched_nulls(base, others, patches);
    StructArray::try_new_with_length(base.fields().clone(), children, nulls, base.len())
}

/// What an array of bytes is made of.
struct ByteArrayParts {
    ends: Vec<i32>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
}

/// None where it might be more than offsets of 32 bits can tell.
fn parts<T: ByteArrayType<Offset = i32>>(
    base: &GenericByteArray<T>,
    others: &[&GenericByteArray<T>],
    patches: &[RowPatch],
) -> Option<ByteArrayParts> {
    let old = ByteArraySource::new(base);
    let sources: Vec<ByteArraySource> = others.iter().map(|other| ByteArraySource::new(*other)).collect();
    let new = |patch: &RowPatch| sources.get(patch.batch).and_then(|source| source.run(patch.from, patch.from + 1));
    let added = patches.iter().filter_map(|patch| Some(new(patch)?.1.len())).sum::<usize>();
    let kept = old.run(0, base.len()).map_or(0, |(_, bytes)| bytes.len());
    i32::try_from(kept + added).ok()?;
    let mut ends = Vec::with_capacity(base.len() + 1);
    let mut bytes = Vec::with_capacity(kept + added);
    ends.push(0);
    let mut append = |(run_ends, run): (&[i32], &[u8])| {
        let [first, later @ ..] = run_ends else { return };
        // Below the sum that is known to fit.
        let shift = (bytes.len() as i32).wrapping_sub(*first);
        bytes.extend_from_slice(run);
        ends.extend(later.iter().map(|end| end.wrapping_add(shift)));
    };
    let mut next = 0;
    for patch in patches {
        old.run(next, patch.row).into_iter().for_each(&mut append);
        new(patch).into_iter().for_each(&mut append);
        next = patch.row + 1;
    }
    old.run(next, base.len()).into_iter().for_each(append);
    Some(ByteArrayParts { ends, bytes, nulls: patched_nulls(base, others, patches) })
}

/// Where the values of an array end, and their bytes.
struct ByteArraySource<'a> {
    ends: &'a [i32],
    bytes: &'a [u8],
}

impl<'a> ByteArraySource<'a> {
    fn new<T: ByteArrayType<Offset = i32>>(array: &'a GenericByteArray<T>) -> Self {
        Self { ends: array.value_offsets(), bytes: array.value_data() }
    }

    /// Rows `first..past`: the ends before and of each, and their bytes.
    #[inline]
    fn run(&self, first: usize, past: usize) -> Option<(&'a [i32], &'a [u8])> {
        let ends = self.ends.get(first..=past)?;
        let (from, to) = (usize::try_from(*ends.first()?).ok()?, usize::try_from(*ends.last()?).ok()?);
        Some((ends, self.bytes.get(from..to)?))
    }
}

fn patched_nulls(base: &dyn Array, others: &[impl Array], patches: &[RowPatch]) -> Option<NullBuffer> {
    let has_nulls = |nulls: Option<&NullBuffer>| nulls.is_some_and(|nulls| nulls.null_count() > 0);
    if !has_nulls(base.nulls()) && !others.iter().any(|other| has_nulls(other.nulls())) {
        return None;
    }
    let sources: Vec<_> = others.iter().map(|other| other.nulls().map(NullBuffer::inner)).collect();
    Some(NullBuffer::new(patched_bits(base.nulls().map(NullBuffer::inner), base.len(), &sources, patches)))
}

/// Bits, all of which are set where there are none.
fn patched_bits(
    base: Option<&BooleanBuffer>,
    len: usize,
    sources: &[Option<&BooleanBuffer>],
    patches: &[RowPatch],
) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(len);
    match base {
        Some(base) => bits.append_buffer(base),
        None => bits.append_n(len, true),
    }
    for patch in patches {
        let source = sources.get(patch.batch).copied().flatten();
        bits.set_bit(patch.row, source.is_none_or(|source| source.value(patch.from)));
    }
    bits.finish()
}

/// Any column, row by row.
fn picked(base: &ArrayRef, others: &[&ArrayRef], patches: &[RowPatch]) -> PatchedArray<ArrayRef> {
    let mut picks: Vec<(usize, usize)> = (0..base.len()).map(|row| (0, row)).collect();
    for patch in patches {
        if let Some(pick) = picks.get_mut(patch.row) {
            *pick = (patch.batch + 1, patch.from);
        }
    }
    let sources: Vec<&dyn Array> = std::iter::once(base).chain(others.iter().copied()).map(AsRef::as_ref).collect();
    interleave(&sources, &picks)
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{ListBuilder, StringBuilder};
    use arrow_array::{Decimal128Array, Int32Array, StringArray};
    use arrow_schema::{Field, Fields, Schema};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    /// A row: whether it is null, and what its values are made of.
    type Row = Option<(u8, bool)>;

    /// Columns of every kind, of the same rows, cut out of longer ones.
    fn batch(rows: &[Row]) -> RecordBatch {
        let text =
            |row: &Row| row.map(|(of, _)| "aß\u{10000}".chars().cycle().take(usize::from(of % 5)).collect::<String>());
        let long: StringArray = rows.iter().map(text).collect();
        let binary: BinaryArray = rows.iter().map(|row| row.map(|(of, _)| vec![of; usize::from(of % 3)])).collect();
        let number: Int32Array = rows.iter().map(|row| row.map(|(of, _)| i32::from(of))).collect();
        let decimal: Decimal128Array = rows.iter().map(|row| row.map(|(of, _)| i128::from(of) << 70)).collect();
        let decimal = decimal.with_precision_and_scale(30, 2).unwrap();
        let boolean: BooleanArray = rows.iter().map(|row| row.map(|(_, bit)| bit)).collect();
        let dense: Int32Array = rows.iter().map(|row| row.map_or(0, |(of, _)| i32::from(of))).map(Some).collect();
        let mut list = ListBuilder::new(StringBuilder::new());
        for row in rows {
            list.append_option(row.map(|(of, _)| vec![Some("item"); usize::from(of % 3)]));
        }
        let fields =
            Fields::from(vec![Field::new("text", DataType::Utf8, true), Field::new("number", DataType::Int32, true)]);
        let nulls: Vec<bool> = rows.iter().map(|row| row.is_some_and(|(_, bit)| bit)).collect();
        let inner: Vec<ArrayRef> = vec![Arc::new(long.clone()), Arc::new(number.clone())];
        let nested = StructArray::try_new_with_length(fields, inner, Some(nulls.into()), rows.len()).unwrap();
        let columns: [(&str, ArrayRef); 8] = [
            ("text", Arc::new(long)),
            ("binary", Arc::new(binary)),
            ("number", Arc::new(number)),
            ("decimal", Arc::new(decimal)),
            ("boolean", Arc::new(boolean)),
            ("dense", Arc::new(dense)),
            ("list", Arc::new(list.finish())),
            ("nested", Arc::new(nested)),
        ];
        let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        let whole = RecordBatch::try_new(schema, columns).unwrap();
        let cut = rows.len().min(1);
        whole.slice(cut, rows.len() - cut)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 3 } else { 256 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn rows_are_those_that_are_picked_one_by_one(
            base in vec(option::of(any::<(u8, bool)>()), 1..40),
            others in vec(vec(option::of(any::<(u8, bool)>()), 2..12), 1..3),
            wanted in vec((any::<bool>(), any::<u8>(), any::<u8>()), 40),
        ) {
            let base = batch(&base);
            let others: Vec<RecordBatch> = others.iter().map(|rows| batch(rows)).collect();
            let patch = |(row, (_, batch, from)): (usize, &(bool, u8, u8))| {
                let batch = usize::from(*batch) % others.len();
                RowPatch { row, batch, from: usize::from(*from) % others[batch].num_rows() }
            };
            let wanted = wanted.iter().enumerate().take(base.num_rows()).filter(|(_, (is_wanted, ..))| *is_wanted);
            let patches: Vec<RowPatch> = wanted.map(patch).collect();
            let made = patched(&base.schema(), &base, &others, &patches).unwrap();
            for (at, column) in base.columns().iter().enumerate() {
                let sources: Vec<&ArrayRef> = others.iter().map(|other| other.column(at)).collect();
                prop_assert_eq!(made.column(at), &picked(column, &sources, &patches).unwrap());
            }
        }
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let (base, other) = (batch(&[None; 4]), batch(&[None; 3]));
        let at = |row, batch, from| RowPatch { row, batch, from };
        for patches in [
            vec![at(3, 0, 0)],
            vec![at(0, 1, 0)],
            vec![at(0, 0, 2)],
            vec![at(1, 0, 0), at(0, 0, 0)],
            vec![at(1, 0, 0), at(1, 0, 1)],
        ] {
            assert!(patched(&base.schema(), &base, std::slice::from_ref(&other), &patches).is_err(), "{patches:?}");
        }
        let narrow = other.project(&[0]).unwrap();
        assert!(patched(&base.schema(), &base, &[narrow], &[at(0, 0, 0)]).is_err());
    }
}
