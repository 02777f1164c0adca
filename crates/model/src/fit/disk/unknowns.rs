//! The numbers of a disk that a fit leaves open.

use drivelab_core::config::Section;

use crate::fit::unknown::Unknown;
use crate::profile::Profile;
use crate::unknown::{Nature, Prior};

/// What every fit leaves open. First the one that decides most: draws are spread evenly over it.
const OF_READS: [&str; 4] = ["guard_growth", "seek_short", "seek_average", "seek_shape"];

/// What a write takes longer than a read to settle, which no profile leaves open: the makers'
/// average write seeks are 0.6 to 1 ms above those of reads.
pub const WRITE_SETTLE: &str = "write_settle = { median = \"1ms\", sigma = 0.4, min = \"0.2ms\", \
                                max = \"4ms\", source = \"docs/internals/drive-facts.md\" }";

/// No seek takes less.
const LEAST_MS: f64 = 0.2;

/// What every fit leaves open of a drive of this speed, as the profile of such drives does; with
/// `writes` what only they show, too.
pub(super) fn all(rpm: f64, writes: bool) -> Vec<Unknown> {
    let kind = match rpm {
        ..6_500.0 => "generic-5400",
        9_000.0.. => "generic-10k",
        _ => "seagate-st31000333as",
    };
    let profile = Profile::embedded(kind).expect("it comes with drivelab");
    let new = |key, prior: &Prior| Unknown::new(key, prior, "ms", LEAST_MS);
    let of_reads = |key| {
        let prior = profile.prior(key).expect("a test fits a drive of each kind");
        new(key, prior)
    };
    let mut all: Vec<Unknown> = OF_READS.into_iter().map(of_reads).collect();
    if writes {
        let mut text = Section::parse("fit", WRITE_SETTLE).expect("it is TOML");
        let key = "write_settle";
        let prior = Prior::read(&mut text, key, Nature::Time, |_| Ok(()), "fit");
        all.push(new(key, &prior.expect("it is a distribution")));
    }
    all
}
