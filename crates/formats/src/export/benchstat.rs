//! The benchmark format of Go (golang.org/design/14313-benchmark-format), for
//! `benchstat -col /arm FILE`.

use std::collections::BTreeMap;

use drivelab_core::foreign::Imported;
use drivelab_core::record::Better;

use crate::exported::Exported;
use crate::series::Table;

/// Writes one line per run and metric; metrics without a direction, or without a number above zero,
/// have none.
pub(super) fn write(results: &Imported) -> Exported {
    let mut exported = Exported::default();
    let table = Table::new(results);
    let mut units: BTreeMap<String, Better> = BTreeMap::new();
    let mut lines = String::new();
    for series in &table.series {
        let (name, better) = (&series.figure.name, series.figure.better);
        if better == Better::Neither {
            exported.leave_out(name);
            continue;
        }
        // A unit has one direction in this format: a metric with the other direction has its own
        // unit.
        let mut unit = word(series.figure.unit());
        if unit.is_empty() || units.get(&unit).is_some_and(|known| *known != better) {
            unit = word(name);
        }
        units.insert(unit.clone(), better);
        for (arm, values) in table.arms.iter().zip(&series.values) {
            for (_, figure) in values {
                let value = figure.value;
                lines += &format!("Benchmark/{}/arm={} 1 {value} {unit}\n", word(name), word(arm));
            }
        }
    }
    let declared = units.iter().map(|(unit, better)| {
        let better = if *better == Better::More { "higher" } else { "lower" };
        format!("Unit {unit} better={better}\n")
    });
    exported.text = format!("{}{lines}", declared.collect::<String>());
    exported
}

/// A text without blanks, which end a name, and slashes, which divide it.
fn word(text: &str) -> String {
    if text == "1/s" {
        return "op/s".to_owned();
    }
    // A second `/arm=` in a name would be read as another arm.
    text.replace(|c: char| c.is_whitespace() || c.is_control(), "_").replace("/arm=", "_")
}
