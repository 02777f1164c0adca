//! The verdict on the promises.

use drivelab_core::Control;
use drivelab_core::record::Damage;
use drivelab_core::verification::{BlockContent, Judgement};

use super::ledger::{Ledger, Promise};
use super::page::{self, PAGE_BYTES};
use super::target::{PageTarget, TargetError};

/// Checks every page that was written or that contains data.
pub fn verify(
    target: &mut dyn PageTarget,
    ledger: &Ledger,
    control: &Control<'_>,
) -> Result<Judgement, TargetError> {
    let mut verdict = Judgement::default();
    let mut bytes = vec![0; PAGE_BYTES];
    let mut next = 0;
    // Pages that were never written are checked too: a misdirected write may have landed there.
    while let Some(number) = next_page(target, ledger, next)? {
        if control.stopped() {
            return Err(TargetError::Stopped);
        }
        next = number + 1;
        target.read(number, &mut bytes)?;
        let found = page::examine(&bytes, ledger.run, number);
        match ledger.promises.get(&number) {
            Some(promise) => count(&mut verdict, &found, promise, ledger),
            // This page was never written.
            None => verdict.misdirected += u64::from(found.elsewhere.is_some()),
        }
    }
    Ok(verdict)
}

/// The first page from `next` on that was written, or may contain data that belongs elsewhere.
fn next_page(
    target: &mut dyn PageTarget,
    ledger: &Ledger,
    next: u64,
) -> Result<Option<u64>, TargetError> {
    let noted = ledger.promises.range(next..).next().map(|(page, _)| *page);
    let data = target.data_from(next)?.filter(|page| *page < ledger.pages);
    Ok(noted.into_iter().chain(data).min())
}

