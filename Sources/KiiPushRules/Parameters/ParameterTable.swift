package import KiiPush

/// The parameters of a file with their values, while the file is read: fills in `${param.NAME}`.
struct ParameterTable {
    static let opening = "${param."

    /// The most bytes that may be filled in.
    private static let mostBytes = 16 << 20

    /// A piece of a text with placeholders.
    enum Part {
        case text(String)
        case parameter(String)
    }

    /// A parameter with its value; nil for a secret, and for a value that is missing, which was reported.
    typealias Entry = (parameter: RuleParameter, value: DataValue?)

    private var entries: [ExactText: Entry] = [:]
    private(set) var secrets = RuleSecrets()
    /// The parameters that a placeholder names.
    private(set) var used: Set<ExactText> = []
    /// How many bytes may still be filled in, since a placeholder is shorter than its value.
    private var bytesLeft = mostBytes

    mutating func add(_ parameter: RuleParameter, _ value: DataValue?) {
        entries[ExactText(parameter.name)] = (parameter, parameter.isSecret ? nil : value)
        if parameter.isSecret { secrets.add(parameter, value) }
    }

    /// The values of parameters that are not secret.
    var values: [ExactText: DataValue] { entries.compactMapValues(\.value) }

    /// The entry of a placeholder.
    ///
    /// - Throws: ``RuleTemplateError`` if there is no such parameter, or it is secret where secrets are not allowed.
    mutating func entry(_ name: String, allowsSecret: Bool) throws(RuleTemplateError) -> Entry {
        guard let entry = entries[ExactText(name)] else {
            let advice = entries.isEmpty ? "; declare it in 'params'" : ""
            throw RuleTemplateError(
                what: Suggestion.unknown("parameter", name, known: entries.keys.map(\.text).sorted()) + advice)
        }
        used.insert(ExactText(name))
        guard allowsSecret || !entry.parameter.isSecret else {
            throw RuleTemplateError(
                what: "the parameter '\(name)' is secret, and this text is shown; only arguments of 'run', "
                    + "fields of 'write' and data of 'send' may use it")
        }
        bytesLeft -= entry.value?.string?.utf8.count ?? 0
        guard bytesLeft >= 0 else {
            throw RuleTemplateError(what: "the values of all placeholders have more than \(Self.mostBytes) bytes")
        }
        return entry
    }

    /// Replaces placeholders by values, and keeps those of secrets.
    mutating func filled(_ text: String, allowsSecrets: Bool = false) throws(RuleTemplateError) -> String {
        guard text.contains(exactly: Self.opening) else { return text }
        var whole = ""
        for part in Self.parts(text) {
            switch part {
            case .text(let plain): whole += plain
            case .parameter(let name):
                let entry = try entry(name, allowsSecret: allowsSecrets)
                // It would be read as a placeholder when the secrets are filled in.
                if allowsSecrets, let value = entry.value?.string, value.contains(exactly: Self.opening) {
                    throw RuleTemplateError(what: "the value of '\(name)' has a placeholder, which stays unread")
                }
                whole += entry.value?.string ?? "\(Self.opening)\(name)}"
            }
        }
        return whole
    }

    /// The value of a text that is only a placeholder; nil for another text, and for a secret.
    mutating func value(_ text: String, allowsSecret: Bool = false) throws(RuleTemplateError) -> DataValue? {
        guard text.begins(exactlyWith: Self.opening), case .parameter(let name)? = Self.parts(text).first,
            text.utf8.count == Self.opening.utf8.count + name.utf8.count + 1
        else { return nil }
        return try entry(name, allowsSecret: allowsSecret).value
    }

