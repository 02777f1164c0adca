//! The outputs in a text: a post has several, each below its command.

use super::machine::{lsblk, lspci};

/// The tool that printed a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tool {
    Smartctl,
    Lsblk,
    LsblkPairs,
    Udev,
    NvmeList,
    NvmeSmart,
    Lspci,
    Hwinfo,
    Hdparm,
}

/// Lines of one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section<'a> {
    pub(super) tool: Tool,
    pub(super) lines: Vec<&'a str>,
    /// The last device file that was named before it, on the line of its command.
    pub(super) device: Option<&'a str>,
}

/// Splits a text; the second part are the lines that belong to no output.
pub(super) fn split(text: &str) -> (Vec<Section<'_>>, Vec<&str>) {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut rest): (Vec<Section<'_>>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut device = None;
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim_end_matches('\r');
        let begins = begin(line, &lines[index + 1..], found.last());
        if let Some(tool) = begins {
            let device = if tool == Tool::Smartctl { device.take() } else { None };
            found.push(Section { tool, lines: vec![line], device });
            continue;
        }
        let open = found.last_mut().filter(|section| section.takes(line));
        if let Some(section) = open {
            section.lines.push(line);
        } else {
            device = named(line).or(device);
            rest.push(line);
            // An empty part ends what came before.
            if let Some(last) = found.last_mut() {
                last.close();
            }
        }
    }
    found.retain(|section| !section.lines.is_empty());
    for section in &mut found {
        // The mark is for the splitting alone; readers see the lines of the tool.
        section.lines.retain(|line| *line != END);
    }
    (found, rest)
}

/// The mark of an output that has ended.
const END: &str = "\u{0}end";

impl Section<'_> {
    fn close(&mut self) {
        if self.lines.last() != Some(&END) {
            self.lines.push(END);
        }
    }

    /// Returns whether a line continues the output.
    fn takes(&self, line: &str) -> bool {
        if self.lines.last() == Some(&END) || is_command(line) {
            return false;
        }
        match self.tool {
            // Free text in many forms: only another output or a command ends it.
            Tool::Smartctl | Tool::Hdparm | Tool::Hwinfo => true,
            Tool::Udev => line.len() < 2 || line.as_bytes().get(1) == Some(&b':'),
            // The facts of a function are indented below its line.
            Tool::Lspci => line.trim().is_empty() || line.starts_with([' ', '\t']),
            Tool::NvmeSmart => line.contains(':') || line.trim().is_empty(),
            Tool::Lsblk => !line.trim().is_empty(),
            Tool::NvmeList => line.starts_with("/dev/") || line.starts_with("---"),
            Tool::LsblkPairs => false,
        }
    }
}

/// The tool whose output begins with a line.
fn begin(line: &str, next: &[&str], open: Option<&Section<'_>>) -> Option<Tool> {
    let word = line.split_whitespace().next()?;
    let second = line.split_whitespace().nth(1);
    if line.starts_with("smartctl ") && second.is_some_and(is_version) {
        return Some(Tool::Smartctl);
    }
    // A post often lacks the first line.
    let is_part = open.is_some_and(|it| it.tool == Tool::Smartctl && it.lines.last() != Some(&END));
    let heads = ["=== START OF INFORMATION", "=== START OF READ SMART DATA", "ID# ATTRIBUTE_NAME"];
    if !is_part && (heads.iter().any(|head| line.starts_with(head)) || is_attribute(line)) {
        return Some(Tool::Smartctl);
    }
    if line.starts_with("P: /devices/") {
        return Some(Tool::Udev);
    }
    let log =
        line.get(..26).is_some_and(|it| it.eq_ignore_ascii_case("Smart Log for NVME device:"));
    if log {
        return Some(Tool::NvmeSmart);
    }
    if lsblk::is_header(line) {
        return Some(Tool::Lsblk);
    }
    if word.contains("=\"") && lsblk::pairs(line).is_some() {
        return Some(Tool::LsblkPairs);
    }
    // Other tables begin with this word, too: the rule below decides.
    if word == "Node"
        && line.contains("Model")
        && next.first().is_some_and(|it| it.starts_with("---"))
    {
        return Some(Tool::NvmeList);
    }
    if lspci::address(line).is_some() {
        return Some(Tool::Lspci);
    }
    if is_hwinfo(line) {
        return Some(Tool::Hwinfo);
    }
    let identity = line.trim_start().starts_with("ATA device, with");
    if identity && open.is_none_or(|it| it.tool != Tool::Hdparm || it.lines.len() > 4) {
        return Some(Tool::Hdparm);
    }
    let ata = next.iter().take(3).any(|it| it.trim_start().starts_with("ATA device, with"));
    (line.starts_with("/dev/") && line.trim_end().ends_with(':') && ata).then_some(Tool::Hdparm)
}

