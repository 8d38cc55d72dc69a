import KiiPush

extension SeenStoreGuarantee {
    // MARK: Weak keys

    static let weakKeys = [
        SeenStoreGuarantee("a message with a weak key is the same for the weak age", window: brief) { trial in
            try trial.handle(try weak(1), at: 0)
            try trial.handle(try strong(2), at: 0)
            try trial.expectDone(try weak(1), at: 4, "before the weak age is over")
            try trial.begin(try weak(1), at: 6, "when the weak age is over")
            try trial.expectDone(try strong(2), at: 6, "with strong keys when the weak age is over")
        },
        SeenStoreGuarantee("the weak age counts from the arrival, not from the commit", window: brief) { trial in
            let late = try trial.begin(try weak(1), at: 0, "the first time")
            try trial.store.commit(late, now: .seconds(30))
            try trial.begin(try weak(1), at: 31, "that arrived long after the first, just after its commit,")
            try trial.expectDone(try weak(1), at: 4, "that arrived just after the first, and waited since,")
        },
        SeenStoreGuarantee("the weak age counts while the first message is in flight too", window: brief) { trial in
            let first = try trial.begin(try weak(1), at: 0, "the first time")
            try trial.expectInFlight(try weak(1), at: 4, "before the weak age is over")
            let second = try trial.begin(try weak(1), at: 6, "when the weak age is over, while the first is in flight,")
            trial.expect(first.number != second.number, "two leases should have two numbers")
            try trial.expectInFlight(try weak(1), at: 10, "that arrived just after the second")
            try trial.store.release(first)
            try trial.store.commit(second, now: .seconds(20))
            try trial.expectDone(try weak(1), at: 10, "that arrived just after the second, which is done,")
            try trial.begin(try weak(1), at: 0, "that arrived with the first, which was released,")
        },
        SeenStoreGuarantee("messages of a backlog are compared by arrival time", window: brief) { trial in
            for arrival in stride(from: Int64(0), to: 100, by: 20) {
                let lease = try trial.begin(try weak(1), at: arrival, "of a backlog")
                try trial.store.commit(lease, now: .seconds(100 + arrival / 20))
            }
            for arrival in stride(from: Int64(0), to: 100, by: 20) {
                try trial.expectDone(try weak(1), at: arrival + 3, "that arrived just after one of a backlog")
            }
            try trial.begin(try weak(1), at: 10, "that arrived between two of a backlog")
        },
        SeenStoreGuarantee("whichever of two messages with a weak key arrived first", window: brief) { trial in
            try trial.handle(try weak(1), at: 100)
            try trial.expectDone(try weak(1), at: 97, "that arrived just before the handled one")
            try trial.begin(try weak(1), at: 94, "that arrived long before the handled one")
            let lease = try trial.begin(try weak(2), at: 100, "the first time")
            try trial.expectInFlight(try weak(2), at: 97, "that arrived just before the one in flight")
            try trial.begin(try weak(2), at: 94, "that arrived long before the one in flight")
        },
        SeenStoreGuarantee("a copy with a weak key may wait for as long as the window's age", window: brief) { trial in
            let lease = try trial.begin(try weak(1), at: 0, "the first time")
            try trial.store.commit(lease, now: .seconds(1000))
            for number in 2...20 { try trial.handle(try weak(number), at: 1059) }
            try trial.expectDone(try weak(1), at: 3, "whose copy waited, while others came and went,")
        },
    ]
}
