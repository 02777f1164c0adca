//! The output of other tools that people show instead of `/sys`: `smartctl`, `lsblk`, `udevadm`,
//! `nvme`, `lspci`, `hwinfo`, `hdparm`.
//!
//! A description of a device becomes a tree like `/sys`, read by the same code; a fact that only a
//! drive itself knows becomes facts about it, joined to its device by name or serial number.

mod drive;
mod join;
mod machine;
mod package;
mod section;

pub use drive::{Facts, Health, Reading};
pub use package::{Package, Part};

pub(crate) use join::join;

use serde_json::Value;

use self::drive::{facts, hdparm, nvme, smart};
use self::machine::tree::Tree;
use self::machine::{hwinfo, lsblk, lspci, udev};
use self::section::{Section, Tool};
use crate::root::Recording;

/// Maximum number of outputs.
const SECTIONS_MAX: usize = 1 << 17;

/// The outputs of other tools about one machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outputs {
    tree: Tree,
    /// Facts about drives.
    pub facts: Vec<Facts>,
    /// Each file with the tools whose output it has.
    pub sources: Vec<Source>,
    /// True if `lspci` was not allowed to read the links.
    pub links_denied: bool,
}

/// A file, and what it is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Source {
    /// The name of the file.
    pub file: String,
    /// The tools whose output it has.
    pub tools: Vec<String>,
}

impl Outputs {
    /// Adds a file. Returns the lines that belong to no output, which may be a kernel log; `None`
    /// if it has no output of a known tool.
    pub fn add(&mut self, file: &str, text: &str) -> Option<String> {
        let before = self.facts.len();
        let (tools, rest) = match json(text) {
            Some(documents) => (self.add_json(&documents), String::new()),
            None => self.add_text(file, text),
        };
        // A sosreport names the device in the name of the file only.
        let named = node_in(file);
        for facts in &mut self.facts[before..] {
            facts.node = facts.node.take().or_else(|| named.clone());
            if let Some(health) = &mut facts.health {
                health.source = format!("{} ({file})", facts.tool);
            }
        }
        // A file of another kind is for other readers, such as that of kernel logs.
        if tools.is_empty() {
            return None;
        }
        self.sources.push(Source { file: file.to_owned(), tools });
        Some(rest)
    }

    /// The tree, below what is known of it from elsewhere.
    pub fn into_tree(self, mut known: Recording) -> (Recording, Vec<Facts>, Vec<Source>) {
        for (path, item) in self.tree.into_items() {
            // A captured tree is nearer to the kernel than a description of it.
            known.items.entry(path).or_insert(item);
        }
        (known, self.facts, self.sources)
    }

    fn add_json(&mut self, documents: &[Value]) -> Vec<String> {
        let mut tools = Vec::new();
        for document in documents {
            let tool = if has(document, "smartctl") || has(document, "json_format_version") {
                self.facts.push(smart::json(document));
                "smartctl -j"
            } else if has(document, "blockdevices") {
                let entries = lsblk::json(document);
                self.facts.extend(lsblk::add(&entries, &mut self.tree));
                "lsblk --json"
            } else if has(document, "Devices") {
                self.facts.extend(nvme::list(document));
                "nvme list -o json"
            } else if has(document, "critical_warning")
                && (has(document, "percent_used") || has(document, "avail_spare"))
            {
                self.facts.push(nvme::smart_json(document));
                "nvme smart-log -o json"
            } else {
                continue;
            };
            note(&mut tools, tool);
        }
        tools
    }

    fn add_text(&mut self, file: &str, text: &str) -> (Vec<String>, String) {
        let (mut sections, rest) = section::split(text);
        sections.truncate(SECTIONS_MAX);
        // Paths come first: what has none is then added there.
        sections.sort_by_key(|section| !matches!(section.tool, Tool::Udev | Tool::Hwinfo));
        let mut tools = Vec::new();
        let mut at = 0;
        while let Some(section) = sections.get(at) {
            let same = sections[at..].iter().take_while(|other| other.tool == section.tool).count();
            let group = &sections[at..at + same];
            at += same;
            let tool = match section.tool {
                Tool::Lspci => {
                    let lines: Vec<&str> =
                        group.iter().flat_map(|section| section.lines.iter().copied()).collect();
                    // A single line may be of a message.
                    if lines.len() < 3 && !file.contains("lspci") {
                        continue;
                    }
                    self.links_denied |= lspci::add(&lines, &mut self.tree);
                    "lspci"
                }
                Tool::LsblkPairs => {
                    let rows = group.iter().filter_map(|section| lsblk::pairs(section.lines[0]));
                    let entries: Vec<lsblk::Entry> =
                        rows.map(|row| lsblk::Entry { row, below: None }).collect();
                    self.facts.extend(lsblk::add(&entries, &mut self.tree));
                    "lsblk"
                }
                _ => {
                    let found = group.iter().filter(|section| self.add_section(section)).count();
                    if found == 0 {
                        continue;
                    }
                    name(section.tool)
                }
            };
            note(&mut tools, tool);
        }
        (tools, rest.join("\n"))
    }

