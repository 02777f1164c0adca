//! Columns, whatever they become.

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name: each is there once.
    pub name: String,
    /// Its values, one a row.
    pub values: Values,
}

/// The values of a column, all of one kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Counts(Vec<i64>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Text.
    Texts(Vec<String>),
}

impl Values {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Counts(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What the end of every such file names as its maker.
pub const MAKER: &str = "drivelab table";
