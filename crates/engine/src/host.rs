//! The machine that measures.

use std::fs;
use std::path::Path;

use drivelab_core::record::Host;
use drivelab_core::units::{Bytes, Span};
use rustix::time::ClockId;

/// Reads what identifies this machine; `root` is `/` but for tests. What cannot be read is said to
/// be unknown: it is no reason not to measure.
pub fn host(root: &Path) -> Host {
    let name = rustix::system::uname();
    let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    Host {
        kernel: format!("{} {}", part(name.sysname()), part(name.release())),
        cpu: cpu_model(&read("proc/cpuinfo")),
        cpus: u32::try_from(usable_cpus().len()).unwrap_or(u32::MAX),
        memory_bytes: memory_in(&read("proc/meminfo")).get(),
        id: fingerprint(&read("etc/machine-id")),
    }
}

/// This machine's memory; nothing where the kernel does not tell.
pub fn memory() -> Bytes {
    memory_in(&fs::read_to_string("/proc/meminfo").unwrap_or_default())
}

/// Bytes of a page of memory.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// The processors this process may run on.
pub(crate) fn usable_cpus() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Processor time of the whole process, user and system: the kernel does part of a ring's work in
/// threads that are the process's but none of ours.
pub(crate) fn process_cpu() -> Span {
    let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    Span::from_secs(part(time.tv_sec)) + Span::from_ns(part(time.tv_nsec))
}

/// How long this thread could have run and had no processor, so far.
pub(crate) fn waited() -> Span {
    waited_in(&fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default())
}

/// Linux, `Documentation/scheduler/sched-stats.rst`: time on a processor, time waiting for one,
/// both in nanoseconds, and time slices.
fn waited_in(schedstat: &str) -> Span {
    let waited = schedstat.split_ascii_whitespace().nth(1);
    Span::from_ns(waited.and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// `model name` of x86; other processors name themselves elsewhere or not at all.
fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| {
        line.starts_with("model name") || line.starts_with("Model") || line.starts_with("cpu model")
    });
    let name = line.and_then(|line| line.split_once(':')).map_or("unknown", |(_, name)| name);
    name.trim().to_owned()
}

fn memory_in(meminfo: &str) -> Bytes {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    Bytes::kib(kib.unwrap_or(0))
}

/// Sixteen digits that tell machines apart and do not give the machine's identity away.
///
/// FNV-1a, 64 bits (Fowler, Noll and Vo). Of 128 random bits it keeps 64, so 2^64 identities share
/// a fingerprint and none can be told from it; the prefix keeps it apart from other programs'
/// hashes of the same identity.
fn fingerprint(machine_id: &str) -> String {
    let machine_id = machine_id.trim();
    if machine_id.is_empty() {
        return "unknown".into();
    }
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in b"drivelab".iter().chain(machine_id.as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\nprocessor\t: 1\n";
        assert_eq!(cpu_model(cpuinfo), "Some CPU @ 2.00GHz");
        assert_eq!(
            memory_in("MemTotal:       24684092 kB\nMemFree: 1 kB\n"),
            Bytes::kib(24_684_092)
        );
        assert_eq!(waited_in("1200 34 5\n"), Span::from_ns(34));
        assert_eq!(waited_in(""), Span::ZERO);
        assert!(!usable_cpus().is_empty());
    }

    #[test]
    fn what_it_does_not_tell_is_unknown() {
        let host = host(Path::new("/nowhere"));
        assert_eq!(
            (host.cpu.as_str(), host.memory_bytes, host.id.as_str()),
            ("unknown", 0, "unknown")
        );
        assert!(host.kernel.starts_with("Linux "));
    }

    #[test]
    fn a_fingerprint_tells_machines_apart_and_is_always_the_same() {
        let one = fingerprint("0123456789abcdef0123456789abcdef\n");
        assert_eq!(one, fingerprint("0123456789abcdef0123456789abcdef"));
        assert_ne!(one, fingerprint("0123456789abcdef0123456789abcdee"));
        assert_eq!(one.len(), 16);
    }

    #[test]
    fn processor_time_grows_while_we_work() {
        let before = process_cpu();
        let mut sum = 0_u64;
        while process_cpu() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(process_cpu() > before);
    }
}
