import KiiPush

extension SeenStoreGuarantee {
    /// Every guarantee, in the order of the protocol's documentation.
    static let all = life + keys + leases + weakKeys + windows + time + counts + [atOnce, twoKeysAtOnce]

    // MARK: The life of a message

    private static let life = [
        SeenStoreGuarantee("a message is fresh, then in flight, then done") { trial in
            let keys = try strong(1)
            let lease = try trial.begin(keys, at: 0, "the first time")
            try trial.expectInFlight(keys, at: 0, "while its lease lives")
            try trial.store.commit(lease, now: .seconds(0))
            try trial.expectDone(keys, at: 0, "after its commit")
        },
        SeenStoreGuarantee("a message that was released is fresh again") { trial in
            let keys = try strong(1)
            let first = try trial.begin(keys, at: 0, "the first time")
            try trial.store.release(first)
            let second = try trial.begin(keys, at: 0, "after its release")
            trial.expect(first.number != second.number, "a new lease should have a new number")
            try trial.store.commit(second, now: .seconds(0))
            try trial.expectDone(keys, at: 0, "after its second lease was committed")
        },
        SeenStoreGuarantee("messages do not affect each other") { trial in
            let first = try trial.begin(try strong(1), at: 0, "the first time")
            let second = try trial.begin(try strong(2), at: 0, "while another is in flight")
            trial.expect(first.number != second.number, "two leases should have two numbers")
            try trial.store.commit(first, now: .seconds(0))
            try trial.store.release(second)
            try trial.begin(try strong(2), at: 0, "after its release, though another was committed")
            try trial.expectDone(try strong(1), at: 0, "after its commit, though another was released")
        },
    ]

    // MARK: Two keys

    private static let keys = [
        SeenStoreGuarantee("a message with two keys is found by either key") { trial in
            let both = try strong(1, 2)
            let lease = try trial.begin(both, at: 0, "the first time")
            for (keys, which) in [(try strong(1), "by its first key"), (try strong(2), "by its second key")] {
                try trial.expectInFlight(keys, at: 0, which)
            }
            try trial.expectInFlight(try strong(3, 2), at: 0, "by its second key, beside a new one")
            try trial.store.commit(lease, now: .seconds(0))
            try trial.expectDone(try strong(1), at: 0, "by its first key")
            try trial.expectDone(try strong(2), at: 0, "by its second key")
            try trial.expectDone(try strong(3, 2), at: 0, "by its second key, beside a new one")
        },
        SeenStoreGuarantee("where two messages have two keys each, the second key decides") { trial in
            let first = try trial.begin(try strong(1, 2), at: 0, "the first time")
            let second = try trial.begin(try strong(1, 3), at: 0, "with another second key, while one is in flight")
            trial.expect(first.number != second.number, "two leases should have two numbers")
            try trial.expectInFlight(try strong(1, 2), at: 0, "by both its keys")
            try trial.expectInFlight(try strong(1, 3), at: 0, "by both its keys")
            try trial.store.commit(first, now: .seconds(0))
            try trial.expectInFlight(try strong(1, 3), at: 0, "though one with its first key is done")
            try trial.store.release(second)
            let again = try trial.begin(try strong(1, 3), at: 0, "when it was released")
            try trial.store.commit(again, now: .seconds(0))
            for keys in [try strong(1, 2), try strong(1, 3), try strong(1), try strong(2), try strong(3)] {
                try trial.expectDone(keys, at: 0, "after both were handled")
            }
            try trial.begin(try strong(1, 4), at: 0, "with a third second key, after both were handled")
        },
        SeenStoreGuarantee("a release frees both keys") { trial in
            try trial.store.release(try trial.begin(try strong(1, 2), at: 0, "the first time"))
            try trial.begin(try strong(2), at: 0, "by its second key after its release")
            try trial.begin(try strong(1), at: 0, "by its first key after its release")
        },
        SeenStoreGuarantee("a duplicate reserves no key, not even a new one") { trial in
            let lease = try trial.begin(try strong(1), at: 0, "the first time")
            try trial.expectInFlight(try strong(2, 1), at: 0, "by its second key")
            try trial.begin(try strong(2), at: 0, "though a duplicate had its key")
        },
    ]

    // MARK: Leases

    private static let leases = [
        SeenStoreGuarantee("a lease never expires by age", window: brief) { trial in
            let lease = try trial.begin(try strong(1), at: 0, "the first time")
            let weakLease = try trial.begin(try weak(2), at: 0, "the first time")
            try trial.expectInFlight(try strong(1), at: 1_000_000, "long after the window's age")
            for lease in [lease, weakLease] {
                try trial.store.commit(lease, now: .seconds(1_000_000))
            }
            try trial.expectDone(try strong(1), at: 1_000_001, "counted from its commit")
        },
        SeenStoreGuarantee("a lease is never evicted by count", window: SeenWindow(count: 2)) { trial in
            let keys = try strong(1)
            let lease = try trial.begin(keys, at: 0, "the first time")
            for number in 2..<50 { try trial.handle(try strong(number), at: 0) }
            let others = try (50..<100).map { try trial.begin(try strong($0), at: 0, "the first time") }
            try trial.expectInFlight(keys, at: 0, "after more messages than the window has")
            try trial.expectInFlight(try strong(50), at: 0, "among more leases than the window has")
            try trial.store.commit(lease, now: .seconds(0))
            try trial.expectDone(keys, at: 0, "after its commit")
        },
        SeenStoreGuarantee("an ended lease has no effect") { trial in
            let keys = try strong(1)
            let released = try trial.begin(keys, at: 0, "the first time")
            try trial.store.release(released)
            try trial.store.commit(released, now: .seconds(0))
            let committed = try trial.begin(keys, at: 0, "when a released lease was committed")
            try trial.store.release(released)
            try trial.store.commit(released, now: .seconds(0))
            try trial.expectInFlight(keys, at: 0, "when an earlier lease was ended again")
            try trial.store.commit(committed, now: .seconds(0))
            try trial.store.release(committed)
            try trial.expectDone(keys, at: 0, "when a committed lease was released")
        },
        SeenStoreGuarantee("a second commit of a lease does not renew it", window: brief) { trial in
            let lease = try trial.handle(try strong(1), at: 0)
            try trial.store.commit(lease, now: .seconds(50))
            try trial.begin(try strong(1), at: 61, "when the window's age was over since the first commit")
        },
        SeenStoreGuarantee("a lease that the store never issued has no effect") { trial in
            let unknown = SeenLease(number: 4_000_000_000, keys: try strong(1), arrivedAt: .seconds(0))
            try trial.store.commit(unknown, now: .seconds(0))
            let lease = try trial.begin(try strong(1), at: 0, "when an unknown lease was committed")
            try trial.store.release(unknown)
            try trial.store.commit(unknown, now: .seconds(0))
            try trial.expectInFlight(try strong(1), at: 0, "when an unknown lease of its key was ended")
        },
    ]
}
