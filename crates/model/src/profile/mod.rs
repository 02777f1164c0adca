//! Drive profiles: what is known about one model of drive, as data with its sources.

mod base_text;
mod blueprint;
mod embedded;
mod hdd;
mod raw;
mod specimen;
mod ssd;
mod values;

use std::sync::Arc;

pub use base_text::BaseText;
pub use blueprint::Blueprint;
pub use embedded::{names, text};
pub use specimen::{Basis, Known, Unknown};
pub use values::Interface;

pub(crate) use hdd::{HddProfile, ScsiBus};
pub(crate) use ssd::{Modelled, SsdProfile};

use drivelab_core::config::{ConfigError, canonical};
use drivelab_core::record::{Drawn, Specimen};
use drivelab_core::{Bytes, Ratio, Rng, Sectors, Span};

use crate::about::About;
use crate::elevator::Scheduler;
use crate::unknown::Prior;
use raw::{Raw, required};
use specimen::Which;
use values::Kind;

/// A drive as its profile describes it, checked and ready to be built.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The model, as its maker calls it.
    pub model: String,
    /// Where the numbers come from, as the profile says.
    pub sources: Vec<String>,
    /// What the profile knowingly leaves out.
    pub leaves_out: Option<String>,
    /// What the drive writes as one, and is not torn by a power cut: 1 sector of 512 bytes, or 8.
    pub physical_sector: Sectors,
    pub(crate) body: Body,
    /// The keys that it was assembled from.
    raw: Arc<Raw>,
    /// Which drive it is, where it was drawn from a profile that leaves something open.
    which: Option<Which>,
    text: String,
}

/// How far real drives are from the model where the profile does not say: of anything, and of
/// anything behind an elevator of the host, as standard deviations of logarithms
/// (docs/internals/drive-facts.md).
const LACKS_ANY: f64 = 0.05;
const LACKS_ELEVATOR: f64 = 0.10;

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Hdd(Box<HddProfile>),
    Ssd(Box<SsdProfile>),
    /// A drive that another crate models.
    Other(Arc<dyn Blueprint>),
    Fixed {
        capacity: Sectors,
        service: Span,
        servers: usize,
    },
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file says something that cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The `base` is not to be found.
    #[error("{file}: unknown base profile `{base}`; {hint}")]
    UnknownBase {
        /// The file that names it.
        file: String,
        /// What it names.
        base: String,
        /// The nearest name, or what a base may be.
        hint: String,
    },
    /// Profiles start from each other without end.
    #[error("{file}: more than {MAX_DEPTH} nested base profiles: check for a cycle")]
    TooDeep {
        /// The file at which it became too many.
        file: String,
    },
    /// Each value could be, but not all of them together.
    #[error("{file}: {message}")]
    Inconsistent {
        /// The file.
        file: String,
        /// What does not fit together, and what would.
        message: String,
    },
}

/// How many profiles may start from one another.
const MAX_DEPTH: usize = 8;

impl Profile {
    /// Whether two drives of this profile differ by their seeds, or are the same in every run.
    pub fn draws(&self) -> bool {
        match &self.body {
            Body::Hdd(hdd) => hdd.parts.retries.share != Ratio::ZERO,
            Body::Ssd(_) => true,
            Body::Other(_) | Body::Fixed { .. } => false,
        }
    }

