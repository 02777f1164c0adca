//! A common start: all are ready, their clocks are known, and one instant is agreed on.

use drivelab_core::record::ClockOffset;
use drivelab_core::units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::{Crew, Ranks, clock};

/// From the agreement to the start: the time in which word of it must reach all ranks.
const AHEAD: Span = Span::from_ms(200);
/// More for each rank, as rank 0 sends to one after the other.
const AHEAD_EACH: Span = Span::from_ms(1);

/// The agreed start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// Start of this rank, by its own clock.
    pub start: Time,
    /// Its clock, against that of rank 0.
    pub clock: ClockOffset,
}

/// The answer of the start line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// All begin.
    At(Agreed),
    /// None begins, for this reason, in words of the rank at fault.
    Refused(String),
}

/// The state of a rank before the start.
#[derive(Debug, Serialize, Deserialize)]
struct Ready {
    host: String,
    /// The reason why it cannot begin.
    refusal: Option<String>,
}

/// The word of rank 0 to a rank.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    Go { start_ns: u64, offset_ns: i64, error_ns: u64 },
    Stop { why: String },
}

/// States whether this rank is ready, and agrees on the start with the others. Rank 0 waits for all
/// of them until `limit` has passed.
pub fn begin<R: Ranks>(
    crew: &mut Crew<'_, R>,
    host: &str,
    refusal: Option<String>,
    limit: Span,
) -> Begun {
    let ready = Ready { host: host.to_owned(), refusal };
    let message = serde_json::to_vec(&ready).expect("words are always JSON");
    let deadline = crew.now() + limit;
    let answers = crew.gather(&message, deadline);
    if crew.rank() == 0 { lead(crew, &answers) } else { follow(crew, limit) }
}

fn lead<R: Ranks>(crew: &mut Crew<'_, R>, answers: &[Option<Vec<u8>>]) -> Begun {
    if let Some(why) =
        answers.iter().zip(0..).find_map(|(answer, rank)| fault(answer.as_deref(), rank))
    {
        return stop(crew, why);
    }
    let clocks = clock::measure(crew);
    if let Some(rank) = clocks.iter().position(Option::is_none) {
        return stop(crew, format!("rank {rank} no longer answers"));
    }
    let clocks: Vec<ClockOffset> = clocks.into_iter().flatten().collect();
    // Far enough ahead that the word reaches the last rank before its start.
    let start = crew.now() + AHEAD + AHEAD_EACH * u64::from(crew.size());
    for (rank, clock) in (0..).zip(&clocks).skip(1) {
        let (offset_ns, error_ns) = (clock.ns, clock.error_ns);
        tell(crew, rank, &Word::Go { start_ns: start.ns(), offset_ns, error_ns });
    }
    // One that is lost now is missed when results are gathered.
    Begun::At(Agreed { start, clock: ClockOffset::default() })
}

/// The reason why a rank is not ready.
fn fault(answer: Option<&[u8]>, rank: u32) -> Option<String> {
    let Some(answer) = answer else {
        return Some(format!("rank {rank} did not become ready in time"));
    };
    match serde_json::from_slice::<Ready>(answer) {
        Ok(ready) => ready.refusal.map(|why| format!("rank {rank} ({}): {why}", ready.host)),
        Err(error) => Some(format!("rank {rank} is another version of drivelab: {error}")),
    }
}

fn stop<R: Ranks>(crew: &mut Crew<'_, R>, why: String) -> Begun {
    for rank in 1..crew.size() {
        tell(crew, rank, &Word::Stop { why: why.clone() });
    }
    Begun::Refused(why)
}

fn tell<R: Ranks>(crew: &mut Crew<'_, R>, rank: u32, word: &Word) {
    crew.send(rank, &serde_json::to_vec(word).expect("words are always JSON"));
}

fn follow<R: Ranks>(crew: &mut Crew<'_, R>, limit: Span) -> Begun {
    loop {
        let Some(message) = crew.receive_within(0, limit) else {
            return Begun::Refused("rank 0 no longer answers".to_owned());
        };
        // An empty message asks for the time, any other is the last word.
        if message.is_empty() {
            clock::answer(crew);
            continue;
        }
        return match serde_json::from_slice(&message) {
            Ok(Word::Go { start_ns, offset_ns, error_ns }) => {
                let start = Time::from_ns(start_ns.saturating_add_signed(offset_ns));
                Begun::At(Agreed { start, clock: ClockOffset { ns: offset_ns, error_ns } })
            }
            Ok(Word::Stop { why }) => Begun::Refused(why),
            Err(error) => Begun::Refused(format!("rank 0 is another version: {error}")),
        };
    }
}
