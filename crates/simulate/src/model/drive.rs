//! A modelled drive under load.

use drivelab_core::record::{Attached, FlashWritten, Mark, MarkId, RunRecord, Specimen};
use drivelab_core::units::Bytes;
use drivelab_core::{Control, Refusal, Target as _};
use drivelab_load::{VirtualJobs, VirtualTarget};
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::profile::{Missing, Profile};
use drivelab_model::stack::HostSyncs;
use drivelab_model::{About, Drive};

use super::{build, not_made, settings};
use crate::attached;
use crate::record::{LoadPlan, Made, Together};

/// A modelled drive and the time that has passed for it.
#[derive(Debug)]
pub struct ModelledDrive {
    attached: Attached,
    /// The mark of every run on it, if only a part of the drive is modelled.
    scaled: Option<Mark>,
    specimen: Option<Specimen>,
    /// Its profile and options, of which each load needs other mechanisms.
    profile: Profile,
    options: Options,
    target: VirtualTarget<HostSyncs<Drive>>,
}

impl ModelledDrive {
    /// Assembles the drive.
    pub fn new(spec: &DriveSpec, profile: &Profile, seed: u64) -> Result<Self, Refusal> {
        let drive = build(profile, &spec.options, seed)?;
        let attached = attached::to_model(&spec.profile.to_string(), drive.about());
        let scaled = settings::scaled(drive.about());
        let specimen = profile.record(drive.about());
        let about = drive.about().clone();
        let target = VirtualTarget::new(HostSyncs::new(drive, &about));
        let (profile, options) = (profile.clone(), spec.options);
        Ok(Self { attached, scaled, specimen, profile, options, target })
    }

    /// Its description.
    pub(crate) fn about(&self) -> &About {
        self.target.device().device().about()
    }

    /// The capacity.
    pub fn capacity(&self) -> Bytes {
        self.target.capacity()
    }

    /// Carries plans out at the same time, started together; the next ones meet what they left.
    pub fn run(
        &mut self,
        plans: &[&LoadPlan],
        control: &Control<'_>,
    ) -> Result<Vec<Made>, Refusal> {
        let sets = plans.iter().map(|plan| VirtualJobs {
            numjobs: plan.numjobs,
            schedule: plan.schedule,
            ..VirtualJobs::one(&plan.workload, plan.seed)
        });
        // The drive counts on over all plans: the difference belongs to these.
        let before = self.target.device().device().counters().flash_written;
        let done = drivelab_load::simulate(&mut self.target, &sets.collect::<Vec<_>>(), control);
        let done = done.map_err(not_made)?;
        // `zip` below would drop a plan without a simulation, and its figures with it.
        debug_assert_eq!(done.len(), plans.len(), "one simulation for each plan");
        let after = self.target.device().device().counters().flash_written;
        let flash = FlashWritten::new([0, 1, 2].map(|kind| after[kind] - before[kind]));
        let made = plans.iter().zip(done).map(|(plan, done)| {
            let total = done.total();
            let mut marks = done.marks(&plan.workload, &total);
            marks.extend(self.scaled.clone());
            let missing = self.profile.missing_for(&plan.workload, &self.options);
            say_missing(&missing, &mut marks);
            let specimen = self.specimen.clone();
            let specimen = specimen.map(|known| widened(known, &missing));
            Made {
                marks,
                jobs: done.jobs,
                total,
                ioengine: "virtual".into(),
                attached: self.attached.clone(),
                specimen,
                host: None,
                flash,
            }
        });
        Ok(made.collect())
    }
}

/// Adds the mechanisms that a load needs and the model lacks to the mark of a modelled run.
fn say_missing(missing: &[Missing], marks: &mut [Mark]) {
    let modelled = marks.iter_mut().find(|mark| mark.id == MarkId::Modelled);
    if let Some(mark) = modelled {
        for Missing { what, .. } in missing {
            mark.message += &format!("; not modelled: {what}");
        }
    }
}

/// The specimen with the error of what the model lacks for a load.
fn widened(specimen: Specimen, missing: &[Missing]) -> Specimen {
    Specimen { model_sigma: Missing::add(missing, specimen.model_sigma), ..specimen }
}

/// Carries a plan out on a modelled drive that nothing was asked of before.
pub fn simulate(
    spec: &DriveSpec,
    profile: &Profile,
    plan: &LoadPlan,
    control: &Control<'_>,
) -> Result<RunRecord, Refusal> {
    let made = ModelledDrive::new(spec, profile, plan.seed)?.run(&[plan], control)?;
    let mut records = Together::new(std::slice::from_ref(plan), made, &[1]).records;
    let record = records.pop().expect("one record a plan");
    Ok(RunRecord { target: spec.to_string(), ..record })
}
