//! A filter bound to a schema: which rows of a batch pass.
//!
//! Comparisons are Spark's: null passes no test but `is null`; NaN equals NaN and is greatest; -0.0 equals 0.0; text
//! and bytes compare by unsigned bytes.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, Scalar, make_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_ord::ord::make_comparator;
use arrow_ord::sort::sort;
use arrow_schema::{ArrowError, DataType, Schema, SortOptions};
use arrow_select::filter::{filter_record_batch, prep_null_mask_filter};

use super::expr::{Filter, Operator, Term};
use super::like::Pattern;
use super::literal::array_of;
use super::rounding::rounded;
use mortice_base::error::{Error, Result};
use mortice_base::names::known_columns;

/// A filter whose columns exist and whose literals are of their types.
#[derive(Debug, Clone)]
pub struct BoundFilter {
    pub(super) any: Vec<Vec<BoundTerm>>,
}

#[derive(Debug, Clone)]
pub(super) struct BoundTerm {
    pub(super) column: usize,
    /// The ordinals of the field within the column, outermost first; none for the column itself.
    pub(super) fields: Vec<usize>,
    pub(super) operator: Operator,
    /// As the comparison takes them: sorted; floats canonical.
    pub(super) literals: ArrayRef,
}

impl BoundFilter {
    /// Binds to a schema. [`mortice_base::ErrorKind::InvalidArgument`] for unknown columns and fields and for literals
    /// that are not exactly values of their column's type.
    pub fn bind(filter: &Filter, schema: &Schema) -> Result<Self> {
        let bound = |all: &Vec<Term>| all.iter().map(|term| BoundTerm::bind(term, schema)).collect::<Result<Vec<_>>>();
        Ok(Self { any: filter.lists().iter().map(bound).collect::<Result<_>>()? })
    }

    /// A filter that every row passes which passes this one: of each list, the terms that `usable` says (column,
    /// operator), none of fields within columns. Where a list has none, that is every row.
    #[must_use]
    pub fn weakened(&self, usable: impl Fn(usize, Operator) -> bool) -> Self {
        let of = |list: &Vec<BoundTerm>| -> Vec<BoundTerm> {
            list.iter().filter(|term| term.fields.is_empty() && usable(term.column, term.operator)).cloned().collect()
        };
        let any: Vec<_> = self.any.iter().map(of).collect();
        if any.iter().any(Vec::is_empty) { Self { any: Vec::new() } } else { Self { any } }
    }

    /// The columns that are looked at, by their ordinals.
    #[must_use]
    pub fn columns(&self) -> BTreeSet<usize> {
        self.any.iter().flatten().map(|term| term.column).collect()
    }

    /// Whether every row passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// The only strings that a column of text can have in rows that pass, sorted, each once; none where the filter does
    /// not say.
    #[must_use]
    pub fn exact_strings(&self, column: usize) -> Option<Vec<String>> {
        let mut strings = Vec::new();
        for literals in self.exact_values(column, &[])? {
            strings.extend(literals.as_string_opt::<i32>()?.iter().flatten().map(str::to_owned));
        }
        strings.sort_unstable();
        strings.dedup();
        Some(strings)
    }

    /// The only values that a column, or a field within it, can have in rows that pass, those of each list; none where
    /// the filter does not say.
    #[must_use]
    pub fn exact_values(&self, column: usize, fields: &[usize]) -> Option<Vec<ArrayRef>> {
        let is_exact = |term: &&BoundTerm| {
            let is_column = term.column == column && term.fields == fields;
            is_column && matches!(term.operator, Operator::Eq | Operator::In)
        };
        let of_list = |list: &Vec<BoundTerm>| Some(Arc::clone(&list.iter().find(is_exact)?.literals));
        let values: Vec<ArrayRef> = self.any.iter().map(of_list).collect::<Option<_>>()?;
        (!values.is_empty()).then_some(values)
    }

