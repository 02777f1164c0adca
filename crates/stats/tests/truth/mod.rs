//! The known-truth grid: generated experiments, and what verdicts on them must achieve.

pub(crate) mod boots;
pub(crate) mod drift;
pub(crate) mod experiment;
pub(crate) mod family;
pub(crate) mod fleet;
pub(crate) mod noise;
pub(crate) mod random;
pub(crate) mod rates;
pub(crate) mod specimens;
