//! The findings in a fleet, for scripts.

use drivelab_analysis::fleet::{DiskName, Drift, FleetResult, Found, PeerResult, SmallGroup};
use drivelab_stats::{GroupJudgement, SideBySide};
use serde_json::{Value, json};

/// The name of the JSON document.
pub const FLEET_SCHEMA: &str = "drivelab.fleet-outliers/1";

/// `drivelab.fleet-outliers/1`.
pub fn json(result: &FleetResult) -> Value {
    let found: Vec<Value> = result.found.iter().map(|it| self::found(result, it)).collect();
    json!({
        "schema": FLEET_SCHEMA,
        "metric": result.metric,
        "better": result.better,
        "margin": result.options.margin,
        "false_discovery_rate": result.options.false_discovery,
        "hosts": result.hosts,
        "disks": result.disks,
        "judged": result.judged(),
        "outliers": found,
        "drifted": result.drifts.iter().map(drift).collect::<Vec<_>>(),
        "groups": result.groups.iter().map(group).collect::<Vec<_>>(),
        "left_out": {
            "runs_without_disk": result.left_out.without_disk,
            "runs_without_figure": result.left_out.without_figure,
            "runs_of_earlier_boots": result.left_out.of_earlier_boots,
            "runs_invalid": result.left_out.invalid,
        },
    })
}

fn found(result: &FleetResult, found: &Found) -> Value {
    let (group, it) = (&result.groups[found.group], &found.outlier);
    json!({
        "host": found.disk.host,
        "device": found.disk.device,
        "model": group.peers.model,
        "attachment": group.peers.attachment,
        "work": group.peers.work,
        "keys": group.peers.keys,
        "runs": group.judged().map(|judged| judged.runs),
        "value": it.figure,
        "ratio": it.ratio,
        "worse": found.is_worse(result.better),
        "peers": {
            "n": group.disks.len() - 1,
            "centre": it.centre,
            "range95": it.range95,
        },
        "p": it.p,
        "q": it.q,
        "facts": found.facts,
    })
}

fn disks(disks: &[DiskName]) -> Vec<Value> {
    disks.iter().map(|disk| json!({ "host": disk.host, "device": disk.device })).collect()
}

fn drift(drift: &Drift) -> Value {
    let values = drift.values.iter().map(|value| {
        json!({ "value": value.value, "n": value.disks.len(), "disks": disks(&value.disks) })
    });
    json!({
        "model": drift.model,
        "kind": drift.kind,
        "setting": drift.setting,
        "values": values.collect::<Vec<_>>(),
    })
}

fn group(group: &PeerResult) -> Value {
    let judged = group.judged();
    let why_not = match &group.judgement {
        GroupJudgement::Judged(_) => None,
        GroupJudgement::TooSmall => Some("too-few-disks"),
        GroupJudgement::NoVariation => Some("no-variation"),
    };
    json!({
        "model": group.peers.model,
        "attachment": group.peers.attachment,
        "work": group.peers.work,
        "keys": group.peers.keys,
        "n": group.disks.len(),
        "judged": judged.is_some(),
        "why_not": why_not,
        "runs": judged.map(|it| it.runs),
        "centre": judged.map(|it| it.centre),
        "smallest_found": judged.map(|it| it.smallest_found),
        "side_by_side": group.small.as_ref().map(|small| side_by_side(group, small)),
    })
}

fn side_by_side(group: &PeerResult, small: &SmallGroup) -> Value {
    let SideBySide { figures, runs, p } = &small.disks;
    let disks = group.disks.iter().zip(figures.iter().zip(runs)).map(|(disk, (figure, runs))| {
        json!({ "host": disk.host, "device": disk.device, "value": figure, "runs": runs })
    });
    json!({
        "disks": disks.collect::<Vec<_>>(),
        "p": p,
        "p_adjusted": small.p_adjusted,
    })
}
