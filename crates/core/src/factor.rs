//! What can be declared to differ between arms, and what follows from it.

use crate::config::nearest;

/// Something that arms may be meant to differ in.
#[derive(Debug)]
pub struct Factor {
    /// As the study file and `--factor` spell it.
    pub name: &'static str,
    /// Other spellings.
    aliases: &'static [&'static str],
    /// The facts that it is.
    pub own: &'static [&'static str],
    /// The facts that cannot but change with it, whoever changes it.
    follows: &'static [&'static str],
    /// Words of a command or an instruction that tell of it.
    words: &'static [&'static str],
}

impl Factor {
    /// Whether a fact changes with it.
    pub fn covers(&self, fact: &str) -> bool {
        // Findings are conclusions from other facts, and never a cause.
        fact == "findings" || self.own.contains(&fact) || self.follows.contains(&fact) || {
            // Another drive is another in everything that a drive has.
            self.name == "drive" && !MACHINE.contains(&fact)
        }
    }
}

/// Facts of the machine and the run, not of a drive.
const MACHINE: [&str; 5] = ["kernel", "ioengine", "direct", "cpu_governor", "kernel_options"];

/// Where the driver, and with it the number of requests, follows from the mode of the controller,
/// `nr_requests` does not: it can be set, and is what makes much of the difference (the studies of
/// AHCI against IDE have arms for it).
/// In an order in which the cause comes before what follows from it.
const FACTORS: &[Factor] = &[
    Factor {
        name: "drive",
        aliases: &["disk", "target"],
        own: &["model", "capacity_bytes"],
        follows: &[],
        words: &[],
    },
    Factor {
        name: "controller",
        aliases: &["mode", "ahci", "ide"],
        own: &["controller"],
        follows: &[
            "driver",
            "pci_id",
            "host_driver",
            "usb_driver",
            "kind",
            "queue_depth",
            "ncq",
            "ncq_off_cause",
            "dispatch",
            "order",
            "hardware_queues",
            "tags",
            "link_gbps",
            "link_policy",
            "wire_mb_per_s",
            "max_sectors_kb",
            "transfer_mode",
            "shares_port",
        ],
        words: &["ahci", "ide", "raid", "controller", "hba"],
    },
    Factor {
        name: "queue-depth",
        aliases: &["tags", "depth"],
        own: &["queue_depth"],
        follows: &["ncq", "ncq_off_cause", "order", "tags", "dispatch"],
        words: &["queue_depth"],
    },
    Factor {
        name: "ncq",
        aliases: &[],
        own: &["ncq"],
        follows: &["ncq_off_cause", "queue_depth", "order", "tags", "dispatch", "kernel_options"],
        words: &["ncq", "noncq"],
    },
    Factor {
        name: "scheduler",
        aliases: &["elevator"],
        own: &["scheduler"],
        // Set anew with each scheduler by the kernel: `blk_mq_init_sched`, `wbt_disable_default`.
        follows: &["nr_requests", "wbt_lat_usec"],
        words: &["scheduler", "elevator"],
    },
    Factor {
        name: "nr-requests",
        aliases: &[],
        own: &["nr_requests"],
        follows: &[],
        words: &["nr_requests"],
    },
    Factor {
        name: "write-cache",
        aliases: &["cache"],
        own: &["write_cache", "write_cache_kernel"],
        follows: &["fua", "write_cache_bytes"],
        words: &["write_cache", "cache_type", "write-cache", "-w0", "-w1", "wce"],
    },
    Factor {
        name: "link",
        aliases: &["link-speed"],
        own: &["link_gbps"],
        follows: &["wire_mb_per_s", "transfer_mode", "kernel_options"],
        words: &["link", "gbps"],
    },
    Factor { name: "pcie", aliases: &[], own: &["pcie"], follows: &[], words: &["pcie"] },
    Factor {
        name: "dispatch",
        aliases: &[],
        own: &["dispatch"],
        follows: &["queue_depth", "tags"],
        words: &["dispatch"],
    },
    Factor {
        name: "read-ahead",
        aliases: &["readahead"],
        own: &["read_ahead_kb"],
        follows: &[],
        words: &["read_ahead_kb", "setra", "read-ahead", "readahead"],
    },
    Factor {
        name: "power",
        aliases: &["link-policy"],
        own: &["link_policy", "runtime_control"],
        follows: &[],
        words: &["link_power_management_policy"],
    },
    Factor {
        name: "governor",
        aliases: &["cpu-governor"],
        own: &["cpu_governor"],
        follows: &[],
        words: &["scaling_governor", "governor"],
    },
    Factor {
        name: "mount-options",
        aliases: &["mount"],
        own: &["mount_options"],
        follows: &[],
        words: &["remount", "barrier", "nobarrier"],
    },
    Factor {
        name: "file-system",
        aliases: &["fs"],
        own: &["file_system"],
        follows: &["mount_options"],
        words: &["mkfs"],
    },
    Factor { name: "direct", aliases: &["page-cache"], own: &["direct"], follows: &[], words: &[] },
    Factor { name: "ioengine", aliases: &["engine"], own: &["ioengine"], follows: &[], words: &[] },
    Factor {
        name: "kernel",
        aliases: &[],
        own: &["kernel"],
        follows: &["kernel_options"],
        words: &[],
    },
];

/// The factors that can be declared.
pub fn names() -> Vec<&'static str> {
    FACTORS.iter().map(|factor| factor.name).collect()
}

/// All factors, causes first.
pub fn all() -> &'static [Factor] {
    FACTORS
}

/// The factor called `name`, by any of its names or by a fact of its own.
pub fn find(name: &str) -> Option<&'static Factor> {
    let spelled = name.to_lowercase().replace('_', "-");
    let own = name.to_lowercase().replace('-', "_");
    let is = |factor: &&Factor| {
        factor.name == spelled
            || factor.aliases.contains(&spelled.as_str())
            || factor.own.contains(&own.as_str())
    };
    FACTORS.iter().find(is)
}

/// The name of a factor as it is declared; what is none is refused with what was probably meant.
///
/// # Errors
/// There is no such factor; the message suggests one, or lists all.
pub fn read(name: &str) -> Result<&'static str, String> {
    let found = find(name).map(|factor| factor.name);
    found.ok_or_else(|| match nearest(name, names()) {
        Some(meant) => format!("unknown factor `{name}`; did you mean `{meant}`?"),
        None => format!("unknown factor `{name}`; known: `{}`", names().join("`, `")),
    })
}

/// The factors that a command or an instruction speaks of: `echo none > .../queue/scheduler`.
pub fn named_in(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).collect();
    let is = |word: &str, known: &str| word == known || word.trim_start_matches('-') == known;
    let told = |factor: &&Factor| {
        factor.words.iter().any(|known| words.iter().any(|word| is(word, known)))
    };
    FACTORS.iter().filter(told).map(|factor| factor.name).collect()
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
        assert!(wrong.contains("did you mean `scheduler`"), "{wrong}");
        assert!(read("moon").unwrap_err().contains("known: `drive`, `controller`"));
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
