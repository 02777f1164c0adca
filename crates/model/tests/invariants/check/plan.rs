//! A random drive, small enough for its every sector to be followed, and a load for it.

use drivelab_core::Rng;
use drivelab_core::dispatch::Dispatch;
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Drive, build};

use super::surface::{Surface, Zone};

/// Everything that the rules have to know, drawn from a seed.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) surface: Surface,
    pub(crate) capacity: u64,
    /// Commands that may be on the wire.
    pub(crate) tags: usize,
    pub(crate) dispatch: Dispatch,
    /// Flush and trim are not queued.
    pub(crate) sata: bool,
    /// Requests leave the host in the order in which they came.
    pub(crate) in_order: bool,
    /// The drive serves its queue in the order of arrival.
    pub(crate) fifo: bool,
    pub(crate) age_limit_ns: u64,
    pub(crate) wire_bytes_per_s: u64,
    /// Sectors of the write cache, where it is on.
    pub(crate) write_cache: Option<u64>,
    /// Revolutions lost by an access that needs another try, if any does.
    pub(crate) retry: Option<u64>,
    /// Requests kept outstanding, and the mean pause in us.
    pub(crate) depth: u64,
    pub(crate) pause_us: u64,
    profile: String,
    options: Vec<(&'static str, String)>,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let surface = surface(rng);
        let held: u64 = surface.zones.iter().map(|zone| zone.cylinders * zone.per_track).sum();
        let capacity = held * surface.heads * 19 / 20;
        let sata = rng.below(2) == 0;
        let cache = [256, 1024, 8192][index(rng, 3)];
        let fifo = rng.below(4) == 0;
        let mut plan = Self {
            seed,
            capacity,
            tags: 0,
            dispatch: Dispatch::Shared,
            sata,
            in_order: false,
            fifo,
            age_limit_ns: [40_000_000, 150_000_000, 2_000_000_000][index(rng, 3)],
            wire_bytes_per_s: 0,
            write_cache: (rng.below(4) > 0).then_some(cache),
            retry: (rng.below(3) == 0).then(|| 1 + rng.below(4)),
            depth: [1, 4, 32, 80][index(rng, 4)],
            pause_us: [10, 1_000, 30_000][index(rng, 3)],
            profile: String::new(),
            options: Vec::new(),
            surface,
        };
        plan.attach(rng);
        plan.write_profile(rng);
        plan
    }

    /// The drive of this plan.
    pub(crate) fn drive(&self) -> Drive {
        let profile = Profile::parse("plan.toml", &self.profile, &|_| None)
            .unwrap_or_else(|error| panic!("seed {}: {error}\n{}", self.seed, self.profile));
        let mut options = Options::default();
        for (key, value) in &self.options {
            options.set(key, value).expect("the keys are those of options");
        }
        build(&profile, &options, self.seed)
            .unwrap_or_else(|error| panic!("seed {}: {error}", self.seed))
    }

    /// Draws controller, tags and elevator; works out what they come to.
    fn attach(&mut self, rng: &mut Rng) {
        let scheduler = ["none", "deadline", "bioq"][index(rng, 3)];
        self.options.push(("scheduler", scheduler.into()));
        let asked = [1, 2, 7, 31, 32][index(rng, 5)];
        self.options.push(("tags", asked.to_string()));
        let (name, dispatch) = [
            ("single", Dispatch::Single),
            ("shared", Dispatch::Shared),
            ("shared", Dispatch::Shared),
            ("split", Dispatch::Split),
        ][index(rng, 4)];
        self.options.push(("dispatch", name.into()));
        let ide = self.sata && rng.below(4) == 0;
        if ide {
            self.options.push(("controller", "ide".into()));
        }
        if rng.below(3) == 0 {
            self.options.push(("nr-requests", (1 + rng.below(100)).to_string()));
        }
        self.dispatch = dispatch;
        self.tags = if ide || dispatch == Dispatch::Single { 1 } else { asked };
        self.in_order = scheduler == "none" && dispatch != Dispatch::Split;
        self.wire_bytes_per_s = match (self.sata, ide) {
            (true, true) => 133_000_000,
            (true, false) => 300_000_000,
            (false, _) => (20 + rng.below(300)) * 1_000_000,
        };
    }

    fn write_profile(&mut self, rng: &mut Rng) {
        let surface = &self.surface;
        let zones: Vec<String> = surface
            .zones
            .iter()
            .map(|zone| format!("[{}, {}]", zone.cylinders, zone.per_track))
            .collect();
        let points: Vec<String> =
            surface.seek_points.iter().map(|(x, ns)| format!("[{x}, \"{ns}ns\"]")).collect();
        let order = if self.fifo {
            "order = \"fifo\"".to_owned()
        } else {
            let growth = ["0", "0.7", "1.2"][index(&mut Rng::new(self.seed), 3)];
            format!("guard = \"{}us\"\nguard_growth = {growth}", [0, 500, 3_000][index(rng, 3)])
        };
        let cache = if self.write_cache.is_some() { "on" } else { "off" };
        let attachment = if self.sata {
            "interface = \"sata\"\nlink = \"3\"".to_owned()
        } else {
            format!("interface = \"scsi\"\nbus_mb_per_s = {}", self.wire_bytes_per_s / 1_000_000)
        };
        let share = if self.retry.is_some() { 2 } else { 0 };
        self.profile = format!(
            "kind = \"hdd\"\nmodel = \"seed {}\"\ncapacity_bytes = {}\nrpm = {}.{:03}\n\
             heads = {}\nzones = [{}]\nhead_switch = \"{}ns\"\nwrite_settle = \"{}ns\"\n\
             seek_table = [{}]\nread_segments = {}\nsegment_bytes = {}\nread_ahead_bytes = {}\n\
             write_cache = \"{cache}\"\nwrite_cache_bytes = {}\nwrite_cache_runs = {}\n\
             queue_depth = 32\n{order}\nage_limit = \"{}ns\"\noverhead_read_miss = \"{}us\"\n\
             overhead_read_hit = \"40us\"\nretry_share = \"{share}%\"\nretry_revolutions = {}\n\
             {attachment}\n",
            self.seed,
            self.capacity * 512,
            surface.milli_rpm / 1000,
            surface.milli_rpm % 1000,
            surface.heads,
            zones.join(", "),
            surface.head_switch,
            surface.write_settle,
            points.join(", "),
            rng.below(9),
            512 * (32 + rng.below(500)),
            512 * [0, 0, 16, 200][index(rng, 4)],
            512 * self.write_cache.unwrap_or(1024),
            2 + rng.below(60),
            self.age_limit_ns,
            rng.below(300),
            self.retry.unwrap_or(1),
        );
    }
}

