//! The unknowns of a disk.

use drivelab_core::config::Section;

use crate::fit::unknown::Unknown;
use crate::profile::Profile;
use crate::unknown::{Nature, Prior};

/// The unknowns of every fit.
// The first has the largest effect: draws cover it evenly.
const OF_READS: [&str; 4] = ["guard_growth", "seek_short", "seek_average", "seek_shape"];

/// Prior of the additional settling of a write, which no profile leaves open: the makers' average
/// write seeks are 0.6 to 1 ms above those of reads.
pub const WRITE_SETTLE: &str = "write_settle = { median = \"1ms\", sigma = 0.4, min = \"0.2ms\", \
                                max = \"4ms\", source = \"docs/internals/drive-facts.md\" }";

/// Lower bound of a seek.
const LEAST_MS: f64 = 0.2;

/// The unknowns of a drive of this speed, with the priors of its class; with `writes` also those
/// that only writes show.
pub(super) fn all(rpm: f64, writes: bool) -> Vec<Unknown> {
    let kind = match rpm {
        ..6_500.0 => "generic-5400",
        9_000.0.. => "generic-10k",
        _ => "seagate-st31000333as",
    };
    let profile = Profile::embedded(kind).expect("it is built in");
    let mut all = Vec::with_capacity(OF_READS.len() + 1);
    for key in OF_READS {
        let prior = profile.prior(key).expect("a test fits a drive of each kind");
        all.push(Unknown::new(key, prior, "ms", LEAST_MS));
    }
    if writes {
        let mut text = Section::parse("fit", WRITE_SETTLE).expect("it is TOML");
        let key = "write_settle";
        let prior = Prior::read(&mut text, key, Nature::Time, |_| Ok(()), "fit");
        let prior = prior.expect("it is a distribution");
        all.push(Unknown::new(key, &prior, "ms", LEAST_MS));
    }
    all
}
