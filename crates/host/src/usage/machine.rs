//! The identity of a machine, its memory and its processors.

use drivelab_core::record::Host;
use drivelab_core::units::Bytes;

use crate::fingerprint::fingerprint;
use crate::root::{Root, TABLE_BYTES_MAX};

/// The identity of the machine below any root; `unknown` if it is not available.
pub(super) fn host(root: &Root) -> Host {
    let [kernel, release, cpus, id] =
        ["proc/sys/kernel/ostype", "proc/sys/kernel/osrelease", "proc/cpuinfo", "etc/machine-id"]
            .map(|path| root.text(path, TABLE_BYTES_MAX).unwrap_or_default());
    Host {
        kernel: known(format!("{} {}", kernel.trim(), release.trim()).trim()),
        cpu: cpu_model(&cpus),
        cpus: usable_cpus(),
        memory_bytes: memory(root, "MemTotal:").unwrap_or_default().get(),
        id: fingerprint(&id).unwrap_or_else(|| known("")),
    }
}

fn known(text: &str) -> String {
    (if text.is_empty() { "unknown" } else { text }).to_owned()
}

fn usable_cpus() -> u32 {
    // Not the number of processors: a container or `taskset` may allow fewer.
    rustix::thread::sched_getaffinity(None).map_or(0, |set| set.count())
}

pub(crate) fn cpu_governor(root: &Root) -> Option<String> {
    root.node("sys/devices/system/cpu/cpu0/cpufreq")?.text("scaling_governor")
}

/// The line of `/proc/meminfo` that begins with `key`.
pub(super) fn memory(root: &Root, key: &str) -> Option<Bytes> {
    let table = root.text("proc/meminfo", TABLE_BYTES_MAX)?;
    let line = table.lines().find_map(|line| line.strip_prefix(key))?;
    // The `kB` of this table are 1024 bytes (`man 5 proc_meminfo`).
    Some(Bytes::kib(line.trim().strip_suffix("kB")?.trim().parse().ok()?))
}

/// `model name` of x86; other processors name themselves elsewhere or not at all.
fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| {
        line.starts_with("model name") || line.starts_with("Model") || line.starts_with("cpu model")
    });
    line.and_then(|line| line.split_once(':')).map_or_else(|| known(""), |(_, n)| n.trim().into())
}
