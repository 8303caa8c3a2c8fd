//! The nodes of a parsed expression.

use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// A part of an expression.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// A constant, with its type: an array of one value.
    Literal(ArrayRef),
    /// A number of a filter, as it was written: the type of its column decides what it is.
    Number(String),
    /// A column, or a field within one.
    Column(ColumnNode),
    /// A function or an operator.
    Call(Call),
    /// `CAST(value AS type)`.
    Cast(Box<Node>, DataType),
    /// `value IN (items)`, and its place in the text.
    InList(Box<Node>, Vec<Node>, usize),
    /// `CASE … END`.
    Case(Box<Case>),
}

/// `CASE operand WHEN condition THEN value … ELSE otherwise END`.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The value that those behind `WHEN` are compared with; none if they are conditions.
    pub(crate) operand: Option<Node>,
    /// What is behind `WHEN` and `THEN`.
    pub(crate) branches: Vec<(Node, Node)>,
    /// What is behind `ELSE`.
    pub(crate) otherwise: Node,
}

/// A column or a field within one, by its names, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnNode {
    /// The side that has it; empty before the names are looked up.
    pub(crate) side: String,
    /// Its names; before they are looked up, perhaps with an alias of the side.
    pub(crate) path: Vec<String>,
    /// Its place in the text.
    pub(crate) at: usize,
}

/// A call of a function or an operator.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The name, in lower case. `and` and `or` have two or more arguments.
    pub(crate) name: &'static str,
    /// The arguments.
    pub(crate) arguments: Vec<Node>,
    /// Its place in the text.
    pub(crate) at: usize,
}

impl Node {
    /// Adds the columns within a node to those that were found.
    pub(crate) fn columns<'a>(&'a self, found: &mut Vec<&'a ColumnNode>) {
        if let Self::Column(column) = self {
            found.push(column);
        }
        self.children().into_iter().for_each(|child| child.columns(found));
    }

    /// The nodes directly within a node.
    pub(crate) fn children(&self) -> Vec<&Self> {
        match self {
            Self::Literal(_) | Self::Number(_) | Self::Column(_) => Vec::new(),
            Self::Call(call) => call.arguments.iter().collect(),
            Self::Cast(value, _) => vec![value],
            Self::InList(value, items, _) => std::iter::once(value.as_ref()).chain(items).collect(),
            Self::Case(case) => {
                let parts = case.branches.iter().flat_map(|(condition, value)| [condition, value]);
                case.operand.iter().chain(parts).chain([&case.otherwise]).collect()
            }
        }
    }

    /// The nodes directly within a node, to be changed.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Literal(_) | Self::Number(_) | Self::Column(_) => Vec::new(),
            Self::Call(call) => call.arguments.iter_mut().collect(),
            Self::Cast(value, _) => vec![value],
            Self::InList(value, items, _) => std::iter::once(value.as_mut()).chain(items).collect(),
            Self::Case(case) => {
                let parts = case.branches.iter_mut().flat_map(|(condition, value)| [condition, value]);
                case.operand.iter_mut().chain(parts).chain([&mut case.otherwise]).collect()
            }
        }
    }

    /// The conditions that must all be true for a condition to be true.
    pub(crate) fn conjuncts(&self) -> Vec<&Self> {
        match self {
            Self::Call(call) if call.name == "and" => call.arguments.iter().flat_map(Self::conjuncts).collect(),
            other => vec![other],
        }
    }
}
