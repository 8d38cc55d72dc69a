// What `print` shows of messages and their parts.

extension PushMessage: CustomStringConvertible {
    /// One line: the kind, what the push is about, who sent it, when, and the payload's transport and size.
    ///
    /// `Push to App DATA_OBJECT_UPDATED, bucket settings, object o-1, from user U1, sent 2014-06-27T04:54:26.395Z, mqtt
    /// payload, 227 bytes`. It contains ids and names, but no data and no alert; ``jsonText`` is the whole payload.
    public var description: String {
        var parts = ["\(kind)" + (event.map { " \(Suggestion.shown($0.name))" } ?? "")]
        if certainty == .ambiguous { parts.append("ambiguous") }
        func add(_ name: String, _ text: String?) {
            if let text { parts.append("\(name) \(Suggestion.shown(text))") }
        }
        switch kind {
        case .pushToApp:
            add("bucket", self[.bucketID] ?? bucket?.name)
            add("object", self[.objectID] ?? object?.id)
        case .pushToUser: add("topic", self[.topic] ?? topic?.name)
        case .directPush:
            add("format", format)
            add("type", storage.foreign?.push.type)
        }
        add("from", sender?.description)
        // Other years are no dates, but times in another unit.
        let years: Range<Int64> = -62_135_596_800_000..<253_402_300_800_000
        add("sent", sentAt.map { years.contains($0) ? GregorianDate.text($0, fraction: true) : String($0) })
        return (parts + ["\(raw)"]).joined(separator: ", ")
    }

    /// The payload's JSON text as it came, without its envelope.
    ///
    /// It contains the sender's data, so keep it out of logs. Of a payload that is not JSON, it is the data that its
    /// format has read. The payload with its envelope is ``raw``.
    public var jsonText: String {
        let buffer = storage.buffer
        return buffer.span.string(storage.payloadRange)
    }
}

extension MessageData: CustomStringConvertible {
    /// The data as a JSON object, on one line.
    public var description: String { DataValue.object(members).jsonText }
}

extension AppleDictionary: CustomStringConvertible {
    /// The dictionary as a JSON object, on one line.
    public var description: String { DataValue.object(members).jsonText }
}

extension DataValue {
    /// The value as JSON, on one line, for example to store it: ``init(json:)`` reads it back as an equal value.
    public var jsonText: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}