fn index(rng: &mut Rng, count: u64) -> usize {
    usize::try_from(rng.below(count)).expect("a few")
}

fn surface(rng: &mut Rng) -> Surface {
    let milli_rpm = [4_200_000, 5_400_000, 7_200_000, 7_163_217, 15_000_000][index(rng, 5)];
    let (heads, zones) = (1 + rng.below(4), 1 + rng.below(4));
    let head_switch = rng.between(100_000, 900_000);
    let track = rng.between(200_000, 1_500_000);
    let cylinder_switch = track.max(head_switch);
    // A revolution rounded to whole nanoseconds, and skews rounded up to whole sectors: so the
    // profile defines them.
    let period = (60_000_000_000_000 + milli_rpm / 2) / milli_rpm;
    let mut per_track = 60 + rng.below(140);
    let zones: Vec<Zone> = (0..zones)
        .map(|_| {
            per_track -= per_track / (5 + rng.below(10));
            Zone {
                cylinders: 50 + rng.below(40),
                per_track,
                track_skew: (head_switch * per_track).div_ceil(period) % per_track,
                cylinder_skew: (cylinder_switch * per_track).div_ceil(period) % per_track,
            }
        })
        .collect();
    let cylinders: u64 = zones.iter().map(|zone| zone.cylinders).sum();
    let middle = track + rng.below(4_000_000);
    let full = middle + rng.below(9_000_000);
    Surface {
        zones,
        heads,
        milli_rpm,
        seek_points: vec![(1, track), (cylinders / 3, middle), (cylinders, full)],
        head_switch,
        write_settle: [0, 300_000, 1_000_000][index(rng, 3)],
    }
}