/// `197 Current_Pending_Sector -O--C- 100 100 000 - 8`, which people paste alone.
fn is_attribute(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(6).collect();
    let [number, name, flags, values @ ..] = words.as_slice() else { return false };
    let flagged = flags.starts_with("0x") || flags.len() == 6 && flags.contains('-');
    number.parse::<u8>().is_ok()
        && name.contains('_')
        && flagged
        && values.len() == 3
        && values.iter().all(|value| value.len() == 3 && value.parse::<u8>().is_ok())
}

/// `7.3`, `pre-7.4`, `5.41`.
fn is_version(word: &str) -> bool {
    let word = word.trim_start_matches("pre-");
    word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')
}

/// `27: IDE 00.0: 10600 Disk`, and the head of any other device in the output of `hwinfo`.
fn is_hwinfo(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let number = words.next().and_then(|word| word.strip_suffix(':'));
    // Attributes are indented and have no class in hexadecimal digits.
    let counted = number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()));
    let slot = words.nth(1).and_then(|word| word.strip_suffix(':'));
    let placed = slot.is_some_and(|it| it.contains('.'));
    let class = words.next().unwrap_or_default();
    counted && placed && class.len() >= 4 && class.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `$ sudo smartctl -x /dev/sda`, `root@host:~# lsblk`.
fn is_command(line: &str) -> bool {
    let tools =
        ["smartctl ", "hdparm ", "lsblk", "lspci", "nvme ", "hwinfo", "udevadm ", "dmesg", "cat "];
    let Some((before, rest)) = line.split_once(['$', '#']) else { return false };
    let rest = rest.trim_start().trim_start_matches("sudo ").trim_start();
    // A dollar sign or a hash within a sentence is no prompt.
    let prompt = before.is_empty() || before.contains(['@', '~', ':', ']', '>']) || before == "[";
    prompt && tools.iter().any(|tool| rest.starts_with(tool))
}

/// The device file that a line names.
fn named(line: &str) -> Option<&str> {
    let at = line.find("/dev/")?;
    line[at..].split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(text: &str) -> Vec<(Tool, usize)> {
        split(text).0.iter().map(|section| (section.tool, section.lines.len())).collect()
    }

    #[test]
    fn a_post_has_several_outputs() {
        let text = "I have this problem:\n\
                    $ lsblk\n\
                    NAME MAJ:MIN SIZE TYPE\n\
                    sda  8:0     1T   disk\n\
                    \n\
                    root@box:~# smartctl -x /dev/sda\n\
                    smartctl 7.2 2020-12-30 r5155 [x86_64-linux]\n\
                    === START OF INFORMATION SECTION ===\n\
                    Device Model:     ST1000\n\
                    root@box:~# hdparm -I /dev/sda\n\
                    \n\
                    /dev/sda:\n\
                    \n\
                    ATA device, with non-removable media\n\
                    \tModel Number: ST1000\n";
        let (sections, rest) = split(text);
        let found: Vec<Tool> = sections.iter().map(|section| section.tool).collect();
        assert_eq!(found, [Tool::Lsblk, Tool::Smartctl, Tool::Hdparm]);
        assert_eq!(sections[1].device, Some("/dev/sda"));
        assert!(rest.contains(&"I have this problem:"));
    }

    #[test]
    fn attributes_are_pasted_alone() {
        let pasted =
            "Look at these:\n197 Current_Pending_Sector  -O--C-   100   100   000    -    8\n";
        assert_eq!(tools(pasted), [(Tool::Smartctl, 1)]);
        let old = "  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always - 0\n";
        assert_eq!(tools(old), [(Tool::Smartctl, 1)]);
        assert_eq!(tools("5 of_them 0x12 are 100 200\n"), []);
    }

    #[test]
    fn blocks_of_devices_are_sections() {
        assert_eq!(
            tools("P: /devices/a\nE: X=1\n\nP: /devices/b\nE: X=2\n"),
            [(Tool::Udev, 3), (Tool::Udev, 2)]
        );
        assert_eq!(
            tools(
                "00:1f.2 SATA controller [0106]: Intel [8086:1c03]\n\tLnkSta: x\n\n\
                 00:1f.3 SMBus: y z\n"
            ),
            [(Tool::Lspci, 3), (Tool::Lspci, 1)]
        );
        assert_eq!(tools("just a text\nwith: colons\n"), []);
    }
}
