import Foundation

/// A file of payloads, one a line.
struct PayloadFile {
    let path: String
    let payloads: [String]

    init(_ path: String, _ payloads: [String]) throws {
        self.path = path
        self.payloads = payloads
        try (payloads.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
}

/// What the programs read.
///
/// From message to message the time changes, and of the object the last three digits: nine hundred objects take turns.
struct PayloadFiles {
    /// The documented sample, more often than a window holds messages: the first ones are forgotten before the end.
    let sample: PayloadFile
    /// The beginning of each timed file, by its path, for checks.
    ///
    /// It is short enough that no rate is reached, which would end the likeness: KiiPush also counts by bucket.
    let beginnings: [String: PayloadFile]
    /// Its first payload alone, for a start.
    let first: PayloadFile
    /// Payloads with every outcome, for checks.
    let cases: PayloadFile
    /// Payloads of one size a file, by their bytes.
    let sizes: [(bytes: Int, file: PayloadFile)]

    init(folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let sample = (0..<24_000).map(Self.sample)
        self.sample = try PayloadFile(folder + "/sample.jsonl", sample)
        first = try PayloadFile(folder + "/first.jsonl", Array(sample[..<1]))
        cases = try PayloadFile(folder + "/cases.jsonl", Self.cases)
        sizes = try [100, 256, 1024, 4096, 16_384, 65_536].map { bytes in
            // As many as make four megabytes, and no more than the sample's.
            let count = min(24_000, 4_000_000 / bytes)
            let payloads = (0..<count).map { Self.payload(bytes: bytes, $0) }
            return (bytes, try PayloadFile(folder + "/\(bytes).jsonl", payloads))
        }
        var beginnings: [String: PayloadFile] = [:]
        for file in sizes.map(\.file) + [self.sample] {
            beginnings[file.path] = try PayloadFile(file.path + ".beginning", Array(file.payloads.prefix(300)))
        }
        self.beginnings = beginnings
    }

    private static func time(_ number: Int) -> Int { 1_403_844_866_395 + number }

    /// The documented Push to App of 227 bytes.
    private static func sample(_ number: Int) -> String {
        #"{"aps":{"content-available":1},"bi":"bucketName","bt":"rw","#
            + #""oi":"fedcba09-8765-4321-fedc-ba0987654\#(100 + number % 900)","sa":"0123abcd","st":"APP_AND_USER","#
            + #""su":"01234567-89ab-cdef-0123-456789abcdef","t":"DATA_OBJECT_CREATED","w":\#(time(number))}"#
    }

    /// The least that a Push to App is, in 100 bytes; or the sample and then as much data of the sender's as it takes.
    private static func payload(bytes: Int, _ number: Int) -> String {
        guard bytes > 100 else {
            return #"{"aps":{},"bi":"bucketName","oi":"object-\#(100 + number % 900)","st":"APP","t":"OBJECT_CREATED","#
                + #""w":\#(time(number)),"x":1}"#
        }
        var text = String(sample(number).dropLast())
        var member = 0
        while text.utf8.count + 120 < bytes {
            let reading = "\(time(member)) degrees Celsius at the north side of house number 7"
            text += #","reading\#(1000 + member)":"\#(reading)""#
            if member % 4 == 0 { text += #","count\#(1000 + member)":\#(member).5"# }
            member += 1
        }
        let filler = bytes - text.utf8.count - #","z":""}"#.utf8.count
        return text + #","z":""# + String(repeating: "z", count: filler) + #""}"#
    }
}

// MARK: - Every outcome

extension PayloadFiles {
    private static var cases: [String] {
        let app = #""objectScopeAppID":"0123abcd""#
        var cases = [
            // The same event over APNs, twice, over MQTT and over FCM: one is handled.
            sample(0), sample(0),
            #"{"origin":"EVENT","bucketID":"bucketName","bucketType":"rw","objectID":"fedcba09-8765-4321-fedc-ba0987654100","#
                + #""objectScopeType":"APP_AND_USER","objectScopeUserID":"01234567-89ab-cdef-0123-456789abcdef","#
                + #""type":"DATA_OBJECT_CREATED","when":1403844866395,\#(app)}"#,
            #"{"origin":"EVENT","bucketID":"bucketName","bucketType":"rw","objectID":"fedcba09-8765-4321-fedc-ba0987654100","#
                + #""objectScopeType":"APP_AND_USER","objectScopeUserID":"01234567-89ab-cdef-0123-456789abcdef","#
                + #""type":"DATA_OBJECT_CREATED","when":"1403844866395",\#(app)}"#,
            // Each of object, event, scope and time makes another.
            sample(1),
            #"{"aps":{},"bi":"bucketName","oi":"o","st":"APP","t":"DATA_OBJECT_CREATED","w":1}"#,
            #"{"aps":{},"bi":"bucketName","oi":"o","st":"APP","t":"DATA_OBJECT_UPDATED","w":1}"#,
            #"{"aps":{},"bi":"bucketName","oi":"o","st":"APP_AND_USER","su":"U","t":"DATA_OBJECT_UPDATED","w":1}"#,
            #"{"aps":{},"bi":"bucketName","oi":"o","st":"APP","t":"DATA_OBJECT_UPDATED","w":2}"#,
            #"{"aps":{},"bi":"bucketName","oi":"o","st":"APP","t":"DATA_OBJECT_UPDATED","w":2}"#,
            // Escapes, and text that is not ASCII.
            #"{"aps":{},"bi":"bucket\u004eame","oi":"o\u00e9","st":"APP","t":"DATA_OBJECT_UPDATED","w":3}"#,
            #"{"aps":{},"bi":"bucketName","oi":"oé","st":"APP","t":"DATA_OBJECT_UPDATED","w":3}"#,
            // A bucket that no route takes, twice; other buckets.
            #"{"aps":{},"bi":"elsewhere","oi":"o","st":"APP","t":"DATA_OBJECT_UPDATED","w":4}"#,
            #"{"aps":{},"bi":"elsewhere","oi":"o","st":"APP","t":"DATA_OBJECT_UPDATED","w":4}"#,
            #"{"aps":{},"bi":"bucket1","st":"APP","t":"BUCKET_DELETED","w":5}"#,
            #"{"aps":{},"bi":"bucket7","oi":"o","st":"APP","t":"DATA_OBJECT_UPDATED","w":6}"#,
            // Another app; scopes that are not served; remembered by nobody.
            #"{"aps":{},"bi":"bucketName","oi":"o","sa":"other","st":"APP","t":"DATA_OBJECT_UPDATED","w":7}"#,
            #"{"aps":{},"bi":"bucketName","oi":"o","sa":"other","st":"APP","t":"DATA_OBJECT_UPDATED","w":7}"#,
            #"{"aps":{},"bi":"bucketName","oi":"o","st":"APP_AND_GROUP","sg":"G","t":"DATA_OBJECT_UPDATED","w":8}"#,
            #"{"aps":{},"bi":"bucketName","oi":"o","st":"APP_AND_THING","sth":"th.2","t":"DATA_OBJECT_UPDATED","w":9}"#,
            // Sent by itself: looped, then a duplicate.
            #"{"origin":"EVENT","bucketID":"bucketName","bucketType":"rw","objectID":"o","objectScopeType":"APP","#
                + #""sender":"th.1","type":"DATA_OBJECT_UPDATED","when":10,\#(app)}"#,
            #"{"origin":"EVENT","bucketID":"bucketName","bucketType":"rw","objectID":"o","objectScopeType":"APP","#
                + #""sender":"th.1","type":"DATA_OBJECT_UPDATED","when":10,\#(app)}"#,
            #"{"origin":"EVENT","bucketID":"bucketName","bucketType":"rw","objectID":"o","objectScopeType":"APP","#
                + #""sender":"U2","type":"DATA_OBJECT_UPDATED","when":11,\#(app)}"#,
            // Push to User, over APNs and MQTT; another time, another text, another topic.
            #"{"aps":{"alert":{"body":"hello"}},"s":"U2","sa":"0123abcd","st":"APP_AND_USER","su":"U","to":"news","w":12}"#,
            #"{"aps":{"alert":{"body":"hello"}},"s":"U2","sa":"0123abcd","st":"APP_AND_USER","su":"U","to":"news","w":12}"#,
            #"{"aps":{"alert":{"body":"hello"}},"s":"U2","sa":"0123abcd","st":"APP_AND_USER","su":"U","to":"news","w":13}"#,
            #"{"topic":"news","sender":"U3","objectScopeType":"APP","when":14,"text":"a",\#(app)}"#,
            #"{"topic":"news","sender":"U3","objectScopeType":"APP","when":14,"text":"b",\#(app)}"#,
            #"{"topic":"chat","sender":"U3","objectScopeType":"APP","when":15,\#(app)}"#,
            // Direct Push, known by its bytes alone.
            #"{"aps":{"alert":{"body":"maintenance"}}}"#, #"{"aps":{"alert":{"body":"maintenance"}}}"#,
            #"{"mymessage":"Hello"}"#, #"{"mymessage":"Hello 2"}"#,
            // No JSON object.
            #"{"bi":"bucketName""#, #"[]"#, #"null"#, #"{"bi":nothing}"#, #"{'bi':1}"#,
        ]
        // The 21st message of one object at once waits, and so does the 22nd.
        cases += (0..<22).map {
            #"{"aps":{},"bi":"bucketName","oi":"hot","st":"APP","t":"DATA_OBJECT_UPDATED","w":\#(100 + $0)}"#
        }
        return cases
    }
}
