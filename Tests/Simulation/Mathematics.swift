import Glibc

/// `base` to the power of `exponent`.
func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

/// The natural logarithm.
func logarithm(_ number: Double) -> Double { log(number) }