    /// The prefixes of which a column of text has one in rows that pass; none where the filter does not say.
    #[must_use]
    pub fn prefixes(&self, column: usize) -> Option<Vec<String>> {
        let prefix = |term: &BoundTerm| {
            let is_like = term.column == column && term.fields.is_empty() && term.operator == Operator::Like;
            let patterns = term.literals.as_string_opt::<i32>().filter(|patterns| is_like && patterns.len() == 1)?;
            Pattern::new(patterns.iter().flatten().next()?).into_prefix()
        };
        let found: Vec<String> = self.any.iter().map(|list| list.iter().find_map(prefix)).collect::<Option<_>>()?;
        (!found.is_empty()).then_some(found)
    }

    /// Which rows pass; the mask has no nulls.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let rows = batch.num_rows();
        if self.any.is_empty() {
            return Ok(BooleanArray::new(BooleanBuffer::new_set(rows), None));
        }
        let mut any = BooleanBuffer::new_unset(rows);
        for list in &self.any {
            let mut all = BooleanBuffer::new_set(rows);
            for term in list {
                all = &all & &term.mask(batch)?;
            }
            any = &any | &all;
        }
        Ok(BooleanArray::new(any, None))
    }

    /// The rows that pass; the batch itself where all do.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if self.any.is_empty() {
            return Ok(batch.clone());
        }
        let mask = self.mask(batch)?;
        match mask.true_count() {
            kept if kept == batch.num_rows() => Ok(batch.clone()),
            0 => Ok(batch.slice(0, 0)),
            _ => filter_record_batch(batch, &mask).map_err(failed),
        }
    }
}

impl BoundTerm {
    fn bind(term: &Term, schema: &Schema) -> Result<Self> {
        let name = term.column();
        let Some((column, field)) = schema.fields().find(name) else {
            let known = known_columns(name, schema.fields().iter().map(|field| field.name().as_str()));
            let message = format!("unknown column {name:?} in a filter; {known}");
            return Err(Error::invalid_argument(message));
        };
        let (fields, kind) = nested(term, field.data_type())?;
        let (operator, literals): (Operator, ArrayRef) = match term.operator() {
            operator @ (Operator::IsNull | Operator::IsNotNull) => {
                (operator, Arc::new(BooleanArray::from(Vec::<bool>::new())))
            }
            operator => {
                let (operator, literals) = match rounded(operator, term.literals(), kind) {
                    Some((operator, literal)) => (operator, array_of(&[literal], kind, name)?),
                    None => (operator, array_of(term.literals(), kind, name)?),
                };
                if matches!(operator, Operator::Like | Operator::NotLike) && *kind != DataType::Utf8 {
                    let message = format!("a filter compares column {name:?} of type {kind} with a pattern of strings");
                    return Err(Error::invalid_argument(message));
                }
                (operator, sort(&canonical(&literals), None).map_err(failed)?)
            }
        };
        Ok(Self { column, fields, operator, literals })
    }

    fn mask(&self, batch: &RecordBatch) -> Result<BooleanBuffer> {
        let column = batch.columns().get(self.column).ok_or_else(|| {
            Error::invalid_argument(format!("a filter on column {} of a batch of {}", self.column, batch.num_columns()))
        })?;
        let column = &self.fields.iter().try_fold(Arc::clone(column), |of, field| child(&of, *field))?;
        let compared = match self.operator {
            Operator::IsNull => return Ok(!&there(column)),
            Operator::IsNotNull => return Ok(there(column)),
            Operator::In | Operator::NotIn => return self.membership(column),
            Operator::Like | Operator::NotLike => return self.pattern(column),
            Operator::Eq => cmp::eq(&canonical(column), &Scalar::new(&self.literals)).map_err(failed)?,
            Operator::NotEq => cmp::neq(&canonical(column), &Scalar::new(&self.literals)).map_err(failed)?,
            Operator::Lt => cmp::lt(&canonical(column), &Scalar::new(&self.literals)).map_err(failed)?,
            Operator::LtEq => cmp::lt_eq(&canonical(column), &Scalar::new(&self.literals)).map_err(failed)?,
            Operator::Gt => cmp::gt(&canonical(column), &Scalar::new(&self.literals)).map_err(failed)?,
            Operator::GtEq => cmp::gt_eq(&canonical(column), &Scalar::new(&self.literals)).map_err(failed)?,
        };
        Ok(passed(&compared))
    }

