import Synchronization

/// Held while a program is started, and while a descriptor is open that a program would inherit.
///
/// Most calls make a descriptor that closes on exec from the first; `accept` is one that does not, and Swift's Glibc
/// has no `accept4`.
let startingPrograms = Mutex<Void>(())