    /// The plain pieces and the placeholders of a text.
    static func parts(_ text: String) -> [Part] {
        var parts: [Part] = []
        var plain: [UInt8] = []
        let (bytes, opening) = (Array(text.utf8), Array(opening.utf8))
        var index = 0
        while index < bytes.count {
            if bytes[index] == opening[0], bytes[index...].starts(with: opening) {
                guard let end = bytes[index...].firstIndex(of: UInt8(ascii: "}")) else {
                    // No later one ends either.
                    plain += bytes[index...]
                    break
                }
                if !plain.isEmpty { parts.append(.text(String(decoding: plain, as: UTF8.self))) }
                plain = []
                parts.append(.parameter(String(decoding: bytes[(index + opening.count)..<end], as: UTF8.self)))
                index = end + 1
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        if !plain.isEmpty { parts.append(.text(String(decoding: plain, as: UTF8.self))) }
        return parts
    }
}

extension KiiURI {
    /// The same with each id and name replaced, in their order in the URI; nil if one cannot be.
    func replacingParts<Failure>(_ replace: (String) throws(Failure) -> String?) throws(Failure) -> KiiURI? {
        let owner: Owner? =
            switch owner {
            case .app: .app
            case .user(let id): try replace(id).map { .user($0) }
            case .group(let id): try replace(id).map { .group($0) }
            case .thing(let id): try replace(id).map { .thing($0) }
            case .admin(let id): try replace(id).map { .admin($0) }
            }
        let resource: Resource? =
            switch resource {
            case .none: .some(Resource.none)
            case .topic(let name): try replace(name).map { .topic($0) }
            case .bucket(let name, let isEncrypted):
                try replace(name).map { .bucket(name: $0, isEncrypted: isEncrypted) }
            case .object(let name, let isEncrypted, let id):
                try replace(name).flatMap { name throws(Failure) in
                    try replace(id).map { .object(bucket: name, isEncrypted: isEncrypted, id: $0) }
                }
            }
        guard let owner, let resource else { return nil }
        return KiiURI(appID: appID, owner: owner, resource: resource)
    }
}

/// A placeholder of a rule that names no known field or parameter, or one that is not allowed there.
struct RuleTemplateError: Error {
    let what: String
}

/// A parameter that a rules file declares in `params`: a value that differs between devices.
package struct RuleParameter: Sendable, Hashable {
    package enum ValueType: String, Sendable, Hashable, CaseIterable {
        case string
        case number
        case boolean
    }

    package static let most = 100
    /// The most bytes of a value's text.
    package static let mostBytes = 4096

    /// The name, which placeholders such as `${param.thing}` use: 1 to 64 letters, digits, `_`, `-` and `.`.
    package let name: String
    package let type: ValueType
    /// The value of a device that gives none; nil if each device must give one.
    package let defaultValue: DataValue?
    /// Whether no output may show the value: only arguments of `run`, fields of `write` and data of `send` may use it,
    /// and only when an action runs.
    package let isSecret: Bool
    package let position: SourcePosition
}

/// The values of secret parameters; they print as nothing.
package struct RuleSecrets: Sendable, CustomStringConvertible, CustomReflectable {
    private var values: [ExactText: DataValue] = [:]
    /// The parameters that have no value, also those that no rule uses.
    private(set) var missing: [RuleParameter] = []

    /// No values: placeholders stay as they are.
    package static let none = RuleSecrets()

    mutating func add(_ parameter: RuleParameter, _ value: DataValue?) {
        values[ExactText(parameter.name)] = value
        if value == nil { missing.append(parameter) }
    }

    /// The value of a secret; its placeholder if the value is not known.
    func value(_ name: String) -> DataValue {
        values[ExactText(name)] ?? .string("\(ParameterTable.opening)\(name)}")
    }

    func filled(_ arguments: [String]) -> [String] {
        if values.isEmpty { return arguments }
        return arguments.map { argument in
            ParameterTable.parts(argument).reduce(into: "") { text, part in
                switch part {
                case .text(let plain): text += plain
                case .parameter(let name): text += value(name).string ?? ""
                }
            }
        }
    }

    package var description: String { "(secrets)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
