//! Finds drives that this host is too slow to emulate.

use std::io;

use drivelab_core::{Device, Histogram, Lba, Ratio, Request, Rng, Sectors, Span, Time};
use rustix::event::epoll;

use super::clock::Clock;
use super::round_trip::ROUND_TRIP;
use super::scheduling::Scheduling;
use super::spin_policy::Spin;

/// Wake-ups per round, and rounds: the best that the host can do differs from its times while
/// another program occupies the processor for some milliseconds.
const TRIES: u32 = 100;
const SLEEP: Span = Span::from_us(100);
const ROUNDS: u32 = 10;

/// The shortest time in which this host can answer: the wake-up time minus the time that is always
/// spun. It is measured until it is known to be at most `enough`.
pub fn least_answer_time(spin: Spin, enough: Span) -> io::Result<Span> {
    match spin {
        Spin::Auto => wakeup_latency(enough),
        Spin::Fixed(early) => {
            Ok(wakeup_latency(enough + early)?.saturating_sub(early).max(ROUND_TRIP))
        }
    }
}

/// Returns the lateness that this host's wake-ups stay below nine times out of ten: the best of
/// several rounds, or the first that is at most `enough`; with the scheduling that the server will
/// have, which the calling thread keeps from now on.
fn wakeup_latency(enough: Span) -> io::Result<Span> {
    // If that is refused, the latency is measured without it.
    let _ = Scheduling::ask_for_fifo();
    let mut least = Span::MAX;
    for _ in 0..ROUNDS {
        least = least.min(wake_up_round()?);
        if least <= enough {
            break;
        }
    }
    Ok(least)
}

fn wake_up_round() -> io::Result<Span> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut clock = Clock::new()?;
    epoll::add(&poll, clock.alarm(), epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    let mut late = Histogram::new();
    let mut events = Vec::with_capacity(1);
    for _ in 0..TRIES {
        let at = clock.now() + SLEEP;
        clock.set_alarm(Some(at))?;
        events.clear();
        // A process that was stopped and continued is interrupted here.
        rustix::io::retry_on_intr(|| {
            epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)
        })?;
        late.record(clock.now().since(at));
        clock.acknowledge();
    }
    Ok(late.quantile(Ratio::percent(90)).expect("a hundred were tried"))
}

/// Returns the median time of a random 4 KiB read at depth 1, in virtual time.
pub fn typical_read(device: &mut dyn Device) -> Span {
    // Enough for a stable median, and few enough to take no time.
    let (page, reads) = (Sectors::new(8), 200);
    let pages = (device.capacity().get() / page.get()).max(1);
    let mut rng = Rng::new(1);
    let (mut now, mut took, mut completed) = (Time::ZERO, Histogram::new(), Vec::new());
    for id in 0..reads {
        let lba = Lba::new(rng.below(pages) * page.get());
        let sent = now;
        if device.submit(now, Request::read(id, lba, page)).is_err() {
            break;
        }
        while completed.is_empty() {
            let Some(next) = device.next_event() else { break };
            now = next;
            device.advance(now, &mut completed);
        }
        completed.clear();
        took.record(now.since(sent));
    }
    took.quantile(Ratio::percent(50)).unwrap_or(Span::ZERO)
}
