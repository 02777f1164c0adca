//! `run --suite` and suites in studies: recipes of block tests.

use crate::common::{drivelab, file, folder};

const DRIVE: &str = "drive:seagate-st31000333as";

const OWN: &str = "title = \"Two tests\"\nsize = \"1M\"\nruntime = \"20ms\"\n[[test]]\nname = \
                   \"a_read\"\nrw = \"read\"\nbs = \"64k\"\n[[test]]\nname = \"a_write\"\nrw = \
                   \"write\"\nbs = \"64k\"\n";

#[test]
fn a_suite_on_a_modelled_drive_gives_the_same_bytes_and_the_known_rows() {
    let folder = folder();
    let run = |suite: &str| {
        let said = drivelab(folder.path(), &["run", DRIVE, "--suite", suite, "--json"]);
        assert_eq!(said.code, 0, "{said:?}");
        said
    };
    for suite in ["crystaldiskmark8", "hdtune"] {
        let (one, two) = (run(suite), run(suite));
        assert_eq!(one.out, two.out, "{suite}");
        let json = one.json();
        assert_eq!(json["schema"], "drivelab.run/1");
        assert_eq!(json["config"]["suite"], serde_json::json!({"name": suite}));
        assert!(json.get("jobs").is_none() && json.get("total").is_none());
        let phase = &json["phases"][0];
        let figure = &phase["figures"][0];
        assert!(
            phase["name"].is_string() && phase["nature"] == "disk" && phase["lat_ns"].is_object()
        );
        assert!(figure["value"].as_f64().unwrap() > 0.0, "{figure}");
        assert_eq!(
            (figure["unit"].as_str(), figure["better"].as_str()),
            (Some("MB/s"), Some("more"))
        );
    }
    let text = drivelab(folder.path(), &["run", DRIVE, "--suite", "crystaldiskmark8"]).out;
    for row in ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"] {
        assert!(text.contains(row), "{text}");
    }
}

#[test]
fn the_curve_falls_with_the_zones_and_the_page_draws_it() {
    let folder = folder();
    let arguments = ["run", DRIVE, "--suite", "hdtune", "--json", "--out", "page"];
    let json = drivelab(folder.path(), &arguments).json();
    let rates: Vec<f64> = json["phases"][0]["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["value"].as_f64().unwrap())
        .collect();
    assert_eq!(rates.len(), 100);
    let tenth = |from: usize| rates[from..from + 10].iter().sum::<f64>() / 10.0;
    let tenths: Vec<f64> = (0..10).map(|place| tenth(10 * place)).collect();
    assert!(tenths.windows(2).all(|pair| pair[0] > pair[1]), "{tenths:?}");
    assert!(json["marks"].to_string().contains("one-at-a-time"), "{}", json["marks"]);
    assert_eq!(json["phases"][2]["nature"], "drive-cache");
    let page = std::fs::read_to_string(folder.path().join("page/report.html")).unwrap();
    assert!(page.contains("<path class=\"measured\"") && page.contains("class=\"dot\""));
    assert!(folder.path().join("page/run.json").exists());
}

#[test]
fn hdtune_sees_no_difference_between_ide_and_ahci_and_says_why() {
    let folder = folder();
    let text = "title = \"Does HD Tune see AHCI?\"\nprimary = \"hdtune.transfer\"\nblocks = 6\n\
                factor = \"controller, scheduler\"\n[base]\ndrive = \"seagate-st31000333as\"\n\
                [[arm]]\nname = \"ide\"\ncontroller = \"ide\"\n[[arm]]\nname = \"ahci\"\n\
                controller = \"ahci\"\n[[workload]]\nname = \"hdtune\"\nsuite = \"hdtune\"\n";
    file(folder.path(), "hd.toml", text);
    let said = drivelab(folder.path(), &["study", "hd.toml", "--json"]);
    let json = said.json();
    assert_eq!(json["verdict"], "no-practical-difference", "{}", said.err);
    assert!(json.to_string().contains("one request at a time: command queuing cannot show"));
    let metrics = json["metrics"].as_array().unwrap();
    let of = |name: &str| metrics.iter().find(|metric| metric["name"] == name);
    assert_eq!(of("hdtune.access_time").unwrap()["verdict"], "no-practical-difference");
    assert!(of("hdtune.transfer_iops").is_none(), "what only accompanies a rate is not compared");
    let wrong = text.replace("hdtune.transfer", "hdtune.transfr");
    file(folder.path(), "wrong.toml", &wrong);
    let wrong = drivelab(folder.path(), &["study", "wrong.toml"]);
    wrong.failed(2, &["`transfr`; there are `transfer`"]);
}

#[test]
fn a_recipe_of_a_user_runs_on_a_file_and_in_a_study() {
    let folder = folder();
    file(folder.path(), "own.toml", OWN);
    let run = |options: &[&str]| {
        drivelab(
            folder.path(),
            &[&["run", "data", "--suite", "own.toml", "--json"], options].concat(),
        )
    };
    let said = run(&["--size", "2M", "--label", "mine"]);
    assert_eq!(said.code, 0, "{said:?}");
    let json = said.json();
    assert_eq!(json["config"]["suite"]["options"], serde_json::json!({"size": "2M"}));
    assert_eq!(
        (json["label"].as_str(), json["phases"][1]["name"].as_str()),
        (Some("mine"), Some("a_write"))
    );
    assert_eq!(folder.path().join("data").metadata().unwrap().len(), 2 << 20);
    run(&["--iodepth", "4"]).failed(2, &["--suite", "--iodepth"]);
    run(&["--loops", "0"]).failed(2, &["measures nothing"]);
    file(folder.path(), "wrong.toml", &OWN.replace("bs = ", "bz = "));
    let wrong = ["run", "data", "--suite", "wrong.toml"];
    drivelab(folder.path(), &wrong).failed(2, &["wrong.toml:7", "unknown key `bz`"]);
    let unknown = ["run", "data", "--suite", "crystaldiskmark9"];
    drivelab(folder.path(), &unknown).failed(2, &["no suite", "did you mean `crystaldiskmark"]);
    let study = "title = \"Is buffered I/O faster?\"\nprimary = \"own.a_read\"\nblocks = 6\nmargin = \
                 \"50%\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n[[workload]]\nname = \
                 \"own\"\nsuite = \"own.toml\"\nloops = 2\nsize = \"1M\"\n";
    file(folder.path(), "study.toml", study);
    let said = drivelab(folder.path(), &["study", "study.toml", "--target", "data", "--json"]);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    assert_eq!(said.json()["metrics"][0]["name"], "own.a_read");
}

#[test]
fn a_directory_and_a_foreign_file_are_refused() {
    let folder = folder();
    file(folder.path(), "own.toml", OWN);
    let run = |target: &str| drivelab(folder.path(), &["run", target, "--suite", "own.toml"]);
    run(".").failed(2, &["is a directory", "name a file in it"]);
    file(folder.path(), "foreign", &"not ours ".repeat(300_000));
    let said = run("foreign");
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("--overwrite"), "{said:?}");
}
