//! Dies and channels, to the nanosecond.
#![expect(clippy::print_stdout, reason = "a test that fails names its seed")]

use drivelab_core::Rng;

use super::*;

const US: u64 = 1_000;

/// MLC: reads of 50 and 70 us, programs of 600 and 1200 us, 10 us a unit on the channel.
fn rules(channels: u32, dies: u32) -> FlashRules {
    let page =
        |read, program| PageTimes { read: Span::from_us(read), program: Span::from_us(program) };
    FlashRules {
        channels,
        dies,
        pages: vec![page(50, 600), page(70, 1_200)],
        slc: None,
        commit: None,
        erase: Span::from_ms(3),
        transfer: Span::from_us(10),
        channel_command: Span::ZERO,
        suspend: None,
        overtaking_reads: 8,
        retry: None,
        seed: 1,
    }
}

fn with_suspend(most: u32) -> FlashRules {
    let suspend = Suspend { stop: Span::from_us(5), resume: Span::from_us(3), most };
    FlashRules { suspend: Some(suspend), ..rules(1, 1) }
}

/// When each command finishes; commands are (us, die, kind, page), one unit each.
fn check(rules: FlashRules, commands: &[(u64, u32, Kind, u32)], expected: &[(u32, u64)]) {
    let mut flash = Flash::new(rules);
    let mut finished = Vec::new();
    for (token, (at, die, kind, page)) in (0..).zip(commands) {
        let at = Time::from_ns(at * US);
        flash.advance(at, &mut finished);
        let units = u32::from(*kind != Kind::Erase);
        flash.submit(at, Die(*die), Command::new(*kind, *page, units, token));
    }
    flash.advance(Time::MAX, &mut finished);
    let found: Vec<(u32, u64)> =
        finished.iter().map(|(at, token)| (*token, at.ns() / US)).collect();
    assert_eq!(found, expected);
}

#[test]
fn each_kind_of_page_takes_its_own_time() {
    let read = |page, us| check(rules(1, 1), &[(0, 0, Kind::Read, page)], &[(0, us)]);
    read(0, 60);
    read(1, 80);
    read(2, 60);
    check(rules(1, 1), &[(0, 0, Kind::Program, 1)], &[(0, 1_210)]);
    check(rules(1, 1), &[(0, 0, Kind::Erase, 0)], &[(0, 3_000)]);
}

#[test]
fn dies_of_one_channel_share_nothing_but_its_transfers() {
    let reads = |dies: [u32; 2]| dies.map(|die| (0, die, Kind::Read, 0));
    // One die: one after the other, the transfer included.
    check(rules(1, 2), &reads([0, 0]), &[(0, 60), (1, 120)]);
    check(rules(1, 2), &reads([0, 1]), &[(0, 60), (1, 70)]);
    check(rules(2, 2), &reads([0, 1]), &[(0, 60), (1, 60)]);
}

/// A page that was read is in the register until the die does anything else.
#[test]
fn a_second_read_of_a_page_finds_it_in_the_register() {
    let read = |page| (Kind::Read, page);
    let program = (Kind::Program, Command::NO_PAGE);
    let steps = [read(3), read(3), read(4), program, read(4)];
    let mut flash = Flash::new(rules(1, 1));
    let mut finished = Vec::new();
    for (token, (kind, register)) in (0..).zip(steps) {
        let now = Time::from_ns(u64::from(token) * 10_000 * US);
        flash.advance(now, &mut finished);
        let command = Command { register, looks: true, ..Command::new(kind, 0, 1, token) };
        flash.submit(now, Die(0), command);
    }
    flash.advance(Time::MAX, &mut finished);
    let took: Vec<u64> =
        finished.iter().map(|(at, token)| at.ns() / US - u64::from(*token) * 10_000).collect();
    assert_eq!(took, [60, 10, 60, 610, 60]);
}

#[test]
fn programs_on_two_dies_overlap_but_for_their_data() {
    let program = |die| (0, die, Kind::Program, 0);
    check(rules(1, 2), &[program(0), program(1)], &[(0, 610), (1, 620)]);
}

