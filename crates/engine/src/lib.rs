//! Asks real drives: the load loop, pacing, io_uring and psync, and the guard against destroying data.
