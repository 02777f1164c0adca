//! The requests of a shape on a modelled drive: the time that they take, and the time for which a
//! power cut can lose a write among them.

mod exposed;

use drivelab_core::config::Choice as _;
use drivelab_core::control::Control;
use drivelab_core::record::{Attached, Better, Figure, Nature, Phase, Specimen};
use drivelab_core::workload::Shape;
use drivelab_core::{Device, Refusal, Time};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_model::replay::{Loop, Replay, ReplayAnswer};
use drivelab_study::file::{Needs, Suite};

use crate::{attached, target};
use exposed::Exposed;

/// Precedes the name of a shape whose time is measured.
const SHAPE: &str = "shape:";
/// Precedes the name of a shape whose writes are followed up to the medium.
const AT_RISK: &str = "at-risk:";

/// The suite called `name`, if that is a shape.
pub(super) fn find(name: &str) -> Option<Result<Suite, Refusal>> {
    let (text, is_timed) = match name.strip_prefix(SHAPE) {
        Some(text) => (text, true),
        None => (name.strip_prefix(AT_RISK)?, false),
    };
    let shape = Shape::from_name(text).map_err(Refusal::request);
    Some(shape.and_then(|shape| if is_timed { Ok(timed(shape)) } else { at_risk(shape) }))
}

/// The requests of a shape as a suite of one phase.
fn timed(shape: Shape) -> Suite {
    Suite {
        summary: format!("requests in the shape of `{shape}`, one at a time, until all are done"),
        ..suite(format!("{SHAPE}{shape}"), format!("{shape}_s"), Needs::Model(shape))
    }
}

/// The writes of a shape, followed up to the medium, as a suite of one phase.
fn at_risk(shape: Shape) -> Result<Suite, Refusal> {
    if !writes(shape) {
        let message = format!("`{shape}` writes nothing, so that a power cut loses nothing");
        return Err(Refusal::request(message)
            .hint(format!("name one that writes, such as `{AT_RISK}copy-small`")));
    }
    Ok(Suite {
        summary: format!("writes in the shape of `{shape}`, and how long a cut can lose each"),
        ..suite(format!("{AT_RISK}{shape}"), format!("{shape}_at_risk_ms"), Needs::AtRisk(shape))
    })
}

fn suite(name: String, metric: String, needs: Needs) -> Suite {
    let (Needs::Model(shape) | Needs::AtRisk(shape)) = needs else {
        unreachable!("suites of shapes")
    };
    Suite {
        name,
        options: Vec::new(),
        summary: String::new(),
        headline: metric.clone(),
        metrics: vec![metric],
        writes: writes(shape),
        needs,
        time: None,
    }
}

fn writes(shape: Shape) -> bool {
    shape != Shape::Scan
}

/// The requests of a shape, carried out.
#[derive(Debug)]
pub(super) struct CarriedOut {
    pub phase: Phase,
    pub attached: Attached,
    pub specimen: Option<Specimen>,
}

/// Carries out the requests of a shape on a modelled drive that nothing was asked of before; `None`
/// if the suite is no shape.
pub(super) fn on_model(
    suite: &Suite,
    spec: &DriveSpec,
    profile: &Profile,
    seed: u64,
    control: &Control<'_>,
) -> Result<Option<CarriedOut>, Refusal> {
    let (Needs::Model(shape) | Needs::AtRisk(shape)) = suite.needs else { return Ok(None) };
    let drive = target::build(profile, &spec.options, seed)?;
    let attached = attached::to_model(&spec.profile.to_string(), drive.about());
    let specimen = profile.record(drive.about());
    let requests = Requests { suite, shape, seed, control };
    let value = if matches!(suite.needs, Needs::AtRisk(_)) {
        let done = requests.replay(Exposed::new(drive, profile.physical_sector))?;
        done.device().exposure().mean_ms()
    } else {
        seconds(requests.replay(drive)?.now())
    };
    let phase = Phase {
        name: shape.to_string(),
        nature: Nature::Disk,
        figures: vec![Figure::new(suite.headline.clone(), value, Better::Less)],
        lat_ns: None,
        points: Vec::new(),
        remarks: Vec::new(),
    };
    Ok(Some(CarriedOut { phase, attached, specimen }))
}

/// The requests of a shape, to be carried out.
struct Requests<'a> {
    suite: &'a Suite,
    shape: Shape,
    seed: u64,
    control: &'a Control<'a>,
}

impl Requests<'_> {
    /// Carries them out one at a time, up to the last answer.
    fn replay<D: Device>(&self, drive: D) -> Result<Replay<D>, Refusal> {
        let name = &self.suite.name;
        let (capacity, mut failed) = (drive.capacity().bytes(), 0_u64);
        let mut count = |answer: ReplayAnswer| failed += u64::from(answer.result.is_err());
        let mut replay = Replay::new(drive, Loop::Closed);
        for entry in self.shape.requests(capacity, self.seed) {
            // A part of a shape has no time of its own.
            if self.control.stopped() {
                let what = format!("interrupted before `{name}` was done: no result");
                return Err(Refusal::interrupted(what));
            }
            replay.push(entry, &mut count);
        }
        replay.finish(&mut count);
        if failed > 0 {
            let message = format!("{failed} requests of `{name}` failed on the model");
            return Err(Refusal::machine(message));
        }
        Ok(replay)
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
fn seconds(time: Time) -> f64 {
    time.ns() as f64 / 1e9
}
