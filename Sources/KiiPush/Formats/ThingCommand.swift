/// A command that Thing-IF sends to a thing: its actions, and its issuer.
///
/// It arrives over MQTT on the topic of the pushes, as a Direct Push with a ``DirectPushMessage/command``. There are
/// two dialects: with a schema, whose actions have names; and with traits, whose actions are grouped by alias. Its
/// result is reported through the REST API, under the command's id; the guide <doc:Commands> says how.
public struct ThingCommand: Sendable, Hashable {
    /// The schema that the actions of the older dialect belong to.
    public struct Schema: Sendable, Hashable {
        /// The schema's name.
        public let name: String
        /// The schema's version.
        public let version: Int64
    }

    /// One action.
    public struct Action: Sendable, Hashable {
        /// The alias of the trait that has the action; nil in the dialect with a schema.
        public let alias: String?
        /// The action's name.
        public let name: String
        /// The action's value: any JSON.
        public let value: DataValue
    }

    /// The command's id.
    public let id: String

    /// Who gave the command, as sent; so far always `user:` and an id.
    public let issuer: String?

    /// The schema of its actions; nil in the dialect with traits.
    public let schema: Schema?

    /// The actions, in order.
    public let actions: [Action]

    /// Reads a command from a payload's members; nil if it is not exactly a command.
    ///
    /// A body without a command id, or whose actions have another form, is a sender's data: running it would let any
    /// sender command the thing. For the same reason, a list of actions inside a string is not a command: Kii lets
    /// senders send strings, but not arrays, so only the platform can send an array.
    init?(_ member: (String) -> DataValue?) {
        guard let id = member(Keys.id)?.idText, let sent = member(Keys.actions)?.array else { return nil }
        let issuer = member(Keys.issuer)
        guard issuer == nil || issuer?.idText != nil else { return nil }
        let schemaName = member(Keys.schema)
        let schemaVersion = member(Keys.schemaVersion)
        if schemaName == nil, schemaVersion == nil {
            schema = nil
        } else {
            guard case .string(let name)? = schemaName, let version = schemaVersion?.integer else { return nil }
            schema = Schema(name: name, version: version)
        }
        let read = schema == nil ? Self.actionsByAlias(sent) : Self.actionsByName(sent, alias: nil)
        guard let read, !read.isEmpty else { return nil }
        (self.id, self.issuer, actions) = (id, issuer?.idText, read)
    }

    static let evidence = [Keys.id, Keys.actions]

    static func isOne(_ payload: borrowing PayloadView) -> Bool {
        payload.has(Keys.id) && payload.has(Keys.actions) && ThingCommand({ payload[$0] }) != nil
    }

    /// The keys of a command, as on the wire; from public samples of both dialects.
    enum Keys {
        static let id = "commandID"
        static let actions = "actions"
        static let issuer = "issuer"
        static let schema = "schema"
        static let schemaVersion = "schemaVersion"
    }

    /// Actions as objects of one member each: name and value.
    private static func actionsByName(_ elements: [DataValue], alias: String?) -> [Action]? {
        var actions: [Action] = []
        for element in elements {
            guard let (name, value) = element.onlyMember else { return nil }
            actions.append(Action(alias: alias, name: name, value: value))
        }
        return actions
    }

    /// Actions as objects of one member each: an alias, and a list of actions by name.
    private static func actionsByAlias(_ elements: [DataValue]) -> [Action]? {
        var actions: [Action] = []
        for element in elements {
            guard let (alias, list) = element.onlyMember, let named = list.array,
                let group = actionsByName(named, alias: alias), !group.isEmpty
            else { return nil }
            actions += group
        }
        return actions
    }
}

extension DataValue {
    var idText: String? {
        switch self {
        case .string(let text): text.utf8.contains { $0 > 0x20 } ? text : nil
        case .number(let text): text
        default: nil
        }
    }

    fileprivate var array: [DataValue]? { if case .array(let elements) = self { elements } else { nil } }

    fileprivate var onlyMember: (key: String, value: DataValue)? {
        guard case .object(let members) = self, members.count == 1 else { return nil }
        return members.first
    }
}
