//! Files that a command writes: one of its own is replaced, one of somebody else is not.

use std::fs;

use crate::common::{drivelab, file, folder};

#[test]
fn a_file_of_somebody_is_not_replaced_and_one_of_the_same_verb_is() {
    let folder = folder();
    let trace = &"R Hit 4096 8 5000 100\nW Hit 99 8 4000 100\n".repeat(50);
    file(folder.path(), "a.trace", trace);
    let figures = "[drive]\ncapacity_bytes = 1_000_204_886_016\nrpm = 7200\n\
                   [random_read_qd1]\nmean_ms = 13.79\np50_ms = 13.83\np99_ms = 22.41\n";
    file(folder.path(), "figures.toml", figures);
    fs::create_dir_all(folder.path().join("tree/sys/block/vda/queue")).unwrap();
    let replay = ["replay", "a.trace", "--drive", "generic-10k"];
    let scored = [&replay[..], &["--score", "--report"]].concat();
    let check = |arguments: &[&str], name: &str, others: &[(&str, &str)]| {
        let arguments = [arguments, &[name]].concat();
        for (other, content) in others {
            let path = file(folder.path(), name, content);
            let said = drivelab(folder.path(), &arguments);
            said.failed(2, &[name, "hint: name another file"]);
            assert_eq!(said.out, "", "{other}: nothing was done");
            assert_eq!(fs::read_to_string(&path).unwrap(), *content, "{other}");
        }
        // An empty file holds nothing that could be lost.
        let path = file(folder.path(), name, "");
        for _ in 0..2 {
            let said = drivelab(folder.path(), &arguments);
            assert_eq!(said.code, 0, "{said:?}");
            assert!(fs::metadata(&path).unwrap().len() > 0, "{said:?}");
        }
    };
    let letter = ("a letter", "Dear Sir,\n");
    check(&[&replay[..], &["--times"]].concat(), "times", &[letter, ("a table", "1.5 2.500000\n")]);
    let page = ("another page", "<!doctype html>\n<title>drivelab replay</title>\n");
    check(&scored, "a.html", &[letter, page]);
    check(&scored, "a.svg", &[letter, ("another picture", "<svg xmlns=\"x\"></svg>\n")]);
    let fit = ["drive", "fit", "figures.toml", "--seed", "1", "--out"];
    check(&fit, "own.toml", &[letter, ("its input", figures)]);
    let capture = ["inspect", "--root", "tree", "--capture"];
    check(&capture, "here.tar", &[letter]);
    // The very file that is read.
    let said = drivelab(folder.path(), &[&replay[..], &["--times", "a.trace"]].concat());
    said.failed(2, &["a.trace"]);
    assert_eq!(fs::read_to_string(folder.path().join("a.trace")).unwrap(), *trace);
}
