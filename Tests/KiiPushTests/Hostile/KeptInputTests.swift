import Testing

/// What a fuzzer found stays found, without a fuzzer.
@Suite("Inputs that fuzz programs keep")
struct KeptInputTests {
    @Test("each kept input holds the invariants of its fuzz program", arguments: KeptInput.all)
    func kept(_ input: KeptInput) throws { try input.check() }

    @Test("each fuzz program has kept inputs")
    func complete() {
        #expect(KeptInput.programs.count >= 3)
        #expect(Set(KeptInput.programs) == Set(KeptInput.all.map(\.target)))
    }
}
