import KiiPush

/// Something that is wrong with rules that were read without an error: they do not do what they seem to say.
///
/// Prints as a compiler's messages do: `rules.json:4:10: error: the rule 'late' never takes a message; … [shadowed]`.
public struct RuleFinding: Sendable, Hashable {
    /// How bad it is.
    public enum Severity: String, Sendable, Hashable, CaseIterable {
        /// Whatever message comes, a part of the file does nothing, or nothing would end what it starts.
        case error
        /// The file works, and probably not as it was meant; there are files for which it is right.
        case warning
    }

    /// What was found; the names are stable, for programs that filter them.
    @nonexhaustive
    public enum Code: String, Sendable, Hashable, CaseIterable {
        // Errors.

        /// No message can meet the conditions of a rule.
        case neverMatches
        /// All scopes that a rule asks for are refused before: `serving` does not list them.
        case notServed
        /// A rule only takes messages of an identity of `me`, which the loop guard cuts.
        case onlyOwnMessages
        /// Earlier rules take every message that a rule would take.
        case shadowed
        /// A rule names a handler that the program does not register.
        case unknownHandler
        /// Rules feed each other through their writes, and none of them has a rate limit.
        case unguardedCycle
        /// A rule sends a push that Kii refuses, whatever is filled in.
        case refusedPush
        /// A test expects what cannot be, or speaks of a rule or a handler that the file does not have.
        case impossibleTest

        // Warnings.

        /// Earlier rules take all messages of some of the texts that a rule lists.
        case partlyShadowed
        /// A condition that every message meets.
        case alwaysHolds
        /// A text of a list is there twice, or lies within another one of it.
        case repeatedText
        /// Two rules that are the same but for their ids, of which the first lets the second take its messages too.
        case sameRule
        /// A handler that is only named by rules that never call it.
        case unreachableHandler
        /// A handler that the program registers and no rule names.
        case unusedHandler
        /// A rule writes what it takes itself.
        case feedsItself
        /// Rules feed each other through their writes.
        case cycle
        /// A rule writes to another app than the file's.
        case otherApp
        /// A user of `me` whose scope is served: another device of that user would be cut.
        case identityServed
        /// An event that Kii does not know.
        case unknownEvent
        /// A transport that Kii does not have: mistyped, or in a test and asked for by no rule.
        case unknownTransport
        /// A failed message is older than its `maxAge` before it is tried again, so it never is.
        case neverRetried
        /// A rule asks for data on a Push to App, with which Kii sends none.
        case dataOfPushToApp
        /// The field by which a rule names its messages never counts.
        case unusedID
        /// A rule writes or sends a value of the message that not every message has which it takes.
        case missingValue
        /// A test or a step that tests nothing.
        case emptyTest
        /// Two tests of one name, which no report and no filter tells apart.
        case repeatedTestName
        /// The file is too large for all of it to be compared.
        case notAllCompared

        /// How bad it is.
        public var severity: Severity {
            switch self {
            case .neverMatches, .notServed, .onlyOwnMessages, .shadowed, .unknownHandler, .unguardedCycle,
                .refusedPush, .impossibleTest:
                .error
            case .partlyShadowed, .alwaysHolds, .repeatedText, .sameRule, .unreachableHandler, .unusedHandler,
                .feedsItself, .cycle, .otherApp, .identityServed, .unknownEvent, .unknownTransport, .neverRetried,
                .dataOfPushToApp, .unusedID, .missingValue, .emptyTest, .repeatedTestName, .notAllCompared:
                .warning
            }
        }
    }

    /// A place that has to do with it.
    public struct Related: Sendable, Hashable {
        /// Where.
        public let position: SourcePosition
        /// What stands there, such as the rule that takes the messages before.
        public let what: String
    }

    /// What was found.
    public let code: Code
    /// The file, as the caller named it.
    public let file: String
    /// Where to look first.
    public let position: SourcePosition
    /// What is wrong, and what to do; one line, in which names of the file are cut and escaped.
    public let what: String
    /// The id of the rule that it is about; nil where it is about something else.
    public let rule: String?
    /// Other places, in order: of a cycle its rules.
    public let related: [Related]

    /// How bad it is.
    public var severity: Severity { code.severity }
}

extension RuleFinding: CustomStringConvertible {
    /// `file:line:column: severity: what [code]`.
    public var description: String { "\(file):\(position): \(severity.rawValue): \(what) [\(code.rawValue)]" }
}
