import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct ReceiverClockTests {
    @Test("advancing an instant saturates at its range, and a duration between two has a direction")
    func advanced() {
        let start = MonotonicInstant(nanoseconds: 100)
        #expect(start.advanced(by: .nanoseconds(5)).nanoseconds == 105)
        #expect(start.advanced(by: .milliseconds(-1)).nanoseconds == -999_900)
        #expect(start.advanced(by: .seconds(Int64.max)).nanoseconds == .max)
        #expect(MonotonicInstant(nanoseconds: .max).advanced(by: .nanoseconds(1)).nanoseconds == .max)
        #expect(MonotonicInstant(nanoseconds: -10).advanced(by: .seconds(Int64.min)).nanoseconds == .min)
        let late = start.advanced(by: .seconds(1))
        #expect(start < late && start.duration(to: late) == .seconds(1) && late.duration(to: start) == .seconds(-1))
    }

    @Test("nanoseconds of a duration saturate at 292 years")
    func nanoseconds() {
        #expect(Duration.seconds(3).inNanoseconds == 3_000_000_000)
        #expect(Duration.nanoseconds(-7).inNanoseconds == -7)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999).inNanoseconds == 1)
        #expect(Duration.seconds(9_223_372_036).inNanoseconds == 9_223_372_036_000_000_000)
        #expect(Duration.seconds(9_223_372_037).inNanoseconds == .max)
        #expect(Duration.seconds(-9_223_372_037).inNanoseconds == .min)
    }
}
