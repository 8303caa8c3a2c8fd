//! What the clauses of statements say. Places are numbers of characters in the text.

/// Where a part of a statement begins and ends (exclusive). Spark evaluates expressions and queries as they are there.
pub type TextSpan = (usize, usize);

/// The name of a table, of a column or of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Its parts, without quotes.
    pub parts: Vec<String>,
    /// Where it begins.
    pub at: usize,
    /// Where what follows it begins.
    pub behind: usize,
}

/// The values of a PARTITION clause by column; none where any value, or that of the query, is meant.
pub type Partition = Vec<(String, Option<TextSpan>)>;

/// Options or properties, in order.
pub type Options = Vec<(String, String)>;

/// The name of a table that a statement reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The parts of the name.
    pub parts: Vec<String>,
    /// Where the name begins.
    pub at: usize,
    /// Where it ends, with the state that it asks for and the arguments of a function.
    pub end: usize,
    /// The state of the table (`TIMESTAMP AS OF '…'`), if it is a literal.
    pub as_of: Option<String>,
    /// The same, if Spark has to evaluate it.
    pub as_of_expression: Option<TextSpan>,
    /// The arguments of one of Hudi's table functions, such as `hudi_table_changes`: a table or a path first.
    pub arguments: Option<Vec<String>>,
    /// Whether it can have an alias: not behind TABLE.
    pub takes_alias: bool,
    /// Where an alias has to be put, if it takes one and has none.
    pub alias_at: Option<usize>,
}

/// A column as a statement describes it: of a new table, or what is changed of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    /// The name; several parts for a field of a struct.
    pub path: Vec<String>,
    /// Where it begins.
    pub at: usize,
    /// The name that it gets.
    pub new_name: Option<String>,
    /// The type, in SQL.
    pub kind: Option<String>,
    /// Where the type begins.
    pub kind_at: usize,
    /// Whether it is not declared as NOT NULL.
    pub is_nullable: bool,
    /// Whether NOT NULL is dropped.
    pub drops_not_null: bool,
    /// Its comment.
    pub comment: Option<String>,
    /// The column that it is put behind.
    pub after: Option<String>,
    /// Where the name of that column begins.
    pub after_at: usize,
    /// Whether it is put before the others.
    pub is_first: bool,
}

/// A column and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The parts of the name of the column.
    pub parts: Vec<String>,
    /// Where it begins.
    pub at: usize,
    /// The value; none for DEFAULT.
    pub value: Option<TextSpan>,
}

/// A clause of MERGE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeClause {
    /// `update`, `delete` or `insert`.
    pub kind: &'static str,
    /// The rows: `matched`, `target` (without a source row) or `source` (without a target row).
    pub side: &'static str,
    /// The condition behind AND.
    pub condition: Option<TextSpan>,
    /// The values of columns.
    pub assignments: Vec<Assignment>,
    /// Where `*` is, if it is given for all columns.
    pub star_at: Option<usize>,
}

/// A MERGE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The alias of the table.
    pub alias: Option<String>,
    /// The table or the query of the source.
    pub source: TextSpan,
    /// The alias of the source.
    pub source_alias: Option<String>,
    /// The parts of its name; `source` for a query.
    pub source_parts: Vec<String>,
    /// The condition by which rows match.
    pub on: TextSpan,
    /// The clauses, in order.
    pub clauses: Vec<MergeClause>,
}

/// An UPDATE or a DELETE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChange {
    /// The alias of the table.
    pub alias: Option<String>,
    /// The values of columns; none in a DELETE.
    pub assignments: Vec<Assignment>,
    /// The condition of WHERE.
    pub condition: Option<TextSpan>,
}

/// An INSERT clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insert {
    /// Whether it is an INSERT OVERWRITE.
    pub overwrites: bool,
    /// Where the PARTITION clause is, or would be.
    pub partition_at: usize,
    /// The PARTITION clause.
    pub partition: Partition,
    /// Where what follows the PARTITION clause begins.
    pub rows_at: usize,
    /// Whether columns are matched by name.
    pub by_name: bool,
    /// The list of columns.
    pub columns: Option<Vec<String>>,
    /// The query, or VALUES.
    pub query: TextSpan,
    /// Where DEFAULT is a value of VALUES.
    pub defaults: Vec<TextSpan>,
    /// What a statement has before INSERT: `FROM a, b`.
    pub before: Option<TextSpan>,
}

/// What a statement does with indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexChange {
    /// CREATE INDEX.
    Create,
    /// DROP INDEX.
    Drop,
    /// REFRESH INDEX.
    Refresh,
    /// SHOW INDEXES.
    Show,
}

impl IndexChange {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Drop => "drop",
            Self::Refresh => "refresh",
            Self::Show => "show",
        }
    }
}

/// A statement about the indexes of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStatement {
    /// What it does.
    pub change: IndexChange,
    /// The partition of the metadata table; of a new secondary index with its column: `secondary_index_by_city(city)`.
    pub name: String,
    /// IF EXISTS or IF NOT EXISTS.
    pub is_lenient: bool,
    /// The type of a new index.
    pub kind: Option<String>,
}

/// A CREATE TABLE.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateTable {
    /// The parts of the name.
    pub parts: Vec<String>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// EXTERNAL.
    pub is_external: bool,
    /// The source behind USING, in upper case; empty if none is given.
    pub provider: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The columns that the table is partitioned by.
    pub partitions: Vec<String>,
    /// OPTIONS.
    pub options: Options,
    /// TBLPROPERTIES.
    pub properties: Options,
    /// LOCATION.
    pub location: Option<String>,
    /// COMMENT.
    pub comment: Option<String>,
    /// The query behind AS.
    pub query: Option<TextSpan>,
}

/// An ALTER TABLE.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlterTable {
    /// `add`, `replace`, `change`, `drop`, `drop_partitions`, `properties` or `rename_table`.
    pub kind: &'static str,
    /// The columns that are added or changed, or those that the table gets.
    pub columns: Vec<Column>,
    /// The columns that are dropped.
    pub dropped: Vec<Name>,
    /// Whether columns or properties that are not there are left out.
    pub if_exists: bool,
    /// The properties that are set; none of those that are unset.
    pub properties: Vec<(String, Option<String>)>,
    /// Where they begin.
    pub properties_at: usize,
    /// The partitions that are dropped.
    pub partitions: Vec<Partition>,
    /// The parts of the new name of the table.
    pub to: Option<Vec<String>>,
    /// Where TO is.
    pub to_at: usize,
}

/// An argument of CALL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name in lower case, if it has one.
    pub name: Option<String>,
    /// Where it begins.
    pub at: usize,
    /// Its value, if that is a string.
    pub text: Option<String>,
    /// Its value.
    pub value: TextSpan,
}
