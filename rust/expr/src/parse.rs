//! The parser of expressions, and of the conditions that filters are: by the precedence of operators.
//!
//! It is written here, as names of columns may be keywords of SQL, a minus may follow a minus, and nesting as well as
//! chains of operators are bounded by limits that each thread's stack has room for.

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use mortice_base::{Error, Result};

use crate::decimals::MOST_DIGITS;
use crate::functions;
use crate::lexer::{Token, TokenKind, tokens};
use crate::literals;
use crate::moments::MICROS;
use crate::text::{ExpressionText, Grammar, quoted};
use crate::tree::{Call, Case, ColumnNode, Node};

/// Levels of parentheses, lists and NOT.
const MOST_DEPTH: usize = 200;
/// Levels of the tree, which has one for each operator of a chain but `AND` and `OR`.
const MOST_LEVELS: usize = 500;
const OR: u8 = 1;
const AND: u8 = 2;
const TEST: u8 = 3;
const SUM: u8 = 4;
const PRODUCT: u8 = 5;
const COMPARISONS: &[(&str, &str)] = &[
    ("=", "="),
    ("==", "="),
    ("<>", "!="),
    ("!=", "!="),
    ("<", "<"),
    ("<=", "<="),
    (">", ">"),
    (">=", ">="),
    ("<=>", "<=>"),
];
const TESTS: &[&str] = &["IS", "NOT", "IN", "BETWEEN", "LIKE"];
const OPERATORS: &[&str] = &["AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN"];
const CLAUSES: &[&str] = &["CASE", "WHEN", "THEN", "ELSE", "END", "AS", "CAST"];
const UNITS: &[(&str, i64)] = &[
    ("MICROSECOND", 1),
    ("MILLISECOND", 1_000),
    ("SECOND", MICROS),
    ("MINUTE", 60 * MICROS),
    ("HOUR", 3_600 * MICROS),
    ("DAY", 86_400 * MICROS),
    ("WEEK", 604_800 * MICROS),
];

/// A node, and how many levels of nodes it has.
struct Built {
    node: Node,
    levels: usize,
}

/// Returns the tree of an expression. `InvalidArgument`, with the place in the text, for one that cannot be parsed.
pub(crate) fn parse(text: &ExpressionText) -> Result<Node> {
    let mut parser = Parser { tokens: tokens(text)?, text, place: 0, depth: 0 };
    if parser.token().kind == TokenKind::End {
        return parser.fail("is empty");
    }
    let built = parser.expression(OR)?;
    if parser.token().kind != TokenKind::End {
        let what = format!("has {}, which is not expected", quoted(&parser.token().text));
        return parser.fail(&what);
    }
    Ok(built.node)
}

struct Parser<'a> {
    text: &'a ExpressionText,
    tokens: Vec<Token>,
    place: usize,
    depth: usize,
}