    /// Adds one output; returns whether it says anything.
    fn add_section(&mut self, section: &Section<'_>) -> bool {
        let lines = section.lines.as_slice();
        let mut found = match section.tool {
            Tool::Smartctl => vec![smart::text(&lines.join("\n"))],
            Tool::Lsblk => {
                let entries = lsblk::rows(lines);
                lsblk::add(&entries, &mut self.tree)
            }
            Tool::Udev => {
                self.facts.extend(udev::device(lines, &mut self.tree));
                return true;
            }
            Tool::NvmeList => nvme::table(lines),
            Tool::NvmeSmart => vec![nvme::smart_log(lines)],
            Tool::Hwinfo if lines.iter().any(|line| line.trim() == "Hardware Class: disk") => {
                hwinfo::disk(lines, &mut self.tree).into_iter().collect()
            }
            Tool::Hwinfo => return hwinfo::function(lines, &mut self.tree),
            Tool::Hdparm => vec![hdparm::facts(lines)],
            Tool::Lspci | Tool::LsblkPairs => Vec::new(),
        };
        // smartctl prints no name: the command above it has one.
        let device = section.device.and_then(facts::node_of);
        for facts in &mut found {
            facts.node = facts.node.take().or_else(|| device.clone());
        }
        // These put the device into the tree, even if they say nothing else of it.
        let in_tree = matches!(section.tool, Tool::Lsblk | Tool::Hwinfo);
        found.retain(|facts| in_tree || facts.says_anything());
        let says = !found.is_empty();
        self.facts.extend(found);
        says
    }
}

fn has(document: &Value, key: &str) -> bool {
    document.get(key).is_some()
}

fn name(tool: Tool) -> &'static str {
    match tool {
        Tool::Smartctl => "smartctl",
        Tool::Lsblk | Tool::LsblkPairs => "lsblk",
        Tool::Udev => "udevadm info",
        Tool::NvmeList => "nvme list",
        Tool::NvmeSmart => "nvme smart-log",
        Tool::Lspci => "lspci",
        Tool::Hwinfo => "hwinfo",
        Tool::Hdparm => "hdparm -I",
    }
}

fn note(tools: &mut Vec<String>, tool: &str) {
    if !tools.iter().any(|known| known == tool) {
        tools.push(tool.to_owned());
    }
}

/// The documents of a text that begins as JSON does.
fn json(text: &str) -> Option<Vec<Value>> {
    let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if !start.starts_with('{') {
        return None;
    }
    let documents = serde_json::Deserializer::from_str(start).into_iter::<Value>();
    let found: Vec<Value> = documents.map_while(Result::ok).take(SECTIONS_MAX).collect();
    (!found.is_empty()).then_some(found)
}

/// The device in the name of a file: `smartctl_-x_.dev.sda`, as a sosreport names them.
fn node_in(file: &str) -> Option<String> {
    let (_, name) = file.rsplit_once("_.dev.")?;
    facts::node_of(name)
}

#[cfg(test)]
mod tests {
    use proptest::strategy::Strategy as _;

    use super::*;
    use crate::{Inspection, Options, Root, inspect};

    fn inspected(files: &[(&str, &str)]) -> Inspection {
        let mut outputs = Outputs::default();
        for (name, text) in files {
            outputs.add(name, text);
        }
        let (tree, facts, sources) = outputs.into_tree(Recording::default());
        let options = Options { facts, sources, described: true, ..Options::default() };
        let found = inspect(&Root::of(tree), &[], &options).unwrap();
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Inspection>(&json).unwrap(), found);
        crate::outline(&found);
        found
    }

    fn findings(found: &Inspection) -> Vec<String> {
        let findings = found.devices.iter().flat_map(|device| {
            let name = &device.name;
            device.findings.iter().map(move |it| format!("{name}:{}:{:?}", it.id, it.severity))
        });
        findings.collect()
    }

    const LSPCI: &str = "\
00:1d.0 PCI bridge [0604]: Intel Device [8086:a298] (rev f0) (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #9, Speed 8GT/s, Width x4, ASPM L1, Exit Latency L1 <16us
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x2 (downgraded)
\tKernel driver in use: pcieport

