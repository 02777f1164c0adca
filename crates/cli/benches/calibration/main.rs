//! Whether the 95 % of a prediction are 95 %: drives are drawn from a prior, measured as `drive
//! measure` does, fitted, predicted, and asked.
//!
//! `cargo bench -p drivelab --bench calibration [-- [sata|nvme] [writes] DRIVES]`: disks, or reads
//! or writes of solid-state drives of a class. 200 disks take about half an hour of two processors,
//! 100 solid-state drives some minutes. Ends with 1 where the shares do not agree with 95 %.
//!
//! Drive, prediction and question hold the same things. The prediction is for one more run of one
//! more drive, so the drive answers in a run of the same length with addresses of its own. The fit
//! allows for figures that the model is off by (`fit::OFF`): the drive is measured with figures off
//! by as much. And `[lacks]` widens what `drive predict` prints: the truth is then off by as much.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

mod disks;
mod score;
mod ssd;
mod writes;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let count = words.iter().filter_map(|word| word.parse().ok()).next_back();
    for class in ["sata", "nvme"] {
        if words.iter().any(|word| word == class) {
            let count = count.unwrap_or(100);
            let is_of_writes = words.iter().any(|word| word == "writes");
            let calibrate = if is_of_writes { writes::calibrate } else { ssd::calibrate };
            return calibrate(class, count);
        }
    }
    disks::calibrate(count.unwrap_or(200))
}