impl Parser<'_> {
    fn token(&self) -> Token {
        self.ahead(0)
    }

    /// A token further on; behind the last one it is that of the end.
    fn ahead(&self, by: usize) -> Token {
        let found = self.tokens.get(self.place.saturating_add(by)).or_else(|| self.tokens.last());
        found.cloned().unwrap_or(Token {
            kind: TokenKind::End,
            text: String::new(),
            at: 0,
            end: 0,
            word: String::new(),
        })
    }

    fn word(&self) -> &str {
        self.tokens.get(self.place).map_or("", |token| &token.word)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.place).map_or(self.text.chars.len(), |token| token.at)
    }

    fn error(&self, what: &str) -> Error {
        self.text.refused(self.at(), what)
    }

    fn fail<T>(&self, what: &str) -> Result<T> {
        Err(self.error(what))
    }

    /// Takes the next token if it is one of these words or symbols.
    fn take(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let word = self.word();
        let found = words.iter().find(|known| **known == word).copied()?;
        self.place += 1;
        Some(found)
    }

    fn required(&mut self, words: &[&'static str]) -> Result<&'static str> {
        if let Some(taken) = self.take(words) {
            return Ok(taken);
        }
        let token = self.token();
        let got = if token.kind == TokenKind::End { "its end".to_owned() } else { quoted(&token.text) };
        self.fail(&format!("has {got} where {} is expected", words.join(" or ")))
    }

    fn nest(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return self.fail(&format!("is nested more than {MOST_DEPTH} levels deep"));
        }
        Ok(())
    }

    /// Returns a node that is a level above others.
    fn above(&self, node: Node, below: usize) -> Result<Built> {
        let levels = below.saturating_add(1);
        if levels > MOST_LEVELS {
            return self.fail("is too long: put its parts in parentheses,");
        }
        Ok(Built { node, levels })
    }

    fn call(&self, name: &'static str, arguments: Vec<Built>, at: usize) -> Result<Built> {
        let below = arguments.iter().map(|argument| argument.levels).max().unwrap_or(0);
        let arguments = arguments.into_iter().map(|argument| argument.node).collect();
        self.above(Node::Call(Call { name, arguments, at }), below)
    }

    /// Parses operators of the level `least` and above.
    fn expression(&mut self, least: u8) -> Result<Built> {
        let (at, mut most) = (self.at(), PRODUCT);
        let mut signs = Vec::new();
        while let Some(sign) = self.take(&["-", "+"]) {
            signs.push(sign);
        }
        let is_negative = signs.iter().filter(|sign| **sign == "-").count() % 2 == 1;
        let mut node = if least <= TEST && signs.is_empty() && self.take(&["NOT"]).is_some() {
            self.nest()?;
            let tested = self.expression(TEST)?;
            self.depth -= 1;
            most = TEST - 1;
            self.call("not", vec![tested], at)?
        } else if self.take(&["("]).is_some() {
            self.nest()?;
            let inner = self.expression(OR)?;
            self.required(&[")"])?;
            self.depth -= 1;
            if is_negative { self.call("negate", vec![inner], at)? } else { inner }
        } else if !signs.is_empty() && self.token().kind == TokenKind::Number {
            let sign = if is_negative { "-" } else { "+" };
            self.number(&format!("{sign}{}", self.token().text))?
        } else {
            let primary = self.primary()?;
            if is_negative { self.call("negate", vec![primary], at)? } else { primary }
        };
        loop {
            let level = self.level();
            if level < least || level > most || level == 0 {
                return Ok(node);
            }
            (node, most) = if level == TEST {
                // A test is no operand of another one.
                (self.test(node)?, TEST - 1)
            } else {
                (self.operation(node, level)?, level)
            };
        }
    }

    fn level(&self) -> u8 {
        match self.word() {
            "OR" => OR,
            "AND" => AND,
            "+" | "-" | "||" => SUM,
            "*" | "/" | "%" => PRODUCT,
            word if TESTS.contains(&word) || COMPARISONS.iter().any(|(symbol, _)| *symbol == word) => TEST,
            _ => 0,
        }
    }

    fn operation(&mut self, first: Built, level: u8) -> Result<Built> {
        let at = self.at();
        let symbol = self.required(&["OR", "AND", "||", "+", "-", "*", "/", "%"])?;
        let name = match symbol {
            "OR" => "or",
            "AND" => "and",
            "||" => "concat",
            other => other,
        };
        let second = self.expression(level + 1)?;
        match first.node {
            // One node for a chain of conditions, which may be longer than a stack is deep.
            Node::Call(mut chain) if chain.name == name && matches!(name, "and" | "or") => {
                chain.arguments.push(second.node);
                let levels = first.levels.max(second.levels.saturating_add(1));
                self.above(Node::Call(chain), levels.saturating_sub(1))
            }
            node => self.call(name, vec![Built { node, levels: first.levels }, second], at),
        }
    }

    fn test(&mut self, node: Built) -> Result<Built> {
        let at = self.at();
        let word = self.word().to_owned();
        if let Some((_, name)) = COMPARISONS.iter().find(|(symbol, _)| *symbol == word) {
            self.place += 1;
            let other = self.expression(SUM)?;
            return self.call(name, vec![node, other], at);
        }
        if self.take(&["IS"]).is_some() {
            let is_negated = self.take(&["NOT"]).is_some();
            let name = match self.required(&["NULL", "TRUE", "FALSE"])? {
                "NULL" => "is null",
                "TRUE" => "is true",
                _ => "is false",
            };
            let tested = self.call(name, vec![node], at)?;
            return if is_negated { self.call("not", vec![tested], at) } else { Ok(tested) };
        }
        let is_negated = self.take(&["NOT"]).is_some();
        let found = if self.take(&["IN"]).is_some() {
            if self.take(&["("]).is_none() {
                return self.fail("has IN without a list in brackets");
            }
            let items = self.list_until_closed()?;
            let below = items.iter().map(|item| item.levels).fold(node.levels, usize::max);
            let items = items.into_iter().map(|item| item.node).collect();
            self.above(Node::InList(Box::new(node.node), items, at), below)?
        } else if self.take(&["BETWEEN"]).is_some() {
            let low = self.expression(SUM)?;
            self.required(&["AND"])?;
            let high = self.expression(SUM)?;
            self.call("between", vec![node, low, high], at)?
        } else if self.take(&["LIKE"]).is_some() {
            let pattern = self.expression(SUM)?;
            self.call("like", vec![node, pattern], at)?
        } else {
            return self.fail("has NOT where IN, BETWEEN or LIKE is expected behind it");
        };
        if is_negated { self.call("not", vec![found], at) } else { Ok(found) }
    }

    fn list_until_closed(&mut self) -> Result<Vec<Built>> {
        if self.take(&[")"]).is_some() {
            return Ok(Vec::new());
        }
        self.nest()?;
        let mut items = vec![self.expression(OR)?];
        while self.required(&[",", ")"])? == "," {
            items.push(self.expression(OR)?);
        }
        self.depth -= 1;
        Ok(items)
    }

    fn primary(&mut self) -> Result<Built> {
        let token = self.token();
        match token.kind {
            TokenKind::Number => self.number(&token.text),
            TokenKind::Text | TokenKind::Date => {
                self.place += 1;
                Ok(literal(literals::string(&token.text)))
            }
            TokenKind::Quoted => self.column(),
            TokenKind::Name => self.named(&token),
            TokenKind::End => self.fail("ends where a value is expected"),
            TokenKind::Symbol | TokenKind::Value => {
                self.fail(&format!("has {} where a value is expected", quoted(&token.text)))
            }
        }
    }

    fn named(&mut self, token: &Token) -> Result<Built> {
        let following = self.ahead(1);
        let (word, is_filter) = (token.word.as_str(), self.text.grammar == Grammar::Filter);
        let is_typed = matches!(word, "DATE" | "TIMESTAMP" | "TIMESTAMP_NTZ" | "X" | "INTERVAL");
        if (is_typed && following.kind == TokenKind::Text)
            || (word == "INTERVAL" && following.kind == TokenKind::Number)
        {
            return self.typed_literal(word, &following.text);
        }
        match self.take(&["TRUE", "FALSE", "NULL"]) {
            Some("NULL") => return Ok(literal(literals::null())),
            Some(word) => return Ok(literal(literals::boolean(word == "TRUE"))),
            None => {}
        }
        if is_filter && following.word == "(" {
            let name = quoted(&token.text);
            return self.fail(&format!("calls {name}, and filters compare columns with literals"));
        }
        match word {
            "CASE" if !is_filter => self.case(),
            "CAST" if !is_filter => self.cast(),
            _ if following.word == "(" => self.function(),
            _ if OPERATORS.contains(&word) || (!is_filter && CLAUSES.contains(&word)) => self.fail(&format!(
                "has {} where a value is expected; quote a column of this name with backticks",
                quoted(&token.text)
            )),
            _ => self.column(),
        }
    }

    fn number(&mut self, text: &str) -> Result<Built> {
        if self.text.grammar == Grammar::Filter {
            self.place += 1;
            return Ok(Built { node: Node::Number(text.to_owned()), levels: 1 });
        }
        let found = literals::number(text);
        let found = found.ok_or_else(|| self.error(&format!("has a number of more than {MOST_DIGITS} digits")))?;
        self.place += 1;
        Ok(literal(found))
    }

    fn typed_literal(&mut self, word: &str, text: &str) -> Result<Built> {
        let start = self.place;
        let is_filter = self.text.grammar == Grammar::Filter;
        if is_filter && word == "INTERVAL" {
            return self.fail("has an INTERVAL, and filters compare columns with literals");
        }
        self.place += 2;
        if is_filter && !matches!(word, "DATE" | "X") {
            // The text is cast to the type of the column, which has a zone or has none.
            return Ok(literal(literals::string(text)));
        }
        let found = if word == "INTERVAL" { self.interval(text) } else { literals::typed(word, text) };
        let Some(value) = found else {
            self.place = start;
            let hint = if word == "INTERVAL" { &format!(" (INTERVAL '3' DAY; units: {})", units()) } else { "" };
            return self.fail(&format!("has {word} {}, which is not one{hint},", quoted(text)));
        };
        Ok(literal(value))
    }

    fn interval(&mut self, text: &str) -> Option<ArrayRef> {
        let text = text.trim();
        let end = text.char_indices().find(|&(at, c)| !(c.is_ascii_digit() || at == 0 && matches!(c, '+' | '-')));
        let (number, unit) = text.split_at(end.map_or(text.len(), |(at, _)| at));
        let mut unit = unit.trim_start().to_uppercase();
        if unit.is_empty() {
            unit = self.token().text.to_uppercase();
            self.place += 1;
        }
        let unit = unit.strip_suffix('S').unwrap_or(&unit);
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        number.parse::<i64>().ok()?.checked_mul(*size).map(literals::duration)
    }

    /// Parses the name of a type.
    fn data_type(&mut self) -> Result<DataType> {
        let token = self.token();
        if matches!(token.word.as_str(), "DECIMAL" | "NUMERIC") {
            return self.decimal();
        }
        let Some(kind) = literals::type_of(&token.word) else {
            let supported = literals::type_names();
            return self.fail(&format!("has the type {}; supported: {supported}", quoted(&token.text)));
        };
        self.place += 1;
        if token.word == "VARCHAR" && self.take(&["("]).is_some() {
            self.whole()?;
            self.required(&[")"])?;
        }
        Ok(kind)
    }

    fn decimal(&mut self) -> Result<DataType> {
        let start = self.place;
        self.place += 1;
        let (mut digits, mut scale) = (10, 0);
        if self.take(&["("]).is_some() {
            digits = self.whole()?;
            if self.required(&[",", ")"])? == "," {
                scale = self.whole()?;
                self.required(&[")"])?;
            }
        }
        match (u8::try_from(digits), i8::try_from(scale)) {
            (Ok(precision), Ok(small)) if (1..=MOST_DIGITS).contains(&precision) && scale <= digits => {
                Ok(DataType::Decimal128(precision, small))
            }
            _ => {
                self.place = start;
                self.fail(&format!("has the type decimal({digits}, {scale}), which there is not"))
            }
        }
    }

    fn whole(&mut self) -> Result<u64> {
        let token = self.token();
        let value = token.text.parse::<u64>().ok().filter(|_| token.kind == TokenKind::Number);
        let Some(value) = value else {
            return self.fail(&format!("has {} where a whole number is expected", quoted(&token.text)));
        };
        self.place += 1;
        Ok(value)
    }

    fn cast(&mut self) -> Result<Built> {
        self.place += 1;
        self.required(&["("])?;
        self.nest()?;
        let value = self.expression(OR)?;
        self.depth -= 1;
        self.required(&["AS"])?;
        let kind = self.data_type()?;
        self.required(&[")"])?;
        self.above(Node::Cast(Box::new(value.node), kind), value.levels)
    }

    fn case(&mut self) -> Result<Built> {
        self.place += 1;
        self.nest()?;
        let operand = if self.word() == "WHEN" { None } else { Some(self.expression(OR)?) };
        let mut below = operand.as_ref().map_or(0, |operand| operand.levels);
        let mut branches = Vec::new();
        while self.take(&["WHEN"]).is_some() {
            let condition = self.expression(OR)?;
            self.required(&["THEN"])?;
            let value = self.expression(OR)?;
            below = below.max(condition.levels).max(value.levels);
            branches.push((condition.node, value.node));
        }
        if branches.is_empty() {
            self.required(&["WHEN"])?;
        }
        let otherwise = match self.take(&["ELSE"]) {
            Some(_) => self.expression(OR)?,
            None => literal(literals::null()),
        };
        self.required(&["END"])?;
        self.depth -= 1;
        let below = below.max(otherwise.levels);
        let operand = operand.map(|operand| operand.node);
        self.above(Node::Case(Box::new(Case { operand, branches, otherwise: otherwise.node })), below)
    }

    fn function(&mut self) -> Result<Built> {
        let token = self.token();
        let (name, start) = (token.text.to_lowercase(), self.place);
        self.place += 2;
        let arguments = self.list_until_closed()?;
        let (function, count) = (functions::find(&name), arguments.len());
        let Some(function) = function.filter(|function| (function.least..=function.most).contains(&count)) else {
            self.place = start;
            return self.fail(&match functions::find(&name) {
                None => format!("calls {}; supported: {}", quoted(&token.text), functions::names()),
                Some(known) => format!("calls {name} with {count} arguments, which takes {}", known.counts()),
            });
        };
        if function.name != "if" {
            return self.call(function.name, arguments, token.at);
        }
        let below = arguments.iter().map(|argument| argument.levels).max().unwrap_or(0);
        let mut parts = arguments.into_iter().map(|argument| argument.node);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(condition), Some(value), Some(otherwise)) => {
                let branches = vec![(condition, value)];
                self.above(Node::Case(Box::new(Case { operand: None, branches, otherwise })), below)
            }
            _ => Err(Error::internal("if has three arguments")),
        }
    }

    fn column(&mut self) -> Result<Built> {
        let (at, mut path) = (self.at(), vec![self.token().text]);
        self.place += 1;
        while self.take(&["."]).is_some() {
            let token = self.token();
            if !matches!(token.kind, TokenKind::Name | TokenKind::Quoted) {
                return self.fail("has a point where no name follows");
            }
            path.push(token.text);
            self.place += 1;
        }
        Ok(Built { node: Node::Column(ColumnNode { side: String::new(), path, at }), levels: 1 })
    }
}

fn literal(value: ArrayRef) -> Built {
    Built { node: Node::Literal(value), levels: 1 }
}

fn units() -> String {
    let names: Vec<_> = UNITS.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}
