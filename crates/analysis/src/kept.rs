//! Documents that are kept of what is no single run, to be shown again.

use drivelab_core::Invalid;
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure};
use serde_json::{Value, json};

/// A job file with several jobs.
pub const JOBS_SCHEMA: &str = "drivelab.kept-jobs/1";
/// A measurement for a model of the drive.
pub const MEASUREMENT_SCHEMA: &str = "drivelab.kept-measurement/1";
/// A run of another tool.
pub const RESULTS_SCHEMA: &str = "drivelab.kept-results/1";
/// The schema of a collection from a host: its inspection. The runs are its parts.
pub const COLLECTION_SCHEMA: &str = "drivelab.kept-collection/1";

/// Wraps the printed output of a job file for keeping.
pub fn jobs(printed: &Value) -> String {
    json!({ "schema": JOBS_SCHEMA, "printed": printed }).to_string()
}

/// A file of measurements and what is printed of it, as they are kept.
pub fn measurement(file: &str, printed: &Value) -> String {
    json!({ "schema": MEASUREMENT_SCHEMA, "file": file, "printed": printed }).to_string()
}

/// The results of another tool, as they are kept.
pub fn results(results: &Imported) -> String {
    json!({ "schema": RESULTS_SCHEMA, "results": results }).to_string()
}

/// The inspection of a host by its name, as it is kept.
pub fn collection(host: &str, inspection: &Value) -> String {
    json!({ "schema": COLLECTION_SCHEMA, "host": host, "inspection": inspection }).to_string()
}

/// Results as they were kept, out of a document.
///
/// # Errors
/// They are not what was kept.
pub fn read_results(mut document: Value) -> Result<Imported, Invalid> {
    serde_json::from_value(document["results"].take()).map_err(Invalid::new)
}

/// Each run of a file by itself, with what holds for all of them.
pub fn each_run(results: &Imported) -> impl Iterator<Item = Imported> {
    results.runs.iter().map(|run| Imported { runs: vec![run.clone()], ..results.clone() })
}

/// The figures of a measurement that a list shows: the rates of its loads, then those of its
/// streams.
pub fn measured_figures(printed: &Value) -> Vec<Figure> {
    let loads = printed["loads"].as_array().into_iter().flatten().filter_map(|load| {
        let (rw, depth) = (load["rw"].as_str()?, load["iodepth"].as_u64()?);
        // Rates within a part of the drive depend on its size.
        let is_whole = load["span_bytes"] == printed["capacity_bytes"];
        let name = format!("{rw}_{depth}.iops");
        is_whole.then_some(Figure::new(name, load["iops"].as_f64()?, Better::More))
    });
    let streams = ["read", "write"].into_iter().filter_map(|which| {
        let rate = printed[format!("{which}_mb_per_s")]["outer"].as_f64()?;
        Some(Figure::new(format!("{which}.bytes_per_s"), rate * 1e6, Better::More))
    });
    loads.chain(streams).collect()
}
