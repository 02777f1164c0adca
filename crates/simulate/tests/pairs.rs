//! Two arms on drives that differ in one number are two variants of one drive in each block.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use drivelab_analysis::study::StudyResult;
use drivelab_core::record::RunRecord;
use drivelab_core::{Control, Refusal};
use drivelab_model::options::{DriveSpec, ProfileRef};
use drivelab_model::profile::Profile;
use drivelab_simulate::study::{Wanted, conclude};
use drivelab_simulate::{Embedded, ModelKeys, Source};
use drivelab_stats::Verdict;
use drivelab_study::file::Suite;

const BASE: &str = "seagate-st31000333as";
const FASTER: &str = "base = \"seagate-st31000333as\"\n[geometry]\nrpm = 7920\n";
const APART: &str = "base = \"seagate-st31000333as\"\nindependent = \"on\"\nrpm = 7920\n";

/// The included drives, and two files.
#[derive(Debug)]
struct Files;

impl Source for Files {
    fn spec(&self, text: &str) -> Result<DriveSpec, Refusal> {
        text.parse().map_err(Refusal::request_error)
    }

    fn profile(&self, spec: &DriveSpec) -> Result<Profile, Refusal> {
        let ProfileRef::File(name) = &spec.profile else { return Embedded.profile(spec) };
        let text = if name == "apart.toml" { APART } else { FASTER };
        Profile::parse(name, text, &|_| None).map_err(Refusal::request_error)
    }

    fn suite(&self, _: &Suite, _: &DriveSpec, _: &Profile, _: u64) -> Result<RunRecord, Refusal> {
        unreachable!("the studies have loads only")
    }

    fn control(&self) -> Control<'static> {
        Control::unattended()
    }
}

fn compared(slow: &str, fast: &str) -> StudyResult {
    let text = format!(
        "title = \"Is it faster?\"\nprimary = \"read.iops\"\nmargin = \"1%\"\n\
         [[arm]]\nname = \"slow\"\ndrive = \"{slow}\"\n\
         [[arm]]\nname = \"fast\"\ndrive = \"{fast}\"\n\
         [[workload]]\nname = \"read\"\nrw = \"randread\"\nnumber_ios = 2000\n"
    );
    let wanted = Wanted {
        name: "faster",
        text: &text,
        blocks: None,
        specimens: None,
        seed: None,
        only: &[],
        drive: None,
    };
    conclude(wanted, &ModelKeys, &Files, &Control::unattended()).unwrap()
}

/// The verdict, the ratio, and the range of one more drive.
fn found(result: &StudyResult) -> (Verdict, f64, [f64; 2]) {
    let primary = result.primary();
    let range = primary.foreseen.as_ref().unwrap().forecast.prediction95;
    (primary.verdict(), primary.adjusted.comparison.ratio, range)
}

#[test]
fn ten_percent_more_rotation_is_faster_and_mirrored_when_swapped() {
    let (verdict, ratio, [lo, hi]) = found(&compared(BASE, "faster.toml"));
    assert_eq!(verdict, Verdict::Faster, "x{ratio}, {lo} to {hi}");
    // Seeks are the same: of 13.9 ms 0.38 are saved.
    assert!((1.02..1.04).contains(&ratio) && lo > 1.01 && hi < 1.06, "x{ratio}, {lo} to {hi}");
    let (swapped, inverse, [low, high]) = found(&compared("faster.toml", BASE));
    assert_eq!(swapped, Verdict::Slower);
    for (one, other) in [(inverse, ratio), (low, hi), (high, lo)] {
        assert!((one * other - 1.0).abs() < 1e-9, "{one} {other}");
    }
}

#[test]
fn a_drive_is_as_fast_as_itself() {
    let result = compared(BASE, BASE);
    assert_eq!(result.primary().verdict(), Verdict::NoPracticalDifference);
}

#[test]
fn what_two_drives_leave_open_is_named_by_arm() {
    let result = compared(BASE, "apart.toml");
    assert_eq!(result.primary().verdict(), Verdict::Inconclusive);
    let foreseen = result.primary().foreseen.as_ref().unwrap();
    let arms: Vec<Option<&str>> =
        foreseen.unknowns.iter().map(|unknown| unknown.arm.as_deref()).collect();
    assert_eq!(arms.len(), 10);
    assert!(arms[..5].iter().all(|arm| *arm == Some("slow")), "{arms:?}");
    assert!(arms[5..].iter().all(|arm| *arm == Some("fast")), "{arms:?}");
    let notes = &result.experiment.notes;
    assert!(notes.iter().any(|note| note.contains("two drives that have nothing")), "{notes:?}");
}
