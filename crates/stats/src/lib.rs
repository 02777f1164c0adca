//! Numbers in, verdict with uncertainty out.
//!
//! The unit of statistics is a run. A *block* holds one run of each arm in random order; its
//! [`Pair`] of values gives one log ratio. [`compare`] turns the log ratios of all blocks into a
//! [`Comparison`]: ratio, two intervals, an exact test and a [`Verdict`] that never says more than
//! all of them support.
//!
//! ```
//! use drivelab_stats::{Better, Criteria, Pair, Verdict, compare};
//!
//! let iops = [(75.1, 151.0), (74.2, 149.3), (75.9, 150.2), (74.8, 152.6), (75.3, 148.8),
//!     (75.0, 150.9)];
//! let pairs: Vec<Pair> = iops.iter().map(|&(ide, ahci)| Pair::new(ide, ahci)).collect();
//! let result = compare(&pairs, &Criteria::new(0.03, Better::More, 1)?)?;
//! assert_eq!(result.verdict, Verdict::Faster);
//! assert!(result.ratio > 1.9 && result.ratio < 2.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Same input and seed give the same bytes on any machine: no clock, no I/O, and transcendental
//! functions from `libm` only.

pub mod causes;
pub mod distribution;
pub mod interval;
pub mod kendall;
pub mod sign_flip;

mod change;
mod compare;
mod criteria;
mod effects;
mod family;
mod modelled;
mod noise;
pub mod numbers;
mod outliers;
mod pair;
mod power;
mod specimens;
mod steady;
mod unpaired;
mod warning;

pub use change::{CHANGE_VALUES_MAX, Change, changes};
pub use compare::{
    BLOCKS_MAX, CompareError, Comparison, Decision, Evidence, OrderTest, Verdict, compare, decide,
};
pub use criteria::{ALPHA_DEFAULT, Better, Criteria, CriteriaError, Provenance};
pub use effects::{
    Contrast, Effect, Factorial, FactorialError, Interacts, MAIN_EFFECTS_MIN, MainEffect,
    MainEffects, effects, interacts, main_effects,
};
pub use family::{
    Adjusted, Adjustment, Critical, Family, FamilyError, Member, Role, compare_family, holm, max_t,
    simultaneous,
};
pub use modelled::{Prediction, Score, predict};
pub use noise::{NoiseFloor, NoiseFloorError, effective_margin, noise_floor};
pub use numbers::{quantile_reportable, remaining};
pub use outliers::{
    FALSE_DISCOVERY_MAX, GroupJudgement, JudgedGroup, Outlier, OutlierCriteria, OutlierJudge,
    PEER_GROUP_MIN, PeerGroup, SideBySide, side_by_side,
};
pub use pair::{Arm, NotPositive, Pair};
pub use power::{POWER, RUNS_MAX, runs_needed};
pub use specimens::{
    Cause, Forecast, Part, Shares, Unknown, effect, foresee, of_numbers, one_more, unshared,
};
pub use steady::{Steadiness, SteadyReason, SteadyState, steady_state};
pub use unpaired::{Groups, UNPAIRED_MIN, UnpairedMember, compare_unpaired};
pub use warning::{NotAWarning, Warning, WarningId};