/// Counts a page by its content and its required content.
fn count(pages: &mut Judgement, found: &BlockContent, promise: &Promise, ledger: &Ledger) {
    let Promise { account, at } = *promise;
    // A write that is not in the ledger was begun after the end of the ledger was lost.
    debug_assert!(account.durable <= account.newest, "a promise follows its write");
    let is_whole = !found.is_damaged && found.elsewhere.is_none();
    let newest = found.newest.filter(|_| is_whole).unwrap_or(0);
    let overwriting = account.newest.max(newest) > account.durable;
    pages.promised += u64::from(account.durable > 0);
    let broken = match found.damage(account.durable) {
        // A write in flight excuses sectors that contain it, and no others.
        None => None,
        Some(Damage::Misdirected) => Some(&mut pages.misdirected),
        Some(Damage::Lost) => Some(&mut pages.lost),
        Some(Damage::Stale) if !found.is_mixed() => Some(&mut pages.lost),
        // No write leaves a sector that contains half of it.
        Some(_) => Some(&mut pages.torn),
    };
    match broken {
        Some(count) => {
            *count += 1;
            let age = if account.durable > 0 { ledger.age(at).ns() } else { 0 };
            pages.oldest_loss_ns = pages.oldest_loss_ns.max(Some(age));
        }
        None if overwriting => pages.unknown += 1,
        None => pages.survived += 1,
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Time;
    use drivelab_core::verification::BlockAccount;

    use super::super::ledger::Note;
    use super::*;

    #[test]
    fn each_fate_of_a_page_is_told_apart() {
        let check = |found: BlockContent, durable: u64, newest, expected: [u64; 5]| {
            let ledger = Ledger::new(1, 1);
            let account = BlockAccount { newest, durable };
            let mut verdict = Judgement::default();
            count(&mut verdict, &found, &Promise { account, at: Time::ZERO }, &ledger);
            let Judgement { survived, lost, torn, misdirected, unknown, .. } = verdict;
            assert_eq!([survived, lost, torn, misdirected, unknown], expected, "{found:?}");
        };
        let torn = |oldest, newest| BlockContent {
            is_blank: oldest == 0,
            oldest: Some(oldest).filter(|oldest| *oldest > 0),
            newest: Some(newest),
            ..BlockContent::default()
        };
        let whole = |sequence| torn(sequence, sequence);
        let blank = BlockContent { is_blank: true, ..BlockContent::default() };
        let damaged = BlockContent { is_damaged: true, ..whole(6) };
        let elsewhere = BlockContent { elsewhere: Some(64), ..BlockContent::default() };
        check(whole(5), 5, 5, [1, 0, 0, 0, 0]);
        check(whole(4), 5, 5, [0, 1, 0, 0, 0]);
        check(blank, 5, 5, [0, 1, 0, 0, 0]);
        check(torn(4, 5), 5, 5, [0, 0, 1, 0, 0]);
        check(torn(3, 4), 5, 5, [0, 0, 1, 0, 0]);
        check(damaged, 5, 5, [0, 0, 1, 0, 0]);
        check(elsewhere, 5, 5, [0, 0, 0, 1, 0]);
        check(torn(5, 6), 5, 6, [0, 0, 0, 0, 1]);
        check(damaged, 0, 6, [0, 0, 0, 0, 1]);
        check(whole(6), 5, 6, [0, 0, 0, 0, 1]);
        // A write in flight does not excuse the loss of an earlier promise.
        check(whole(4), 5, 6, [0, 1, 0, 0, 0]);
        check(blank, 0, 3, [0, 0, 0, 0, 1]);
    }

    /// A page that still exists.
    struct Page(Vec<u8>);

    impl PageTarget for Page {
        fn now(&self) -> Time {
            Time::ZERO
        }

        fn write(&mut self, _: u64, _: &[u8]) -> Result<(), TargetError> {
            Ok(())
        }

        fn sync(&mut self) -> Result<(), TargetError> {
            Ok(())
        }

        fn read(&mut self, _: u64, bytes: &mut [u8]) -> Result<(), TargetError> {
            bytes.copy_from_slice(&self.0);
            Ok(())
        }

        fn data_from(&mut self, page: u64) -> Result<Option<u64>, TargetError> {
            Ok((page == 0).then_some(0))
        }
    }

    /// The verdict on a page that was promised as write 5, if its first sectors are of write
    /// `first` and the others of write `rest`, while `begun` was in flight; 0 is no write.
    fn mixture(first: u64, rest: u64, begun: u64) -> Judgement {
        let of = |sequence| match sequence {
            0 => vec![0; PAGE_BYTES],
            _ => page::fill(page::Stamp { run: 1, page: 0, sequence }),
        };
        let bytes = [&of(first)[..1024], &of(rest)[1024..]].concat();
        let mut ledger = Ledger::new(1, 1);
        ledger.add(Note { page: 0, sequence: 5, promised: true, at: Time::ZERO });
        ledger.add(Note { page: 0, sequence: begun, promised: false, at: Time::ZERO });
        verify(&mut Page(bytes), &ledger, &Control::unattended()).unwrap()
    }

    #[test]
    fn a_write_in_flight_excuses_nothing_older_than_the_newest_promise() {
        let check = |first, rest, begun, [torn, unknown]: [u64; 2]| {
            let verdict = mixture(first, rest, begun);
            let found = [verdict.torn, verdict.unknown];
            assert_eq!(found, [torn, unknown], "{first} {rest} {begun}: {verdict:?}");
        };
        check(6, 5, 6, [0, 1]);
        check(5, 6, 6, [0, 1]);
        check(6, 4, 6, [1, 0]);
        check(3, 6, 6, [1, 0]);
        check(6, 0, 6, [1, 0]);
        check(5, 4, 5, [1, 0]);
        // The end of the ledger was lost: write 7 proves itself.
        check(7, 5, 5, [0, 1]);
    }

    #[test]
    fn a_damaged_sector_is_no_part_of_a_write_in_flight() {
        let mut bytes = page::fill(page::Stamp { run: 1, page: 0, sequence: 6 });
        bytes[700] ^= 1;
        let mut ledger = Ledger::new(1, 1);
        ledger.add(Note { page: 0, sequence: 5, promised: true, at: Time::ZERO });
        ledger.add(Note { page: 0, sequence: 6, promised: false, at: Time::ZERO });
        assert_eq!(verify(&mut Page(bytes), &ledger, &Control::unattended()).unwrap().torn, 1);
    }
}
