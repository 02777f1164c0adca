//! `lspci -vvnn`: class, driver and links of the PCI functions.

use std::collections::BTreeMap;

use super::tree::Tree;

/// Maximum number of functions; no machine has more.
const FUNCTIONS_MAX: usize = 4096;

/// The facts about one function.
#[derive(Debug, Default)]
struct Function<'a> {
    address: String,
    class: Option<u32>,
    id: Option<(&'a str, &'a str)>,
    driver: Option<&'a str>,
    node: Option<u32>,
    /// The bus behind a bridge.
    bus: Option<&'a str>,
    /// Speed and width: what it can, and what it does.
    capable: Option<(&'a str, &'a str)>,
    present: Option<(&'a str, &'a str)>,
    denied: bool,
}

/// Adds the functions to the tree; returns whether the tool was not allowed to read the links.
pub(in crate::tools) fn add(lines: &[&str], tree: &mut Tree) -> bool {
    let found = functions(lines);
    // The bridge that leads to each bus.
    let bridges: BTreeMap<String, &Function<'_>> = found
        .iter()
        .filter_map(|bridge| {
            let (domain, _) = bridge.address.split_once(':')?;
            Some((format!("{domain}:{}", bridge.bus?), bridge))
        })
        .collect();
    for function in &found {
        let known = tree.function(&function.address);
        let folder = known.unwrap_or_else(|| folder(function, &bridges));
        attributes(tree, &folder, function);
        tree.link(&format!("sys/bus/pci/devices/{}", function.address), &format!("/{folder}"));
    }
    found.iter().any(|function| function.denied)
}

/// `0000:00:1f.2` from `00:1f.2 SATA controller [0106]: ...`; `None` for any other line.
pub(in crate::tools) fn address(line: &str) -> Option<String> {
    let word = line.split(' ').next()?;
    let whole =
        if word.matches(':').count() == 1 { format!("0000:{word}") } else { word.to_owned() };
    let described = line.len() > word.len() + 4 && line[word.len()..].contains(": ");
    (crate::log::is_address(&whole) && described).then_some(whole)
}

fn functions<'a>(lines: &[&'a str]) -> Vec<Function<'a>> {
    let mut found: Vec<Function<'a>> = Vec::new();
    for line in lines {
        if let Some(address) = address(line) {
            if found.len() >= FUNCTIONS_MAX {
                break;
            }
            let class = in_brackets(line).next().and_then(|it| u32::from_str_radix(it, 16).ok());
            let id = in_brackets(line).find_map(|it| it.split_once(':').filter(|_| it.len() == 9));
            // Without the class there are only words for people (no `-nn`).
            let interface = line.split_once("(prog-if ").and_then(|(_, rest)| rest.get(..2));
            let interface = interface.and_then(|it| u32::from_str_radix(it, 16).ok());
            let class = class.filter(|class| *class <= 0xffff);
            let (number, numbers) = numeric(line).unzip();
            let id = id.or(numbers);
            let class = class.or(number).or_else(|| class_of(line)).map(|class| {
                class << 8
                    | interface.unwrap_or_else(|| u32::from(class == 0x0106 || class == 0x0108))
            });
            found.push(Function { address, class, id, ..Function::default() });
        } else if let Some(function) = found.last_mut() {
            detail(function, line.trim());
        }
    }
    found
}

