//! `drive random`: a drive of a class.

use crate::common::{drivelab, folder};

#[test]
fn a_random_drive_is_one_of_its_class_and_says_where_its_numbers_come_from() {
    let folder = folder();
    let random = |seed: &str, more: &[&str]| {
        let words = ["drive", "random", "--seed", seed, "--out", "random.toml", "--json"];
        let said = drivelab(folder.path(), &[&words[..], more].concat());
        assert_eq!(said.code, 0, "{said:?}");
        (said.json(), std::fs::read_to_string(folder.path().join("random.toml")).unwrap())
    };
    let (json, text) = random("7", &[]);
    assert_eq!(random("7", &[]).1, text, "the same seed draws the same drive");
    for (name, source) in text.lines().skip(4).filter_map(|line| line.split_once("  # ")) {
        assert!(source.starts_with("[E] drawn: ") && source.len() > 20, "{name}: {source}");
    }
    let numbers = json["numbers"].as_array().unwrap();
    assert!(numbers.len() >= 3, "{json}");
    for class in ["generic-5400", "generic-10k", "generic-sata", "generic-nvme"] {
        let (json, text) = random("3", &["--class", class]);
        assert_eq!(json["class"], class);
        assert_ne!(text, random("4", &["--class", class]).1);
        let run = ["run", "drive:random.toml", "--number-ios", "50", "--json"];
        let run = drivelab(folder.path(), &run);
        assert_eq!(run.code, 0, "{run:?}");
    }
    let shown = drivelab(folder.path(), &["drive", "show", "random.toml"]);
    assert!(shown.out.contains("drawn: "), "{shown:?}");
    let words = ["drive", "random", "--seed", "1", "--out", "a.toml", "--class", "generic-5"];
    drivelab(folder.path(), &words).failed(2, &["not a class", "generic-5400"]);
}
