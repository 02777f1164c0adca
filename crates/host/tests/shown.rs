//! What a person reads.

use std::collections::BTreeMap;

use drivelab_core::units::Span;
use drivelab_host::watch::{Sample, rates};
use drivelab_host::{Root, outline, watched};

use crate::tree::{Tree, text};

#[test]
fn a_disk_on_emulated_ide() {
    insta::assert_snapshot!(text(&outline(&Tree::named("ich8-ide").inspect())));
}

#[test]
fn an_encrypted_volume_on_an_array() {
    insta::assert_snapshot!(text(&outline(&Tree::named("stacked").inspect())));
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
    insta::assert_snapshot!(text(&watched(&found)));
}
