//! Factors that arms can declare to differ in, and the facts that follow from them.

use crate::config::nearest;
use crate::{Invalid, invalid};

/// A property in which arms may be declared to differ.
#[derive(Debug)]
pub struct Factor {
    /// Its spelling in the study file and in `--factor`.
    pub name: &'static str,
    /// Other spellings, as words in one string.
    aliases: &'static str,
    /// The facts that the factor consists of.
    pub own: &'static [&'static str],
    /// The facts that necessarily change with it, regardless of the cause.
    follows: &'static str,
    /// Words of a command or an instruction that refer to it.
    words: &'static str,
}

const NONE: Factor = Factor { name: "", aliases: "", own: &[], follows: "", words: "" };

fn is_among(word: &str, words: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

impl Factor {
    /// True if `fact` changes with it.
    pub fn covers(&self, fact: &str) -> bool {
        // Findings are conclusions from other facts, and never a cause.
        fact == "findings"
            || self.own.contains(&fact)
            || is_among(fact, self.follows)
            || {
                // A different drive differs in all that a drive has; `on` names another one.
                ["drive", "on"].contains(&self.name) && !MACHINE.contains(&fact)
            }
            // Facts of a device that is made of others begin with its kind: `md.level`.
            || self.name == "stack" && fact.contains('.')
    }
}

/// Facts of the machine and the run, not of a drive.
const MACHINE: [&str; 7] = [
    "kernel",
    "ioengine",
    "direct",
    "cpu_governor",
    "kernel_options",
    "memory_bytes",
    "processor_cost",
];

/// The driver, and with it the number of requests, follows from the mode of the controller;
/// `nr_requests` does not. It can be set separately and accounts for much of the difference (the
/// studies of AHCI against IDE have arms for it). Ordered so that a cause comes before its
/// consequences.
const FACTORS: &[Factor] = &[
    Factor { name: "drive", own: &["model", "capacity_bytes"], aliases: "disk target", ..NONE },
    Factor {
        name: "controller",
        own: &["controller"],
        aliases: "mode ahci ide",
        follows: "driver pci_id host_driver usb_driver kind queue_depth ncq ncq_off_cause dispatch \
            order hardware_queues tags link_gbps link_policy wire_mb_per_s max_sectors_kb \
            transfer_mode shares_port",
        words: "ahci ide raid controller hba",
    },
    Factor {
        name: "queue-depth",
        own: &["queue_depth"],
        aliases: "tags depth",
        follows: "ncq ncq_off_cause order tags dispatch",
        words: "queue_depth",
    },
    Factor {
        name: "ncq",
        own: &["ncq"],
        follows: "ncq_off_cause queue_depth order tags dispatch kernel_options",
        words: "ncq noncq",
        ..NONE
    },
    Factor {
        name: "scheduler",
        own: &["scheduler"],
        aliases: "elevator",
        // The kernel resets these with each scheduler: `blk_mq_init_sched`, `wbt_disable_default`.
        follows: "nr_requests wbt_lat_usec",
        words: "scheduler elevator",
    },
    Factor { name: "nr-requests", own: &["nr_requests"], words: "nr_requests", ..NONE },
    Factor {
        name: "write-cache",
        own: &["write_cache", "write_cache_kernel"],
        aliases: "cache",
        follows: "fua write_cache_bytes",
        words: "write_cache cache_type write-cache -w0 -w1 wce",
    },
    Factor {
        name: "link",
        own: &["link_gbps", "pcie_link"],
        aliases: "link-speed",
        follows: "wire_mb_per_s transfer_mode kernel_options",
        words: "link gbps",
    },
    Factor { name: "completion", own: &["completion"], ..NONE },
    Factor { name: "queues", own: &["queues"], ..NONE },
    Factor { name: "scale", own: &["scale"], follows: "capacity_bytes", ..NONE },
    Factor { name: "precondition", own: &["precondition"], ..NONE },
    Factor { name: "spare", own: &["spare_bytes"], aliases: "over-provisioning", ..NONE },
    Factor { name: "trimmed", own: &["trimmed"], aliases: "trim discard", ..NONE },
    Factor { name: "tier", own: &["tier"], follows: "tier_warm page_cache_bytes", ..NONE },
    Factor { name: "tier-warm", own: &["tier_warm"], ..NONE },
    Factor { name: "memory", own: &["page_cache_bytes", "memory_bytes"], ..NONE },
    Factor { name: "processor", own: &["processor_cost"], ..NONE },
    Factor { name: "pcie", own: &["pcie"], words: "pcie", ..NONE },
    Factor {
        name: "dispatch",
        own: &["dispatch"],
        follows: "queue_depth tags ncq",
        words: "dispatch",
        ..NONE
    },
    Factor {
        name: "read-ahead",
        own: &["read_ahead_kb"],
        aliases: "readahead",
        words: "read_ahead_kb setra read-ahead readahead",
        ..NONE
    },
    Factor {
        name: "power",
        own: &["link_policy", "runtime_control"],
        aliases: "link-policy",
        words: "link_power_management_policy",
        ..NONE
    },
    Factor {
        name: "governor",
        own: &["cpu_governor"],
        aliases: "cpu-governor",
        words: "scaling_governor governor",
        ..NONE
    },
    Factor {
        name: "mount-options",
        own: &["mount_options"],
        aliases: "mount",
        words: "remount barrier nobarrier",
        ..NONE
    },
    Factor {
        name: "file-system",
        own: &["file_system"],
        aliases: "fs filesystem",
        follows: "mount_options",
        words: "mkfs",
    },
    Factor { name: "direct", own: &["direct"], aliases: "page-cache", ..NONE },
    Factor { name: "ioengine", own: &["ioengine"], aliases: "engine", ..NONE },
    Factor { name: "kernel", own: &["kernel"], follows: "kernel_options", ..NONE },
    // A file system is mounted with the stripes of the stack: `stripe=256` of ext4.
    Factor {
        name: "stack",
        own: &["stack"],
        aliases: "raid",
        follows: "made_of mount_options",
        ..NONE
    },
    Factor { name: "channels", own: &["channels"], follows: "shares_port", ..NONE },
    Factor { name: "on", own: &["on"], ..NONE },
];

/// The factors that can be declared.
pub fn names() -> Vec<&'static str> {
    FACTORS.iter().map(|factor| factor.name).collect()
}

