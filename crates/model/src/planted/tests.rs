//! Each planted bug, and the rule that it breaks.

use std::cell::Cell;

use crate::invariants::{Rule, Tally, play};

/// A bug that somebody might make; each is planted where it would be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    DoneBeforeMedium,
    DoneTwice,
    RequestLost,
    TwoOnMedium,
    SkewForgotten,
    SeekFree,
    SettleForgotten,
    TransferShort,
    TagLeaks,
    OneTagTooMany,
    SplitShared,
    FlushOverlaps,
    FlushDoesNotDrain,
    LaterWritesCount,
    FuaIgnored,
    NewestFirst,
    AgeIgnored,
    StaleHit,
    ReadAheadBeyondEnd,
    DestageDropped,
    DestageBeforeData,
    TailDropped,
    NewerDropped,
    AgeForgotten,
    RoomUnnoticed,
    CacheOverfilled,
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// Whether `bug` is planted in this thread.
pub(crate) fn is_planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Histories that a bug may survive before the test says that it was missed.
const PATIENCE: u64 = 3_000;

/// Plays histories until one breaks a rule.
fn first_violation(bug: Option<Bug>, histories: u64) -> (Tally, Option<(Rule, String)>) {
    PLANTED.set(bug);
    let mut tally = Tally::default();
    let found = (0..histories).find_map(|seed| {
        play(seed, &mut tally).err().map(|found| (found.rule, format!("history {seed}: {found}")))
    });
    PLANTED.set(None);
    (tally, found)
}

#[test]
fn random_histories_keep_every_rule() {
    let (tally, found) = first_violation(None, 400);
    assert_eq!(found, None);
    for rule in Rule::ALL {
        assert!(tally.of(rule) > 100, "{rule:?} was hardly ever checked");
    }
    assert!(tally.total() > 1_000_000, "{tally:?}");
    // A flush promises nothing of what came after it.
    assert!(tally.flushes_before_later_writes > 100, "{tally:?}");
}

macro_rules! each_is_caught {
    ($($name:ident: $bug:ident breaks $($rule:ident)|+;)+) => {
        $(#[test]
        fn $name() {
            let (_, found) = first_violation(Some(Bug::$bug), PATIENCE);
            let (rule, what) = found.expect("the bug was missed");
            assert!(matches!(rule, $(Rule::$rule)|+), "{what}");
        })+
    };
}

each_is_caught! {
    an_answer_before_the_medium_is_done_is_caught: DoneBeforeMedium breaks Clock;
    an_answer_given_twice_is_caught: DoneTwice breaks Once;
    a_lost_request_is_caught: RequestLost breaks Once;
    two_accesses_at_once_are_caught: TwoOnMedium breaks OneAccess;
    an_angle_off_by_the_skew_is_caught: SkewForgotten breaks Angle;
    a_seek_that_takes_no_time_is_caught: SeekFree breaks Positioning;
    a_write_that_does_not_settle_is_caught: SettleForgotten breaks Positioning;
    a_transfer_one_sector_short_is_caught: TransferShort breaks Angle;
    a_leaking_tag_is_caught: TagLeaks breaks Once;
    the_32nd_of_31_tags_is_caught: OneTagTooMany breaks Tags;
    a_class_beyond_its_share_is_caught: SplitShared breaks Tags;
    a_flush_among_queued_commands_is_caught: FlushOverlaps breaks Alone;
    a_flush_that_does_not_drain_is_caught: FlushDoesNotDrain breaks Durable;
    a_flush_that_counts_later_writes_is_caught: LaterWritesCount breaks Durable;
    a_forced_write_left_in_the_cache_is_caught: FuaIgnored breaks Cache;
    the_newest_first_instead_of_the_oldest_is_caught: NewestFirst breaks Order;
    an_age_limit_that_is_ignored_is_caught: AgeIgnored breaks Age;
    a_hit_on_overwritten_data_is_caught: StaleHit breaks Cache;
    read_ahead_beyond_the_end_is_caught: ReadAheadBeyondEnd breaks Range;
    a_dropped_destage_is_caught: DestageDropped breaks Durable;
    a_destage_before_its_data_is_caught: DestageBeforeData breaks Arrival;
    a_run_that_loses_its_tail_is_caught: TailDropped breaks Durable;
    newer_data_dropped_for_older_is_caught: NewerDropped breaks Durable | Cache;
    a_flush_past_data_that_was_replaced_is_caught: AgeForgotten breaks Durable;
    room_that_nobody_notices_is_caught: RoomUnnoticed breaks Once;
    a_cache_filled_beyond_its_size_is_caught: CacheOverfilled breaks Cache;
}
