//! The text of a fitted profile of a solid-state drive.

use std::fmt::Write as _;

use drivelab_core::measurements::{DriveInterface, Measurements};
use drivelab_core::numbers::float;

use super::found::Found;
use super::pages::Pages;
use super::service::WriteNumbers;
use super::unknowns::{Numbers, base};
use super::written::{BUFFER, Quantity};
use crate::fit::heading::Heading;

/// The properties of the drive outside the search.
#[derive(Debug, Clone)]
pub(super) struct Text<'a> {
    pub(super) measurements: &'a Measurements,
    pub(super) interface: DriveInterface,
    pub(super) pages: Pages,
    /// Maximum size of the modelled flash in bytes, as far as blocks keep whole pages.
    pub(super) modelled: u64,
}

/// The `leaves_out` of a profile without fitted writes.
const LEFT_OUT: &str = "writes as measured: no figure of a write, a flush or a trim was fitted, and \
                        all of them are those of the drive's class; repeated reads and other rare \
                        delays";
/// The `leaves_out` of a profile with fitted writes.
const LEFT_OUT_BESIDE: &str = "flushes, trims and reads beside writes as measured: they are those of \
                               the drive's class; blocks written as SLC; repeated reads and other \
                               rare delays";

/// Flash beyond the capacity: 500 GB of 512 GiB.
const RAW: f64 = 1.0995;
/// Minimum blocks of a die, so that the free blocks of collection are a small part of the spares.
const BLOCKS: f64 = 64.0;
/// Bytes of a block with a single page on each of two planes.
const BLOCK_BYTES: f64 = 32_768.0;
/// Maximum dies of the class.
const DIES: f64 = 256.0;
/// The unknowns of writes in a posterior.
const WRITE_KEYS: &str = ", \"page_program_factor\", \"spare\", \"write_processing\", \"erase\", \
                          \"victims\"";