/// Class, vendor and device in the output of `lspci -n`: `00:01.1 0101: 8086:7010 (prog-if 80)`;
/// old versions write `Class 0101:`.
fn numeric(line: &str) -> Option<(u32, (&str, &str))> {
    let mut words = line.split_whitespace().skip(1).filter(|word| *word != "Class");
    let class = words.next()?.strip_suffix(':').filter(|class| class.len() == 4)?;
    let id = words.next()?.split_once(':')?;
    let good = [id.0, id.1]
        .iter()
        .all(|part| part.len() == 4 && part.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let class = u32::from_str_radix(class, 16).ok()?;
    good.then_some((class, id))
}

/// The class by the words for it, for output without numbers.
fn class_of(line: &str) -> Option<u32> {
    let classes = [
        ("IDE interface:", 0x0101),
        ("SATA controller:", 0x0106),
        ("RAID bus controller:", 0x0104),
        ("Non-Volatile memory controller:", 0x0108),
        ("Serial Attached SCSI controller:", 0x0107),
        ("SCSI storage controller:", 0x0100),
        ("Mass storage controller:", 0x0180),
        ("PCI bridge:", 0x0604),
    ];
    classes.iter().find(|(words, _)| line.contains(words)).map(|(_, class)| *class)
}

/// The texts in brackets without anything but digits and colons: `[0106]`, `[8086:1c03]`.
fn in_brackets(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split('[').skip(1).filter_map(|part| part.split(']').next());
    parts.filter(|it| {
        matches!(it.len(), 4 | 9) && it.bytes().all(|b| b.is_ascii_hexdigit() || b == b':')
    })
}

fn detail<'a>(function: &mut Function<'a>, line: &'a str) {
    if let Some(driver) = line.strip_prefix("Kernel driver in use: ") {
        function.driver = Some(driver.trim());
    } else if let Some(node) = line.strip_prefix("NUMA node: ") {
        function.node = node.trim().parse().ok();
    } else if let Some(buses) = line.strip_prefix("Bus: ") {
        let second = buses.split("secondary=").nth(1).and_then(|rest| rest.get(..2));
        function.bus = second;
    } else if line.starts_with("LnkCap:") {
        function.capable = function.capable.or_else(|| link(line));
    } else if line.starts_with("LnkSta:") {
        function.present = function.present.or_else(|| link(line));
    } else if line.contains("<access denied>") {
        function.denied = true;
    }
}

/// `LnkSta: Speed 8GT/s (ok), Width x2 (downgraded)`: `8` and `2`.
fn link(line: &str) -> Option<(&str, &str)> {
    let speed = line.split("Speed ").nth(1)?.split("GT/s").next()?;
    let width = line.split("Width x").nth(1)?;
    let end = width.find(|c: char| !c.is_ascii_digit()).unwrap_or(width.len());
    let good = speed.len() <= 5 && speed.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (good && end > 0).then_some((speed, &width[..end]))
}

/// The folder of a function, through the bridges above it.
fn folder(function: &Function<'_>, bridges: &BTreeMap<String, &Function<'_>>) -> String {
    let mut parts = vec![function.address.clone()];
    let mut address = function.address.as_str();
    while let Some((bus, _)) = address.rsplit_once(':') {
        // A damaged output could have bridges in a circle.
        let above = bridges.get(bus).filter(|bridge| !parts.contains(&bridge.address));
        let Some(bridge) = above else {
            parts.push(format!("pci{bus}"));
            break;
        };
        parts.push(bridge.address.clone());
        address = &bridge.address;
    }
    parts.reverse();
    format!("sys/devices/{}", parts.join("/"))
}

fn attributes(tree: &mut Tree, folder: &str, function: &Function<'_>) {
    tree.folder(folder);
    let class = function.class.map(|class| format!("0x{class:06x}"));
    tree.set_some(&format!("{folder}/class"), class);
    if let Some((vendor, device)) = function.id {
        tree.set(&format!("{folder}/vendor"), &format!("0x{vendor}"));
        tree.set(&format!("{folder}/device"), &format!("0x{device}"));
    }
    if let Some(driver) = function.driver {
        tree.link(&format!("{folder}/driver"), &format!("/sys/bus/pci/drivers/{driver}"));
    }
    tree.set_some(&format!("{folder}/numa_node"), function.node);
    for (name, link) in [("max", function.capable), ("current", function.present)] {
        let Some((speed, width)) = link else { continue };
        // Sysfs prints one decimal, lspci none.
        let speed = if speed.contains('.') { speed.to_owned() } else { format!("{speed}.0") };
        tree.set(&format!("{folder}/{name}_link_speed"), &format!("{speed} GT/s PCIe"));
        tree.set(&format!("{folder}/{name}_link_width"), width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_words_or_numbers() {
        let check = |line: &str, class, id| {
            let found = functions(&[line]);
            assert_eq!((found[0].class, found[0].id), (class, id), "{line}");
        };
        let piix = Some(("8086", "7010"));
        check("00:01.1 0101: 8086:7010 (prog-if 80 [Master])", Some(0x01_0180), piix);
        check("00:01.1 Class 0101: 8086:7010 (prog-if 80)", Some(0x01_0180), piix);
        check(
            "00:01.1 IDE interface [0101]: Intel [8086:7010] (prog-if 80)",
            Some(0x01_0180),
            piix,
        );
        check("00:01.1 IDE interface: Intel PIIX3 (prog-if 80)", Some(0x01_0180), None);
        check("00:03.0 Ethernet controller: Intel 82599: a port", None, None);
    }
}
