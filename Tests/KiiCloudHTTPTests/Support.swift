#if HTTP
import KiiCloud
import KiiCloudHTTP
import KiiCloudTesting
import KiiPush
import Testing

@testable import KiiPushTestSupport

/// A cloud behind a port, somebody who is logged in there, and a transport to it.
final class Bench: Sendable {
    let cloud = TestCloud()
    let server: TestCloudServer
    let token: Secret
    let transport: CurlTransport
    let user = KiiUser(id: "u-1")

    init(_ change: (inout CurlSettings) -> Void = { _ in }) throws {
        server = try TestCloudServer(cloud)
        token = cloud.logIn(.user(KiiUser(id: "u-1")))
        var settings = CurlSettings()
        settings.usesPlainLoopback = true
        change(&settings)
        transport = try CurlTransport(settings)
    }

    deinit { server.stop() }

    var client: KiiClient { KiiClient(server.app, transport: transport, tokens: FixedToken(token)) }

    var bucket: KiiBucket { KiiBucket(scope: .user(user), name: "settings") }
    var object: KiiObject { KiiObject(bucket: bucket, id: "o-1") }
    var topic: KiiTopic { KiiTopic(scope: .user(user), name: "news") }
}

/// The numbers of this process's open descriptors, but for the timers that Swift's tasks sleep by.
func openDescriptors() -> Set<Int32> {
    Set(OpenDescriptor.all.filter { $0.target != "anon_inode:[timerfd]" }.map(\.number))
}

/// How many of this process's connections lead to a port of this machine, whatever else other tests have open.
func openConnections(to port: Int) -> Int { openDescriptors().count { Loopback.peerPort($0) == port } }
#endif
