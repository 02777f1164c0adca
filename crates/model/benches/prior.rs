//! What the priors of a desktop drive predict, on three spans: `cargo bench -p drivelab-model
//! --bench prior`. The table stands in docs/internals/drive-facts.md.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "the load of the tests, of which this uses a part"
)]

#[path = "../tests/drive/load.rs"]
mod load;

use drivelab_core::hypercube;
use drivelab_model::build;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;

use load::{Load, run};

const DISK: &str = "seagate-st31000333as";
const GB: u64 = 1_000_000_000;
/// The whole disk, and the first 32 GB and 1 GB of it.
const SPANS: [u64; 3] = [u64::MAX, 32 * GB, GB];
const DRIVES: u32 = 100;
const REQUESTS: usize = 10_000;

/// Rates of one drive on one span, from which every row of the table follows.
struct Rates {
    /// With NCQ, at depths 1, 8 and 32.
    queued: [f64; 3],
    /// The host's elevator alone at 32.
    elevator: f64,
    /// At 48 with an elevator of 128 requests, without and with NCQ.
    deep: [f64; 2],
    /// Writes without a cache at depths 1 and 8.
    writes: [f64; 2],
}

impl Rates {
    fn of(profile: &Profile, within: u64) -> Self {
        let rate = |options: &str, depth, reads| {
            let spec: DriveSpec = format!("{DISK}{options}").parse().unwrap();
            let load = Load { requests: REQUESTS, depth, reads, within, ..Load::default() };
            run(&mut build(profile, &spec.options, 1).unwrap(), load).iops()
        };
        let behind =
            |ncq: &str| rate(&format!(",ncq={ncq},scheduler=deadline,nr-requests=128"), 48, 100);
        Self {
            queued: [1, 8, 32].map(|depth| rate("", depth, 100)),
            elevator: rate(",ncq=off,scheduler=deadline,nr-requests=64", 32, 100),
            deep: ["off", "on"].map(behind),
            writes: [1, 8].map(|depth| rate(",write-cache=off", depth, 0)),
        }
    }
}

/// Median, and between what 95 drives of 100 lie.
fn spread(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share + 0.5) as usize];
    format!("{:.digits$} [{:.digits$}, {:.digits$}]", at(0.5), at(0.025), at(0.975))
}

type Row = (&'static str, usize, fn(&Rates) -> f64);

const ROWS: [Row; 6] = [
    ("depth 1", 1, |rates| rates.queued[0]),
    ("R(8)", 2, |rates| rates.queued[1] / rates.queued[0]),
    ("R(32)", 2, |rates| rates.queued[2] / rates.queued[0]),
    ("elevator, 32", 2, |rates| rates.elevator / rates.queued[0]),
    ("NCQ instead of the elevator, 32", 2, |rates| rates.queued[2] / rates.elevator),
    ("NCQ on top of it, 48", 2, |rates| rates.deep[1] / rates.deep[0]),
];

fn main() {
    let profile = Profile::embedded(DISK).unwrap();
    let unknowns = profile.unknowns();
    let order = unknowns.iter().position(|unknown| unknown.name == "uncached_writes").unwrap();
    let draws = hypercube(1, DRIVES, unknowns.len());
    let drives: Vec<Profile> = draws.iter().map(|draw| profile.specimen(draw).0).collect();
    let of_span = |within| drives.iter().map(move |drive| Rates::of(drive, within)).collect();
    let spans: [Vec<Rates>; 3] = SPANS.map(of_span);
    println!("| {DRIVES} drives, median [95 %] | whole disk | 32 GB | 1 GB |\n|---|---|---|---|");
    for (name, digits, of) in ROWS {
        let cells = spans.each_ref().map(|span| spread(span.iter().map(of).collect(), digits));
        println!("| {name} | {} |", cells.join(" | "));
    }
    // The half of the drives that orders them.
    let cells = spans.each_ref().map(|span| {
        let ordered = span.iter().zip(&draws).filter(|(_, draw)| draw[order] >= 0.5);
        spread(ordered.map(|(rates, _)| rates.writes[1] / rates.writes[0]).collect(), 2)
    });
    println!("| uncached writes, NCQ at 8 | {} |", cells.join(" | "));
}