/// All factors, causes first.
pub fn all() -> &'static [Factor] {
    FACTORS
}

/// The factor called `name`, by any of its names or by one of its facts.
pub fn find(name: &str) -> Option<&'static Factor> {
    // Factors are spelled with dashes, facts with underscores.
    let spelled = name.to_lowercase().replace('_', "-");
    let own = name.to_lowercase().replace('-', "_");
    FACTORS.iter().find(|factor| {
        factor.name == spelled
            || is_among(&spelled, factor.aliases)
            || factor.own.contains(&own.as_str())
    })
}

/// Reads the name of a declared factor; refuses an unknown one with the most similar name.
pub fn read(name: &str) -> Result<&'static str, Invalid> {
    let found = find(name).map(|factor| factor.name);
    found.ok_or_else(|| match nearest(name, names()) {
        Some(meant) => invalid!("unknown factor `{name}`; did you mean `{meant}`?"),
        None => invalid!("unknown factor `{name}`; known: `{}`", names().join("`, `")),
    })
}

/// The factors that a command or an instruction mentions: `echo none > .../queue/scheduler`.
pub fn named_in(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).collect();
    let mut named = Vec::new();
    for factor in FACTORS {
        // An option may be written with dashes: `-w0`, `--queue_depth`.
        let is_named = factor.words.split_whitespace().any(|known| {
            words.iter().any(|word| *word == known || word.trim_start_matches('-') == known)
        });
        if is_named {
            named.push(factor.name);
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_read_by_any_of_their_names() {
        let check = |name: &str, expected| assert_eq!(read(name), Ok(expected));
        check("scheduler", "scheduler");
        check("queue_depth", "queue-depth");
        check("tags", "queue-depth");
        check("write_cache", "write-cache");
        check("AHCI", "controller");
        let wrong = read("shceduler").unwrap_err();
        assert!(wrong.0.contains("did you mean `scheduler`"), "{wrong}");
        assert!(read("moon").unwrap_err().0.contains("known: `drive`, `controller`"));
    }

    #[test]
    fn a_stack_changes_what_the_target_is_made_of() {
        let stack = find("stack").unwrap();
        for fact in ["made_of", "mount_options", "md.chunk_kb", "dm.read_ahead_kb"] {
            assert!(stack.covers(fact), "{fact}");
        }
        assert!(!stack.covers("scheduler") && !stack.covers("file_system"));
        assert!(!find("controller").unwrap().covers("made_of"));
    }

    #[test]
    fn what_a_command_speaks_of_is_the_factor() {
        let check = |text: &str, expected: &[&str]| assert_eq!(named_in(text), expected, "{text}");
        check("echo none > /sys/block/sda/queue/scheduler", &["scheduler"]);
        check("echo 1 > /sys/block/sda/device/queue_depth", &["queue-depth"]);
        check("hdparm -W0 /dev/sda", &["write-cache"]);
        check("Set the SATA mode to AHCI in the BIOS, then reboot.", &["controller"]);
        check("Add libata.force=noncq to the boot line", &["ncq"]);
        check("blockdev --setra 0 /dev/sda", &["read-ahead"]);
        check("./my-script.sh beside the disk", &[]);
    }
}
