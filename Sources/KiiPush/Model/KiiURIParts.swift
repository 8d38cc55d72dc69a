/// A `kiicloud://` URI as positions in a text, so that the classifier can compare without making strings.
struct KiiURIParts {
    enum Resource {
        case none
        case bucket
        case topic
    }

    private(set) var app: Range<Int>?
    /// Whose it is; an administrator, who has neither buckets nor topics, counts as the app.
    private(set) var scopeKind = MessageScope.Kind.app
    private(set) var isAdmin = false
    private(set) var ownerID = 0..<0
    private(set) var resource = Resource.none
    private(set) var name = 0..<0
    /// Whether the bucket's segment began with `CRYPTO:`, which is not part of the name.
    private(set) var isEncrypted = false
    private(set) var object: Range<Int>?

    init?(_ text: Span<UInt8>, _ range: Range<Int>) {
        let scheme = "kiicloud://"
        guard text.begins(range, with: scheme),
            let (segments, count) = Self.split(text, (range.lowerBound + scheme.utf8.count)..<range.upperBound)
        else { return nil }
        var next = 0
        if count % 2 == 1 {
            app = segments[0]
            next = 1
        }
        if next < count, readOwner(text, segments[next]) {
            ownerID = segments[next + 1]
            next += 2
        }
        guard readResource(text, segments, from: next, count: count) else { return nil }
        guard isAdmin ? resource == .none : scopeKind != .app || resource != .none else { return nil }
    }

    private mutating func readResource(
        _ text: Span<UInt8>, _ segments: InlineArray<7, Range<Int>>, from next: Int, count: Int
    ) -> Bool {
        guard next < count else { return true }
        name = segments[next + 1]
        if text.matches(segments[next], "topics") {
            resource = .topic
            return next + 2 == count
        }
        guard text.matches(segments[next], "buckets") else { return false }
        resource = .bucket
        if text.begins(name, with: "CRYPTO:") {
            isEncrypted = true
            name = (name.lowerBound + 7)..<name.upperBound
        }
        guard !name.isEmpty else { return false }
        guard next + 2 < count else { return true }
        guard text.matches(segments[next + 2], "objects"), next + 4 == count else { return false }
        object = segments[next + 3]
        return true
    }

    /// The two to seven segments between slashes; nil if there are fewer or more, or one is empty.
    private static func split(_ text: Span<UInt8>, _ range: Range<Int>) -> (InlineArray<7, Range<Int>>, Int)? {
        var segments = InlineArray<7, Range<Int>>(repeating: 0..<0)
        var count = 0
        var start = range.lowerBound
        for index in range.lowerBound...range.upperBound
        where index == range.upperBound || text[index] == UInt8(ascii: "/") {
            guard count < 7, index > start else { return nil }
            segments[count] = start..<index
            count += 1
            start = index + 1
        }
        return count >= 2 ? (segments, count) : nil
    }

    private mutating func readOwner(_ text: Span<UInt8>, _ segment: Range<Int>) -> Bool {
        if text.matches(segment, "users") {
            scopeKind = .user
        } else if text.matches(segment, "things") {
            scopeKind = .thing
        } else if text.matches(segment, "groups") {
            scopeKind = .group
        } else {
            isAdmin = text.matches(segment, "admins")
            return isAdmin
        }
        return true
    }
}
