//! A comparison seen as one of many.

use serde::{Deserialize, Serialize};

use crate::compare::{Comparison, Verdict};

/// The part of a comparison in its family, declared before looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The primary metric, which decides. One needs no adjustment; of several (one per arm, say)
    /// each is adjusted for the others.
    Gate,
    /// Everything else, adjusted among itself.
    Other,
}

/// The method of adjustment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjustment {
    /// The only one of its role: nothing to adjust for.
    None,
    /// Step-down max-T with sign flips: all members of the role share their blocks.
    MaxT,
    /// Holm for p values, Bonferroni for intervals: the members have different blocks, or tens of
    /// thousands, whose p values come from the normal limit of the flips.
    Holm,
}

/// A comparison seen as one of many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adjusted {
    /// The comparison; its verdict holds together with those of the same role, its intervals and
    /// `p` are for it alone.
    pub comparison: Comparison,
    /// Interval of the ratio that holds together with those of the same role: all of them contain
    /// their truth with confidence 1 - alpha. `ci95` of the comparison where it is the only one.
    pub ci95_family: Option<[f64; 2]>,
    /// Its part.
    pub role: Role,
    /// P value adjusted for the other members of the same role.
    pub p_adjusted: f64,
    /// The method.
    pub adjustment: Adjustment,
    /// Indices of blocks that are copies of others: figures shown with the ratio omit them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<usize>,
}

impl Adjusted {
    /// A comparison that is not adjusted yet.
    pub(crate) fn unadjusted(comparison: Comparison, role: Role) -> Self {
        Self {
            p_adjusted: comparison.p,
            ci95_family: comparison.ci95,
            comparison,
            role,
            adjustment: Adjustment::None,
            copies: Vec::new(),
        }
    }

    pub(crate) fn is_equivalent(&self) -> bool {
        self.comparison.verdict == Verdict::NoPracticalDifference
    }
}
