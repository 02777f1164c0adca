//! Options by which a user made the kernel treat disks differently.

use serde::{Deserialize, Serialize};

use crate::root::Root;

/// Options of the kernel command line that change how disks are driven.
const OPTIONS: &[&str] = &[
    "libata.force",
    "libata.dma",
    "libata.noacpi",
    "libata.ignore_hpa",
    "ahci.",
    "ata_piix.",
    "nvme.",
    "nvme_core.",
    "scsi_mod.",
    "usb-storage.quirks",
    "usb_storage.quirks",
    "elevator",
    "dm_mod.use_blk_mq",
    "pcie_aspm",
    "pcie_port_pm",
    "pci=noaer",
    "pci=nomsi",
];

/// Parameters of modules that change how disks are driven, each with the value that a kernel has by
/// itself: `modprobe.d` sets them without a trace on the command line.
const PARAMETERS: &[(&str, &str, &str)] = &[
    ("libata", "dma", "7"),
    ("libata", "noacpi", "0"),
    ("libata", "ignore_hpa", "0"),
    ("nvme_core", "default_ps_max_latency_us", "100000"),
    ("nvme_core", "force_apst", "N"),
    ("nvme_core", "io_timeout", "30"),
    ("usb_storage", "quirks", ""),
];
/// Options of the legacy request queues, which Linux 5.0 removed (`block/elevator.c`,
/// `drivers/scsi/scsi.c`, `drivers/md/dm-rq.c`).
const LEGACY: &[&str] = &["elevator", "scsi_mod.use_blk_mq", "dm_mod.use_blk_mq"];

/// A drive on an ATA port: 2 and 1 for `ata2.01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtaUnit {
    /// The port, from 1.
    pub port: u32,
    /// The drive on it, from 0.
    pub device: u32,
}

/// One option, or one value of `libata.force`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forced {
    /// As written: `libata.force=2.00:noncq`.
    pub option: String,
    /// The file in which it was found.
    pub source: String,
    /// The ATA port, and the drive on it, that it applies to; `None` for all.
    pub port: Option<(u32, Option<u32>)>,
    /// Its value: `noncq`.
    pub value: String,
}

impl Forced {
    /// Returns whether it changes the ATA drive.
    pub(crate) fn applies_to_ata(&self, AtaUnit { port, device }: AtaUnit) -> bool {
        let name = &self.option;
        let ata = ["libata.", "ahci.", "ata_piix."].iter().any(|module| name.starts_with(module));
        ata && self.port.is_none_or(|(forced, drive)| {
            forced == port && drive.is_none_or(|drive| drive == device)
        })
    }

    /// Returns whether it turns native command queuing on or off; `None` if it does neither.
    fn ncq(&self) -> Option<bool> {
        // The kernel ignores the case (`drivers/ata/libata-core.c`, `ata_parse_force_one`). It
        // takes abbreviations too, but one of `noncq` could mean `noncqtrim`, and is refused.
        match self.value.to_ascii_lowercase().as_str() {
            "noncq" => Some(false),
            "ncq" => Some(true),
            _ => None,
        }
    }

    /// Returns whether it limits the speed of the link: the kernel takes `1.5` and `3.0` for
    /// `1.5Gbps` and `3.0Gbps`.
    pub(crate) fn limits_speed(&self) -> bool {
        let value = self.value.to_ascii_lowercase();
        !value.is_empty() && ["1.5gbps", "3.0gbps"].iter().any(|speed| speed.starts_with(&value))
    }

    /// True for an option that only kernels before 5.0 obey.
    pub(crate) fn is_legacy(&self) -> bool {
        LEGACY.iter().any(|name| self.option.split('=').next() == Some(name))
    }

    /// The module that it applies to: `nvme_core`, or `elevator` for all disks.
    pub fn module(&self) -> &str {
        self.option.split(['.', '=']).next().unwrap_or("")
    }
}

/// Returns the option that turns native command queuing of the drive off. Of several the last one
/// counts, as in the kernel.
pub(crate) fn noncq(all: &[Forced], unit: AtaUnit) -> Option<&Forced> {
    let applying = all.iter().filter(|forced| forced.applies_to_ata(unit));
    let (forced, on) = applying.filter_map(|forced| Some((forced, forced.ncq()?))).next_back()?;
    (!on).then_some(forced)
}

pub(crate) fn read(root: &Root) -> Vec<Forced> {
    let mut found = Vec::new();
    let line = root.text("proc/cmdline", crate::root::ATTRIBUTE_BYTES_MAX).unwrap_or_default();
    for option in line.split_whitespace() {
        let Some((name, value)) = option.split_once('=') else { continue };
        if name == "libata.force" {
            found.extend(libata(value, "/proc/cmdline"));
        } else if OPTIONS.iter().any(|known| option.starts_with(known)) {
            found.push(Forced {
                option: option.to_owned(),
                source: "/proc/cmdline".into(),
                port: None,
                value: value.to_owned(),
            });
        }
    }
    for new in libata_parameter(root).into_iter().chain(parameters(root)) {
        let name = spelling(&new.option);
        // An option of the command line is visible as a parameter as well, and is shown once.
        if !found.iter().any(|old| spelling(&old.option) == name) {
            found.push(new);
        }
    }
    found
}

