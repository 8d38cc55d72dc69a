package import Synchronization

/// Held while a program is started, and while an inheritable descriptor is open.
///
/// Most calls create descriptors that close on exec from the start; `accept` does not, and Swift's Glibc has no
/// `accept4`.
package let startingPrograms = Mutex<Void>(())
