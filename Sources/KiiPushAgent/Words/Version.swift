/// The version of the tool and of the libraries that it is built with.
package enum Version {
    package static let number = "0.1.0"

    /// The day of that version, for the manual's pages.
    package static let date = "2026-11-27"
}
