//! The block `disksim_disk`: buffer, bus behaviour and overheads.

use drivelab_core::Span;

use super::error::DiskSimResult;
use super::fields::Fields;
use super::include::Resolve;
use super::tree::Block;
use super::{layout, mechanics};
use crate::disk::params::{
    Buffer, Bus, ByPrevious, ExtraDisconnect, Overheads, Params, ReadOn, Residual, Stop, Writes,
};

pub(super) fn read(block: Block, bus: Bus, resolve: Resolve) -> DiskSimResult<Params> {
    let mut fields = Fields::of(block);
    let mut model = fields.block("Model", "dm_disk")?;
    let bus = read_bus(&mut fields, bus)?;
    check_queue(&mut fields)?;
    let buffer = read_buffer(&mut fields)?;
    let writes = Writes {
        immediate_report: fields.number("Fast write level", 0..=2)? > 0,
        joins_sequential: fields.switch("Combine seq writes")?,
        on_arrival: fields.number("Immediate buffer write", 0..=2)? > 0,
    };
    let overheads = read_overheads(&mut fields)?;
    let shortest_write_seek = Span::from_ns(fields.time("Minimum seek delay")?);
    // "Avg sectors per cylinder" is a hint to a host's scheduler; "Calc sector by sector" changes
    // the speed of DiskSim, not its results; a write always stops read-ahead of its sectors.
    fields.ignore(&[
        "Print stats",
        "Avg sectors per cylinder",
        "Calc sector by sector",
        "Write hit stop prefetch",
    ]);
    fields.finish()?;

    // The layout determines the number of sectors, as in DiskSim; some files give another figure
    // here.
    model.number("Block count", 0..=1_u64 << 40)?;
    let heads = model.number("Number of data surfaces", 1..=256)?;
    let cylinders = model.number("Number of cylinders", 1..=1_u32 << 22)?;
    let layout = layout::read(model.block("Layout Model", "dm_layout_g1")?, heads)?;
    let cylinders = cylinders.max(layout.cylinders());
    let mechanical = model.block("Mechanical Model", "dm_mech_g1")?;
    let mechanics = mechanics::read(mechanical, layout, cylinders, shortest_write_seek, resolve)?;
    model.finish()?;
    Ok(Params { mechanics, overheads, bus, buffer, writes })
}

fn read_bus(fields: &mut Fields, mut bus: Bus) -> DiskSimResult<Bus> {
    let own = Span::from_ns(fields.time("Bulk sector transfer time")?);
    bus.slow_down(own, own);
    fields.ignore(&["Hold bus entire write xfer"]);
    bus.held_in_reads = fields.switch("Hold bus entire read xfer")?;
    bus.never_disconnects = fields.switch("Never disconnect")?;
    Ok(bus)
}

/// Parameters that matter only with several commands in the drive are accepted if it accepts one.
fn check_queue(fields: &mut Fields) -> DiskSimResult<()> {
    let length = fields.value("Max queue length")?;
    if length.number("Max queue length", 0..=1000)? > 1 {
        return Err(length.at.error(
            "`Max queue length` above 1 is not modelled: drives of these files take one command",
        ));
    }
    fields.block("Scheduler", "disksim_ioqueue")?;
    fields.only("Allow sneaky partial read hits", 0.0)?;
    fields.only("Allow sneaky intermediate read hits", 0.0)?;
    fields.only("Allow write prebuffering", 0.0)?;
    fields.only("Preseeking level", 0.0)?;
    fields.only("Disconnect write if seek", 0.0)?;
    fields.only("Read directly to buffer", 1.0)?;
    fields.only("Minimum read-ahead (blks)", 0.0)?;
    // The low mark only determines when a write requests the bus again while data is missing; here
    // the data of a write comes in one piece.
    fields.ignore(&["Low (write) water mark"]);
    Ok(())
}

