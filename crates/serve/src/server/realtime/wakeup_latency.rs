//! Which drives this host is too slow to be.

use std::io;

use drivelab_core::{Device, Histogram, Lba, Ratio, Request, Rng, Sectors, Span, Time};
use rustix::event::epoll;

use super::clock::Clock;
use super::scheduling::Scheduling;
use super::spin_policy::Spin;

/// Wake-ups that are tried in a round, and rounds: what the host can do is not what it does while
/// something else has the processor for some milliseconds.
const TRIES: u32 = 100;
const SLEEP: Span = Span::from_us(100);
const ROUNDS: u32 = 10;

/// What even a loop that never sleeps takes for a request: a round trip over a unix socket took
/// 13 us (`cargo bench -p drivelab --bench emulation`).
const AWAKE: Span = Span::from_us(15);

/// The least time in which this host can answer: that to wake up, less what is spun whatever it
/// costs. It is measured until it is known to be at most `enough`.
pub fn least_answer_time(spin: Spin, enough: Span) -> io::Result<Span> {
    match spin {
        Spin::Auto => wakeup_latency(enough),
        Spin::Fixed(early) => Ok(wakeup_latency(enough + early)?.saturating_sub(early).max(AWAKE)),
    }
}

/// How late this host wakes a sleeper nine times out of ten: the best of some rounds, or the first
/// that is soon `enough`; scheduled as the server will be, which the calling thread is from now on.
fn wakeup_latency(enough: Span) -> io::Result<Span> {
    // Refused, it is measured as it is.
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
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        late.record(clock.now().since(at));
        clock.acknowledge();
    }
    Ok(late.quantile(Ratio::percent(90)).expect("a hundred were tried"))
}

/// The median of a random 4 KiB read at depth 1, in virtual time; the device is used up by it.
pub fn typical_read(device: &mut dyn Device) -> Span {
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
