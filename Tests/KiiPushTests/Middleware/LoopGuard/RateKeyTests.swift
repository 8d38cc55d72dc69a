import KiiPushTesting
import Testing

@testable import KiiPush

/// The keys under which the loop guard counts what a route lets pass.
struct RateKeyTests {
    private static let secret = DedupeSecret(1, 2)

    private func keys(_ bucket: String, _ object: String, _ route: Route) throws -> RateKeys {
        let message = try PushMessage(PayloadFixture.pushToApp(bucket: bucket, object: object).payload(.long))
        return RateKeys(message, at: nil, for: route, Self.secret)
    }

    @Test("a key has the place in its first half, and the route in both")
    func halves() throws {
        let (one, other) = (Route("one"), Route("other"))
        let message = try PushMessage(PayloadFixture.pushToApp(bucket: "b", object: "o").payload(.long))
        let place = try #require(ResourceDigest(of: message.storage, Self.secret))
        for route in [one, other] {
            let found = try keys("b", "o", route)
            #expect(found.narrow.digest.first == place.narrow.finish().first ^ route.digest.first)
            #expect(found.wide?.digest.first == place.wide.finish().first ^ route.digest.first)
            #expect(
                found.narrow.digest.second == route.digest.second && found.wide?.digest.second == route.digest.second)
        }
        #expect(one.digest.first != other.digest.first && one.digest.second != other.digest.second)
        #expect(one.digest.second != 0 && place.narrow.finish().first != 0)
    }

    @Test("objects, buckets and routes have keys of their own")
    func apart() throws {
        var (narrow, wide): (Set<ResourceKey>, Set<ResourceKey>) = ([], [])
        for route in [Route("one"), Route("other")] {
            for bucket in ["b", "c"] {
                for object in ["o", "p"] {
                    let keys = try keys(bucket, object, route)
                    narrow.insert(keys.narrow)
                    if let key = keys.wide { wide.insert(key) }
                }
            }
        }
        #expect(narrow.count == 8 && wide.count == 4 && narrow.isDisjoint(with: wide))
    }
}
