//! What a person reads.

use std::collections::BTreeMap;

use drivelab_core::units::Span;
use drivelab_host::Root;
use drivelab_host::view::{Paint, text, watch};
use drivelab_host::watch::{Sample, rates};

use crate::tree::Tree;

const PLAIN: Paint = Paint { colour: false, width: 100 };

#[test]
fn a_disk_on_emulated_ide() {
    insta::assert_snapshot!(text(&Tree::named("ich8-ide").inspect(), PLAIN));
}

#[test]
fn an_encrypted_volume_on_an_array() {
    insta::assert_snapshot!(text(&Tree::named("stacked").inspect(), PLAIN));
}

#[test]
fn lines_keep_to_the_width_and_colour_only_adds_escapes() {
    for name in ["ich8-ide", "shared-ide-port", "stacked", "usb"] {
        let found = Tree::named(name).inspect();
        for width in [60, 80, 120] {
            let plain = text(&found, Paint { colour: false, width });
            let longest = plain.lines().max_by_key(|line| line.chars().count()).unwrap_or("");
            // Words are not broken: the longest is a path.
            let unbroken = longest.split_whitespace().map(str::len).max().unwrap_or(0) + 20;
            assert!(longest.chars().count() <= width.max(unbroken), "{longest}");
            let coloured = text(&found, Paint { colour: true, width });
            assert_ne!(coloured, plain);
            assert_eq!(without_escapes(&coloured), plain);
        }
    }
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |whole, part| whole + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn a_second_of_watching() {
    let tree = Tree::named("ich8-ahci");
    let root = Root::new(tree.folder.path());
    let names = ["sda".to_owned()];
    tree.add("proc/diskstats =    8       0 sda 100 0 800 500 10 0 80 100 0 400 600 0 0 0 0");
    let before = Sample::read(&root, &names);
    tree.add("proc/diskstats =    8       0 sda 300 0 2400 2500 10 0 80 100 3 1400 2600 0 0 0 0");
    tree.add("sys/block/sda/inflight =        3        0");
    let after = Sample::read(&root, &names);
    let depths = BTreeMap::from([("sda".to_owned(), 31)]);
    let found = rates(&before, &after, Span::from_secs(1), &depths);
    insta::assert_snapshot!(watch(&found, PLAIN));
}
