//! `lsblk`: JSON, pairs and tables with any columns.

mod table;

use std::collections::BTreeMap;

use serde_json::Value;

pub(in crate::tools) use table::{is_header, rows};

use super::tree::Tree;
use crate::device::Kind;
use crate::tools::drive::facts::{Facts, node_of};

/// Maximum depth of devices upon devices.
const DEPTH_MAX: usize = 32;

/// The columns of one device by name, in lower case: `maj:min`, `size`.
pub(in crate::tools) type Row = BTreeMap<String, String>;

/// A device and the one below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::tools) struct Entry {
    pub(in crate::tools) row: Row,
    /// The disk of a partition, or what the device is built on.
    pub(in crate::tools) below: Option<String>,
}

impl Entry {
    fn get(&self, key: &str) -> Option<&str> {
        self.row.get(key).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The kernel's name where there is one, otherwise the shown one.
    pub(in crate::tools) fn name(&self) -> Option<String> {
        let mapped = self.get("name").map(|name| name.trim_start_matches("/dev/mapper/"));
        let kernel = self.get("kname").map(|name| name.trim_start_matches("/dev/"));
        let name = kernel.or(mapped)?.trim_start_matches("/dev/");
        (!name.is_empty() && name != "." && name != "..").then(|| name.replace('/', "!"))
    }

    /// The shown and the kernel's name of a mapped device.
    fn mapped(&self) -> Option<(String, String)> {
        let shown = self.get("name")?.trim_start_matches("/dev/").trim_start_matches("mapper/");
        let kernel = if let Some(name) = self.get("kname") {
            name.trim_start_matches("/dev/").to_owned()
        } else {
            let minor = self.get("maj:min")?.split_once(':')?.1.parse::<u32>().ok()?;
            let is_mapped = matches!(self.get("type")?, "lvm" | "crypt" | "mpath" | "dm");
            is_mapped.then(|| format!("dm-{minor}"))?
        };
        (shown != kernel).then(|| (shown.replace('/', "!"), kernel))
    }

    /// The entry with the kernel's names.
    fn resolved(&self, mapped: &BTreeMap<String, String>) -> Option<(String, Self)> {
        let shown = self.name()?;
        let name = mapped.get(&shown).cloned().unwrap_or(shown);
        let below = self.below.as_ref().map(|below| mapped.get(below).unwrap_or(below).clone());
        Some((name, Self { row: self.row.clone(), below }))
    }
}

/// The devices of `lsblk --json`.
pub(in crate::tools) fn json(report: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    walk(report.get("blockdevices"), None, 0, &mut entries);
    entries
}

fn walk(list: Option<&Value>, below: Option<&str>, depth: usize, entries: &mut Vec<Entry>) {
    let devices = list.and_then(Value::as_array).into_iter().flatten();
    for device in devices.filter(|_| depth < DEPTH_MAX) {
        let Some(object) = device.as_object() else { continue };
        let row = object.iter().filter_map(|(key, value)| Some((key.clone(), plain(value)?)));
        let entry = Entry { row: row.collect(), below: below.map(str::to_owned) };
        let name = entry.name();
        entries.push(entry);
        walk(device.get("children"), name.as_deref(), depth + 1, entries);
    }
}

/// A value as text; of a list, the first that is one.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(u8::from(*flag).to_string()),
        Value::Array(list) => list.iter().find_map(plain),
        Value::Null | Value::Object(_) => None,
    }
}

/// `KNAME="sda" SIZE="1000204886016"`: a line of `lsblk -P`.
pub(in crate::tools) fn pairs(line: &str) -> Option<Row> {
    let mut row = Row::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        if key.is_empty() || key.contains(' ') || row.len() > 200 {
            return None;
        }
        row.insert(key.to_ascii_lowercase().replace("maj_min", "maj:min"), value.to_owned());
        rest = after.trim_start();
    }
    (row.contains_key("name") || row.contains_key("kname")).then_some(row)
}