/// Returns an option as modules spell it, with underscores for hyphens.
fn spelling(option: &str) -> String {
    option.replace('-', "_")
}

fn libata_parameter(root: &Root) -> Vec<Forced> {
    let node = root.node("sys/module/libata/parameters");
    // The kernel prints `(null)` for a text that was never set.
    let force = node.and_then(|node| node.text("force")).filter(|force| force != "(null)");
    force.map(|force| libata(&force, "/sys/module/libata/parameters/force")).unwrap_or_default()
}

/// Returns the parameters of modules that differ from the kernel's own values.
fn parameters(root: &Root) -> Vec<Forced> {
    let mut found = Vec::new();
    for (module, name, usual) in PARAMETERS {
        let folder = format!("sys/module/{module}/parameters");
        let value = root.node(&folder).and_then(|node| node.text(name));
        let Some(value) = value.filter(|value| value != usual && value != "(null)") else {
            continue;
        };
        found.push(Forced {
            option: format!("{module}.{name}={value}"),
            source: format!("/{folder}/{name}"),
            port: None,
            value,
        });
    }
    found
}

/// The options of a kernel command line that concern disks; for a capture, which keeps nothing
/// else.
pub(crate) fn about_disks(line: &str) -> String {
    let options = line.split_whitespace();
    let kept: Vec<&str> =
        options.filter(|option| OPTIONS.iter().any(|name| option.starts_with(name))).collect();
    kept.join(" ") + "\n"
}

/// `[ID:]VAL,...`: an omitted ID is the previous one
/// (`Documentation/admin-guide/kernel-parameters.txt`).
fn libata(text: &str, source: &str) -> Vec<Forced> {
    let mut port = None;
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (id, value) = match part.split_once(':') {
            Some((id, value)) => (Some(id.trim()), value.trim()),
            None => (None, part),
        };
        // Without an ID the value applies to the port of the one before. The kernel skips a value
        // whose ID it cannot read.
        if let Some(id) = id {
            let Some(unit) = unit(id) else { continue };
            port = Some(unit);
        }
        let prefix = port.map(|(port, device): (u32, Option<u32>)| match device {
            Some(device) => format!("{port}.{device:02}:"),
            None => format!("{port}:"),
        });
        found.push(Forced {
            option: format!("libata.force={}{value}", prefix.unwrap_or_default()),
            source: source.to_owned(),
            port,
            value: value.to_owned(),
        });
    }
    found
}

/// `2` or `2.01`.
fn unit(id: &str) -> Option<(u32, Option<u32>)> {
    match id.split_once('.') {
        Some((port, device)) => Some((port.parse().ok()?, Some(device.parse().ok()?))),
        None => Some((id.parse().ok()?, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_of_libata_force_knows_its_drive() {
        let check = |text, (port, device), expected: &[&str]| {
            let unit = AtaUnit { port, device };
            let forced = libata(text, "test");
            let applying = forced.iter().filter(|forced| forced.applies_to_ata(unit));
            let values: Vec<&str> = applying.map(|forced| forced.value.as_str()).collect();
            assert_eq!(values, expected, "{text} for {unit:?}");
        };
        check("noncq", (1, 0), &["noncq"]);
        check("noncq,1.5Gbps", (7, 1), &["noncq", "1.5Gbps"]);
        check("2:noncq,1.5Gbps", (2, 0), &["noncq", "1.5Gbps"]);
        check("2:noncq,1.5Gbps", (1, 0), &[]);
        check("2.01:noncq", (2, 0), &[]);
        check("2.01:noncq,3:1.5Gbps", (3, 0), &["1.5Gbps"]);
        check("", (1, 0), &[]);
        check(" 2 : noncq ", (2, 0), &["noncq"]);
        check("x:noncq", (1, 0), &[]);
        check("2:1.5Gbps,x:noncq,disable", (2, 0), &["1.5Gbps", "disable"]);
    }

    #[test]
    fn the_last_option_about_command_queuing_counts_in_any_case() {
        let check = |text, expected: Option<&str>| {
            let forced = libata(text, "test");
            let found = noncq(&forced, AtaUnit { port: 1, device: 0 });
            assert_eq!(found.map(|forced| forced.option.as_str()), expected, "{text}");
        };
        check("noncq", Some("libata.force=noncq"));
        check("NoNCQ", Some("libata.force=NoNCQ"));
        check("noncq,ncq", None);
        check("ncq,1:noncq", Some("libata.force=1:noncq"));
        check("noncq,2:ncq", Some("libata.force=noncq"));
        check("noncqtrim", None);
        check("2:noncq", None);
    }

    #[test]
    fn a_limit_of_speed_may_be_abbreviated() {
        let check = |text, expected| {
            assert_eq!(libata(text, "test")[0].limits_speed(), expected, "{text}");
        };
        check("1.5Gbps", true);
        check("2:3.0gbps", true);
        check("1.5", true);
        check("noncq", false);
        check("2:", false);
    }

    #[test]
    fn a_captured_boot_line_holds_options_of_disks_only() {
        let line = "root=UUID=1234 quiet libata.force=noncq nvme_core.io_timeout=30 user=me";
        assert_eq!(about_disks(line), "libata.force=noncq nvme_core.io_timeout=30\n");
    }
}