    fn membership(&self, column: &ArrayRef) -> Result<BooleanBuffer> {
        let column = canonical(column);
        let found = if self.literals.len() <= FEW { self.any_equal(&column)? } else { self.searched(&column)? };
        if self.operator == Operator::In {
            return Ok(found);
        }
        Ok(&there(&column) & &!&found)
    }
}

/// The field that a term compares, by its ordinals within a column of type `kind`, and the type of the field.
fn nested<'k>(term: &Term, mut kind: &'k DataType) -> Result<(Vec<usize>, &'k DataType)> {
    let mut ordinals = Vec::with_capacity(term.fields().len());
    for name in term.fields() {
        let unknown = |has: String| {
            let message = format!("a filter names the field {name:?} of column {:?}, which {has}", term.column());
            Error::invalid_argument(message)
        };
        let DataType::Struct(fields) = kind else {
            return Err(unknown(format!("is of type {kind}; only structs have fields")));
        };
        let Some((ordinal, field)) = fields.find(name) else {
            let known: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            return Err(unknown(format!("has: {}", known.join(", "))));
        };
        ordinals.push(ordinal);
        kind = field.data_type();
    }
    Ok((ordinals, kind))
}

/// A field of a struct, null where the struct is.
fn child(of: &ArrayRef, field: usize) -> Result<ArrayRef> {
    let parent = of.as_struct_opt().filter(|parent| field < parent.num_columns());
    let parent =
        parent.ok_or_else(|| Error::internal(format_args!("a filter on field {field} of {}", of.data_type())))?;
    let child = parent.column(field);
    let Some(nulls) = parent.nulls() else { return Ok(Arc::clone(child)) };
    let nulls = NullBuffer::union(Some(nulls), child.logical_nulls().as_ref());
    Ok(make_array(child.to_data().into_builder().nulls(nulls).build().map_err(failed)?))
}

/// Literals of a list up to which comparing with each in turn is the fastest.
const FEW: usize = 8;

impl BoundTerm {
    fn any_equal(&self, column: &ArrayRef) -> Result<BooleanBuffer> {
        let mut found = BooleanBuffer::new_unset(column.len());
        for row in 0..self.literals.len() {
            let literal = self.literals.slice(row, 1);
            found = &found | &passed(&cmp::eq(column, &Scalar::new(&literal)).map_err(failed)?);
        }
        Ok(found)
    }

    fn pattern(&self, column: &ArrayRef) -> Result<BooleanBuffer> {
        let strings = column.as_string_opt::<i32>();
        let pattern = self.literals.as_string_opt::<i32>().filter(|pattern| pattern.len() == 1);
        let (Some(strings), Some(pattern)) = (strings, pattern) else {
            return Err(Error::internal(format_args!("a pattern for a column of {}", column.data_type())));
        };
        let pattern = Pattern::new(pattern.value(0));
        let wanted = self.operator == Operator::Like;
        let matches = |row| strings.is_valid(row) && pattern.matches(strings.value(row)) == wanted;
        Ok(BooleanBuffer::collect_bool(strings.len(), matches))
    }

