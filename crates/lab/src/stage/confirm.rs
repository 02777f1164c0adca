//! Questions to the user in the middle of a study.

/// Asks the user a question that is answered with yes or no; returns `None` if no one can answer.
pub type Confirm = fn(&str) -> Option<bool>;
