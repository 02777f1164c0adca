//! Arithmetic that several crates share.

/// The greatest common divisor; `a` if `b` is 0.
pub const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A count, an amount or a time as a float.
#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days, 2^53 bytes 9 PB")]
pub const fn float(number: u64) -> f64 {
    number as f64
}
