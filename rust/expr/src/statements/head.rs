//! The beginning of a statement: what it is, and the tables that it is about.

use mortice_base::Result;

use super::changes::{inserts, written_to};
use super::clauses;
use super::cursor::Cursor;
use super::indexes::index_head;
use super::parsed::{Name, Options};
use super::relations::with_clause;
use super::tables::{create_head, provider};
use super::tokens::Tokens;
use crate::lexer::TokenKind;

/// Words that begin queries, and statements that can have one.
const QUERIES: &[&str] = &["SELECT", "WITH", "FROM", "TABLE", "VALUES", "(", "EXPLAIN", "CACHE", "CREATE", "REPLACE"];
const PROVIDERS: &[&str] = &["MORTICE", "HUDI"];
const NO_ANALYSIS: &str = "ANALYZE TABLE is not supported: Spark has no statistics of a Python data source";

/// What a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    /// A statement that Spark runs as it is.
    Other,
    /// A query, or a statement of Spark that has one.
    Query,
    /// CREATE VIEW.
    CreateView,
    /// CREATE TABLE of mortice or Hudi.
    CreateTable,
    /// CREATE TABLE LIKE, whose source decides whose it is.
    CreateTableLike,
    /// MERGE.
    Merge,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// INSERT, or several behind FROM.
    Insert,
    /// TRUNCATE.
    Truncate,
    /// ALTER TABLE.
    AlterTable,
    /// DROP TABLE.
    DropTable,
    /// DROP VIEW.
    DropView,
    /// CALL.
    Call,
    /// `CALL help`.
    Help,
    /// DESCRIBE of a table, as a whole.
    Describe,
    /// SHOW CREATE TABLE.
    ShowCreateTable,
    /// SHOW TBLPROPERTIES.
    ShowProperties,
    /// SHOW PARTITIONS.
    ShowPartitions,
    /// MSCK REPAIR TABLE.
    Repair,
    /// CREATE INDEX, DROP INDEX, REFRESH INDEX, SHOW INDEXES.
    Index,
    /// A statement that tables of mortice do not have.
    Refused(&'static str),
}

impl StatementKind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Query => "query",
            Self::CreateView => "create_view",
            Self::CreateTable => "create_table",
            Self::CreateTableLike => "create_table_like",
            Self::Merge => "merge",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Insert => "insert",
            Self::Truncate => "truncate",
            Self::AlterTable => "alter_table",
            Self::DropTable => "drop_table",
            Self::DropView => "drop_view",
            Self::Call => "call",
            Self::Help => "help",
            Self::Describe => "describe",
            Self::ShowCreateTable => "show_create_table",
            Self::ShowProperties => "show_properties",
            Self::ShowPartitions => "show_partitions",
            Self::Repair => "repair",
            Self::Index => "index",
            Self::Refused(_) => "refused",
        }
    }

    pub(super) const fn changes_rows(self) -> bool {
        matches!(self, Self::Merge | Self::Update | Self::Delete | Self::Insert | Self::Truncate)
    }
}

/// What else a statement says before or behind its names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// Whether it begins as queries do, or as statements that can have one.
    pub is_query: bool,
    /// CACHE.
    pub is_cache: bool,
    /// TEMPORARY.
    pub is_temporary: bool,
    /// EXTENDED or FORMATTED.
    pub is_extended: bool,
    /// IF EXISTS.
    pub if_exists: bool,
    /// PURGE.
    pub purges: bool,
    /// Whether the arguments of CALL name a table or a path.
    pub names_table: bool,
}

/// The beginning of a statement.
#[derive(Debug)]
pub struct Head {
    /// What the statement is.
    pub kind: StatementKind,
    /// The names that it is about: the table, those of several INSERT, and the source of CREATE TABLE LIKE.
    pub names: Vec<Name>,
    /// What else it says.
    pub flags: Flags,
    /// The options of a view for a table (USING mortice).
    pub view_options: Option<Options>,
    /// The tokens at which its parts begin.
    pub(super) parts: Vec<usize>,
    /// The token of FROM before INSERT.
    pub(super) before: Option<usize>,
    /// The token behind WITH.
    pub(super) with_end: usize,
    /// The names that WITH gives, in lower case.
    pub(super) with_names: Vec<String>,
}

