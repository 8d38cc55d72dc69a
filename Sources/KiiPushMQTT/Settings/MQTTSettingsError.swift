import KiiPush
public import KiiPushRules
import KiiPushLinux

/// What is wrong with settings for MQTT, and where it stands.
///
/// Prints as a compiler's errors do, one a line: `endpoint.json:3:12: expected a port …`. Never quotes a password.
public struct MQTTSettingsError: Error, Sendable, Hashable {
    /// One thing that is wrong.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The file, or what the address was called; empty when settings were made property by property.
        public let source: String
        /// Where in it; nil when it is about no one place.
        public let position: SourcePosition?
        /// What is wrong there, and what was expected.
        public let what: String

        /// `source:line:column: what`, as much of it as there is.
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
}

extension MQTTSettingsError: CustomStringConvertible {
    /// The problems, one a line.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
