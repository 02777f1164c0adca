//! The profile of a solid-state drive that a fit makes.

use std::fmt::Write as _;

use drivelab_core::measurements::{DriveInterface, Measurements};

use super::pages::Pages;
use super::unknowns::{Numbers, base};
use crate::fit::heading::Heading;

/// Everything about the drive that is not searched for.
#[derive(Debug, Clone)]
pub(super) struct Text<'a> {
    pub(super) measurements: &'a Measurements,
    pub(super) interface: DriveInterface,
    pub(super) pages: Pages,
}

/// What the profile says of writes wherever it is shown.
const LEFT_OUT: &str = "writes as measured: no figure of a write, a flush or a trim was fitted, and \
                        all of them are those of the drive's class; repeated reads and other rare \
                        delays";

/// Flash beyond the capacity: 500 GB of 512 GiB.
const RAW: f64 = 1.0995;
/// Blocks of a die at least, so that what collection keeps free is a small part of the spare space.
const BLOCKS: f64 = 64.0;
/// A block of one page of each of two planes.
const BLOCK_BYTES: f64 = 32_768.0;
/// The most dies of the class.
const DIES: f64 = 256.0;
/// As many bytes are modelled at most.
const MODELLED: u64 = 8 << 30;

impl Text<'_> {
    /// A small drive of these numbers, for a simulation of reads: addresses pick dies at random,
    /// however large it is.
    pub(super) fn trial(&self, numbers: &Numbers) -> String {
        let dies = whole(numbers.dies);
        // 16 blocks of 16 pages a die, three quarters of them used.
        let raw = dies * 16 * 16 * 32_768;
        let mut text = self.read_keys(numbers);
        let _ = write!(
            text,
            "page_read_factor = 1\nread_processing = \"{:.3}us\"\ncommand_processing = \
             \"{:.3}us\"\nchannel_mb_per_s = {}\ncapacity_bytes = {}\nraw_bytes = {raw}\n\
             block_pages = 16\nscale = \"1\"\n",
            numbers.read_processing_us,
            numbers.command_processing_us,
            numbers.channel_mb_per_s,
            raw / 4 * 3,
        );
        text
    }

    fn read_keys(&self, numbers: &Numbers) -> String {
        let mut text = format!("base = \"{}\"\n", base(self.interface));
        if let Some(link) = &self.measurements.link {
            let _ = writeln!(text, "link = {link:?}");
        }
        let _ = writeln!(text, "dies = {}\nchannels = {}", numbers.dies, numbers.channels());
        text + &self.page_read(numbers)
    }

    fn page_read(&self, numbers: &Numbers) -> String {
        let times = self.pages.times_us(numbers.page_read_factor);
        let times = times.map(|time| format!("\"{time:.3}us\""));
        format!("page_read = [{}]\n", times.join(", "))
    }

    /// The finished profile: the numbers of the median drive, and draws of all.
    pub(super) fn fitted(
        &self,
        heading: Heading<'_>,
        middle: &Numbers,
        draws: &[Numbers],
    ) -> String {
        let Heading { model, command, seed, simulations, error, gain, notes } = heading;
        let mut text = format!(
            "# Made by {simulations} trials with seed {seed} of\n#   {command}\n# Root mean square \
             error of the median drive: {:.1} %. Its gain at depth 32: {gain:.2}.\n# Fitted to \
             random reads alone. What is not here is of the base: the class of such drives.\n# \
             Marks: [P] given with the measurements, [F] fitted, with what is left open in \
             `[posterior]`,\n# [E] estimated: the measurements cannot show it.\n",
            100.0 * error,
        );
        for note in notes {
            let _ = writeln!(text, "# Note: {}.", note.replace('\n', " "));
        }
        let _ = writeln!(text, "base = \"{}\"", base(self.interface));
        self.drive(&mut text, model);
        self.flash(&mut text, middle);
        let _ = write!(
            text,
            "\n[processing]\nread_processing = \"{:.3}us\"  # [F]\ncommand_processing = \
             \"{:.3}us\"  # [F]\n",
            middle.read_processing_us, middle.command_processing_us,
        );
        self.attachment(&mut text);
        let _ = write!(
            text,
            "\n[lacks]\nany = 0.05\nsource = \"the depth curves of two SATA drives are met within 6 \
             %; nothing else was held against drives (docs/internals/ssd-model.md)\"\n"
        );
        posterior(&mut text, middle, draws, command);
        text
    }

    fn drive(&self, text: &mut String, model: &str) {
        let Measurements { capacity_bytes, sector_bytes, sources, .. } = self.measurements;
        let _ = write!(
            text,
            "\n[drive]\nmodel = {model:?}\ncapacity_bytes = {capacity_bytes}  # [P]\nleaves_out = \
             {LEFT_OUT:?}\n"
        );
        if let Some(bytes) = sector_bytes {
            let _ = writeln!(text, "sector_bytes = {bytes}  # [P]");
        }
        if !sources.is_empty() {
            let _ = writeln!(text, "source = {:?}", sources.join("; "));
        }
    }

    fn flash(&self, text: &mut String, middle: &Numbers) {
        let raw = RAW * float(self.measurements.capacity_bytes);
        // As many pages as leave every die enough blocks, a power of two; one of each kind at
        // least.
        let pages = (raw / DIES / BLOCKS / BLOCK_BYTES).clamp(4.0, 512.0);
        let block_pages = 1_u64 << whole(libm::floor(libm::log2(pages)));
        let kinds = if self.pages.are_measured() { "[F]" } else { "[E] the scatter, [F] the mean" };
        let page_read = self.page_read(middle);
        let _ = write!(
            text,
            "\n[flash]\nraw_bytes = {}  # [E] as 512 GiB for 500 GB\ndies = {}  # [F] reads that \
             run at once\nchannels = {}  # [E] or as many as there are dies\n{}  # {kinds}\n\
             block_pages = {block_pages}  # [E]\npage_read_factor = 1  # [F] in the times \
             above\nchannel_mb_per_s = {}  # [F]\n\n[modelled]\nscale = \"{}\"\n",
            whole(raw / 512.0) * 512,
            middle.dies,
            middle.channels(),
            page_read.trim_end(),
            middle.channel_mb_per_s,
            self.scale(block_pages),
        );
    }

    /// A part that is quickly built, of whole pages.
    fn scale(&self, block_pages: u64) -> String {
        let wanted = self.measurements.capacity_bytes.div_ceil(MODELLED).next_power_of_two();
        match wanted.min(block_pages / 4) {
            1 => "1".to_owned(),
            parts => format!("1/{parts}"),
        }
    }

    fn attachment(&self, text: &mut String) {
        let Some(link) = &self.measurements.link else { return };
        let _ = write!(text, "\n[attachment]\nlink = {link:?}  # [P] as measured\n");
    }

    pub(super) fn not_identified(&self) -> Vec<String> {
        let mut missing = vec![
            "writes, flushes and trims: every number of them is that of the class, with its spread"
                .to_owned(),
            "dies as distinct from channels and planes: only the number of reads that run at once \
             is visible"
                .to_owned(),
            "rare delays (repeated reads, the drive's own work): none".to_owned(),
        ];
        if !self.pages.are_measured() {
            missing.push(
                "how far kinds of page differ, without quantiles at depth 1: 15 % on either side"
                    .to_owned(),
            );
        }
        if self.measurements.link.is_none() {
            let link = match self.interface {
                DriveInterface::Sata => "`6`",
                DriveInterface::Nvme => "`pcie3x4`",
            };
            missing.push(format!("the link, without `link` in `[drive]`: {link}"));
        }
        missing
    }
}

fn posterior(text: &mut String, middle: &Numbers, draws: &[Numbers], command: &str) {
    let source = format!("random reads, and the priors of the class, by {command}");
    let _ = write!(
        text,
        "\n[posterior]\nsource = {source:?}\nunknowns = [\"dies\", \"channels\", \
         \"page_read_factor\", \"read_processing\", \"command_processing\", \
         \"channel_mb_per_s\"]\ndraws = [\n"
    );
    for draw in draws {
        let _ = writeln!(
            text,
            "  [{}, {}, {:.4}, \"{:.3}us\", \"{:.3}us\", {}],",
            draw.dies,
            draw.channels(),
            draw.page_read_factor / middle.page_read_factor,
            draw.read_processing_us,
            draw.command_processing_us,
            draw.channel_mb_per_s,
        );
    }
    *text += "]\n";
}

#[expect(clippy::cast_precision_loss, reason = "a capacity is far below 2^52")]
fn float(bytes: u64) -> f64 {
    bytes as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; casts of floats saturate"
)]
fn whole(number: f64) -> u64 {
    number as u64
}