impl Text<'_> {
    /// A small drive of these numbers, for a simulation of reads, whose addresses select dies at
    /// random regardless of the capacity.
    pub(super) fn trial(&self, numbers: &Numbers) -> String {
        let dies = whole(numbers.dies);
        // 16 blocks of 16 pages a die, three quarters of them used.
        // Addresses must spread over all dies, and no read may fall on unwritten flash.
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

    /// The drive of these numbers as in the finished profile, with a small buffer that is soon
    /// full.
    pub(super) fn written_trial(&self, numbers: &Numbers, writes: &WriteNumbers) -> String {
        let mut text = self.read_keys(numbers);
        let [program, spare, processing, erase, victims] = Self::write_values(writes);
        let _ = write!(
            text,
            "page_read_factor = 1\nread_processing = \"{:.3}us\"\ncommand_processing = \
             \"{:.3}us\"\nchannel_mb_per_s = {}\ncapacity_bytes = {}\nblock_pages = {}\nscale = \
             {:?}\nwrite_cache_bytes = \"{}M\"\npage_program_factor = {program}\nspare = \
             {spare}\nwrite_processing = {processing}\nerase = {erase}\nvictims = {victims}\n",
            numbers.read_processing_us,
            numbers.command_processing_us,
            numbers.channel_mb_per_s,
            self.measurements.capacity_bytes,
            self.block_pages(),
            self.scale(),
            BUFFER >> 20,
        );
        text
    }

    /// Program factor, spare flash, processing, erase and victims, in the syntax of a profile.
    fn write_values(writes: &WriteNumbers) -> [String; 5] {
        [
            format!("{:.4}", writes.page_program_factor),
            format!("\"{:.7}%\"", 100.0 * writes.spare),
            format!("\"{:.3}us\"", writes.write_processing_us),
            format!("\"{:.3}us\"", writes.erase_us),
            format!("{:?}", if writes.fifo { "fifo" } else { "greedy" }),
        ]
    }

    fn read_keys(&self, numbers: &Numbers) -> String {
        let mut text = format!("base = \"{}\"\n", base(self.interface));
        if let Some(link) = &self.measurements.link {
            let _ = writeln!(text, "link = {link:?}");
        }
        let _ = writeln!(text, "dies = {}\nchannels = {}", numbers.dies, numbers.channels());
        text + &self.page_read_line(numbers)
    }

    fn page_read_line(&self, numbers: &Numbers) -> String {
        let times = self.pages.times_us(numbers.page_read_factor);
        let times = times.map(|time| format!("\"{time:.3}us\""));
        format!("page_read = [{}]\n", times.join(", "))
    }

    /// The finished profile: the numbers of the median drive, and draws of all.
    pub(super) fn fitted(
        &self,
        heading: Heading<'_>,
        (middle, draws): (&Numbers, &[Numbers]),
        found: &Found,
    ) -> String {
        let Heading { model, command, seed, simulations, error, gain, notes } = heading;
        let mut text = format!(
            "# Made by {simulations} trials with seed {seed} of\n#   {command}\n# Root mean square \
             error of the median drive: {:.1} %. Its gain at depth 32: {gain:.2}.\n# Fitted to \
             random reads {}. What is not here is of the base: the class of such drives.\n# Marks: \
             [P] given with the measurements, [F] fitted, with what is left open in \
             `[posterior]`,\n# [E] estimated: the measurements cannot show it.\n",
            100.0 * error,
            if found.middle.is_some() { "and writes" } else { "alone" },
        );
        for note in notes {
            // A line break would end the comment in the profile.
            let _ = writeln!(text, "# Note: {}.", note.replace('\n', " "));
        }
        let _ = writeln!(text, "base = \"{}\"", base(self.interface));
        let left_out = if found.middle.is_some() { LEFT_OUT_BESIDE } else { LEFT_OUT };
        self.drive(&mut text, model, left_out);
        self.flash(&mut text, middle, found);
        let _ = write!(
            text,
            "\n[processing]\nread_processing = \"{:.3}us\"  # [F]\ncommand_processing = \
             \"{:.3}us\"  # [F]\n",
            middle.read_processing_us, middle.command_processing_us,
        );
        if let Some(writes) = &found.middle {
            let [.., processing, _, victims] = Self::write_values(writes);
            let _ = write!(
                text,
                "write_processing = {processing}  # [F]\n\n[translation]\nvictims = {victims}  # \
                 [E] or the other, as drawn\n"
            );
        }
        self.attachment(&mut text);
        let _ = write!(
            text,
            "\n[lacks]\nany = 0.05\nsource = \"the depth curves of two SATA drives are met within 6 \
             %; nothing else was held against drives (docs/internals/ssd-model.md)\"\n"
        );
        Self::posterior(&mut text, (middle, draws), found, command);
        text
    }

    fn drive(&self, text: &mut String, model: &str, left_out: &str) {
        let Measurements { capacity_bytes, sector_bytes, sources, .. } = self.measurements;
        let _ = write!(
            text,
            "\n[drive]\nmodel = {model:?}\ncapacity_bytes = {capacity_bytes}  # [P]\nleaves_out = \
             {left_out:?}\n"
        );
        if let Some(bytes) = sector_bytes {
            let _ = writeln!(text, "sector_bytes = {bytes}  # [P]");
        }
        if !sources.is_empty() {
            let _ = writeln!(text, "source = {:?}", sources.join("; "));
        }
    }

    fn flash(&self, text: &mut String, middle: &Numbers, found: &Found) {
        let kinds = if self.pages.are_measured() { "[F]" } else { "[E] the scatter, [F] the mean" };
        let page_read = self.page_read_line(middle);
        *text += "\n[flash]\n";
        if let Some(writes) = &found.middle {
            let [program, spare, _, erase, _] = Self::write_values(writes);
            let _ = write!(
                text,
                "spare = {spare}  # [F] with the rates of writes\npage_program_factor = {program}  \
                 # [F] the same\nerase = {erase}  # [E]\n"
            );
        }
        let _ = write!(
            text,
            "dies = {}  # [F] reads that run at once\nchannels = {}  # [E] or as many as there are \
             dies\n{}  # {kinds}\nblock_pages = {}  # [E]\npage_read_factor = 1  # [F] in the \
             times above\nchannel_mb_per_s = {}  # [F]\n\n[modelled]\nscale = {:?}\n",
            middle.dies,
            middle.channels(),
            page_read.trim_end(),
            self.block_pages(),
            middle.channel_mb_per_s,
            self.scale(),
        );
    }

    /// Pages of one plane in a block: a power of two that leaves every die enough blocks, with at
    /// least one page of each kind.
    pub(super) fn block_pages(&self) -> u64 {
        let raw = RAW * float(self.measurements.capacity_bytes);
        let pages = (raw / DIES / BLOCKS / BLOCK_BYTES).clamp(4.0, 512.0);
        1_u64 << whole(libm::floor(libm::log2(pages)))
    }

    /// The denominator of the scale: small enough to build quickly, with whole pages.
    pub(super) fn parts(&self) -> u64 {
        let wanted = self.measurements.capacity_bytes.div_ceil(self.modelled).next_power_of_two();
        let parts = wanted.min(self.block_pages() / 4);
        debug_assert!(parts.is_power_of_two(), "1/{parts} of a block is not whole pages");
        parts
    }

    fn scale(&self) -> String {
        match self.parts() {
            1 => "1".to_owned(),
            parts => format!("1/{parts}"),
        }
    }

    fn attachment(&self, text: &mut String) {
        let Some(link) = &self.measurements.link else { return };
        let _ = write!(text, "\n[attachment]\nlink = {link:?}  # [P] as measured\n");
    }

    fn posterior(
        text: &mut String,
        (middle, draws): (&Numbers, &[Numbers]),
        found: &Found,
        command: &str,
    ) {
        let (figures, more) = match found.middle {
            Some(_) => ("random reads, writes", WRITE_KEYS),
            None => ("random reads", ""),
        };
        let source = format!("{figures}, and the priors of the class, by {command}");
        let _ = write!(
            text,
            "\n[posterior]\nsource = {source:?}\nunknowns = [\"dies\", \"channels\", \
             \"page_read_factor\", \"read_processing\", \"command_processing\", \
             \"channel_mb_per_s\"{more}]\ndraws = [\n"
        );
        for (index, draw) in draws.iter().enumerate() {
            let _ = write!(
                text,
                "  [{}, {}, {:.4}, \"{:.3}us\", \"{:.3}us\", {}",
                draw.dies,
                draw.channels(),
                // The times in the profile include the factor of the median drive.
                draw.page_read_factor / middle.page_read_factor,
                draw.read_processing_us,
                draw.command_processing_us,
                draw.channel_mb_per_s,
            );
            if let Some(writes) = found.draws.get(index) {
                let _ = write!(text, ", {}", Self::write_values(writes).join(", "));
            }
            *text += "],\n";
        }
        *text += "]\n";
    }

    pub(super) fn not_identified(&self, found: &Found) -> Vec<String> {
        let mut missing = unidentified_writes(&found.met);
        missing.extend([
            "dies as distinct from channels and planes: only the number of reads that run at once \
             is visible"
                .to_owned(),
            "rare delays (repeated reads, the drive's own work): none".to_owned(),
        ]);
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

/// Properties of writes that the measurements cannot show.
fn unidentified_writes(met: &[Quantity]) -> Vec<String> {
    if met.is_empty() {
        return vec![
            "writes, flushes and trims: every number of them is that of the class, with its spread"
                .to_owned(),
        ];
    }
    let mut missing = Vec::new();
    let cached = met.iter().any(|it| matches!(it, Quantity::Cached { .. }));
    let stream = met.iter().any(|it| matches!(it, Quantity::Stream { .. }));
    let steady = met.iter().any(|it| matches!(it, Quantity::Steady { .. }));
    if !cached {
        missing.push("what a write costs before the flash: that of the class, with its spread");
    }
    missing.extend(match (stream, steady) {
        (true, true) => None,
        (true, false) => Some(
            "cannot tell how fast random writes of a steady drive are: spare flash, which decides \
             what collection copies, is that of the class, with its spread",
        ),
        (false, true) => Some(
            "how fast the cells program as distinct from spare flash: random writes of a steady \
             drive show both together, so that sequential writes have a wide range",
        ),
        (false, false) => Some(
            "cannot tell how fast writes are that last: program times and spare flash are those of \
             the class, with their spread",
        ),
    });
    missing.push("flushes, trims, and reads beside writes: those of the class, with their spread");
    missing.into_iter().map(ToOwned::to_owned).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; casts of floats saturate"
)]
fn whole(number: f64) -> u64 {
    number as u64
}
