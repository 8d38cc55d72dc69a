import KiiPush
import Testing

struct KillTargetTests {
    @Test("a route's id is a target to the byte: two spellings of one character are two routes")
    func exact() {
        let composed = KillTarget.route("\u{E9}")
        let decomposed = KillTarget.route("e\u{301}")
        #expect(composed != decomposed && Set([composed, decomposed, composed]).count == 2)
        let loopGuard = LoopGuard()
        loopGuard.kill(composed, for: .seconds(60))
        #expect(!loopGuard.killed.contains(decomposed))
    }

    @Test("targets of different kinds differ, and equal ones are found in a set")
    func kinds() throws {
        let bucket = try #require(KillTarget("kiicloud://buckets/b"))
        let other = try #require(KillTarget("kiicloud://buckets/c"))
        let targets = Set([.everything, bucket, other, .route("kiicloud://buckets/b"), .route("*")])
        #expect(targets.count == 5)
        #expect(targets.contains(.everything) && targets.contains(.route("*")))
        #expect(targets.contains(try #require(KillTarget("kiicloud://buckets/b"))))
    }
}
