//! What is advised on the trees of all tests.

use drivelab_host::{Advice, FindingId, Kind, State, TrapId, advise, advised};

use crate::tree::{Tree, text};

const TREES: [&str; 16] = [
    "ich8-ahci",
    "ich8-ide",
    "libata-force",
    "misaligned",
    "ncq-quirk",
    "not-disks",
    "nvme-multipath",
    "nvme-x2",
    "other-stacks",
    "sata-mv",
    "shared-ide-port",
    "stacked",
    "stex",
    "usb",
    "virtual",
    "vmd",
];

fn advice(tree: &str) -> Advice {
    advise(&Tree::named(tree).inspect())
}

fn applying(advice: &Advice) -> Vec<TrapId> {
    let applies = advice.traps.iter().filter(|trap| trap.state == State::Applies);
    applies.map(|trap| trap.id).collect()
}

#[test]
fn each_tree_is_in_the_traps_that_its_settings_are() {
    use TrapId::{Elevator, IdeMode, LinkSpeed, RaidMode, TagsUnused};
    let check = |tree, expected: &[TrapId]| assert_eq!(applying(&advice(tree)), expected, "{tree}");
    check("ich8-ahci", &[]);
    check("sata-mv", &[]);
    check("not-disks", &[]);
    check("misaligned", &[]);
    check("ich8-ide", &[IdeMode, TagsUnused, Elevator]);
    check("shared-ide-port", &[IdeMode, TagsUnused, LinkSpeed]);
    check("ncq-quirk", &[TagsUnused]);
    check("stex", &[RaidMode]);
    check("nvme-x2", &[LinkSpeed]);
}

#[test]
fn every_trap_is_listed_once_with_its_disks_and_commands() {
    for tree in TREES {
        let inspection = Tree::named(tree).inspect();
        let advice = advise(&inspection);
        let ids: Vec<TrapId> = advice.traps.iter().map(|trap| trap.id).collect();
        assert_eq!(ids, TrapId::ALL, "{tree}");
        for trap in &advice.traps {
            let is_clear = trap.state == State::Clear;
            assert_eq!(is_clear, trap.disks.is_empty(), "{tree}: {trap:?}");
            assert_eq!(is_clear, trap.message.is_empty(), "{tree}: {trap:?}");
            for step in &trap.settle {
                assert!(!step.command.contains('\n'), "{tree}: {step:?}");
            }
        }
        let drives = inspection.devices.iter().filter(|device| device.is_drive()).count();
        assert_eq!(advice.disks.len(), drives, "{tree}");
    }
}

#[test]
fn cards_share_their_bus_and_functions_of_the_chipset_do_not() {
    let state = |tree| advice(tree).traps.into_iter().find(|it| it.id == TrapId::SharedBus);
    let found = state("sata-mv").unwrap();
    assert_eq!(found.state, State::Beware);
    assert!(found.message.contains("133 MB/s"), "{}", found.message);
    for tree in ["ich8-ahci", "ich8-ide", "stex", "virtual", "usb"] {
        assert_eq!(state(tree).unwrap().state, State::Clear, "{tree}");
    }
}

#[test]
fn drives_of_one_model_with_different_caches_are_unequal_arms() {
    let tree = Tree::named("shared-ide-port");
    tree.add(
        "sys/class/ata_device/dev2.1/id = !identify model=ST250DM000-1BD141 75=001f 76=050e \
         82=0021 85=0041 217=1c20",
    );
    tree.add("sys/class/scsi_disk/1:0:0:0/cache_type = write back");
    tree.add("sys/class/scsi_disk/1:0:1:0/cache_type = write through");
    let advice = advise(&tree.inspect());
    let trap = advice.traps.iter().find(|trap| trap.id == TrapId::WriteCache).unwrap();
    assert_eq!((trap.state, trap.disks.len()), (State::Applies, 2), "{trap:?}");
    assert!(trap.message.contains("different write cache settings"), "{trap:?}");
}

#[test]
fn a_log_alone_is_enough_for_the_link() {
    let log = "[2.1] ata2.00: limiting SATA link speed to 1.5 Gbps\n\
               [2.2] ata2.01: limiting SATA link speed to 1.5 Gbps";
    let tree = Tree::of(&format!("dmesg = {}", log.replace('\n', "\\n")));
    let inspection = tree.inspect();
    assert!(inspection.devices.iter().all(|device| device.kind == Kind::Ata));
    let applies = applying(&advise(&inspection));
    assert_eq!(applies, [TrapId::IdeMode, TrapId::LinkSpeed]);
}

#[test]
fn the_advice_for_a_disk_on_emulated_ide() {
    insta::assert_snapshot!(text(&advised(&advice("ich8-ide"))));
}

#[test]
fn what_changes_a_measurement_is_advised_with_its_remedy() {
    let log = "[2.1] ata1.00: NCQ disabled due to excessive errors\n\
               [9.1] I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2";
    let tree = Tree::named("ich8-ahci");
    tree.add(&format!("dmesg = {}", log.replace('\n', "\\n")));
    let advice = advise(&tree.inspect());
    let found: Vec<_> = advice.findings.iter().map(|it| (&*it.disk, it.finding.id)).collect();
    assert_eq!(found, [("sda", FindingId::NcqOff), ("sda", FindingId::IoErrors)]);
    let said = text(&advised(&advice));
    assert!(said.contains("a run carries a mark for it") && said.contains("ncq-off"), "{said}");
    assert!(said.contains("fix:  "), "{said}");
    // What is no fault of the disk stays a matter for `inspect`.
    assert!(self::advice("ich8-ahci").findings.is_empty());
}
