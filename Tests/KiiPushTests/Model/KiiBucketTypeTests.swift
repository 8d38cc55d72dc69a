import Testing

@testable import KiiPush

struct KiiBucketTypeTests {
    @Test(
        "types compare and hash without case, and keep their text",
        arguments: [
            ("rw", KiiBucketType.readWrite), ("RW", .readWrite), ("sync", .sync), ("SYNC", .sync), ("Sync", .sync),
            ("crypto", .crypto),
            ("CRYPTO", .crypto),
        ])
    func known(_ name: String, _ type: KiiBucketType) {
        let read = KiiBucketType(name)
        #expect(read == type && read.hashValue == type.hashValue)
        #expect(read.rawName == name && read.description == name)
    }

    @Test("an unknown type is a type")
    func unknown() {
        #expect(KiiBucketType("new") == KiiBucketType("NEW") && KiiBucketType("new") != .readWrite)
        #expect(Set(["rw", "sync", "crypto", "RW", "SYNC", "new"].map { KiiBucketType($0) }).count == 4)
    }

    @Test("buckets with types that differ by case are the same bucket")
    func buckets() {
        let lower = KiiBucket(scope: .app, name: "b", type: .sync)
        let upper = KiiBucket(scope: .app, name: "b", type: KiiBucketType("SYNC"))
        #expect(lower == upper && lower.hashValue == upper.hashValue)
        #expect(lower != KiiBucket(scope: .app, name: "B", type: .sync))
    }
}
