public import KiiPush

/// A problem of rules that parse without error: they do not do what they seem to say.
///
/// Prints as a compiler's messages do: `rules.json:4:10: error: the rule 'late' never takes a message; … [shadowed]`.
public struct RuleFinding: Sendable, Hashable {
    /// How bad it is.
    public enum Severity: String, Sendable, Hashable, CaseIterable {
        /// For any message, a part of the file has no effect, or nothing would end the loop that it starts.
        case error
        /// The file works, but probably not as intended; some files need it.
        case warning
    }

    /// The code of a finding; the names are stable, so programs can filter them.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        // Errors.

        /// No message can satisfy the conditions of a rule.
        case neverMatches
        /// No message can satisfy a part of a rule's `any` or `all`.
        case neverHolds
        /// `serving` lists none of the scopes that a rule requires.
        case notServed
        /// A rule only matches messages of an identity of `me`, which the loop guard drops.
        case onlyOwnMessages
        /// An earlier rule takes every message that a rule would match.
        case shadowed
        /// A rule names a handler that the program does not register.
        case unknownHandler
        /// Rules feed each other through their writes, and all of them have an unlimited pace.
        case unguardedCycle
        /// A rule sends a push that Kii refuses, whatever the placeholders contain.
        case refusedPush
        /// A rule names a bucket, object, topic or owner that Kii cannot have.
        case impossibleName
        /// `run` contains what only a shell understands, or a placeholder, which it does not fill in.
        case noShell

        // Warnings.

        /// A condition that every message satisfies.
        case alwaysHolds
        /// A rule does the same as an earlier one, which takes all of its messages and passes them on to it.
        case sameRule
        /// A handler is named only by rules that never call it.
        case unreachableHandler
        /// A handler that the program registers, but no rule names.
        case unusedHandler
        /// A rule writes to something that it also matches.
        case feedsItself
        /// Rules feed each other through their writes.
        case cycle
        /// A rule writes to a different app from the file's.
        case otherApp
        /// A user of `me` has a served scope, so writes of that user's other devices would be dropped.
        case identityServed
        /// An event that Kii does not know, or a gap that this SDK does not report.
        case unknownEvent
        /// A transport that Kii does not have: mistyped, or used by a test but by no rule.
        case unknownTransport
        /// A failed message exceeds its `maxAge` before the first retry, so it is never retried.
        case neverRetried
        /// A rule requires data on a Push to App; Kii sends none with it.
        case dataOfPushToApp
        /// A key of the data with a dot, which does not look into a value.
        case dottedKey
        /// A rule's deduplication field never has an effect.
        case unusedID
        /// A rule writes or sends a value that some of its messages lack.
        case missingValue
        /// A rule runs a program that is missing here, or cannot be started.
        case unusableProgram
        /// A test or a step that checks nothing.
        case emptyTest
        /// Two tests have the same name, so reports and filters cannot distinguish them.
        case repeatedTestName
        /// A parameter that no placeholder uses.
        case unusedParameter
        /// A value that is given for a parameter that the file does not declare.
        case unusedValue
        /// The file is too large to compare all writes with all rules.
        case notAllCompared

        /// How bad it is.
        package var severity: Severity {
            switch self {
            case .neverMatches, .neverHolds, .notServed, .onlyOwnMessages, .shadowed, .unknownHandler, .unguardedCycle,
                .refusedPush, .impossibleName, .noShell:
                .error
            default: .warning
            }
        }
    }

    /// A related place in the file.
    package struct Related: Sendable, Hashable {
        package let position: SourcePosition
        /// What is at the position, such as the rule that takes the messages first.
        package let what: String
    }

    package internal(set) var code: Code
    /// The file, as the caller named it.
    public let file: String
    /// The primary position.
    public let position: SourcePosition
    /// What is wrong, and how to fix it; one line, with names from the file shortened and escaped.
    public let what: String
    /// The id of the rule concerned; nil if the finding is about something else.
    public let rule: String?
    /// Other places, in order; for a cycle, its rules.
    package let related: [Related]

    /// The name of its kind, such as `shadowed`, which does not change: programs can filter by it.
    public var name: String { code.rawValue }

    /// How bad it is.
    public var severity: Severity { code.severity }
}

extension RuleFinding: CustomStringConvertible {
    /// `file:line:column: severity: what [code]`.
    public var description: String { "\(file):\(position): \(severity.rawValue): \(what) [\(name)]" }
}
