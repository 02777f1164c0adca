//! Columns of any output format.

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, unique in the table.
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
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Counts(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The maker that the end of every such file names.
pub const MAKER: &str = "drivelab table";
