//! The I/O bill of a program, in words, as JSON and as a comment of a pull request.

mod markdown;
mod settings;
mod text;
mod words;

use drivelab_analysis::cost::{Bill, Change, Gate, Lifetime};
use serde_json::{Value, json};

pub use settings::SettingsReport;

/// A bill, with what it was compared with.
#[derive(Debug, Clone)]
pub struct CostReport {
    /// The bill.
    pub bill: Bill,
    /// Its comparison with a base or with limits, if either was given.
    pub gate: Option<Gate>,
    /// The lifetime of flash, at a rate.
    pub lifetimes: Vec<Lifetime>,
    /// Runs of the command in an hour.
    pub per_hour: Option<f64>,
}

impl CostReport {
    /// A bill alone.
    pub fn of(bill: Bill) -> Self {
        Self { bill, gate: None, lifetimes: Vec::new(), per_hour: None }
    }

    /// The document of schema `drivelab.cost/1`; without a gate it is a base for later bills.
    pub fn to_json(&self) -> Value {
        let mut document = serde_json::to_value(&self.bill).expect("plain data is always JSON");
        if let Some(gate) = &self.gate {
            document["gate"] = json!({
                "exceeded": gate.is_exceeded(),
                "unchanged": gate.unchanged,
                "changes": gate.changes.iter().map(change).collect::<Vec<_>>(),
                "notes": gate.notes,
            });
        }
        if let Some(per_hour) = self.per_hour {
            document["per_hour"] = json!(per_hour);
            document["lifetimes"] = self.lifetimes.iter().map(lifetime).collect();
        }
        document
    }
}

fn change(change: &Change) -> Value {
    let causes = change.causes.iter().map(|cause| {
        let mut value = json!({
            "process": cause.process,
            "call": cause.call,
            "path": cause.path,
            "counts": cause.counts,
            "values": cause.values,
        });
        if !cause.stack.is_empty() {
            value["stack"] = json!(cause.stack);
        }
        value
    });
    json!({
        "metric": change.metric,
        "base": change.base,
        "most": change.most,
        "now": change.now,
        "exceeded": change.is_exceeded,
        "unclear": change.is_unclear,
        "causes": causes.collect::<Vec<_>>(),
    })
}

fn lifetime(lifetime: &Lifetime) -> Value {
    json!({
        "class": lifetime.endurance.class,
        "capacity_bytes": lifetime.endurance.capacity_bytes,
        "rated_bytes": lifetime.endurance.rated_bytes,
        "source": lifetime.endurance.source,
        "bytes_a_year": lifetime.bytes_a_year,
        "years": lifetime.years,
    })
}

#[cfg(test)]
mod tests;
