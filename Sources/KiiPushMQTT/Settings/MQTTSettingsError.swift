public import KiiPush
import KiiPushSystem

/// The problems of MQTT settings, with their positions.
///
/// Prints like a compiler's errors, one a line: `endpoint.json:3:12: expected a port …`. Never quotes a password.
public struct MQTTSettingsError: Error, Sendable, Hashable {
    /// One problem.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The file, or the name of the address; empty if settings were made property by property.
        public let source: String
        /// The position; nil if it concerns no single place.
        public let position: SourcePosition?
        /// What is wrong there, and what was expected.
        public let what: String

        /// `source:line:column: what`, as far as known.
        public var description: String {
            let place = position.map { "\(source):\($0)" } ?? source
            return place.isEmpty ? what : "\(place): \(what)"
        }
    }

    /// The problems, at least one.
    public let problems: [Problem]

    init(_ problems: [Problem]) { self.problems = problems }

    init(_ source: String, _ position: SourcePosition?, _ what: String) {
        self.init([Problem(source: source, position: position, what: what)])
    }

    init(_ what: String) { self.init("", nil, what) }
}

extension MQTTSettingsError: CustomStringConvertible {
    /// The problems, one a line.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