impl Head {
    /// Reads the beginning of a statement. `InvalidArgument`, which shows the place, if it is not valid.
    pub(super) fn read(tokens: &Tokens) -> Result<Self> {
        let mut head = Self {
            kind: StatementKind::Other,
            names: Vec::new(),
            flags: Flags::default(),
            view_options: None,
            parts: vec![0],
            before: None,
            with_end: 0,
            with_names: Vec::new(),
        };
        let kind = head.read_kind(tokens)?;
        let other = if head.flags.is_query { StatementKind::Query } else { StatementKind::Other };
        head.kind = kind.unwrap_or(other);
        Ok(head)
    }

    /// Returns what the statement is, if it is not Spark's.
    fn read_kind(&mut self, tokens: &Tokens) -> Result<Option<StatementKind>> {
        let cursor = &mut Cursor::new(tokens, 0);
        let word = cursor.word();
        self.flags.is_query = QUERIES.contains(&word);
        self.flags.is_cache = word == "CACHE";
        Ok(match word {
            "CREATE" => self.created(cursor)?,
            "DROP" => self.dropped(cursor)?,
            "SHOW" => self.shown(cursor)?,
            "DESCRIBE" | "DESC" => self.described(cursor),
            "MERGE" | "UPDATE" | "DELETE" | "INSERT" | "TRUNCATE" | "WITH" | "FROM" => self.changed(cursor)?,
            "CALL" => Some(self.called(cursor)?),
            "MSCK" | "REPAIR" if word == "MSCK" || cursor.is_at(&["REPAIR", "TABLE"]) => {
                cursor.take(&["MSCK"]);
                cursor.require(&["REPAIR", "TABLE"])?;
                Some(self.about(cursor, StatementKind::Repair)?)
            }
            "REFRESH" => self.index(cursor)?,
            "ANALYZE" if cursor.take(&["ANALYZE", "TABLE"]) => {
                Some(self.about(cursor, StatementKind::Refused(NO_ANALYSIS))?)
            }
            "ALTER" if cursor.take(&["ALTER", "TABLE"]) => Some(self.about(cursor, StatementKind::AlterTable)?),
            _ => None,
        })
    }

    /// Consumes the name of the table that a statement is about.
    fn about(&mut self, cursor: &mut Cursor<'_>, kind: StatementKind) -> Result<StatementKind> {
        self.names.push(cursor.name()?);
        self.parts = vec![cursor.at];
        Ok(kind)
    }

