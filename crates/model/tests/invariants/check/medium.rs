//! The rules of the medium: one access at a time, at the right angle, in the right order.

use drivelab_core::numbers::float;
use drivelab_core::{Lba, Time};
use drivelab_model::Access;

use super::plan::Plan;
use super::rule::{Rule, Tally, Violation};
use super::surface::Track;

/// Whole nanoseconds, and what the model lets a head be late without missing its sector.
const SLACK_NS: f64 = 5.0;

/// What the medium is doing.
#[derive(Debug)]
pub(crate) struct Medium {
    under_way: Option<Access>,
    free: Time,
    /// Where the arm is, unless it has followed read-ahead to another track.
    arm: Option<Track>,
}

impl Medium {
    pub(crate) fn new() -> Self {
        let arm = Some(Track { cylinder: 0, head: 0 });
        Self { under_way: None, free: Time::ZERO, arm }
    }

    pub(crate) fn begun(
        &mut self,
        plan: &Plan,
        at: Time,
        access: Access,
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        tally.accesses += 1;
        tally.hold(Rule::OneAccess, self.under_way.is_none() && self.free <= at, || {
            format!("an access begins at {at}, one is under way until {}", self.free)
        })?;
        let end = access.lba + access.sectors;
        tally.hold(Rule::Range, end.get() <= plan.capacity && access.lba < end, || {
            format!("sectors {} to {end} of {}", access.lba, plan.capacity)
        })?;
        tally.hold(
            Rule::Clock,
            at <= access.on_sector && access.on_sector < access.until,
            || format!("begun {at}, on its sector {}, done {}", access.on_sector, access.until),
        )?;
        if !access.continues_read_ahead {
            Self::meets_its_sector(plan, &access, tally)?;
            self.takes_its_time(plan, at, &access, tally)?;
        }
        let last = plan.surface.end_of(end.get() - 1);
        let (_, switches) = plan.surface.passing(access.lba.get(), access.sectors.get());
        let off = plan.surface.off(access.until, last);
        tally.hold(Rule::Angle, off.abs() <= SLACK_NS + float(switches), || {
            format!("sector {end} is {off} ns away when the access ends")
        })?;
        (self.under_way, self.free) = (Some(access), access.until);
        Ok(())
    }

    fn meets_its_sector(plan: &Plan, access: &Access, tally: &mut Tally) -> Result<(), Violation> {
        let lba = access.lba.get();
        let off = plan.surface.off(access.on_sector, plan.surface.spot(lba).turn);
        tally.hold(Rule::Angle, off.abs() <= SLACK_NS, || {
            format!("sector {lba} is {off} ns away from the head that reads it")
        })?;
        let (expected, switches) = plan.surface.passing(lba, access.sectors.get());
        let took = float(access.until.since(access.on_sector).ns());
        // An access that needs another try stays on its track for whole revolutions.
        let within = |lost: u64| {
            let off = took - expected - float(lost) * plan.surface.period();
            off.abs() <= SLACK_NS + float(switches)
        };
        tally.hold(Rule::Angle, within(0) || plan.retry.is_some_and(within), || {
            format!("{} sectors pass in {took} ns, not {expected}", access.sectors)
        })
    }

    /// Between the commitment and the first sector lie the seek and less than a revolution.
    fn takes_its_time(
        &self,
        plan: &Plan,
        at: Time,
        access: &Access,
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        let surface = &plan.surface;
        let took = float(access.on_sector.since(at).ns());
        let to = surface.spot(access.lba.get()).track;
        let reach = self.arm.map(|from| surface.reach(from, to, access.write));
        let (least, most) = match reach {
            Some(reach) => (reach, reach + surface.period()),
            None => (0.0, surface.longest_reach() + surface.period()),
        };
        let holds = (least - SLACK_NS..=most + SLACK_NS).contains(&took);
        tally.hold(Rule::Positioning, holds, || {
            format!("{took} ns to sector {}, {least} to {most} are right", access.lba)
        })
    }

    /// The access under way is done; gives it.
    pub(crate) fn ended(
        &mut self,
        plan: &Plan,
        at: Time,
        tally: &mut Tally,
    ) -> Result<Access, Violation> {
        let access = self.under_way.take();
        let due = access.map(|access| access.until);
        tally.hold(Rule::OneAccess, due == Some(at), || {
            format!("an access ends at {at}, due was {due:?}")
        })?;
        let access = access.expect("it is due now");
        let last = access.lba.get() + access.sectors.get() - 1;
        self.arm = Some(plan.surface.spot(last).track);
        Ok(access)
    }

    pub(crate) fn reads_ahead(
        &mut self,
        plan: &Plan,
        (from, to): (Lba, Lba),
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        tally.hold(Rule::Range, from <= to && to.get() <= plan.capacity, || {
            format!("read-ahead from {from} to {to} of {}", plan.capacity)
        })?;
        let stays = |lba: u64| self.arm == Some(plan.surface.spot(lba).track);
        let last = to.get().min(plan.capacity).max(1) - 1;
        if !(stays(from.get().min(last)) && stays(last)) {
            self.arm = None;
        }
        Ok(())
    }
}
