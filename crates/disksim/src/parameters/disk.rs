//! The block `disksim_disk`: buffer, bus behaviour and overheads.

use drivelab_core::Span;
use drivelab_model::profile::BaseText;

use super::error::DiskSimError;
use super::fields::Fields;
use super::tree::Block;
use super::{layout, mechanics};
use crate::disk::params::{
    Buffer, Bus, ByPrevious, ExtraDisconnect, Overheads, Params, ReadOn, Stop, Writes,
};

pub(super) fn read(
    block: Block,
    wire: Bus,
    resolve: &dyn Fn(&str) -> Option<BaseText>,
) -> Result<Params, DiskSimError> {
    let mut fields = Fields::of(block);
    let mut model = fields.block("Model", "dm_disk")?;
    let bus = bus(&mut fields, wire)?;
    queue(&mut fields)?;
    let buffer = buffer(&mut fields)?;
    let writes = Writes {
        immediate_report: fields.whole("Fast write level", 0..=2)? > 0,
        joins_sequential: fields.switch("Combine seq writes")?,
        on_arrival: fields.whole("Immediate buffer write", 0..=2)? > 0,
    };
    let overheads = overheads(&mut fields)?;
    let shortest_write_seek = Span::from_ns(fields.time("Minimum seek delay")?);
    // "Avg sectors per cylinder" is a hint to a host's scheduler; "Calc sector by sector" changes
    // how fast DiskSim runs, not what it says; a write stops read-ahead of its sectors in any case.
    fields.ignore(&[
        "Print stats",
        "Avg sectors per cylinder",
        "Calc sector by sector",
        "Write hit stop prefetch",
    ]);
    fields.finish()?;

    // The layout says how many sectors there are, as in DiskSim; some files give another figure
    // here.
    model.whole("Block count", 0..=1 << 40)?;
    let heads = model.whole("Number of data surfaces", 1..=256)?;
    let cylinders = model.whole("Number of cylinders", 1..=1 << 22)?;
    let heads = narrow(heads);
    let layout = layout::read(model.block("Layout Model", "dm_layout_g1")?, heads)?;
    let cylinders = narrow(cylinders).max(layout.cylinders());
    let mechanical = model.block("Mechanical Model", "dm_mech_g1")?;
    let mechanics = mechanics::read(mechanical, layout, cylinders, shortest_write_seek, resolve)?;
    model.finish()?;
    Ok(Params { mechanics, overheads, bus, buffer, writes })
}

fn bus(fields: &mut Fields, wire: Bus) -> Result<Bus, DiskSimError> {
    let own = Span::from_ns(fields.time("Bulk sector transfer time")?);
    fields.ignore(&["Hold bus entire write xfer"]);
    Ok(Bus {
        read_sector: wire.read_sector.max(own),
        write_sector: wire.write_sector.max(own),
        held_in_reads: fields.switch("Hold bus entire read xfer")?,
        never_disconnects: fields.switch("Never disconnect")?,
    })
}

