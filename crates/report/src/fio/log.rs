//! A log of the bandwidth of each second, as `write_bw_log` with `log_avg_msec=1000` makes it.

use super::Results;

/// Milliseconds, KiB/s, kind of request, block size and offset of each second. A mixture of kinds
/// has no seconds by kind, and no lines.
pub fn log(results: &Results) -> String {
    let mut lines = String::new();
    for job in &results.jobs {
        let Some(kind) = job.kinds[..3].iter().position(|kind| kind.ios > 0) else { continue };
        let block = job.kinds[kind].bytes.checked_div(job.kinds[kind].ios).unwrap_or(0);
        for (number, second) in (1..).zip(&job.seconds) {
            let (end_ms, rate) = (number * 1000_u64, second.bytes >> 10);
            lines += &format!("{end_ms}, {rate}, {kind}, {block}, 0\n");
        }
    }
    lines
}
