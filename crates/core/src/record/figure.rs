//! Numbers with everything that a comparison needs, and the phases that yield them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Latency, Nature};
use crate::choice_as_text;
use crate::config::Choice;

/// A doubt about a number. The names are a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// It measures this, despite its name.
    Nature(Nature),
    /// In any case it did not measure a disk.
    NotDisk,
    /// Measured once: its variation is unknown.
    SingleRun,
    /// The tool itself reports it wrongly.
    ToolDefect,
    /// A setting of the load, not a result: the rate was given.
    SetRate,
}

impl Choice for Label {
    const WHAT: &'static str = "label of a figure";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("disk", Self::Nature(Nature::Disk)),
        ("drive-cache", Self::Nature(Nature::DriveCache)),
        ("page-cache", Self::Nature(Nature::PageCache)),
        ("journal-sync", Self::Nature(Nature::JournalSync)),
        ("cpu-test", Self::Nature(Nature::Cpu)),
        ("network", Self::Nature(Nature::Network)),
        ("not-disk", Self::NotDisk),
        ("single-run", Self::SingleRun),
        ("tool-defect", Self::ToolDefect),
        ("set-rate", Self::SetRate),
    ];
}

choice_as_text!(Label);

/// A label with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The kind.
    pub label: Label,
    /// Why, in a sentence.
    pub why: String,
}

impl Remark {
    /// A label and its reason.
    pub fn new(label: Label, why: impl Into<String>) -> Self {
        Self { label, why: why.into() }
    }
}

/// The labels alone, each once, in order.
pub fn label_names(remarks: &[Remark]) -> Vec<&'static str> {
    let labels: BTreeSet<Label> = remarks.iter().map(|remark| remark.label).collect();
    labels.into_iter().map(Label::name).collect()
}

/// The better direction of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Throughput.
    More,
    /// Latency.
    Less,
    /// Neither: it describes, and is not compared.
    Neither,
}

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// `iops`, `lat_p99_ns`, or a benchmark's own name.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty if the name contains it.
    pub unit: String,
    /// Its better direction.
    pub better: Better,
    /// Its nature; default: that of its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nature: Option<Nature>,
    /// It only accompanies another number (processor load, longest wait).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_detail: bool,
    /// Reasons to doubt it, in addition to those of its phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
}

impl Figure {
    /// A number whose name contains its unit, with no further attributes.
    pub fn new(name: impl Into<String>, value: f64, better: Better) -> Self {
        let (unit, remarks) = (String::new(), Vec::new());
        Self { name: name.into(), value, unit, better, nature: None, is_detail: false, remarks }
    }

    /// Its unit, which drivelab's own names imply.
    pub fn unit(&self) -> &str {
        match self.unit.as_str() {
            "" => own_unit(&self.name).unwrap_or_default(),
            unit => unit,
        }
    }
}

/// Names of drivelab's own metrics, with the unit that each implies.
const OWN: [(&str, &str); 8] = [
    ("iops", "1/s"),
    ("bytes_per_s", "B/s"),
    ("worst_bytes_per_s", "B/s"),
    ("best_bytes_per_s", "B/s"),
    ("best_alone_bytes_per_s", "B/s"),
    ("wall_ns", "ns"),
    ("cpu_ns", "ns"),
    ("lat_ns", "ns"),
];

/// Kinds of requests, as they precede the names of metrics that are of them alone.
const KINDS: [&str; 5] = ["read_", "write_", "trim_", "flush_", "sync_"];

/// The unit that the name of a metric implies, if it is one of drivelab's own names.
///
/// Names that users choose imply nothing: `mbytes_per_s` ends like a rate in bytes and is none. The
/// names of workloads, jobs and arms may precede the metric.
pub fn own_unit(name: &str) -> Option<&'static str> {
    let metric = name.rsplit(['.', '/']).next().unwrap_or(name);
    if let Some((_, unit)) = OWN.iter().find(|(own, _)| *own == metric) {
        return Some(unit);
    }
    let of_kind = KINDS.iter().find_map(|kind| metric.strip_prefix(kind));
    match of_kind.unwrap_or(metric) {
        "iops" => Some("1/s"),
        "bytes_per_s" => Some("B/s"),
        other => is_latency(other).then_some("ns"),
    }
}

