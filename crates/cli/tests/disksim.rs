//! A drive of `DiskSim`'s files behind the store of served drives: power cuts take what they may.

use drivelab_core::Device;
use drivelab_model::options::Options;
use drivelab_model::profile::BaseText;

#[expect(dead_code, reason = "the rules' own tests use all of it")]
#[path = "../../serve/tests/all/power/oracle.rs"]
mod oracle;
#[expect(dead_code, reason = "the rules' own tests use all of it")]
#[path = "../../serve/tests/all/power/rig.rs"]
mod rig;

#[test]
fn five_hundred_histories_with_power_cuts_are_legal() {
    let folder = "../disksim/src/parameters/tests";
    let text = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).ok();
    let seek = "Seek distances measured: 3\n1, 1.0\n10, 2.0\n99, 5.0\n";
    let resolve = |file: &str| {
        let text = if file == "small.seek" { seek.into() } else { text(file)? };
        Some(BaseText { file: file.into(), text })
    };
    let parv = text("small.parv").unwrap();
    let profile = drivelab_disksim::profile("small.parv", &parv, &resolve).unwrap();
    let make = |seed| -> Box<dyn Device> {
        Box::new(drivelab_model::build(&profile, &Options::default(), seed).unwrap())
    };
    for seed in 0..500 {
        if let Err(what) = rig::Rig::new(&make, &rig::Right, seed).play() {
            panic!("seed {seed}: {what}");
        }
    }
}
