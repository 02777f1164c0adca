//! Groups that are too small to be judged, in words.

use drivelab_analysis::fleet::{DiskName, SmallGroup};
use drivelab_analysis::metric;
use drivelab_core::counted;
use drivelab_stats::{ALPHA_DEFAULT, SideBySide};

/// `sda of a: 75.1 (3 runs), sda of b: 61.2 (3 runs)`.
pub(super) fn side_by_side(disks: &[DiskName], small: &SmallGroup, metric: &str) -> String {
    let SideBySide { figures, runs, .. } = &small.disks;
    debug_assert_eq!((disks.len(), disks.len()), (figures.len(), runs.len()));
    let each = disks.iter().zip(figures.iter().zip(runs));
    let texts: Vec<String> = each
        .map(|(disk, (figure, runs))| {
            format!("{disk}: {} ({})", metric::show(metric, *figure), counted(*runs, "run"))
        })
        .collect();
    texts.join(", ")
}

/// The exact test of a small group, or why there is none.
pub(super) fn test_of(small: &SmallGroup) -> String {
    match (small.disks.p, small.p_adjusted) {
        (Some(p), Some(adjusted)) => {
            let says = if adjusted <= ALPHA_DEFAULT {
                "the runs of these disks differ by more than chance"
            } else {
                "no difference between the disks is shown"
            };
            format!(
                "Exact permutation test of their runs: p = {p:.4} (adjusted for the number of small \
                 groups: {adjusted:.4}); {says}."
            )
        }
        _ => "There is no exact test: it needs three runs of each of three disks, or four of each \
              of two, and not too many of more."
            .to_owned(),
    }
}
