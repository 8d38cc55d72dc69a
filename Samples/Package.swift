// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "samples",
    traits: [
        .trait(name: "SQLite", description: "Passed on to KiiPush."),
        .trait(name: "MQTT", description: "Passed on to KiiPush."),
        .trait(name: "HTTP", description: "Passed on to KiiPush."),
        .default(enabledTraits: []),
    ],
    dependencies: [
        .package(
            name: "kii-push", path: "..",
            traits: [
                .trait(name: "SQLite", condition: .when(traits: ["SQLite"])),
                .trait(name: "MQTT", condition: .when(traits: ["MQTT"])),
                .trait(name: "HTTP", condition: .when(traits: ["HTTP"])),
            ])
    ],
    targets: [
        .executableTarget(
            name: "HelloPush", dependencies: [.product(name: "KiiPush", package: "kii-push")], path: "01-HelloPush",
            exclude: ["expected-output.txt", "README.md"]),
        .executableTarget(
            name: "TypedHandlers",
            dependencies: [
                .product(name: "KiiPush", package: "kii-push"), .product(name: "KiiPushTesting", package: "kii-push"),
                .product(name: "KiiCloud", package: "kii-push"),
            ],
            path: "02-TypedHandlers", exclude: ["expected-output.txt", "README.md"]),
        .executableTarget(
            name: "CustomMiddleware",
            dependencies: [
                .product(name: "KiiPush", package: "kii-push"), .product(name: "KiiPushTesting", package: "kii-push"),
            ],
            path: "03-CustomMiddleware", exclude: ["expected-output.txt", "README.md", "Tests"]),
        .executableTarget(
            name: "LoopSafeSync",
            dependencies: [
                .product(name: "KiiPush", package: "kii-push"), .product(name: "KiiPushTesting", package: "kii-push"),
            ],
            path: "04-LoopSafeSync", exclude: ["expected-output.txt", "README.md"]),
        .executableTarget(
            name: "RoutingRules",
            dependencies: [
                .product(name: "KiiPush", package: "kii-push"),
                .product(name: "KiiPushAgent", package: "kii-push"),
            ],
            path: "05-RoutingRules", exclude: ["expected-output.txt", "README.md", "rules.json", "Tests"]),
        .executableTarget(
            name: "MQTTAgent",
            dependencies: [
                .product(name: "KiiPush", package: "kii-push"),
                .product(name: "KiiPushAgent", package: "kii-push"),
            ],
            path: "06-MQTTAgent",
            exclude: ["expected-output.txt", "README.md", "mqtt-agent.service", "tour.sh"]),
        .executableTarget(
            name: "Thermostat",
            dependencies: [
                .product(name: "KiiPush", package: "kii-push"), .product(name: "KiiCloud", package: "kii-push"),
                .product(name: "KiiPushTesting", package: "kii-push"),
            ],
            path: "07-Thermostat", exclude: ["expected-output.txt", "README.md"]),
        .executableTarget(
            name: "Sending",
            dependencies: [
                .product(name: "KiiPush", package: "kii-push"), .product(name: "KiiCloud", package: "kii-push"),
                .product(name: "KiiPushTesting", package: "kii-push"),
            ],
            path: "08-Sending", exclude: ["expected-output.txt", "README.md"]),
        .executableTarget(
            name: "OwnFormat", dependencies: [.product(name: "KiiPush", package: "kii-push")], path: "09-OwnFormat",
            exclude: ["expected-output.txt", "README.md", "rules.json", "Tests"]),
        .testTarget(
            name: "OwnFormatTests",
            dependencies: [
                "OwnFormat", .product(name: "KiiPush", package: "kii-push"),
                .product(name: "KiiPushTesting", package: "kii-push"),
            ],
            path: "09-OwnFormat/Tests"),
        .testTarget(
            name: "CustomMiddlewareTests",
            dependencies: [
                "CustomMiddleware", .product(name: "KiiPush", package: "kii-push"),
                .product(name: "KiiPushTesting", package: "kii-push"),
            ],
            path: "03-CustomMiddleware/Tests"),
        .testTarget(
            name: "RoutingRulesTests", dependencies: [.product(name: "KiiPushTesting", package: "kii-push")],
            path: "05-RoutingRules/Tests"),
    ],
    swiftLanguageModes: [.v6]
)
