//! The runs collected from each host, and those that were not.

use drivelab_analysis::fleet::CollectedHost;
use drivelab_core::counted;
use serde_json::{Value, json};

use crate::text::{DOUBT, Look};

/// `drivelab.fleet-collect/1`.
pub fn collected_json(hosts: &[CollectedHost]) -> Value {
    let lost: Vec<&str> =
        hosts.iter().filter(|it| it.why.is_some()).map(|it| it.host.as_str()).collect();
    json!({
        "schema": "drivelab.fleet-collect/1",
        "hosts": hosts.iter().map(host_json).collect::<Vec<_>>(),
        "lost": lost,
    })
}

fn host_json(it: &CollectedHost) -> Value {
    let failed: Vec<Value> =
        it.failed.iter().map(|(target, why)| json!({ "target": target, "why": why })).collect();
    json!({
        "host": it.host,
        "id": it.id,
        "disks": it.disks,
        "runs": it.runs,
        "failed": failed,
        "why": it.why,
    })
}

/// A line for each host that failed, and the sum.
pub fn collected_text(hosts: &[CollectedHost], look: Look) -> String {
    let mut text = String::new();
    for it in hosts {
        for (target, why) in &it.failed {
            text +=
                &(look.led("Failed:", DOUBT, &format!("{target} of {}: {why}", it.host), 2) + "\n");
        }
        if let Some(why) = &it.why {
            text += &(look.led("Lost:", DOUBT, &format!("{}: {why}", it.host), 2) + "\n");
        }
    }
    let kept: Vec<&CollectedHost> = hosts.iter().filter(|it| it.why.is_none()).collect();
    let disks: usize = kept.iter().map(|it| it.disks).sum();
    let runs: usize = kept.iter().map(|it| it.runs).sum();
    let [hosts, disks, runs] =
        [(hosts.len(), "host"), (disks, "disk"), (runs, "run")].map(|(n, what)| counted(n, what));
    format!("{text}kept: {} of {hosts}, {disks}, {runs}\n", kept.len())
}
