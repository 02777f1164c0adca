//! Numbers that mean nothing where the processor is not that of a machine.

use drivelab_core::record::{Figure, Label, Nature, Phase, Remark};
use drivelab_study::command::CPU;

/// No drive answers sooner. A reading of the clock takes 256 ns of virtual time, and a step that
/// ends in memory what some system calls and copies are said to take.
const INSTANT_NS: u64 = 10_000;
const INSTANT_US: f64 = 10.0;

const WHY: &str = "withheld: in virtual time processor and memory are not those of a machine";

/// Takes what the processor, memory or a network answered out of phases, and says so: in virtual
/// time only the disk is modelled.
pub(super) fn without_processor(phases: Vec<Phase>) -> Vec<Phase> {
    let is_free =
        |nature: Nature| matches!(nature, Nature::Cpu | Nature::PageCache | Nature::Network);
    let phase = |mut phase: Phase| {
        let of_phase = phase.nature;
        let is_kept = |nature: Option<Nature>, name: &str| {
            !is_free(nature.unwrap_or(of_phase)) && name != CPU
        };
        let is_instant = |figure: &Figure| figure.unit == "us" && figure.value < INSTANT_US;
        phase.figures.retain(|it| is_kept(it.nature, &it.name) && !is_instant(it));
        // Most steps of such a phase ended in memory: what they took is not a drive's time.
        phase.lat_ns = phase.lat_ns.filter(|lat| lat.p50 >= INSTANT_NS);
        if is_free(of_phase) {
            phase.lat_ns = None;
            phase.points.clear();
            phase.remarks.push(Remark::new(Label::NotDisk, WHY));
        }
        phase
    };
    phases.into_iter().map(phase).collect()
}

/// Names the phases that have no numbers.
pub(super) fn withheld(phases: &[Phase]) -> String {
    let names = phases.iter().filter(|phase| phase.figures.is_empty());
    let names: Vec<String> = names.map(|phase| format!("`{}`", phase.name)).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(", so that {} has no figure (memory or the processor answered)", names.join(", "))
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::{Better, Latency};

    use super::*;

    #[test]
    fn only_what_the_disk_answered_keeps_its_numbers() {
        let phase = |name: &str, nature| {
            let load =
                Figure { nature: Some(Nature::Cpu), ..Figure::new("load", 3.0, Better::Less) };
            let figures = vec![Figure::new(name, 1.0, Better::More), load];
            let (points, remarks) = (Vec::new(), Vec::new());
            Phase { name: name.into(), nature, figures, lat_ns: None, points, remarks }
        };
        let phases = vec![phase("seeks", Nature::Disk), phase("stat", Nature::PageCache)];
        let kept = without_processor(phases);
        let names = |at: usize| -> Vec<&str> {
            kept[at].figures.iter().map(|figure| figure.name.as_str()).collect()
        };
        assert_eq!(names(0), ["seeks"]);
        assert!(names(1).is_empty() && kept[1].remarks[0].why.starts_with("withheld"));
        assert!(kept[0].remarks.is_empty());
        let steps = |p50| {
            let longest = Figure { unit: "us".into(), ..Figure::new("longest", 2.3, Better::Less) };
            let lat = Latency { p50, ..Latency::default() };
            let mut phase = Phase { lat_ns: Some(lat), ..phase("create", Nature::JournalSync) };
            phase.figures.push(longest);
            without_processor(vec![phase]).remove(0)
        };
        assert_eq!((steps(2_055).lat_ns, steps(2_055).figures.len()), (None, 1));
        assert!(steps(90_000).lat_ns.is_some());
        assert!(withheld(&kept).contains("`stat` has no figure"));
        assert_eq!(withheld(&kept[..1]), "");
    }
}