/// Adds the devices to the tree.
pub(in crate::tools) fn add(entries: &[Entry], tree: &mut Tree) -> Vec<Facts> {
    let mut facts = Vec::new();
    tree.mapped.extend(entries.iter().filter_map(Entry::mapped));
    for entry in entries {
        let Some((name, entry)) = entry.resolved(&tree.mapped) else { continue };
        let entry = &entry;
        mounted(entry, &name, tree);
        // `lsblk -t`, `-f` and `-D` print no types.
        let kind = entry.get("type");
        if kind == Some("part") || kind.is_none() && disk_of(&name).is_some() {
            partition(entry, &name, tree);
            continue;
        }
        let block = tree.block(&name);
        tree.folder(&block);
        attributes(entry, &block, tree);
        stacked(entry, &name, &block, tree);
        facts.push(of_device(entry, &name));
    }
    facts
}

/// Adds the mount point of a device.
fn mounted(entry: &Entry, name: &str, tree: &mut Tree) {
    let point = entry.get("mountpoint").or_else(|| entry.get("mountpoints"));
    let point = point.and_then(|point| point.lines().next()).filter(|it| it.starts_with('/'));
    let Some(point) = point else { return };
    let kind = tree.mounts.entry((name.to_owned(), point.to_owned())).or_default();
    // One of several outputs has it.
    *kind = kind.take().or_else(|| entry.get("fstype").map(str::to_owned));
}

fn partition(entry: &Entry, name: &str, tree: &mut Tree) {
    let parent = entry.get("pkname").map(str::to_owned).or_else(|| entry.below.clone());
    let Some(disk) = parent.or_else(|| disk_of(name)) else { return };
    let folder = format!("{}/{name}", tree.block(&disk));
    // The number of a partition ends its name.
    let digits = name.rsplit(|c: char| !c.is_ascii_digit()).next();
    tree.set(&format!("{folder}/partition"), digits.filter(|it| !it.is_empty()).unwrap_or("1"));
    tree.set_some(&format!("{folder}/dev"), entry.get("maj:min"));
    tree.set_some(&format!("{folder}/size"), entry.get("size").and_then(bytes).map(|it| it / 512));
    tree.set_some(&format!("{folder}/start"), entry.get("start"));
    tree.set_some(&format!("{folder}/alignment_offset"), entry.get("alignment"));
}

/// `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`.
fn disk_of(partition: &str) -> Option<String> {
    let disk = crate::log::disk_of(partition);
    (disk != partition).then(|| disk.to_owned())
}

fn attributes(entry: &Entry, block: &str, tree: &mut Tree) {
    let size = entry.get("size").and_then(bytes);
    tree.set_some(&format!("{block}/size"), size.map(|bytes| bytes / 512));
    let scheduler = entry.get("sched").map(|name| format!("[{name}]"));
    tree.set_some(&format!("{block}/queue/scheduler"), scheduler);
    let names = [
        ("maj:min", "dev"),
        ("ro", "ro"),
        ("rm", "removable"),
        ("alignment", "alignment_offset"),
        ("rota", "queue/rotational"),
        ("rq-size", "queue/nr_requests"),
        ("ra", "queue/read_ahead_kb"),
        ("phy-sec", "queue/physical_block_size"),
        ("log-sec", "queue/logical_block_size"),
        ("min-io", "queue/minimum_io_size"),
        ("opt-io", "queue/optimal_io_size"),
        ("zoned", "queue/zoned"),
    ];
    for (column, name) in names {
        tree.set_some(&format!("{block}/{name}"), entry.get(column));
    }
    let discard = entry.get("disc-max").and_then(bytes);
    tree.set_some(&format!("{block}/queue/discard_max_bytes"), discard);
}

fn stacked(entry: &Entry, name: &str, block: &str, tree: &mut Tree) {
    let owner = match entry.get("type") {
        Some("lvm") => Some("LVM-"),
        Some("crypt") => Some("CRYPT-"),
        Some("mpath") => Some("mpath-"),
        Some("dm") => Some("dm-"),
        _ => None,
    };
    tree.set_some(&format!("{block}/dm/uuid"), owner);
    if owner.is_some() {
        tree.set_some(&format!("{block}/dm/name"), entry.get("name"));
    }
    let level = entry.get("type").filter(|kind| kind.starts_with("raid") || *kind == "linear");
    tree.set_some(&format!("{block}/md/level"), level);
    // JSON nests the devices, flat lists name the parent.
    let below = entry.get("pkname").map(str::to_owned).or_else(|| entry.below.clone());
    if let Some(below) = below {
        tree.folder(&format!("{block}/slaves/{below}"));
        let disk = disk_of(&below).map(|disk| format!("{}/{below}", tree.block(&disk)));
        let folder = disk.unwrap_or_else(|| tree.block(&below));
        tree.folder(&format!("{folder}/holders/{name}"));
    }
}

