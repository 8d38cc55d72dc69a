import KiiPush
let payload = Array(#"{"aps":{"content-available":1},"bi":"bucketName","bt":"rw","oi":"fedcba09-8765-4321-fedc-ba0987654321","sa":"0123abcd","st":"APP_AND_USER","su":"01234567-89ab-cdef-0123-456789abcdef","t":"DATA_OBJECT_CREATED","w":1403844866395}"#.utf8)
print(payload.count)
func time(_ n: String, _ f: () -> Void) { let c = ContinuousClock(); var best = Duration.seconds(100)
  for _ in 0..<7 { let t = c.now; for _ in 0..<100_000 { f() }; let d = c.now - t; if d < best { best = d } }
  print(n, Double(best.components.attoseconds) / 1e9 / 1e5, "ns") }
let raw = RawPayload(payload, transport: .apns)
var n = 0
time("decode") { n &+= (try! PushMessage(raw)).kind == .pushToApp ? 1 : 0 }
let m = try! PushMessage(raw)
let secret = DedupeSecret.random()
time("keys") { n &+= m.dedupeKeys(app: "x", secret: secret).primary.hashValue }
let store = InMemorySeenStore()
var i: UInt64 = 0
time("store") { i += 1
  let k = DedupeKeys(primary: m.dedupeKeys(app: "x", secret: DedupeSecret(i, 3)).primary, strength: .strong)
  if case .fresh(let l) = store.begin(k, now: .init(nanoseconds: Int64(i))) { store.commit(l, now: .init(nanoseconds: Int64(i))) } }
let r = PushReceiver(app: "0123abcd", me: [.thing(id: "th.1")], serving: [.app, .user("*")])
for i in 0..<99 { r.onPushToApp(bucket: .exactly("b\(i)")) { _, _ in } }
r.onPushToApp(bucket: "bucketName") { e, _ in n2 &+= e.bucket.name.utf8.count &+ e.object!.id.utf8.count &+ (e.scope.id?.utf8.count ?? 0) }
nonisolated(unsafe) var n2 = 0
// distinct payloads: vary w
var best = Duration.seconds(100)
let c = ContinuousClock()
var w = 1403844866395
for _ in 0..<9 {
  var ps: [RawPayload] = []
  for _ in 0..<20_000 { w += 1; var p = payload; let s = Array(String(w).utf8); p.replaceSubrange((p.count - 14)..<(p.count - 1), with: s); ps.append(RawPayload(p, transport: .apns)) }
  let t = c.now
  for p in ps { _ = await r.receive(p) }
  let d = c.now - t
  if d < best { best = d }
}
print("whole", Double(best.components.attoseconds) / 1e9 / 2e4, "ns")
print(r.metrics.outcomes.filter { $0.messages > 0 })
