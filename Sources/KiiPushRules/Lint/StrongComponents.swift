/// The strongly connected components of a directed graph, which contain its cycles.
struct StrongComponents {
    private var numbers: [Int]

    /// The number of the component that contains a node.
    func component(_ node: Int) -> Int { numbers[node] }

    /// Finds the components in time linear in nodes and edges.
    init(count: Int, edges: [(from: Int, to: Int)]) {
        numbers = [Int](repeating: -1, count: count)
        var next = [[Int]](repeating: [], count: count)
        for (from, to) in edges { next[from].append(to) }
        // Tarjan's algorithm, with an explicit stack instead of recursion: a chain of ten thousand rules is that deep.
        var order = [Int](repeating: -1, count: count)
        var low = [Int](repeating: 0, count: count)
        var open: [Int] = []
        var last = 0
        for root in 0..<count where order[root] < 0 {
            var path: [(node: Int, edge: Int)] = [(root, 0)]
            while let (node, edge) = path.last {
                if edge == 0 {
                    order[node] = last
                    low[node] = last
                    last += 1
                    open.append(node)
                }
                if edge < next[node].count {
                    path[path.count - 1].edge += 1
                    let other = next[node][edge]
                    if order[other] < 0 {
                        path.append((other, 0))
                    } else if numbers[other] < 0 {
                        low[node] = min(low[node], order[other])
                    }
                    continue
                }
                path.removeLast()
                if let parent = path.last?.node { low[parent] = min(low[parent], low[node]) }
                guard low[node] == order[node] else { continue }
                while let member = open.popLast() {
                    numbers[member] = node
                    if member == node { break }
                }
            }
        }
    }
}
