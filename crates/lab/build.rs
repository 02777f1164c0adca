//! Names the sources that decide what a modelled drive does.

#[path = "src/sweep/revision.rs"]
mod revision;

use std::path::PathBuf;

/// The sources that decide what a modelled drive does, the kernel in front of it, and what a stage
/// asks of them.
const MODEL: [&str; 16] = [
    "src/measure.rs",
    "src/request",
    "src/stage",
    "src/sweep/modelled.rs",
    "src/target.rs",
    "../core/src",
    "../stats/src",
    "../model/src",
    "../disksim/src",
    "../load/src",
    "../engine/src",
    "../guest/src",
    "../simulate/src",
    "../study/src",
    "../analysis/src",
    "../../drives",
];

fn main() {
    let sources = MODEL.map(PathBuf::from);
    // Without all of them no two builds are known to be the same model.
    let model = revision::of(&sources)
        .map_or_else(|error| error.to_string(), |hash| format!("{hash:016x}"));
    println!("cargo::rustc-env=DRIVELAB_MODEL={model}");
    for folder in MODEL {
        println!("cargo::rerun-if-changed={folder}");
    }
    println!("cargo::rerun-if-changed=src/sweep/revision.rs");
    // Cargo watches only what is named, so the script names itself, too.
    println!("cargo::rerun-if-changed=build.rs");
}
