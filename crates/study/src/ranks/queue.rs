//! A queue of work: rank 0 hands it out in batches, and works itself in between.
//!
//! A rank asks for its next batch before it begins one, so that it does not wait while rank 0 is at
//! work. A batch of a rank that dies is not handed out again: its items are made when the same
//! command is given again.

use std::collections::BTreeMap;

use drivelab_core::units::Time;

use super::{Crew, Ranks};

/// The request for a batch.
const ASK: &[u8] = b"next";
/// The word of a rank that has made all its batches: it asks for one while it has another to make.
const DONE: &[u8] = b"done";

/// Has all ranks make `items`, which rank 0 gives, in batches; `make` makes a batch here and keeps
/// it. `stops` ends it early.
///
/// # Errors
/// The errors of `make` on this rank. The others go on; without rank 0 they get no more.
pub fn share<R: Ranks, E>(
    crew: &mut Crew<'_, R>,
    items: &[u32],
    batch: usize,
    stops: impl Fn() -> bool,
    make: impl FnMut(&[u32]) -> Result<(), E>,
) -> Result<(), E> {
    if crew.rank() == 0 { lead(crew, items, batch, stops, make) } else { follow(crew, stops, make) }
}

fn lead<R: Ranks, E>(
    crew: &mut Crew<'_, R>,
    items: &[u32],
    batch: usize,
    stops: impl Fn() -> bool,
    mut make: impl FnMut(&[u32]) -> Result<(), E>,
) -> Result<(), E> {
    let mut batches = items.chunks(batch.max(1));
    // Time of the last message of each rank that works.
    let mut heard: BTreeMap<u32, Time> = (1..crew.size()).map(|rank| (rank, crew.now())).collect();
    let mut result = Ok(());
    loop {
        for rank in heard.keys().copied().collect::<Vec<_>>() {
            while let Some(message) = crew.try_receive(rank) {
                if message == DONE {
                    heard.remove(&rank);
                    break;
                }
                // An empty batch is the last one.
                let next = batches.next().filter(|_| !stops()).unwrap_or_default();
                crew.send(rank, &numbers(next));
                heard.insert(rank, crew.now());
            }
        }
        // Rank 0 serves the others between its own batches.
        let own = batches.next().filter(|_| result.is_ok() && !stops());
        let Some(own) = own else {
            // The others end with the batches that they have.
            heard.retain(|rank, since| crew.may_wait_for(*rank, *since));
            if heard.is_empty() {
                return result;
            }
            crew.pause();
            continue;
        };
        result = make(own);
        if result.is_err() {
            // Rank 0 has failed: the others get empty batches, at which they end.
            batches = [].chunks(1);
        }
    }
}

fn follow<R: Ranks, E>(
    crew: &mut Crew<'_, R>,
    stops: impl Fn() -> bool,
    mut make: impl FnMut(&[u32]) -> Result<(), E>,
) -> Result<(), E> {
    crew.send(0, ASK);
    while let Some(message) = crew.receive(0) {
        let items = read(&message);
        if items.is_empty() || stops() {
            break;
        }
        // Asked before the work, so that the next batch arrives meanwhile.
        crew.send(0, ASK);
        make(&items)?;
    }
    crew.send(0, DONE);
    Ok(())
}

fn numbers(items: &[u32]) -> Vec<u8> {
    items.iter().flat_map(|item| item.to_le_bytes()).collect()
}

fn read(message: &[u8]) -> Vec<u32> {
    let (items, _) = message.as_chunks::<4>();
    items.iter().map(|item| u32::from_le_bytes(*item)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;
    use std::time::Duration;

    use drivelab_core::units::Span;

    use super::super::threads::Thread;
    use super::*;

    /// What each rank made; a rank that is `dies` is killed in its second batch.
    fn made(ranks: usize, items: u32, dies: Option<u32>) -> (Vec<Vec<u32>>, Vec<u32>) {
        let made = Mutex::new(vec![Vec::new(); ranks]);
        let lost = Mutex::new(Vec::new());
        let patience = Span::from_ms(if dies.is_some() { 300 } else { 5_000 });
        thread::scope(|scope| {
            for rank in Thread::all(&vec![0; ranks], 100) {
                let (made, lost) = (&made, &lost);
                scope.spawn(move || {
                    let mut crew = Crew::new(&rank, patience);
                    let all: Vec<u32> = (0..items).collect();
                    let own = rank.rank() as usize;
                    let mut batches = 0;
                    let end = share(
                        &mut crew,
                        &all,
                        7,
                        || false,
                        |batch| {
                            batches += 1;
                            if dies == Some(rank.rank()) && batches == 2 {
                                return Err("killed");
                            }
                            // Rank 0 is the first to have nothing left.
                            let ms = if rank.rank() == 0 { 1 } else { 4 };
                            thread::sleep(Duration::from_millis(ms));
                            made.lock().unwrap()[own].extend_from_slice(batch);
                            Ok(())
                        },
                    );
                    assert_eq!(end.is_err(), dies == Some(rank.rank()));
                    if rank.rank() == 0 {
                        let count: usize = made.lock().unwrap().iter().map(Vec::len).sum();
                        assert!(dies.is_some() || count == all.len(), "some are not made yet");
                        lost.lock().unwrap().extend(crew.lost());
                    }
                });
            }
        });
        (made.into_inner().unwrap(), lost.into_inner().unwrap())
    }

    #[test]
    fn every_item_is_made_once_and_all_ranks_have_some() {
        for ranks in [1, 2, 5] {
            let (made, lost) = made(ranks, 400, None);
            assert!(made.iter().all(|made| !made.is_empty()), "{made:?}");
            let mut all = made.concat();
            all.sort_unstable();
            assert_eq!(all, (0..400).collect::<Vec<_>>());
            assert!(lost.is_empty());
        }
    }

    #[test]
    fn a_rank_that_dies_costs_its_own_batches_alone() {
        let (made, lost) = made(3, 400, Some(2));
        assert_eq!((made[2].len(), &lost[..]), (7, &[2][..]));
        let mut all = made.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), made.iter().map(Vec::len).sum::<usize>());
        // The one that it was at, and the one that it had asked for.
        assert!((400 - 14..400).contains(&all.len()), "{}", all.len());
    }

    #[test]
    fn nothing_to_make_ends_at_once() {
        assert!(made(3, 0, None).0.concat().is_empty());
    }
}
