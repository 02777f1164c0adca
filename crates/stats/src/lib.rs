//! Numbers in, verdict with uncertainty out.
