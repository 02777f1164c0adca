//! Bugs planted in the model, to show that the checks see them. Only unit tests hold any.

/// Whether the bug named is planted in this thread; never outside unit tests.
#[cfg(not(test))]
macro_rules! planted {
    ($bug:ident) => {
        false
    };
}

/// Whether the bug named is planted in this thread.
#[cfg(test)]
macro_rules! planted {
    ($bug:ident) => {
        crate::planted::is_planted(crate::planted::Bug::$bug)
    };
}

pub(crate) use planted;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{Bug, is_planted};