01:00.0 Non-Volatile memory controller [0108]: Samsung [144d:a808] (prog-if 02 [NVM Express])
\tNUMA node: 0
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1, Exit Latency L1 <64us
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x2 (downgraded)
\tKernel driver in use: nvme
";
    const NVME: &str = "Smart Log for NVME device:nvme0 namespace-id:ffffffff\n\
        critical_warning : 0x4\n\
        temperature : 45\u{b0}C (318 Kelvin)\n\
        available_spare : 100%\n\
        available_spare_threshold : 10%\n\
        percentage_used : 104%\n\
        media_errors : 7\n\
        Warning Temperature Time : 12\n";

    #[test]
    fn a_drive_is_attached_to_the_function_of_lspci() {
        let found = inspected(&[("a.txt", LSPCI), ("b.txt", NVME)]);
        assert_eq!(found.devices.len(), 1, "{:?}", found.devices);
        let drive = &found.devices[0];
        assert_eq!(drive.name, "nvme0n1");
        assert_eq!(drive.controller.address.as_deref(), Some("0000:01:00.0"));
        assert_eq!(drive.pcie.width, Some(2));
        let all = findings(&found);
        for expected in [
            "nvme0n1:pcie-downgraded:Error",
            "nvme0n1:health-failed:Error",
            "nvme0n1:medium-errors:Error",
            "nvme0n1:worn-out:Warn",
            "nvme0n1:too-hot:Info",
        ] {
            assert!(all.iter().any(|it| it == expected), "{expected} of {all:?}");
        }
        let worn = drive.findings.iter().find(|it| it.id.to_string() == "worn-out").unwrap();
        assert_eq!(worn.evidence, "nvme smart-log (b.txt): percentage_used : 104%");
    }

    #[test]
    fn a_controller_without_drives_is_described() {
        let found = inspected(&[("lspci.txt", LSPCI)]);
        assert_eq!(found.devices[0].name, "0000:01:00.0");
        assert!(findings(&found)[0].ends_with("pcie-downgraded:Error"), "{found:?}");
    }

    const ATA: &str = "smartctl 6.6 2017-11-05 r4594 [x86_64-linux-4.15.0] (local build)\n\
        === START OF INFORMATION SECTION ===\n\
        Device Model:     ST3000DM001-1CH166\n\
        Serial Number:    W1F\n\
        Rotation Rate:    7200 rpm\n\
        SATA Version is:  SATA 3.0, 6.0 Gb/s (current: 6.0 Gb/s)\n\
        === START OF READ SMART DATA SECTION ===\n\
        SMART overall-health self-assessment test result: PASSED\n";

    #[test]
    fn a_healthy_record_has_no_finding() {
        let attributes = "  5 Reallocated_Sector_Ct 0x0033 100 100 010 Pre-fail Always - 0\n\
            197 Current_Pending_Sector 0x0012 100 100 000 Old_age Always - 0\n\
            199 UDMA_CRC_Error_Count 0x003e 200 200 000 Old_age Always - 0\n\
            # 1  Extended offline    Completed without error       00%     20000         -\n\
            # 2  Extended offline    Completed: read failure       90%     10000         123\n";
        let found = inspected(&[("smart.txt", &format!("{ATA}{attributes}"))]);
        assert_eq!(findings(&found), Vec::<String>::new());
        assert_eq!(found.devices[0].name, "drive1");
        let missing = found.environment.missing.join("; ");
        assert!(missing.contains("kernel log") && missing.contains("queue of drive1"), "{missing}");
    }

    #[test]
    fn counts_and_tests_are_findings() {
        let attributes = "  5 Reallocated_Sector_Ct   PO--CK   100   100   010    -    16\n\
            197 Current_Pending_Sector  -O--C-   100   100   000    -    8\n\
            199 UDMA_CRC_Error_Count    -OSRCK   200   200   000    -    412\n\
            184 End-to-End_Error        PO--CK   001   001   099    NOW  99\n\
            # 1  Short offline       Completed: read failure       90%     10000         123\n";
        let found = inspected(&[("smart.txt", &format!("{ATA}{attributes}"))]);
        let all = findings(&found);
        assert_eq!(
            all,
            ["drive1:medium-errors:Error", "drive1:health-failed:Error", "drive1:link-errors:Warn"]
        );
        let failed = &found.devices[0].findings[1];
        assert!(failed.evidence.contains("184 End-to-End_Error"), "{}", failed.evidence);
        assert!(failed.evidence.contains("Short offline"), "{}", failed.evidence);
    }

    #[test]
    fn the_json_of_smartctl_says_the_same() {
        let json = r#"{"json_format_version": [1, 0], "smartctl": {"version": [7, 3]},
            "device": {"name": "/dev/sdb", "info_name": "/dev/sdb [SAT]", "protocol": "ATA"},
            "model_name": "WDC WD40EZRZ", "serial_number": "X", "rotation_rate": 5400,
            "interface_speed": {"max": {"string": "6.0 Gb/s"}, "current": {"string": "1.5 Gb/s"}},
            "smart_status": {"passed": false},
            "ata_smart_attributes": {"table": [
                {"id": 5, "name": "Reallocated_Sector_Ct", "when_failed": "now",
                 "raw": {"value": 2000, "string": "2000"}}]}}"#;
        let all = findings(&inspected(&[("x.json", json)]));
        assert_eq!(
            all,
            ["sdb:health-failed:Error", "sdb:link-below-capability:Warn", "sdb:medium-errors:Warn"]
        );
    }

    #[test]
    fn a_path_of_udev_and_a_queue_of_lsblk_are_one_disk() {
        let udev = "P: /devices/pci0000:00/0000:00:1f.2\nE: SUBSYSTEM=pci\nE: DRIVER=ahci\n\
            E: PCI_CLASS=10601\nE: PCI_ID=8086:1C03\n\n\
            P: /devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda\n\
            N: sda\nE: SUBSYSTEM=block\nE: DEVTYPE=disk\nE: ID_ATA=1\nE: ID_BUS=ata\n\
            E: ID_MODEL_ENC=ST1000DM003\\x20\nE: ID_ATA_ROTATION_RATE_RPM=7200\n";
        let lsblk = "NAME   ROTA SCHED   RQ-SIZE TYPE\nsda       1 none       1024 disk\n\
            └─sda1    1            1024 part\n";
        let found = inspected(&[("db", udev), ("lsblk", lsblk)]);
        assert_eq!(found.devices.len(), 1, "{:?}", found.devices);
        let disk = &found.devices[0];
        assert_eq!(disk.controller.driver.as_deref(), Some("ahci"));
        assert_eq!(disk.ata.as_ref().map(|ata| ata.port), Some(1));
        assert_eq!(disk.model.as_deref(), Some("ST1000DM003"));
        assert_eq!(disk.queue.scheduler.as_deref(), Some("none"));
        assert_eq!(disk.partitions.len(), 1);
        assert_eq!(findings(&found), ["sda:scheduler-unfit:Warn"]);
        assert!(disk.findings[0].evidence.starts_with("udevadm, lsblk: "), "{:?}", disk.findings);
    }

    fn lines_of_outputs() -> Vec<&'static str> {
        LSPCI.lines().chain(NVME.lines()).chain(ATA.lines()).collect()
    }

    #[test]
    fn a_table_without_types_has_partitions() {
        let table = "NAME        ALIGNMENT MIN-IO PHY-SEC ROTA SCHED\n\
            nvme0n1             0    512     512    0 none\n\
            \u{2514}\u{2500}nvme0n1p1         0    512     512    0 none\n";
        let found = inspected(&[("lsblk_-t", table)]);
        assert_eq!(found.devices.len(), 1, "{:?}", found.devices);
        assert_eq!(found.devices[0].partitions.len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC*") {
            inspected(&[("f", &text)]);
        }

        #[test]
        fn parts_of_outputs_are_read_without_a_panic(
            lines in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::sample::select(lines_of_outputs())
                        .prop_map(str::to_owned),
                    "(P: /devices/|E: (DEVPATH|SUBSYSTEM|PARTN|MAJOR|DM_NAME)=|NAME +SIZE|\
                      sda +|└─sda1 +|\
                      N: |/dev/sda:|ATA device, with|27: IDE 00.0: 10600 Disk|SysFS ID: /|\
                      SysFS Device Link: /devices/|Hardware Class: disk|# 1 +Extended|\
                      NAME=\"|0x07  0x008)\
                      [ -~é│]{0,40}",
                ],
                0..40,
            )
        ) {
            inspected(&[("lspci_.dev.sda", &lines.join("\n"))]);
        }

        #[test]
        fn json_of_any_shape_is_read_without_a_panic(
            key in "(smartctl|blockdevices|Devices|critical_warning)",
            other in "(device|children|Subsystems|percent_used|ata_smart_attributes)",
            value in "(0|-1|1e99|\"x\"|\\[\\]|\\[\\{\\}\\]|\\{\"table\": \\[1\\]\\}|null|\
                      18446744073709551615)",
        ) {
            inspected(&[("f", &format!("{{\"{key}\": {value}, \"{other}\": {value}}}"))]);
        }
    }
}
