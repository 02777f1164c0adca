//! Remarks that a reader must know in addition to the numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A remark on a result: a stable id for scripts, and advice for people.
///
/// In JSON it is one string, `few-blocks: 3 blocks ...`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Warning {
    /// The kind of remark.
    pub id: WarningId,
    /// The finding, its meaning and the advice.
    pub advice: String,
}

/// Declares the ids with their spelling.
macro_rules! ids {
    ($($(#[$doc:meta])+ $name:ident = $text:literal,)+) => {
        /// The kinds of remarks, written in kebab case.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum WarningId { $($(#[$doc])+ $name,)+ }

        impl WarningId {
            /// All ids.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the id as scripts see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

ids! {
    /// Fewer blocks than any verdict needs.
    FewBlocks = "few-blocks",
    /// Blocks that are copies of each other.
    DuplicateBlocks = "duplicate-blocks",
    /// All blocks gave the same ratio.
    NoVariation = "no-variation",
    /// Many blocks share one log ratio: a coarse unit.
    TiedValues = "tied-values",
    /// The two intervals, or the test, do not lead to the same conclusion.
    Skew = "skew",
    /// The arms differ in spread, not only in level.
    ShapeDiffers = "shape-differs",
    /// The arm that runs first changes the result: the verdict is withheld.
    CarryOver = "carry-over",
    /// The arm that runs first changes the result, but by too little to matter.
    OrderEffect = "order-effect",
    /// One arm always ran first: arm and order cannot be separated.
    OrderConfounded = "order-confounded",
    /// One arm ran first clearly more often.
    OrderUnbalanced = "order-unbalanced",
    /// A difference of one metric among many that chance explains.
    Multiplicity = "multiplicity",
    /// The arms were not run alternately: drift looks like a difference between them.
    Unpaired = "unpaired",
    /// Drives that fit the profile differ too much for one verdict: it depends on the drive.
    Depends = "depends",
    /// The declared factor was the same in both arms: the verdict is withheld.
    FactorUnchanged = "factor-unchanged",
    /// The arms did different work that was not declared: the verdict is withheld.
    WorkDiffers = "work-differs",
    /// Both arms have the same runs: the verdict is withheld.
    SameRuns = "same-runs",
    /// The runs of an arm did different work that was not declared: the verdict is withheld.
    WorkMixed = "work-mixed",
    /// One arm completed nothing in a block in which the other did: the verdict is withheld.
    RunsEmpty = "runs-empty",
    /// Too many runs measured the host that served the drive: the verdict is withheld.
    RunsVoid = "runs-void",
    /// Too many requests of an arm failed: the verdict is withheld.
    RequestsFailed = "requests-failed",
    /// An arm fell behind its rate: the verdict is withheld.
    RateMissed = "rate-missed",
    /// The target of an arm changed during a run: the verdict is withheld.
    TargetChanged = "target-changed",
    /// Other load disturbed the runs of one arm only: the verdict is withheld.
    Disturbed = "disturbed",
    /// Values of which no ratio can be made: the verdict is withheld.
    ValuesUnusable = "values-unusable",
    /// Values that an arm's load set itself: the verdict is withheld.
    RateSet = "rate-set",
    /// All hosts together and each compared with itself show the opposite: the verdict is withheld.
    HostsDisagree = "hosts-disagree",
}

impl WarningId {
    /// True if the verdict is withheld because of it, although there are figures.
    pub fn withholds(self) -> bool {
        matches!(
            self,
            Self::FactorUnchanged
                | Self::RunsEmpty
                | Self::RunsVoid
                | Self::RequestsFailed
                | Self::RateMissed
                | Self::TargetChanged
                | Self::Disturbed
                | Self::ValuesUnusable
                | Self::RateSet
                | Self::SameRuns
                | Self::WorkDiffers
                | Self::WorkMixed
                | Self::HostsDisagree
        )
    }
}

impl Warning {
    /// A warning with its advice.
    pub fn new(id: WarningId, advice: impl Into<String>) -> Self {
        Self { id, advice: advice.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.advice)
    }
}

impl From<Warning> for String {
    fn from(warning: Warning) -> Self {
        format!("{}: {}", warning.id.as_str(), warning.advice)
    }
}

/// A string that no version of this crate wrote as a warning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a warning: expected `id: advice` with a known id")]
pub struct NotAWarning(String);

impl TryFrom<String> for Warning {
    type Error = NotAWarning;

    fn try_from(text: String) -> Result<Self, NotAWarning> {
        let known = text.split_once(": ").and_then(|(id, advice)| {
            let id = WarningId::ALL.iter().find(|known| known.as_str() == id)?;
            Some((*id, advice))
        });
        match known {
            Some((id, advice)) => Ok(Self::new(id, advice)),
            None => Err(NotAWarning(text)),
        }
    }
}
