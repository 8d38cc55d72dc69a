// swift-tools-version: 6.2
import PackageDescription

// The programs beside the tests, in a package of their own, so that nobody who uses the library builds them. One
// package for all, so that the library is compiled once for them, in release. From the repository's root:
//     swift run -c release --package-path Tests kiipush-bench
//     swift run -c release --package-path Tests kiipush-simulation
//     swift run -c release --package-path Tests kiipush-faults --help
//     swift build -c release --package-path Tests --product kiipush
//
// With the traits that the runs of faults need, and so with Debian's libsqlite3-dev and libmosquitto-dev. Fuzz needs
// another main: it is a package of its own.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
let core = Target.Dependency.product(name: "KiiPush", package: "kii-push")
let testKit = Target.Dependency.product(name: "KiiPushTesting", package: "kii-push")

let package = Package(
    name: "kii-push-programs",
    dependencies: [.package(name: "kii-push", path: "..", traits: ["SQLite", "MQTT"])],
    targets: [
        // What a message costs; gate.sh holds allocations and instructions.
        .target(name: "CAllocationCounter", path: "Benchmarks/Sources/CAllocationCounter"),
        .executableTarget(
            name: "kiipush-bench", dependencies: ["CAllocationCounter", core, testKit],
            path: "Benchmarks/Sources/kiipush-bench", swiftSettings: settings),
        // KiiPush beside receivers written by hand; see Benchmarks/run.sh.
        .executableTarget(
            name: "kiipush-peer", dependencies: [core], path: "Benchmarks/Peers/kiipush", swiftSettings: settings),
        // Loops and honest traffic through the loop guard; the delivery service from seeds. It drives the guard by the
        // calls of a service, which only the library's own package may make.
        .executableTarget(
            name: "kiipush-simulation", dependencies: [core, testKit], path: "Simulation",
            swiftSettings: settings + [.unsafeFlags(["-Xfrontend", "-disable-access-control"])]),
        // Agents as processes, killed, cut off and out of disk; it looks into their database itself.
        .systemLibrary(
            name: "CSQLite3", path: "Faults/CSQLite3", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "kiipush-faults",
            dependencies: [
                "CSQLite3", core, testKit, .product(name: "KiiCloud", package: "kii-push"),
                .product(name: "KiiPushAgent", package: "kii-push"),
            ],
            path: "Faults/kiipush-faults", swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
