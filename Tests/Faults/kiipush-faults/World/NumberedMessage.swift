/// The messages that are published: each a change of an object, and its number is the time of its push.
enum NumberedMessage {
    static let bucket = "faults"
    /// How many objects there are; messages of one are in order.
    static let objects = 200
    private static let start: Int64 = 1_700_000_000_000

    /// The payload of a message, 230 bytes.
    static func payload(_ number: Int) -> [UInt8] {
        let time = start + Int64(number)
        return Array(
            """
            {"origin":"EVENT","bucketID":"\(bucket)","bucketType":"rw","objectID":"object-\(lane(of: number))",\
            "objectScopeType":"APP","objectScopeAppID":"0123abcd","type":"DATA_OBJECT_UPDATED","sender":"U-sender",\
            "when":\(time),"modifiedAt":\(time)}
            """.utf8)
    }

    /// Which object it is about.
    static func lane(of number: Int) -> Int { number % objects }

    /// The number of a message that was sent at a time.
    static func number(sentAt time: Int64) -> Int { Int(time - start) }

    /// The number in a text that has the time behind a key, as in a payload (`"when":`) or a printed line
    /// (`"sentAt":`).
    static func number(in text: some Collection<UInt8>, behind key: String) -> Int? {
        value(in: text, behind: key).map { number(sentAt: $0) }
    }

    /// The number behind a key.
    static func value(in text: some Collection<UInt8>, behind key: String) -> Int64? {
        let key = Array(key.utf8)
        let bytes = Array(text)
        guard bytes.count >= key.count else { return nil }
        for start in 0...bytes.count - key.count where bytes[start..<start + key.count].elementsEqual(key) {
            let digits = bytes[(start + key.count)...].prefix { $0 >= 0x30 && $0 <= 0x39 }
            return Int64(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }
}