fn of_device(entry: &Entry, name: &str) -> Facts {
    let kind = match entry.get("tran") {
        Some("sata" | "ata") => Some(Kind::Ata),
        Some("sas") => Some(Kind::Sas),
        Some("usb") => Some(Kind::Usb),
        Some("nvme") => Some(Kind::Nvme),
        Some("fc" | "iscsi" | "spi") => Some(Kind::Scsi),
        // A disk of the SCSI layer without a transport is one of SATA as often as not.
        _ => None,
    };
    // The network decides about these disks, not their medium.
    let remote = entry.get("tran").filter(|it| matches!(*it, "iscsi" | "fc"));
    Facts {
        tool: "lsblk".to_owned(),
        // Names of mapped devices can be of any length.
        node: node_of(name).or_else(|| Some(name.to_owned())),
        kind,
        transport: remote.map(str::to_owned),
        model: entry.get("model").map(str::to_owned),
        serial: entry.get("serial").map(str::to_owned),
        firmware: entry.get("rev").map(str::to_owned),
        ..Facts::default()
    }
}

/// `1000204886016`, `931.5G`, `4K`: bytes. Decimals may have a comma.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().replace(',', ".");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim() {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "T" | "TiB" => 40,
        "P" | "PiB" => 50,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    // lsblk rounds to one decimal; three are more than it prints.
    let digits = u32::try_from(part.len()).ok().filter(|digits| *digits <= 3)?;
    let part = if part.is_empty() { 0 } else { part.parse::<u64>().ok()? };
    whole.checked_add(part.checked_mul(1 << shift)? / 10_u64.pow(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_any_unit() {
        let cases = [
            ("1000204886016", Some(1_000_204_886_016)),
            ("931.5G", Some(1_000_190_509_056)),
            ("931,5G", Some(1_000_190_509_056)),
            ("4K", Some(4096)),
            ("0B", Some(0)),
            ("16P", Some(16 << 50)),
            ("99999999999999999999", None),
            ("x", None),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn tables_name_mapped_devices_and_the_kernel_counts_them() {
        let mut tree = Tree::default();
        let long = "vg-of-a-machine--with--a--name--of--many--letters";
        let table = [
            "NAME                                                MAJ:MIN TYPE MOUNTPOINT"
                .to_owned(),
            "sda                                                   8:0   disk ".to_owned(),
            format!("`-{long} 253:4   lvm  /srv"),
        ];
        let lines: Vec<&str> = table.iter().map(String::as_str).collect();
        let facts = add(&rows(&lines), &mut tree);
        let nodes: Vec<Option<&str>> = facts.iter().map(|facts| facts.node.as_deref()).collect();
        assert_eq!(nodes, [Some("sda"), Some("dm-4")]);
        // Another table has neither number nor type, and names the file system.
        let table = [
            "NAME                                              FSTYPE MOUNTPOINT".to_owned(),
            format!("{long} xfs    /srv"),
        ];
        let lines: Vec<&str> = table.iter().map(String::as_str).collect();
        let facts = add(&rows(&lines), &mut tree);
        assert_eq!(facts[0].node.as_deref(), Some("dm-4"));
        let mounts: Vec<_> = tree.mounts.into_iter().collect();
        assert_eq!(mounts, [(("dm-4".into(), "/srv".into()), Some("xfs".into()))]);
    }

    #[test]
    fn pairs_are_read() {
        let row = pairs("NAME=\"sda\" MAJ:MIN=\"8:0\" MODEL=\"a b\"").unwrap();
        assert_eq!(row["model"], "a b");
        assert_eq!(row["maj:min"], "8:0");
        assert_eq!(pairs("kernel: x=\"1\""), None);
    }
}