    fn created(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<StatementKind>> {
        if cursor.is_at(&["CREATE", "INDEX"]) {
            return self.index(cursor);
        }
        if let Some(kind) = self.created_view(*cursor)? {
            return Ok(Some(kind));
        }
        if create_head(cursor).is_none() {
            return Ok(None);
        }
        let name = cursor.name()?;
        let is_like = cursor.take(&["LIKE"]);
        let source = if is_like { Some(cursor.name()?) } else { None };
        let provider = provider(cursor);
        self.parts = vec![0];
        self.names = std::iter::once(name).chain(source).collect();
        Ok(match provider.as_str() {
            known if PROVIDERS.contains(&known) => Some(StatementKind::CreateTable),
            "" if is_like => Some(StatementKind::CreateTableLike),
            _ => None,
        })
    }

    fn created_view(&mut self, mut cursor: Cursor<'_>) -> Result<Option<StatementKind>> {
        cursor.at += 1;
        cursor.take(&["OR", "REPLACE"]);
        cursor.take(&["GLOBAL"]);
        let is_temporary = cursor.take_one(&["TEMPORARY", "TEMP"]);
        if !cursor.take(&["VIEW"]) {
            return Ok(None);
        }
        self.flags.is_temporary = is_temporary;
        cursor.take(&["IF", "NOT", "EXISTS"]);
        let kind = self.about(&mut cursor, StatementKind::CreateView)?;
        let is_short = self.names.iter().all(|name| name.parts.len() == 1);
        if is_temporary && is_short && cursor.take(&["USING", "MORTICE"]) {
            cursor.require(&["OPTIONS"])?;
            let options = clauses::options(&mut cursor)?;
            cursor.require_end()?;
            if !options.iter().any(|(name, _)| name == "path") {
                return Err(cursor.error("the option path is missing"));
            }
            self.view_options = Some(options);
        }
        Ok(Some(kind))
    }

    /// Reads statements of indexes.
    fn index(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<StatementKind>> {
        if index_head(cursor)?.is_none() {
            return Ok(None);
        }
        self.about(cursor, StatementKind::Index).map(Some)
    }

    fn dropped(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<StatementKind>> {
        if cursor.is_at(&["DROP", "INDEX"]) {
            return self.index(cursor);
        }
        cursor.at += 1;
        let is_view = cursor.take(&["VIEW"]);
        if !is_view && !cursor.take(&["TABLE"]) {
            return Ok(None);
        }
        self.flags.if_exists = cursor.take(&["IF", "EXISTS"]);
        let kind = self.about(cursor, if is_view { StatementKind::DropView } else { StatementKind::DropTable })?;
        self.flags.purges = cursor.take(&["PURGE"]);
        cursor.require_end()?;
        Ok(Some(kind))
    }

    fn shown(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<StatementKind>> {
        if cursor.is_at(&["SHOW", "INDEXES"]) {
            return self.index(cursor);
        }
        let kind = if cursor.take(&["SHOW", "CREATE", "TABLE"]) {
            StatementKind::ShowCreateTable
        } else if cursor.take(&["SHOW", "TBLPROPERTIES"]) {
            StatementKind::ShowProperties
        } else if cursor.take(&["SHOW", "PARTITIONS"]) {
            StatementKind::ShowPartitions
        } else {
            return Ok(None);
        };
        self.about(cursor, kind).map(Some)
    }

    /// Reads DESCRIBE of a table; that of a column, of a query and of others is Spark's.
    fn described(&mut self, cursor: &mut Cursor<'_>) -> Option<StatementKind> {
        cursor.at += 1;
        cursor.take(&["TABLE"]);
        self.flags.is_extended = cursor.take_one(&["EXTENDED", "FORMATTED"]);
        if matches!(cursor.word(), "DATABASE" | "SCHEMA" | "FUNCTION" | "QUERY") {
            return None;
        }
        let name = cursor.name().ok()?;
        self.names.push(name);
        cursor.token().is_none().then_some(StatementKind::Describe)
    }

    fn called(&mut self, cursor: &mut Cursor<'_>) -> Result<StatementKind> {
        cursor.at += 1;
        let kind = self.about(cursor, StatementKind::Call)?;
        let tokens = &cursor.tokens.tokens;
        let has_strings = tokens.iter().any(|token| token.kind == TokenKind::Text);
        let names_table = tokens.iter().any(|token| matches!(token.word.as_str(), "TABLE" | "PATH"));
        self.flags.names_table = cursor.is_at(&["("]) && names_table;
        let is_help = self.names.iter().all(|name| name.parts == ["help"]);
        Ok(if is_help && !has_strings { StatementKind::Help } else { kind })
    }

    fn changed(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<StatementKind>> {
        if let Some((queries, behind)) = with_clause(cursor.tokens, 0, cursor.end) {
            self.with_names = queries.into_iter().map(|query| query.name).collect();
            (self.with_end, cursor.at) = (behind, behind);
        }
        self.parts = vec![cursor.at];
        if cursor.word() == "FROM" {
            self.parts = inserts(cursor);
            self.before = Some(cursor.at);
            cursor.at = self.parts.first().copied().unwrap_or(cursor.end);
        }
        let kind = match cursor.word() {
            "MERGE" => StatementKind::Merge,
            "UPDATE" => StatementKind::Update,
            "DELETE" => StatementKind::Delete,
            "INSERT" => StatementKind::Insert,
            "TRUNCATE" => StatementKind::Truncate,
            _ => return Ok(None),
        };
        for begin in self.parts.clone() {
            let mut place = Cursor::new(cursor.tokens, begin);
            place.at = written_to(&place);
            self.names.push(place.name()?);
        }
        Ok(Some(kind))
    }
}
