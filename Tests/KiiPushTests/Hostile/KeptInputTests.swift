import Testing

/// What a fuzzer found stays found, without a fuzzer.
@Suite("Inputs that fuzz programs keep")
struct KeptInputTests {
    @Test("each keeps the promises that its fuzz program checks", arguments: KeptInput.all)
    func kept(_ input: KeptInput) throws { try input.check() }

    @Test("there are some for each fuzz program")
    func complete() {
        #expect(KeptInput.programs.count >= 3)
        #expect(Set(KeptInput.programs) == Set(KeptInput.all.map(\.target)))
    }
}
