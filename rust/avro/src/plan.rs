//! What is to be done with the bytes of a value: the tree that resolving a writer's type against a reader's gives, and
//! from which columns are built. Plans are plain values: they read nothing and hold no rows.

use std::sync::Arc;

use arrow_schema::DataType;

use super::vector::VectorShape;

/// How one column is read.
#[derive(Debug, Clone)]
pub(super) struct ColumnPlan {
    /// The union around the value, if there is one.
    pub(super) tags: UnionTags,
    /// How the value itself is read.
    pub(super) kind: ValuePlan,
    /// The Arrow type that comes of it.
    pub(super) data_type: DataType,
}

/// The tag byte of a union's branches, in which the index of a branch is doubled (zig-zag).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnionTags {
    /// No union: no tag.
    Bare,
    /// One branch with a value, whose tag is `value`; null has the tag `null`, if any.
    Nullable { null: Option<u8>, value: u8 },
    /// Several branches with values: the value reads the tag itself, unless it is that of null.
    Several { null: Option<u8> },
}

/// How a value is read, by the shape of the column.
#[derive(Debug, Clone)]
pub(super) enum ValuePlan {
    /// Always null; takes no bytes.
    Null,
    /// One byte.
    Boolean,
    /// A number of any width.
    Number(NumberPlan),
    /// Text or bytes.
    Text(TextPlan),
    /// As many bytes as given, as fixed-size binary.
    Fixed(usize),
    /// As many bytes as a vector of that shape takes, as a list.
    Vector(VectorShape),
    /// A decimal.
    Decimal(DecimalPlan),
    /// Items.
    List(ItemsPlan),
    /// Entries; the plan is that of the values.
    Map(ItemsPlan),
    /// Fields.
    Struct(FieldsPlan),
    /// The members that the reader has, and what each branch of the writer is.
    Union { branches: Vec<UnionBranch>, members: Vec<ColumnPlan> },
    /// A field that the writer does not have: its default as Avro bytes, and how they are read.
    Default { bytes: Arc<[u8]>, plan: Box<ColumnPlan> },
}

/// What a branch of a writer's union is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnionBranch {
    Null,
    /// The member with this index.
    Member(usize),
    /// A type that the reader's union does not have; its values are errors.
    Absent,
}

/// From what the writer wrote to what the column holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NumberPlan {
    Int,
    Long,
    /// Times the factor, checked.
    LongTimes(i64),
    /// An int where a long is asked for; the second is a factor as above.
    IntToLongTimes(i64),
    IntToFloat,
    IntToDouble,
    LongToFloat,
    LongToDouble,
    Float,
    Double,
    /// By way of the float's decimal text, as Hudi does: 1.1 stays 1.1.
    FloatToDouble,
    /// An ISO date.
    TextToDate,
    /// A union of int and long: both are written alike. Branches in all.
    IntOrLong {
        branches: usize,
    },
    /// A union of float and double, and the branch that is float.
    FloatOrDouble {
        branches: usize,
        float: usize,
    },
    /// The position of a string or bytes in the content: `offset << 32 | length`.
    Position,
}

/// What becomes a string or bytes column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextPlan {
    /// A length and as many bytes.
    Bytes,
    /// As many bytes as given.
    Fixed(usize),
    /// An enum's index; none for a symbol that the reader does not have.
    Symbol(Arc<[Option<String>]>),
    /// A string that has to be one of the symbols.
    OneOf(Arc<[String]>),
    Int,
    Long,
    Float,
    Double,
    Date,
    /// A decimal's digits.
    Decimal(DecimalPlan),
}

/// Where a decimal comes from and how it is brought to the column's scale.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DecimalPlan {
    pub(super) source: DecimalSource,
    /// Digits of the column.
    pub(super) precision: u8,
    /// Digits behind the point in the column.
    pub(super) scale: u32,
}

/// What the writer wrote where a decimal is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DecimalSource {
    /// A length and a two's complement of that scale.
    Bytes {
        scale: u32,
    },
    /// A two's complement of that size and scale.
    Fixed {
        size: usize,
        scale: u32,
    },
    Text,
    Int,
    Long,
    Float,
    Double,
}

/// Items of a list, or values of a map.
#[derive(Debug, Clone)]
pub(super) struct ItemsPlan {
    pub(super) plan: Box<ColumnPlan>,
    /// The fewest bytes that the writer's item takes.
    pub(super) least: usize,
    /// The steps over an item, where items can be found by them before any is read.
    pub(super) steps: Option<Arc<[SkipStep]>>,
}

/// Fields of a record: the columns in the reader's order, the steps in the writer's.
#[derive(Debug, Clone)]
pub(super) struct FieldsPlan {
    pub(super) columns: Vec<ColumnPlan>,
    pub(super) steps: Vec<FieldStep>,
}

/// One step through a record as written.
#[derive(Debug, Clone)]
pub(super) enum FieldStep {
    /// Steps over fields that nobody wants.
    Skip(Arc<[SkipStep]>),
    /// Reads the field into a column.
    Read(usize),
    /// Reads the field into a column and goes back: another column wants it too.
    Peek(usize),
}

/// How to step over a value; a record is the list of its fields' steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SkipStep {
    /// So many bytes.
    Fixed(usize),
    /// So many numbers of variable length.
    Varints(usize),
    /// A length and as many bytes.
    Bytes,
    /// Nothing where the tag is `null`, a number where it is not.
    NullableVarint { null: u8 },
    /// Nothing where the tag is `null`, a length and as many bytes where it is not.
    NullableBytes { null: u8 },
    /// Nothing where the tag is `null`, so many bytes where it is not.
    NullableFixed { null: u8, size: usize },
    /// Nothing where the tag is `null`, several steps where it is not.
    Nullable { null: u8, steps: Arc<[SkipStep]> },
    /// A tag and the branch that it names.
    Union(Vec<Arc<[SkipStep]>>),
    /// Blocks of items; the fewest bytes of an item.
    Items { item: Arc<[SkipStep]>, least: usize },
}

impl SkipStep {
    /// Whether there are no blocks of items in it.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Items { .. } => false,
            Self::Nullable { steps, .. } => steps.iter().all(Self::is_plain),
            Self::Union(branches) => branches.iter().flat_map(|steps| steps.iter()).all(Self::is_plain),
            _ => true,
        }
    }
}

impl ColumnPlan {
    /// A column of nulls that takes no bytes.
    pub(super) fn null(data_type: DataType) -> Self {
        Self { tags: UnionTags::Bare, kind: ValuePlan::Null, data_type }
    }
}