    /// Reads the profile `text` of `file`.
    ///
    /// A `base` is looked up among the profiles that come with drivelab, then through
    /// `resolve_base`, which may read files.
    ///
    /// # Errors
    /// Unknown keys, values out of bounds, and values that contradict each other, with file, line
    /// and what would be accepted.
    pub fn parse(
        file: &str,
        text: &str,
        resolve_base: &dyn Fn(&str) -> Option<BaseText>,
    ) -> Result<Self, ProfileError> {
        let (mut raw, mut sources) = Raw::read(file, text)?;
        let mut layers = canonical(text);
        let mut current = file.to_owned();
        let mut depth = 0;
        while let Some(base) = raw.base.take() {
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(ProfileError::TooDeep { file: file.to_owned() });
            }
            let found = embedded_base(&base).or_else(|| resolve_base(&base));
            let Some(found) = found else { return Err(unknown_base(current, base)) };
            let (base_raw, base_sources) = Raw::read(&found.file, &found.text)?;
            raw = raw.over(base_raw);
            layers += &canonical(&found.text);
            sources.extend(base_sources);
            current = found.file;
        }
        let inconsistent = |message| ProfileError::Inconsistent { file: file.to_owned(), message };
        let profile = Self::assemble(&raw, sources).map_err(inconsistent)?;
        let build = |raw: &Raw| Self::assemble(raw, Vec::new()).map(drop);
        raw.check_outermost(file, build).map_err(inconsistent)?;
        Ok(Self { text: layers, ..profile })
    }

    /// What its file says and what that starts from, without comments and spelled in one way: equal
    /// exactly where the profiles are.
    pub fn canonical(&self) -> &str {
        &self.text
    }

    /// What it leaves open, in the order of the reference.
    pub fn unknowns(&self) -> Vec<Unknown> {
        self.raw.unknowns()
    }

    /// How the values of a key are spread over drives, where the profile leaves it open alone.
    pub(crate) fn prior(&self, key: &str) -> Option<&Prior> {
        self.raw.priors.get(key)
    }

    /// What it knows, with the comment beside each number.
    pub fn known(&self) -> Vec<Known> {
        self.raw.known()
    }

    /// One drive of all that fit it: `quantiles` has a number between 0 and 1 for each of
    /// [`Self::unknowns`], in their order. All unknowns of one posterior follow the first of them.
    ///
    /// Numbers that no drive can have together are moved towards the median drive.
    pub fn specimen(&self, quantiles: &[f64]) -> (Self, Vec<Drawn>) {
        let build = |raw: &Raw| Self::assemble(raw, self.sources.clone());
        let (specimen, drawn) = self.raw.specimen(quantiles, build);
        let which = Which { number: None, drawn: drawn.clone() };
        let specimen = specimen.unwrap_or_else(|| self.clone());
        (Self { which: Some(which), text: self.text.clone(), ..specimen }, drawn)
    }

    /// The median drive: every unknown in its middle.
    pub fn median(&self) -> Self {
        let mut raw = Raw::clone(&self.raw);
        let which = Which { number: None, drawn: raw.of_median() };
        (raw.priors, raw.posteriors) = Default::default();
        Self { which: Some(which), raw: Arc::new(raw), ..self.clone() }
    }

    /// The drive called `number` of those that `seed` draws, each unknown independently.
    pub fn drawn(&self, number: u32, seed: u64) -> Self {
        let mut rng = Rng::for_part(seed, u64::from(number));
        let quantiles: Vec<f64> = self.unknowns().iter().map(|_| rng.unit()).collect();
        self.specimen(&quantiles).0.numbered(number)
    }

    /// The same drive under a number.
    pub(crate) fn numbered(mut self, number: u32) -> Self {
        if let Some(which) = &mut self.which {
            which.number = Some(number);
        }
        self
    }

    /// Which drive a run was made on, for its record; nothing where the profile is of one alone.
    pub fn record(&self, about: &About) -> Option<Specimen> {
        let Which { number, drawn } = match &self.which {
            Some(which) => which.clone(),
            None => Which { number: None, drawn: self.raw.of_median() },
        };
        if drawn.is_empty() {
            return None;
        }
        let [any, elevator] = self.lacks();
        let scheduler = about.attached.as_ref().map(|attached| attached.scheduler);
        let sorted = scheduler.is_some_and(|scheduler| scheduler != Scheduler::None);
        let model_sigma = if sorted { elevator } else { any };
        Some(Specimen { number, drawn, model_sigma })
    }

    /// How far a real drive may be from the model, as standard deviations of logarithms: of
    /// anything, and of anything behind an elevator of the host.
    pub fn lacks(&self) -> [f64; 2] {
        let lacks = &self.raw.lacks;
        let any = lacks.any.map_or(LACKS_ANY, |sigma| sigma.0);
        [any, lacks.elevator.map_or(LACKS_ELEVATOR.max(any), |sigma| sigma.0)]
    }

    /// Where those two come from; nothing where the profile does not say.
    pub fn lacks_source(&self) -> Option<&str> {
        self.raw.lacks.source.as_deref()
    }

    /// The profile called `name` that comes with drivelab.
    pub fn embedded(name: &str) -> Option<Self> {
        let parsed = Self::parse(&format!("{name}.toml"), text(name)?, &|_| None);
        Some(parsed.expect("a test reads every profile that comes with drivelab"))
    }

    /// Addressable sectors.
    pub fn capacity(&self) -> Sectors {
        match &self.body {
            Body::Hdd(hdd) => hdd.parts.mechanics.geometry.capacity(),
            Body::Ssd(ssd) => ssd.capacity,
            Body::Other(blueprint) => blueprint.capacity(),
            Body::Fixed { capacity, .. } => *capacity,
        }
    }

    /// Whether it has to wait for a platter to come round.
    pub fn rotates(&self) -> bool {
        match &self.body {
            Body::Hdd(_) | Body::Other(_) => true,
            Body::Ssd(_) | Body::Fixed { .. } => false,
        }
    }

    /// Whether it keeps its data in flash.
    pub fn is_solid_state(&self) -> bool {
        matches!(self.body, Body::Ssd(_))
    }

    /// What the write buffer of a solid-state drive holds.
    pub fn write_buffer(&self) -> Option<Bytes> {
        match &self.body {
            Body::Ssd(ssd) => Some(ssd.buffer()),
            Body::Hdd(_) | Body::Other(_) | Body::Fixed { .. } => None,
        }
    }

    /// Revolutions a minute, rounded up, of a disk whose profile says so.
    pub fn rpm(&self) -> Option<u64> {
        match &self.body {
            Body::Hdd(hdd) => Some(hdd.milli_rpm().div_ceil(1000)),
            Body::Ssd(_) | Body::Other(_) | Body::Fixed { .. } => None,
        }
    }

    /// The commands that the drive queues, whatever its controller sends; 1 where that is unknown.
    pub fn queue_depth(&self) -> usize {
        match &self.body {
            Body::Hdd(hdd) => hdd.queue_depth,
            Body::Ssd(ssd) => ssd.queue_depth,
            Body::Other(_) | Body::Fixed { .. } => 1,
        }
    }

    /// The profile of a drive that another crate models and whose file says `text`, with the least
    /// that holds for it: it comes from `source`, and leaves out what `leaves_out` says.
    pub fn of_blueprint(
        model: String,
        text: String,
        [source, leaves_out]: [String; 2],
        blueprint: Arc<dyn Blueprint>,
    ) -> Self {
        Self {
            model,
            sources: vec![source],
            leaves_out: Some(leaves_out),
            physical_sector: Sectors::new(1),
            body: Body::Other(blueprint),
            raw: Arc::default(),
            which: None,
            text,
        }
    }

    fn assemble(raw: &Raw, sources: Vec<String>) -> Result<Self, String> {
        let model = required(raw.model.clone(), "model")?;
        let leaves_out = raw.leaves_out.clone();
        let physical_sector = raw.sector_bytes.map_or(Sectors::new(1), |bytes| bytes.0);
        let body = match required(raw.kind, "kind")? {
            Kind::Hdd => {
                let hdd = HddProfile::assemble(raw)?;
                Body::Hdd(Box::new(hdd))
            }
            Kind::Ssd => Body::Ssd(Box::new(SsdProfile::assemble(raw)?)),
            Kind::Fixed => Body::Fixed {
                capacity: required(raw.capacity_bytes, "capacity_bytes")?.0,
                service: required(raw.service, "service")?.0,
                servers: raw.servers.map_or(1, |servers| servers.0 as usize),
            },
        };
        let (raw, which, text) = (Arc::new(raw.clone()), None, String::new());
        Ok(Self { model, sources, leaves_out, physical_sector, body, raw, which, text })
    }
}

fn embedded_base(name: &str) -> Option<BaseText> {
    let text = text(name)?.to_owned();
    Some(BaseText { file: format!("{name}.toml"), text })
}

fn unknown_base(file: String, base: String) -> ProfileError {
    let hint = match drivelab_core::config::nearest(&base, names()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known: `{}`, or the path of a file", names().join("`, `")),
    };
    ProfileError::UnknownBase { file, base, hint }
}

#[cfg(test)]
mod tests;
