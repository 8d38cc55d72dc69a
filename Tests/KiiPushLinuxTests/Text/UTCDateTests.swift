import Testing

import KiiPushLinux

@Suite("UTCDate")
struct UTCDateTests {
    @Test(
        "a time is written as a date",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_403_844_866_395, "2014-06-27T04:54:26.395Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func date(milliseconds: Int64, text: String) {
        #expect(UTCDate(milliseconds: milliseconds)?.description == text)
    }

    @Test("a time beyond the years 1 to 9999 is none", arguments: [.min, .max, 253_402_300_800_000] as [Int64])
    func beyond(milliseconds: Int64) {
        #expect(UTCDate(milliseconds: milliseconds) == nil)
    }
}