fn read_buffer(fields: &mut Fields) -> DiskSimResult<Buffer> {
    let segments = fields.number("Number of buffer segments", 1..=1024)?;
    fields.number("Maximum number of write segments", 1..=segments)?;
    let separate_write_segment = fields.switch("Use separate write segment")?;
    if separate_write_segment && segments == 1 {
        return Err(fields.block.at.error("a separate write segment needs at least two segments"));
    }
    let keeps = fields.number("Read-ahead over requested", -1.0..=1.0)?;
    Ok(Buffer {
        segments,
        segment_size: fields.number("Segment size (in blks)", 1..=1_u64 << 24)?,
        separate_write_segment,
        caches: fields.number("Enable caching in buffer", 0..=2)? > 0,
        hits_on_written: fields.switch("Allow read hits on write data")?,
        hits_on_arriving: fields.switch("Allow almost read hits")?,
        full_hits_pass_writes: fields.switch("Allow sneaky full read hits")?,
        partial_hits_at_once: fields.switch("Immed transfer partial hit")?,
        read_on: match fields.number("Buffer continuous read", 0..=4)? {
            0 => ReadOn::Not,
            1 => ReadOn::ToTrackEnd,
            2 => ReadOn::ToCylinderEnd,
            3 => ReadOn::ToSegmentEnd,
            _ => ReadOn::OneTrackAhead,
        },
        longest_read_ahead: fields.number("Maximum read-ahead (blks)", 0..=1_u64 << 24)?,
        keeps_request: keeps > 0.0,
        drops_taken: keeps < 0.0,
        reads_on_after_hits: fields.switch("Read-ahead on idle hit")?,
        keeps_what_passes: fields.switch("Read any free blocks")?,
        reads_on_arrival: fields.number("Immediate buffer read", 0..=2)? > 0,
        stop: if fields.switch("Stop prefetch in sector")? {
            Stop::WithinSector
        } else {
            Stop::AfterSector
        },
        read_mark: fields.number("High (read) water mark", 0.0..=1.0)?,
        marks_by_request: fields.switch("Set watermark by reqsize")?,
    })
}

fn read_overheads(fields: &mut Fields) -> DiskSimResult<Overheads> {
    let scale = fields.number("Time scale for overheads", 0.0..=1000.0)?;
    let mut scaled = OverheadReader { fields, scale };
    let extra = ExtraDisconnect {
        command: scaled.time("Extradisc command overhead")?,
        seek: scaled.time("Extradisc seek delta")?,
        disconnect: scaled.time("Extradisc disconnect overhead")?,
        second_disconnect: scaled.time("Extradisc 2nd disconnect overhead")?,
        // A pause is not an overhead: it is not scaled.
        pause: scaled.fields.residual("Extradisc inter-disconnect delay")?,
    };
    let extra_disconnect = scaled.fields.switch("Extra write disconnect")?.then_some(extra);
    Ok(Overheads {
        per_request: scaled.time("Per-request overhead time")?,
        read_hit: scaled.pair("Read hit over. after read", "Read hit over. after write")?,
        read_miss: scaled.pair("Read miss over. after read", "Read miss over. after write")?,
        write_hit: scaled.pair("Write hit over. after read", "Write hit over. after write")?,
        write_miss: scaled.pair("Write miss over. after read", "Write miss over. after write")?,
        read_disconnect: scaled.pair("Read disconnect afterread", "Read disconnect afterwrite")?,
        write_disconnect: scaled.time("Write disconnect overhead")?,
        first_reselect: scaled.time("First reselect overhead")?,
        other_reselect: scaled.time("Other reselect overhead")?,
        data_preparation: scaled.time("Data preparation overhead")?,
        read_completion: scaled.time("Read completion overhead")?,
        write_completion: scaled.time("Write completion overhead")?,
        extra_disconnect,
    })
}

/// Overheads, each multiplied by the scale that the file gives for all.
struct OverheadReader<'a> {
    fields: &'a mut Fields,
    scale: f64,
}

impl OverheadReader<'_> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "at most 1000 s in nanoseconds"
    )]
    fn time(&mut self, key: &'static str) -> DiskSimResult<Residual> {
        Ok((self.fields.residual(key)? as f64 * self.scale) as i64)
    }

    fn pair(&mut self, read: &'static str, write: &'static str) -> DiskSimResult<ByPrevious> {
        Ok(ByPrevious { after_read: self.time(read)?, after_write: self.time(write)? })
    }
}