    /// Each value looked for among the literals, which were sorted when bound.
    fn searched(&self, column: &ArrayRef) -> Result<BooleanBuffer> {
        let compare = make_comparator(column, &self.literals, SortOptions::default()).map_err(failed)?;
        let among = |row: usize| {
            let (mut from, mut to) = (0, self.literals.len());
            while from < to {
                let middle = usize::midpoint(from, to);
                match compare(row, middle) {
                    Ordering::Equal => return true,
                    Ordering::Less => to = middle,
                    Ordering::Greater => from = middle + 1,
                }
            }
            false
        };
        Ok(BooleanBuffer::collect_bool(column.len(), |row| column.is_valid(row) && among(row)))
    }
}

/// Null is not passed.
fn passed(compared: &BooleanArray) -> BooleanBuffer {
    if compared.null_count() > 0 { prep_null_mask_filter(compared).values().clone() } else { compared.values().clone() }
}

/// The rows that are not null.
fn there(column: &ArrayRef) -> BooleanBuffer {
    column.logical_nulls().map_or_else(|| BooleanBuffer::new_set(column.len()), |nulls| nulls.inner().clone())
}

/// One NaN, one zero: the kernels compare floats by their bits.
pub(super) fn canonical(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float32 => Arc::new(
            array
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|x| if x.is_nan() { f32::NAN } else { x + 0.0 }),
        ),
        DataType::Float64 => Arc::new(
            array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|x| if x.is_nan() { f64::NAN } else { x + 0.0 }),
        ),
        _ => Arc::clone(array),
    }
}

