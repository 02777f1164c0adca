//! Drive profiles: the known properties of a drive model, as data with sources.

mod base;
mod embedded;
mod hdd;
mod needs;
mod raw;
mod specimen;
mod ssd;
mod values;
mod volume;

use std::fmt::Debug;
use std::sync::Arc;

pub use base::BaseText;
pub use embedded::{names, text};
pub use needs::Missing;
pub use specimen::{Basis, Known, Unknown};
pub use values::Interface;

pub(crate) use hdd::{HddProfile, ScsiBus};
pub(crate) use ssd::{Modelled, SsdProfile};

use drivelab_core::config::{ConfigError, canonical};
use drivelab_core::record::{Drawn, Specimen};
use drivelab_core::{Bytes, Invalid, Ratio, Rng, Sectors, Span};

use crate::about::About;
use crate::drive::{Drive, VolumeParts};
use crate::elevator::Scheduler;
use crate::error::BuildError;
use crate::options::{Options, Scale};
use crate::unknown::Prior;
use base::Lineage;
use raw::{Raw, required};
use specimen::Which;
use values::Kind;

/// A checked drive profile, ready to build drives from.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The maker's model name.
    pub model: String,
    /// Sources of the numbers.
    pub sources: Vec<String>,
    /// Properties that the profile knowingly omits.
    pub leaves_out: Option<String>,
    /// Unit of atomic writes, which a power cut does not tear: 1 sector of 512 bytes, or 8.
    pub physical_sector: Sectors,
    pub(crate) body: Body,
    /// Its source keys.
    raw: Arc<Raw>,
    /// The drawn specimen, for a profile with unknowns.
    which: Option<Which>,
    /// The base that it differs from in numbers only.
    variant_of: Option<String>,
    text: String,
}

/// A drive modelled by another crate.
pub trait Blueprint: Debug + Send + Sync {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Builds one drive with the name `model`; there is no seed, since it has no randomness.
    ///
    /// # Errors
    /// Options that do not apply to this drive.
    fn build(&self, model: &str, options: &Options) -> Result<Drive, BuildError>;
}

/// Default errors of the model: of any figure, and of figures behind an elevator of the host, as
/// standard deviations of logarithms (docs/internals/drive-facts.md).
const LACKS_ANY: f64 = 0.05;
const LACKS_ELEVATOR: f64 = 0.10;

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Hdd(Box<HddProfile>),
    Ssd(Box<SsdProfile>),
    /// A drive of another crate.
    Other(Arc<dyn Blueprint>),
    /// A volume of a cloud.
    Volume(Box<VolumeParts>),
    Fixed {
        capacity: Sectors,
        service: Span,
        servers: usize,
    },
}

/// Errors of reading a profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// A syntax error or an invalid value.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Unknown `base`.
    #[error("{file}: unknown base profile `{base}`; {hint}")]
    UnknownBase {
        /// The file with the reference.
        file: String,
        /// The referenced name.
        base: String,
        /// The nearest name, or the possible bases.
        hint: String,
    },
    /// A cycle of base profiles.
    #[error("{file}: more than {MAX_DEPTH} nested base profiles: check for a cycle")]
    TooDeep {
        /// The first file.
        file: String,
    },
    /// Valid values that contradict each other.
    #[error("{file}: {message}")]
    Inconsistent {
        /// The file.
        file: String,
        /// The contradiction, and a remedy.
        message: String,
    },
}

/// Maximum depth of base profiles.
const MAX_DEPTH: usize = 8;

impl Profile {
    /// Returns true if drives with different seeds behave differently.
    pub fn draws(&self) -> bool {
        match &self.body {
            // A disk is random in its retries only; a solid-state drive also in the order of
            // collection.
            Body::Hdd(hdd) => hdd.parts.retries.share != Ratio::ZERO,
            Body::Ssd(_) => true,
            Body::Other(_) | Body::Volume(_) | Body::Fixed { .. } => false,
        }
    }