#[test]
fn without_suspend_a_read_waits_for_program_and_erase() {
    let read = (100, 0, Kind::Read, 0);
    check(rules(1, 1), &[(0, 0, Kind::Program, 0), read], &[(0, 610), (1, 670)]);
    check(rules(1, 1), &[(0, 0, Kind::Erase, 0), read], &[(0, 3_000), (1, 3_060)]);
}

#[test]
fn a_read_interrupts_a_program_which_then_continues() {
    let program = (0, 0, Kind::Program, 0);
    // Stopped at 105, read until 165; 510 us of the program were left, and it takes 3 to resume.
    check(with_suspend(4), &[program, (100, 0, Kind::Read, 0)], &[(1, 165), (0, 678)]);
    // Nearly done: it is not worth stopping.
    check(with_suspend(4), &[program, (606, 0, Kind::Read, 0)], &[(0, 610), (1, 670)]);
    // The read came while the data moved in: the program has begun by then, and stops.
    check(with_suspend(4), &[program, (5, 0, Kind::Read, 0)], &[(1, 75), (0, 678)]);
}

#[test]
fn an_erase_is_interrupted_only_so_often() {
    let erase = (0, 0, Kind::Erase, 0);
    let read = |us| (us, 0, Kind::Read, 0);
    // Each interruption costs 5 + 60 + 3 us; the third read waits.
    check(
        with_suspend(2),
        &[erase, read(100), read(500), read(900)],
        &[(1, 165), (2, 565), (0, 3_136), (3, 3_196)],
    );
}

#[test]
fn reads_overtake_a_copy_only_so_often() {
    let rules = FlashRules { overtaking_reads: 2, ..rules(1, 1) };
    let (read, copy) = ((0, 0, Kind::Read, 0), (0, 0, Kind::Copy, 0));
    check(
        rules,
        &[read, copy, read, read, read],
        &[(0, 60), (2, 120), (3, 180), (1, 240), (4, 300)],
    );
}

/// Reads that keep coming delay a program, but do not stop it for good.
#[test]
fn a_suspended_program_has_its_turn() {
    let rules = FlashRules { overtaking_reads: 2, ..with_suspend(1) };
    let read = (100, 0, Kind::Read, 0);
    check(
        rules,
        &[(0, 0, Kind::Program, 0), read, read, read],
        &[(1, 165), (2, 225), (0, 738), (3, 798)],
    );
}

/// Random commands: each is done once, no die or channel is busier than there is time, and an
/// interruption never shortens anything.
#[test]
fn every_command_is_done_once() {
    for seed in 0..20 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let most = u32::try_from(rng.below(4)).unwrap();
        let suspend = with_suspend(most).suspend;
        let rules = FlashRules { suspend, ..rules(3, 7) };
        let mut flash = Flash::new(rules.clone());
        let (mut now, mut finished, mut work) = (Time::ZERO, Vec::new(), [Span::ZERO; 7]);
        for token in 0..2_000 {
            now += Span::from_us(rng.below(60));
            flash.advance(now, &mut finished);
            let kind = match rng.below(20) {
                0 => Kind::Erase,
                1..4 => Kind::Program,
                4..6 => Kind::Copy,
                _ => Kind::Read,
            };
            let units = u32::from(kind != Kind::Erase);
            let page = u32::from(token % 5 == 0);
            let command = Command::new(kind, page, units, token);
            let die = Die(u32::try_from(rng.below(7)).unwrap());
            let least = command.array_time(&rules) + Span::from_us(10 * u64::from(units));
            work[die.0 as usize] += least;
            flash.submit(now, die, command);
        }
        flash.advance(Time::MAX, &mut finished);
        assert!(finished.is_sorted_by_key(|(at, _)| *at), "out of order");
        let last = finished.last().unwrap().0;
        let mut tokens: Vec<u32> = finished.iter().map(|(_, token)| *token).collect();
        tokens.sort_unstable();
        assert!(tokens.into_iter().eq(0..2_000), "a command was lost or done twice");
        assert!(work.iter().all(|busy| *busy <= last.since(Time::ZERO)), "faster than possible");
        assert!((0..7).all(|die| flash.held(Die(die)) == 0), "a die holds a command");
        assert_eq!(flash.busy().interruptions > 0, most > 0);
    }
}