/// `lat_mean_ns`, `clat_p99_9_ns`: which number of a distribution, in nanoseconds.
fn is_latency(metric: &str) -> bool {
    let of = ["lat_", "clat_", "slat_"].iter().find_map(|of| metric.strip_prefix(of));
    let Some(which) = of.and_then(|rest| rest.strip_suffix("_ns")) else { return false };
    let is_quantile = which.strip_prefix('p').is_some_and(|digits| {
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '_')
    });
    is_quantile || ["mean", "min", "max"].contains(&which)
}

/// One part of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// `rewrite`, `seeks`; empty if the benchmark has no parts.
    pub name: String,
    /// The nature of its numbers.
    pub nature: Nature,
    /// Its numbers.
    pub figures: Vec<Figure>,
    /// Duration of its steps, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lat_ns: Option<Latency>,
    /// Its main number by offset on the target, if it was measured at several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// Reasons to doubt all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
}

/// A number for one offset of the target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The offset.
    pub offset_bytes: u64,
    /// The number, in the unit of its phase's first figure.
    pub value: f64,
}

impl Phase {
    /// Its numbers as metrics of a whole run: named `PHASE.FIGURE`, or left unchanged if they are
    /// named after the phase (`seeks`, `seeks_cpu`), with the remarks of the phase.
    pub fn metrics(&self) -> impl Iterator<Item = Figure> {
        self.figures.iter().map(|figure| Figure {
            name: self.metric(&figure.name),
            nature: figure.nature.or(Some(self.nature)),
            remarks: self.remarks.iter().chain(&figure.remarks).cloned().collect(),
            ..figure.clone()
        })
    }

    /// The name of one of its numbers within a run.
    pub fn metric(&self, figure: &str) -> String {
        metric_name(&self.name, figure)
    }
}

/// The name of a phase's number within a run.
pub fn metric_name(phase: &str, figure: &str) -> String {
    // `seeks_cpu` of phase `seeks` already names its phase.
    if figure.starts_with(phase) {
        return figure.to_owned();
    }
    format!("{phase}.{figure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_the_json_of_the_contract() {
        let figure = Figure { unit: "1/s".into(), ..Figure::new("seeks", 228.9, Better::More) };
        let nature = Nature::JournalSync;
        let phase = Phase {
            name: "seeks".into(),
            nature,
            figures: vec![figure],
            lat_ns: None,
            points: Vec::new(),
            remarks: Vec::new(),
        };
        let json = serde_json::to_value(&phase).unwrap();
        let expected = serde_json::json!({
            "name": "seeks",
            "nature": "journal-sync",
            "figures": [{"name": "seeks", "value": 228.9, "unit": "1/s", "better": "more"}],
        });
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<Phase>(json).unwrap(), phase);
    }

    #[test]
    fn units_are_known_by_name_where_none_is_given() {
        let check = |name, unit: &str, expected| {
            let figure = Figure { unit: unit.into(), ..Figure::new(name, 1.0, Better::More) };
            assert_eq!(figure.unit(), expected, "{name}");
        };
        check("seeks", "1/s", "1/s");
        check("iops", "", "1/s");
        check("read_bytes_per_s", "", "B/s");
        check("lat_p99_ns", "", "ns");
        check("sync_lat_p99_ns", "", "ns");
        check("score", "", "");
        check("w.lat_p99_9_ns", "", "ns");
        check("ahci/w.iops", "", "1/s");
    }

    #[test]
    fn names_that_users_choose_imply_no_unit() {
        for name in ["mbytes_per_s", "kiops", "autoscaling", "read_mb_s", "ops_ms", "boot_ns"] {
            assert_eq!(own_unit(name), None, "{name}");
        }
    }

    #[test]
    fn figures_are_called_after_their_phase() {
        let check = |phase: &str, figure: &str, expected: &str| {
            let (figures, points, remarks) = (Vec::new(), Vec::new(), Vec::new());
            let (name, nature) = (phase.into(), Nature::Disk);
            let phase = Phase { name, nature, figures, lat_ns: None, points, remarks };
            assert_eq!(phase.metric(figure), expected);
        };
        check("seeks", "seeks", "seeks");
        check("seeks", "seeks_cpu", "seeks_cpu");
        check("rewrite", "bytes_per_s", "rewrite.bytes_per_s");
        check("", "iops", "iops");
    }
}
