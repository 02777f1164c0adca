//! The included profiles, held against the figures that they quote.
//!
//! A figure that the model misses is stated in its profile with the model's own: readers of the
//! profile see what this test has found.

use drivelab_model::profile;

use crate::load::{Load, drive, run};

/// A figure of a drive.
#[derive(Clone, Copy)]
enum Figure {
    /// MB/s in sequence, 128 KiB, 32 outstanding.
    Reads,
    Writes,
    /// Thousands of random requests a second, with so many outstanding.
    RandomReads(usize),
    /// The same of 512 bytes.
    SectorReads(usize),
    /// Random writes of a drive in its steady state.
    SteadyWrites,
    /// Random writes into a buffer that is empty at first.
    ShortWrites,
    /// Microseconds of a random read, one at a time: the mean, or a quantile.
    ReadTime,
    ReadQuantile(f64),
    /// Milliseconds of a random read.
    DiskReadQuantile(f64),
}
use Figure::{
    DiskReadQuantile, RandomReads, ReadQuantile, ReadTime, Reads, SectorReads, ShortWrites,
    SteadyWrites, Writes,
};

/// A drive with options, the text of its profile that quotes a figure, the figure, and where the
/// model misses it, the model's figure with its text in the profile.
struct Quoted(&'static str, &'static str, Figure, f64, Option<(f64, &'static str)>);

const QUOTED: [Quoted; 38] = [
    Quoted("crucial-bx500", "540 MB/s reads", Reads, 540.0, None),
    Quoted("crucial-bx500", "500 MB/s writes", Writes, 500.0, Some((340.0, "writes 340 MB/s"))),
    Quoted("crucial-c300", "140 MB/s", Writes, 140.0, Some((210.0, "210 MB/s"))),
    Quoted("crucial-c300", "about 8000/s one at a time", SectorReads(1), 8.0, None),
    Quoted("crucial-c300", "37000/s with 21 tags", SectorReads(21), 37.0, None),
    Quoted("crucial-mx200,link=3", "7.1 14.3", RandomReads(1), 7.1, None),
    Quoted("crucial-mx200,link=3", "14.3 26.7", RandomReads(2), 14.3, None),
    Quoted("crucial-mx200,link=3", "26.7 45.7", RandomReads(4), 26.7, None),
    Quoted("crucial-mx200,link=3", "45.7 52.9", RandomReads(8), 45.7, None),
    Quoted("crucial-mx200,link=3", "52.9 52.9", RandomReads(16), 52.9, None),
    Quoted("crucial-mx200,link=3", "52.9 thousand", RandomReads(32), 52.9, None),
    Quoted("intel-x25m", "35,000 random reads/s", RandomReads(32), 35.0, None),
    Quoted("intel-x25m", "70 MB/s of writes", Writes, 70.0, Some((148.0, "148 MB/s"))),
    Quoted("intel-x25m", "read latency 65 us", ReadTime, 65.0, Some((195.0, "195 us"))),
    Quoted("micron-7300pro", "mean 117", ReadTime, 117.0, None),
    Quoted("micron-7300pro", "p1 72", ReadQuantile(0.01), 72.0, None),
    Quoted("micron-7300pro", "p50 115", ReadQuantile(0.5), 115.0, None),
    Quoted("micron-7300pro", "p90 165", ReadQuantile(0.9), 165.0, None),
    Quoted("micron-7300pro", "p99 185", ReadQuantile(0.99), 185.0, None),
    Quoted("micron-7300pro", "p99.9 322", ReadQuantile(0.999), 322.0, Some((186.0, "186 us"))),
    Quoted("micron-7300pro", "70,000 to 77,000", SteadyWrites, 73.5, Some((66.0, "66,000"))),
    Quoted("micron-7300pro", "3,000", Reads, 3000.0, Some((3540.0, "3,540 MB/s"))),
    Quoted("micron-7300pro", "1,900", Writes, 1900.0, Some((1340.0, "1,340 MB/s"))),
    Quoted("samsung-850evo", "mean 93", ReadTime, 93.0, None),
    Quoted("samsung-850evo", "p50 92", ReadQuantile(0.5), 92.0, None),
    Quoted("samsung-850evo", "p99 119", ReadQuantile(0.99), 119.0, None),
    Quoted("samsung-850evo", "p99.9 144", ReadQuantile(0.999), 144.0, Some((123.0, "123 us"))),
    Quoted("samsung-850evo", "540 and\n# 520", Reads, 540.0, None),
    Quoted("samsung-850evo", "540 and\n# 520", Writes, 520.0, None),
    Quoted("samsung-850evo", "(88,000)", ShortWrites, 88.0, Some((99.0, "99,000"))),
    Quoted("samsung-860pro,controller=scsi", "9.2 17.5", RandomReads(1), 9.2, None),
    Quoted("samsung-860pro,controller=scsi", "33.5 57.4", RandomReads(4), 33.5, None),
    Quoted("samsung-860pro,controller=scsi", "74.0 thousand", RandomReads(32), 74.0, None),
    Quoted("samsung-pm9a3", "6,800", Reads, 6800.0, None),
    Quoted("samsung-pm9a3", "4,000", Writes, 4000.0, Some((3340.0, "3,340 MB/s"))),
    Quoted("samsung-pm9a3", "180,000", SteadyWrites, 180.0, Some((168.0, "168,000"))),
    // Quantiles of the measurement that it was fitted to (docs/internals/modelled-disks.md).
    Quoted("seagate-st2000dm006", "4 KiB random reads", DiskReadQuantile(0.5), 17.69, None),
    Quoted("seagate-st2000dm006", "4 KiB random reads", DiskReadQuantile(0.9), 23.2, None),
];

impl Quoted {
    fn measured(&self) -> f64 {
        let random = Load { requests: 6_000, ..Load::default() };
        let in_sequence =
            Load { sectors: 256, depth: 32, sequential: true, requests: 2_000, ..random };
        let load = match self.2 {
            Reads => in_sequence,
            // Long enough for the buffer to count little.
            Writes => Load { reads: 0, requests: 8_000, ..in_sequence },
            RandomReads(depth) => Load { depth, ..random },
            SectorReads(depth) => Load { depth, sectors: 1, ..random },
            SteadyWrites => Load { depth: 32, reads: 0, requests: 20_000, ..random },
            ShortWrites => Load { depth: 32, reads: 0, requests: 4_000, ..random },
            ReadTime | ReadQuantile(_) | DiskReadQuantile(_) => random,
        };
        let steady = matches!(self.2, SteadyWrites);
        let state = if steady { ",precondition=steady" } else { "" };
        // The largest drives as a smaller part of them: a debug build fills them for long.
        let large = self.0.contains("7300") || self.0.contains("pm9a3");
        let scale = if large { ",scale=1/128" } else { "" };
        let mut drive = drive(&format!("{}{state}{scale}", self.0));
        let outcome = run(&mut drive, load);
        match self.2 {
            Reads | Writes => outcome.iops() * 131_072.0 / 1e6,
            ReadTime => outcome.mean_ms() * 1e3,
            ReadQuantile(share) => outcome.quantile_ms(share) * 1e3,
            DiskReadQuantile(share) => outcome.quantile_ms(share),
            _ => outcome.iops() / 1e3,
        }
    }

    /// An error in this row or in its profile.
    fn error(&self) -> Option<String> {
        let Self(drive, text, _, published, missed) = self;
        let name = drive.split(',').next().unwrap();
        let profile = profile::text(name).unwrap();
        let found = self.measured();
        let (expected, tolerance, stated) = match missed {
            None => (*published, 0.105, *text),
            Some((value, stated)) => (*value, 0.05, *stated),
        };
        let off = (found / expected - 1.0).abs() > tolerance;
        let unsaid = !profile.contains(text) || !profile.contains(stated);
        (off || unsaid).then(|| {
            format!("{drive}, `{text}`: {found:.1}, published {published}, stated `{stated}`")
        })
    }
}

#[test]
fn profiles_meet_the_figures_that_they_quote_or_say_which_they_do_not() {
    let errors: Vec<String> = QUOTED.iter().filter_map(Quoted::error).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