pub(super) fn failed(error: ArrowError) -> Error {
    Error::invalid_argument("the filter cannot be evaluated").caused_by(error)
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
        StructArray, TimestampMicrosecondArray,
    };
    use arrow_schema::Field;

    use super::super::expr::Literal;
    use super::*;

    fn rows(array: ArrayRef, operator: Operator, literals: Vec<Literal>) -> Result<Vec<usize>> {
        let field = Field::new("c", array.data_type().clone(), true);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
        let filter = Filter::any_of(vec![vec![Term::new("c", operator, literals)?]]);
        let mask = BoundFilter::bind(&filter, &batch.schema())?.mask(&batch)?;
        assert_eq!(mask.null_count(), 0);
        Ok((0..mask.len()).filter(|row| mask.value(*row)).collect())
    }

    fn ints() -> ArrayRef {
        Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(-1)]))
    }

    #[test]
    fn comparisons_and_nulls() {
        let three = || vec![Literal::Int(3)];
        assert_eq!(rows(ints(), Operator::Eq, three()).unwrap(), [2]);
        assert_eq!(rows(ints(), Operator::NotEq, three()).unwrap(), [0, 3]);
        assert_eq!(rows(ints(), Operator::Lt, three()).unwrap(), [0, 3]);
        assert_eq!(rows(ints(), Operator::LtEq, three()).unwrap(), [0, 2, 3]);
        assert_eq!(rows(ints(), Operator::Gt, vec![Literal::Float(-1.0)]).unwrap(), [0, 2]);
        assert_eq!(rows(ints(), Operator::GtEq, vec![Literal::Int(1)]).unwrap(), [0, 2]);
        assert_eq!(rows(ints(), Operator::IsNull, vec![]).unwrap(), [1]);
        assert_eq!(rows(ints(), Operator::IsNotNull, vec![]).unwrap(), [0, 2, 3]);
        assert_eq!(rows(ints(), Operator::In, vec![Literal::Int(3), Literal::Int(1)]).unwrap(), [0, 2]);
        assert_eq!(rows(ints(), Operator::NotIn, vec![Literal::Int(3)]).unwrap(), [0, 3]);
        assert_eq!(rows(ints(), Operator::In, vec![]).unwrap(), [0_usize; 0]);
        assert_eq!(rows(ints(), Operator::NotIn, vec![]).unwrap(), [0, 2, 3]);
    }

    #[test]
    fn long_lists_find_what_short_ones_find() {
        let many = |extra: i128| (0..20).map(|n| Literal::Int(n * 10)).chain([Literal::Int(extra)]).collect::<Vec<_>>();
        assert_eq!(rows(ints(), Operator::In, many(3)).unwrap(), [2]);
        assert_eq!(rows(ints(), Operator::In, many(-1)).unwrap(), [3]);
        assert_eq!(rows(ints(), Operator::NotIn, many(1)).unwrap(), [2, 3]);
        let doubles = Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(-f64::NAN), Some(5.0)]));
        let literals = (0..20).map(|n| Literal::Float(f64::from(n) * 2.0)).chain([Literal::Float(f64::NAN)]).collect();
        assert_eq!(rows(doubles, Operator::In, literals).unwrap(), [0, 2]);
    }

    #[test]
    fn floats_as_spark_has_them() {
        let doubles = || Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY])) as ArrayRef;
        assert_eq!(rows(doubles(), Operator::Eq, vec![Literal::Float(-0.0)]).unwrap(), [0, 1]);
        assert_eq!(rows(doubles(), Operator::Eq, vec![Literal::Float(f64::NAN)]).unwrap(), [2, 3]);
        assert_eq!(rows(doubles(), Operator::Gt, vec![Literal::Float(f64::INFINITY)]).unwrap(), [2, 3]);
        let floats = Arc::new(Float32Array::from(vec![1.1, 2.5]));
        assert_eq!(rows(floats, Operator::Eq, vec![Literal::Float(1.1)]).unwrap(), [0]);
    }

    #[test]
    fn literals_are_cast_exactly_or_refused() {
        let long = || Arc::new(Int64Array::from(vec![Some(i64::MAX)])) as ArrayRef;
        let decimal =
            || Arc::new(Decimal128Array::from(vec![150, 25]).with_precision_and_scale(5, 2).unwrap()) as ArrayRef;
        let fits = |array: ArrayRef, literal: Literal| rows(array, Operator::Eq, vec![literal]);
        assert_eq!(fits(long(), Literal::Int(i128::from(i64::MAX))).unwrap(), [0]);
        assert_eq!(fits(decimal(), Literal::Float(1.5)).unwrap(), [0]);
        assert_eq!(fits(decimal(), Literal::Decimal { unscaled: 25, scale: 2 }).unwrap(), [1]);
        assert_eq!(fits(Arc::new(BinaryArray::from_vec(vec![b"a", b"\xff"])), Literal::Bytes(vec![255])).unwrap(), [1]);
        for (array, literal) in [
            (ints(), Literal::Float(3.5)),
            (ints(), Literal::Int(1 << 40)),
            (ints(), Literal::Text("3".into())),
            (ints(), Literal::Bool(true)),
            (long(), Literal::Int(1 << 80)),
            (decimal(), Literal::Decimal { unscaled: 1, scale: 3 }),
            (decimal(), Literal::Int(100_000)),
            (Arc::new(StringArray::from(vec!["1"])) as ArrayRef, Literal::Int(1)),
            (Arc::new(Float64Array::from(vec![1.0])) as ArrayRef, Literal::Int((1 << 53) + 1)),
            (Arc::new(Float64Array::from(vec![1.0])) as ArrayRef, Literal::Int(i128::MAX)),
        ] {
            let error = fits(array, literal.clone()).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidArgument, "{literal}");
        }
    }

    #[test]
    fn dates_and_times_by_value_and_by_text() {
        let dates = || Arc::new(Date32Array::from(vec![0, 19723])) as ArrayRef;
        let text = |text: &str| vec![Literal::Text(text.into())];
        assert_eq!(rows(dates(), Operator::Eq, text("2024-01-01")).unwrap(), [1]);
        assert_eq!(rows(dates(), Operator::Lt, vec![Literal::Date(1)]).unwrap(), [0]);
        assert!(rows(dates(), Operator::Eq, text("2024-01-01T00:00")).is_err());
        let times = |zone: Option<&str>| {
            let array = TimestampMicrosecondArray::from(vec![1_704_067_200_000_001_i64, 0]);
            Arc::new(array.with_timezone_opt(zone)) as ArrayRef
        };
        assert_eq!(rows(times(None), Operator::Eq, text("2024-01-01 00:00:00.000001")).unwrap(), [0]);
        assert_eq!(rows(times(Some("UTC")), Operator::Gt, text("2024-01-01T01:00:00+01:00")).unwrap(), [0]);
        assert!(rows(times(None), Operator::Gt, text("2024-01-01T01:00:00+01:00")).is_err());
        assert!(rows(times(None), Operator::Gt, vec![Literal::Timestamp { micros: 0, utc: true }]).is_err());
    }

    #[test]
    fn unknown_columns_are_named() {
        let schema = Schema::new(vec![Field::new("fare", DataType::Int32, true)]);
        let filter = |name: &str| Filter::any_of(vec![vec![Term::new(name, Operator::IsNull, vec![]).unwrap()]]);
        assert!(BoundFilter::bind(&filter("fair"), &schema).unwrap_err().to_string().contains("the table has: fare"));
    }

    #[test]
    fn fields_of_structs_are_null_where_the_struct_is() {
        let names = Arc::new(StringArray::from(vec![Some("a"), Some("ab"), None])) as ArrayRef;
        let field = Arc::new(Field::new("name", DataType::Utf8, true));
        let nulls = NullBuffer::from(vec![true, false, true]);
        let rider = StructArray::new(vec![Arc::clone(&field)].into(), vec![names], Some(nulls));
        let schema = Schema::new(vec![Field::new("rider", DataType::Struct(vec![field].into()), true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(rider)]).unwrap();
        let of = |field: &str, operator, literals| {
            let term = Term::new("rider", operator, literals).unwrap().with_fields(vec![field.to_owned()]);
            let filter = BoundFilter::bind(&Filter::any_of(vec![vec![term]]), &batch.schema())?;
            assert_eq!(filter.may_pass(&[3], |_| panic!("bounds of a struct"))?, [true]);
            let mask = filter.mask(&batch)?;
            Ok::<Vec<usize>, Error>((0..3).filter(|row| mask.value(*row)).collect())
        };
        assert_eq!(of("name", Operator::Like, vec![Literal::Text("a%".into())]).unwrap(), [0]);
        assert_eq!(of("name", Operator::NotEq, vec![Literal::Text("x".into())]).unwrap(), [0]);
        assert_eq!(of("name", Operator::IsNull, vec![]).unwrap(), [1, 2]);
        assert!(of("age", Operator::IsNull, vec![]).unwrap_err().to_string().contains("has: name"));
    }

    #[test]
    fn patterns_and_nulls() {
        let names = || Arc::new(StringArray::from(vec![Some("oslo"), None, Some("lima")])) as ArrayRef;
        let pattern = || vec![Literal::Text("%o".into())];
        assert_eq!(rows(names(), Operator::Like, pattern()).unwrap(), [0]);
        assert_eq!(rows(names(), Operator::NotLike, pattern()).unwrap(), [2]);
        assert!(rows(ints(), Operator::Like, pattern()).is_err());
    }

    #[test]
    fn any_list_of_all_terms() {
        let schema = Arc::new(Schema::new(vec![Field::new("c", DataType::Int32, true)]));
        let batch = RecordBatch::try_new(schema.clone(), vec![ints()]).unwrap();
        let term = |operator, value| Term::new("c", operator, vec![Literal::Int(value)]).unwrap();
        let between = vec![term(Operator::Gt, 0), term(Operator::Lt, 3)];
        let filter = Filter::any_of(vec![between, vec![term(Operator::Eq, -1)]]);
        let kept = BoundFilter::bind(&filter, &schema).unwrap().apply(&batch).unwrap();
        assert_eq!(kept.column(0).as_primitive::<arrow_array::types::Int32Type>().values(), &[1, -1]);
        assert_eq!(BoundFilter::bind(&Filter::default(), &schema).unwrap().apply(&batch).unwrap(), batch);
    }
}