/// What would matter only with several commands in the drive is accepted while it holds one.
fn queue(fields: &mut Fields) -> Result<(), DiskSimError> {
    let length = fields.value("Max queue length")?;
    if length.whole("Max queue length", 0..=1000)? > 1 {
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
    // The low mark only decides when a write asks for the bus again while data is missing; here
    // the data of a write comes in one piece.
    fields.ignore(&["Low (write) water mark"]);
    Ok(())
}

fn buffer(fields: &mut Fields) -> Result<Buffer, DiskSimError> {
    let segments = fields.whole("Number of buffer segments", 1..=1024)?;
    let write_segments = fields.value("Maximum number of write segments")?;
    write_segments.whole("Maximum number of write segments", 1..=segments)?;
    let separate = fields.value("Use separate write segment")?;
    let separate_write_segment = separate.whole("Use separate write segment", 0..=1)? == 1;
    if separate_write_segment && segments == 1 {
        return Err(separate.at.error("a separate write segment needs at least two segments"));
    }
    let keeps = fields.number("Read-ahead over requested", -1.0..=1.0)?;
    Ok(Buffer {
        segments: usize::try_from(segments).expect("at most 1024"),
        segment_size: fields.whole("Segment size (in blks)", 1..=1 << 24)?,
        separate_write_segment,
        caches: fields.whole("Enable caching in buffer", 0..=2)? > 0,
        hits_on_written: fields.switch("Allow read hits on write data")?,
        hits_on_arriving: fields.switch("Allow almost read hits")?,
        full_hits_pass_writes: fields.switch("Allow sneaky full read hits")?,
        partial_hits_at_once: fields.switch("Immed transfer partial hit")?,
        read_on: match fields.whole("Buffer continuous read", 0..=4)? {
            0 => ReadOn::Not,
            1 => ReadOn::ToTrackEnd,
            2 => ReadOn::ToCylinderEnd,
            3 => ReadOn::ToSegmentEnd,
            _ => ReadOn::OneTrackAhead,
        },
        longest_read_ahead: fields.whole("Maximum read-ahead (blks)", 0..=1 << 24)?,
        keeps_request: keeps > 0.0,
        drops_taken: keeps < 0.0,
        reads_on_after_hits: fields.switch("Read-ahead on idle hit")?,
        keeps_what_passes: fields.switch("Read any free blocks")?,
        reads_on_arrival: fields.whole("Immediate buffer read", 0..=2)? > 0,
        stop: if fields.switch("Stop prefetch in sector")? {
            Stop::WithinSector
        } else {
            Stop::AfterSector
        },
        read_mark: fields.number("High (read) water mark", 0.0..=1.0)?,
        marks_by_request: fields.switch("Set watermark by reqsize")?,
    })
}

fn overheads(fields: &mut Fields) -> Result<Overheads, DiskSimError> {
    let scale = fields.number("Time scale for overheads", 0.0..=1000.0)?;
    let mut scaled = |key| Ok::<_, DiskSimError>(times(fields.residual(key)?, scale));
    let read_hit = ByPrevious {
        after_read: scaled("Read hit over. after read")?,
        after_write: scaled("Read hit over. after write")?,
    };
    let read_miss = ByPrevious {
        after_read: scaled("Read miss over. after read")?,
        after_write: scaled("Read miss over. after write")?,
    };
    let write_hit = ByPrevious {
        after_read: scaled("Write hit over. after read")?,
        after_write: scaled("Write hit over. after write")?,
    };
    let write_miss = ByPrevious {
        after_read: scaled("Write miss over. after read")?,
        after_write: scaled("Write miss over. after write")?,
    };
    let read_disconnect = ByPrevious {
        after_read: scaled("Read disconnect afterread")?,
        after_write: scaled("Read disconnect afterwrite")?,
    };
    let extra = ExtraDisconnect {
        command: scaled("Extradisc command overhead")?,
        seek: scaled("Extradisc seek delta")?,
        disconnect: scaled("Extradisc disconnect overhead")?,
        second_disconnect: scaled("Extradisc 2nd disconnect overhead")?,
        // A pause is no overhead: it is not scaled.
        pause: 0,
    };
    let per_request = scaled("Per-request overhead time")?;
    let write_disconnect = scaled("Write disconnect overhead")?;
    let first_reselect = scaled("First reselect overhead")?;
    let other_reselect = scaled("Other reselect overhead")?;
    let data_preparation = scaled("Data preparation overhead")?;
    let read_completion = scaled("Read completion overhead")?;
    let write_completion = scaled("Write completion overhead")?;
    let pause = fields.residual("Extradisc inter-disconnect delay")?;
    let extra_disconnect = fields.switch("Extra write disconnect")?;
    Ok(Overheads {
        per_request,
        read_hit,
        read_miss,
        write_hit,
        write_miss,
        read_disconnect,
        write_disconnect,
        first_reselect,
        other_reselect,
        data_preparation,
        read_completion,
        write_completion,
        extra_disconnect: extra_disconnect.then_some(ExtraDisconnect { pause, ..extra }),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "at most 1000 s in nanoseconds"
)]
fn times(overhead: i64, scale: f64) -> i64 {
    (overhead as f64 * scale) as i64
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).expect("the limits are far below 2^32")
}
