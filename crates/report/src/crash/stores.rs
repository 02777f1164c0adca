//! The table of embedded stores under power cuts, as a page.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::page::html::{escape, inline, scroll, section, table};
use crate::page::skeleton;

/// The findings of `scripts/crash-table`, as they are published.
const RESULTS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/crash/results.json"));

/// One setting of a store on one file system.
struct Cell<'a> {
    version: &'a str,
    whole: u64,
    lost: u64,
    corrupt: u64,
    /// The first cut after which something was wrong, as `--replay` takes it.
    replay: Option<&'a str>,
}

impl<'a> Cell<'a> {
    fn of(result: &'a Value) -> Self {
        let count = |key: &str| result[key].as_u64().expect("a count in each result");
        Self {
            version: text(result, "version"),
            whole: count("whole"),
            lost: count("lost"),
            corrupt: count("corrupt"),
            replay: result["first"][0]["replay"].as_str(),
        }
    }

    fn counts(&self) -> String {
        format!("{} / {} / {}", self.whole, self.lost, self.corrupt)
    }
}

fn text<'a>(result: &'a Value, key: &str) -> &'a str {
    result[key].as_str().expect("a text in each result")
}

/// A page that lists what each setting of each store kept, and how to repeat it.
///
/// # Panics
/// The published results are not JSON, which a test would have found.
pub fn stores_page() -> String {
    let results: Value = serde_json::from_str(RESULTS).expect("JSON that a script wrote");
    let results = results["results"].as_array().expect("a list of results");
    let mut rows: BTreeMap<&str, BTreeMap<&str, Cell<'_>>> = BTreeMap::new();
    for result in results {
        let row = rows.entry(text(result, "row")).or_default();
        row.insert(text(result, "file_system"), Cell::of(result));
    }
    let systems: BTreeSet<&str> = results.iter().map(|it| text(it, "file_system")).collect();
    let body = found(&rows, &systems) + &again(&rows);
    skeleton("view", "Stores under power cuts", &[], &body)
}

fn found(rows: &BTreeMap<&str, BTreeMap<&str, Cell<'_>>>, systems: &BTreeSet<&str>) -> String {
    let mut heads = vec!["store/setting", "version"];
    heads.extend(systems);
    let about = inline(
        "Each store wrote numbered transactions under a real Linux kernel on a modelled drive, and \
         the power was cut. A cell is whole / lost / corrupt: cuts after which everything was kept, \
         an acknowledged transaction was lost, and something was damaged. Some settings give \
         durability up on purpose: what each documentation promises is in `docs/crash`.",
    );
    let rows = rows.iter().map(|(name, cells)| {
        let first = cells.values().next().expect("a row has a cell");
        let mut row = vec![escape(name), escape(first.version)];
        row.extend(systems.iter().map(|it| cells.get(it).map_or_else(String::new, Cell::counts)));
        row
    });
    let stores = table(&heads, rows);
    section("What was kept", &about, &scroll("Stores", &stores))
}

/// Commands that repeat the first failure of each setting that has one.
fn again(rows: &BTreeMap<&str, BTreeMap<&str, Cell<'_>>>) -> String {
    let mut commands = String::new();
    for (name, cells) in rows {
        let failed = cells.iter().find_map(|(system, cell)| Some((system, cell.replay?)));
        if let Some((system, replay)) = failed {
            commands += &format!(
                "drivelab crash studies/crash/stores/{name}.toml --filesystem {system} --replay \
                 {replay} --explain\n"
            );
        }
    }
    let about = "The first failure of each setting that had one.";
    section("Again", about, &format!("<pre><code>{}</code></pre>\n", escape(&commands)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_result_is_in_the_table() {
        let page = stores_page();
        let results: Value = serde_json::from_str(RESULTS).unwrap();
        let results = results["results"].as_array().unwrap();
        assert!(results.len() > 20, "{}", results.len());
        for result in results {
            let counts = ["whole", "lost", "corrupt"].map(|key| result[key].to_string());
            assert!(page.contains(&escape(text(result, "row"))), "{result}");
            assert!(page.contains(&counts.join(" / ")), "{result}");
        }
        assert!(page.contains("--replay"), "no failure can be repeated");
    }
}