    /// Reads the profile `text` of `file`.
    ///
    /// A `base` is looked up among the built-in profiles, then through `resolve_base`, which may
    /// read files.
    ///
    /// # Errors
    /// Unknown keys, values out of bounds, and contradictory values, with file, line and accepted
    /// values.
    pub fn parse(
        file: &str,
        text: &str,
        resolve_base: &dyn Fn(&str) -> Option<BaseText>,
    ) -> Result<Self, ProfileError> {
        let (mut raw, mut sources) = Raw::read(file, text)?;
        let mut lineage = Lineage::new(file, &mut raw);
        let mut layers = canonical(text);
        let mut current = file.to_owned();
        let mut depth = 0;
        while let Some(base) = raw.base.take() {
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(ProfileError::TooDeep { file: file.to_owned() });
            }
            // Built-in profiles first, so that a file cannot replace them silently.
            let found = embedded_base(&base).or_else(|| resolve_base(&base));
            let Some(found) = found else { return Err(unknown_base(current, base)) };
            let (mut base_raw, base_sources) = Raw::read(&found.file, &found.text)?;
            lineage.add(&found.file, &mut base_raw);
            // Each base only fills the gaps of the files above it.
            raw = raw.over(base_raw);
            layers += &canonical(&found.text);
            sources.extend(base_sources);
            current = found.file;
        }
        let checked = Self::assemble(&raw, sources).and_then(|profile| {
            raw.check_outermost(file, |raw| Self::assemble(raw, Vec::new()).map(drop))?;
            Ok(profile)
        });
        match checked {
            Ok(profile) => {
                let variant_of = lineage.variant_of(&profile.raw);
                let model = lineage.model(&profile.model);
                Ok(Self { text: layers, variant_of, model, ..profile })
            }
            Err(Invalid(message)) => {
                Err(ProfileError::Inconsistent { file: file.to_owned(), message })
            }
        }
    }

    /// The text of its file and of its bases in canonical form, without comments: equal exactly for
    /// equal profiles.
    pub fn canonical(&self) -> &str {
        &self.text
    }

    /// Its unknowns, in the order of the reference.
    pub fn unknowns(&self) -> Vec<Unknown> {
        self.raw.unknowns()
    }

    /// The distribution of a key that is open independently of others.
    pub(crate) fn prior(&self, key: &str) -> Option<&Prior> {
        self.raw.priors.get(key)
    }

    /// Its known numbers, each with its comment.
    pub fn known(&self) -> Vec<Known> {
        self.raw.known()
    }

    /// The specimen at `quantiles`, which has a number between 0 and 1 for each of
    /// [`Self::unknowns`], in their order. All unknowns of a posterior use that of the first.
    ///
    /// Contradictory values are moved towards the median drive.
    pub fn specimen(&self, quantiles: &[f64]) -> (Self, Vec<Drawn>) {
        let (specimen, drawn) =
            self.raw.specimen(quantiles, |raw| Self::assemble(raw, self.sources.clone()));
        // The canonical text stays that of the profile: a specimen is identified by its number.
        let which = Which { number: None, drawn: drawn.clone() };
        let specimen = specimen.unwrap_or_else(|| self.clone());
        let Self { text, variant_of, model, .. } = self.clone();
        (Self { which: Some(which), text, variant_of, model, ..specimen }, drawn)
    }

    /// The median drive, with the median of every unknown.
    pub fn median(&self) -> Self {
        let mut raw = Raw::clone(&self.raw);
        let which = Which { number: None, drawn: raw.of_median() };
        (raw.priors, raw.posteriors) = Default::default();
        Self { which: Some(which), raw: Arc::new(raw), ..self.clone() }
    }

    /// Draws specimen `number` with `seed`, each unknown independently.
    pub fn drawn(&self, number: u32, seed: u64) -> Self {
        let mut rng = Rng::for_part(seed, u64::from(number));
        let quantiles: Vec<f64> = self.unknowns().iter().map(|_| rng.unit()).collect();
        self.specimen(&quantiles).0.numbered(number)
    }

    /// Returns true if the value of `key` was drawn for this specimen.
    pub(crate) fn has_drawn(&self, key: &str) -> bool {
        let drawn = self.which.iter().flat_map(|which| &which.drawn);
        drawn.into_iter().any(|drawn| drawn.name == key)
    }

    /// Assigns a number to the specimen.
    pub(crate) fn numbered(mut self, number: u32) -> Self {
        if let Some(which) = &mut self.which {
            which.number = Some(number);
        }
        self
    }

    /// The specimen of a run, for its record; `None` for a profile without unknowns.
    pub fn record(&self, about: &About) -> Option<Specimen> {
        let Which { number, drawn } = match &self.which {
            Some(which) => which.clone(),
            None => Which { number: None, drawn: self.raw.of_median() },
        };
        if drawn.is_empty() {
            return None;
        }
        // An elevator sorts with the host's knowledge of addresses, where the model errs more.
        let [any, elevator] = self.lacks();
        let scheduler = about.attached.as_ref().map(|attached| attached.scheduler);
        let sorted = scheduler.is_some_and(|scheduler| scheduler != Scheduler::None);
        let model_sigma = if sorted { elevator } else { any };
        let variant_of = self.variant_of.clone();
        Some(Specimen { number, drawn, model_sigma, variant_of })
    }

    /// Errors of the model, as standard deviations of logarithms: of any figure, and of figures
    /// behind an elevator of the host.
    pub fn lacks(&self) -> [f64; 2] {
        let lacks = &self.raw.lacks;
        let any = lacks.any.map_or(LACKS_ANY, |sigma| sigma.0);
        [any, lacks.elevator.map_or(LACKS_ELEVATOR.max(any), |sigma| sigma.0)]
    }

    /// Source of these errors, if the profile has one.
    pub fn lacks_source(&self) -> Option<&str> {
        self.raw.lacks.source.as_deref()
    }

    /// The built-in profile `name`.
    pub fn embedded(name: &str) -> Option<Self> {
        let parsed = Self::parse(name, text(name)?, &|_| None);
        Some(parsed.expect("a test reads every built-in profile"))
    }

    /// Addressable sectors.
    pub fn capacity(&self) -> Sectors {
        match &self.body {
            Body::Hdd(hdd) => hdd.parts.mechanics.geometry.capacity(),
            Body::Ssd(ssd) => ssd.capacity,
            Body::Other(blueprint) => blueprint.capacity(),
            Body::Volume(volume) => volume.capacity,
            Body::Fixed { capacity, .. } => *capacity,
        }
    }

    /// Returns true for a drive with rotational latency.
    pub fn rotates(&self) -> bool {
        match &self.body {
            Body::Hdd(_) | Body::Other(_) => true,
            Body::Ssd(_) | Body::Volume(_) | Body::Fixed { .. } => false,
        }
    }

    /// The part of the flash at which reads find what they find in all of it; `None` without flash.
    pub fn scale_for_reads(&self) -> Option<Scale> {
        match &self.body {
            Body::Ssd(ssd) => Some(ssd.scale_for_reads()),
            Body::Hdd(_) | Body::Other(_) | Body::Volume(_) | Body::Fixed { .. } => None,
        }
    }

    /// Returns true for a volume of a cloud.
    pub fn is_volume(&self) -> bool {
        matches!(self.body, Body::Volume(_))
    }

    /// Returns true for a disk with shingled tracks that it manages itself.
    pub fn is_shingled(&self) -> bool {
        matches!(&self.body, Body::Hdd(hdd) if hdd.shingling.is_some())
    }

    /// Returns true for a drive on a controller, which has the settings of one.
    pub(crate) fn is_attached(&self) -> bool {
        !matches!(self.body, Body::Volume(_) | Body::Fixed { .. })
    }

    /// Returns true for a solid-state drive.
    pub fn is_solid_state(&self) -> bool {
        matches!(self.body, Body::Ssd(_))
    }

    /// Size of a solid-state drive's write buffer.
    pub fn write_buffer(&self) -> Option<Bytes> {
        match &self.body {
            Body::Ssd(ssd) => Some(ssd.buffer()),
            Body::Hdd(_) | Body::Other(_) | Body::Volume(_) | Body::Fixed { .. } => None,
        }
    }

    /// Revolutions per minute, rounded up; `None` if unknown.
    pub fn rpm(&self) -> Option<u64> {
        match &self.body {
            Body::Hdd(hdd) => Some(hdd.milli_rpm().div_ceil(1000)),
            Body::Ssd(_) | Body::Other(_) | Body::Volume(_) | Body::Fixed { .. } => None,
        }
    }

    /// Queue depth of the drive, independent of its controller; 1 if unknown.
    pub fn queue_depth(&self) -> usize {
        match &self.body {
            Body::Hdd(hdd) => hdd.queue_depth,
            Body::Ssd(ssd) => ssd.queue_depth,
            Body::Other(_) | Body::Volume(_) | Body::Fixed { .. } => 1,
        }
    }

    /// A minimal profile of a drive of another crate, with the text of its file.
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
            variant_of: None,
            text,
        }
    }

    fn assemble(raw: &Raw, sources: Vec<String>) -> Result<Self, Invalid> {
        let model = required(raw.model.clone(), "model")?;
        let leaves_out = raw.leaves_out.clone();
        let physical_sector = raw.sector_bytes.map_or(Sectors::new(1), |bytes| bytes.0);
        let body = match required(raw.kind, "kind")? {
            Kind::Hdd => {
                let hdd = HddProfile::assemble(raw)?;
                Body::Hdd(Box::new(hdd))
            }
            Kind::Ssd => Body::Ssd(Box::new(SsdProfile::assemble(raw)?)),
            Kind::Volume => Body::Volume(Box::new(volume::assemble(raw)?)),
            Kind::Fixed => Body::Fixed {
                capacity: required(raw.capacity_bytes, "capacity_bytes")?.0,
                service: required(raw.service, "service")?.0,
                servers: raw.servers.map_or(1, |servers| servers.0 as usize),
            },
        };
        let raw = Arc::new(raw.clone());
        let (which, variant_of, text) = (None, None, String::new());
        Ok(Self { model, sources, leaves_out, physical_sector, body, raw, which, variant_of, text })
    }
}

fn embedded_base(name: &str) -> Option<BaseText> {
    // Named as it is where an arm names it: its open numbers are then the same unknowns.
    Some(BaseText { file: name.to_owned(), text: text(name)?.to_owned() })
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
