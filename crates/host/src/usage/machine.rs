//! The identity of a machine, its memory and its processors.

use drivelab_core::record::Host;
use drivelab_core::units::Bytes;

use crate::fingerprint::fingerprint;
use crate::root::{Root, TABLE_BYTES_MAX};

/// The identity of the machine below any root; `unknown` if it is not available.
pub(super) fn host(root: &Root) -> Host {
    let text = |path: &str| root.text(path, TABLE_BYTES_MAX).unwrap_or_default();
    let kernel = [text("proc/sys/kernel/ostype"), text("proc/sys/kernel/osrelease")];
    Host {
        kernel: known(kernel.map(|part| part.trim().to_owned()).join(" ").trim()),
        cpu: cpu_model(&text("proc/cpuinfo")),
        cpus: usable_cpus(),
        memory_bytes: memory(root, "MemTotal:").unwrap_or_default().get(),
        id: fingerprint(&text("etc/machine-id")).unwrap_or_else(|| known("")),
    }
}

fn known(text: &str) -> String {
    (if text.is_empty() { "unknown" } else { text }).to_owned()
}

fn usable_cpus() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(0, |set| set.count())
}

pub(crate) fn cpu_governor(root: &Root) -> Option<String> {
    root.node("sys/devices/system/cpu/cpu0/cpufreq")?.text("scaling_governor")
}

/// The line of `/proc/meminfo` that begins with `key`.
pub(super) fn memory(root: &Root, key: &str) -> Option<Bytes> {
    let table = root.text("proc/meminfo", TABLE_BYTES_MAX)?;
    let line = table.lines().find_map(|line| line.strip_prefix(key))?;
    Some(Bytes::kib(line.trim().strip_suffix("kB")?.trim().parse().ok()?))
}

/// `model name` of x86; other processors name themselves elsewhere or not at all.
fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| {
        line.starts_with("model name") || line.starts_with("Model") || line.starts_with("cpu model")
    });
    line.and_then(|line| line.split_once(':')).map_or_else(|| known(""), |(_, n)| n.trim().into())
}
