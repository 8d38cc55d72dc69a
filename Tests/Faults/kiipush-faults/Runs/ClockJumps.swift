import Glibc

/// Sets the wall clock of a `kiipush receive` an hour and a day back and forth while messages come and fail.
struct ClockJumps {
    let program: Program
    let isLong: Bool

    /// A library that puts an offset from a file on the wall clock of a program, and on nothing else: faketime sets the
    /// timers of other clocks too, as no clock that is set does.
    private static let library = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <semaphore.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        static volatile long *place;
        __attribute__((constructor)) static void begin(void) {
            int file = open(getenv("CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
            place = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
            close(file);
        }
        static long offset(void) { return place && place != MAP_FAILED ? *place : 0; }
        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += offset();
            return result;
        }
        int gettimeofday(struct timeval *restrict time, void *restrict zone) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            time->tv_sec = now.tv_sec;
            time->tv_usec = now.tv_nsec / 1000;
            return 0;
        }
        time_t time(time_t *place) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (place) *place = now.tv_sec;
            return now.tv_sec;
        }
        int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict end) {
            static int (*real)(sem_t *, const struct timespec *);
            if (!real) real = dlsym(RTLD_NEXT, "sem_timedwait");
            struct timespec there = *end;
            there.tv_sec -= offset();
            return real(semaphore, &there);
        }

        """
    private static let jumps = [3600, -3600, 86_400, -86_400, 0]

    /// Prints each message; one in ten waits for a second attempt first, after a pause by a timer.
    private static func rules(_ folder: String) -> String {
        """
        {"version": 1,
         "rules": [{"id": "second", "when": {"kind": "pushToApp", "object": "object-1*"}, "continue": true, "pace": "unlimited",
                    "delivery": {"attempts": 5, "backoff": "100ms"},
                    "then": {"run": ["sh", "-c", "read -r line; n=${line#*sentAt??}; mkdir \(folder)/${n%%,*} 2>/dev/null && exit 1; exit 0"]}},
                   {"id": "book", "when": {"kind": "pushToApp"}, "then": {"print": true}, "pace": "unlimited"}]}
        """
    }

    /// The row; nil where there is no C compiler.
    func row() throws -> Row? {
        let folder = try Folder()
        let (source, library, clock) = ("\(folder.path)/clock.c", "\(folder.path)/clock.so", "\(folder.path)/offset")
        try write(Self.library.utf8, to: source)
        let compilers = ["clang", "cc"].filter { compiler in
            let build = [compiler, "-shared", "-fPIC", "-O1", "-o", library, source]
            return (try? run(build)) == .exited(0)
        }
        guard !compilers.isEmpty else { return nil }
        set(0, clock)
        let broker = try Broker()
        let session = try Session(broker, "clock", program: program)
        let marks = "\(session.folder.path)/marks"
        mkdir(marks, 0o700)
        session.rules = Self.rules(marks)
        try session.subscribe()
        session.prefix = ["env", "LD_PRELOAD=\(library)", "CLOCK_OFFSET=\(clock)"]
        try session.run()
        try wait(for: "the agent is connected again") { session.connections > 1 }
        for _ in 1...(isLong ? 10 : 1) {
            for jump in Self.jumps {
                session.publisher.publish(60)
                usleep(UInt32.random(in: 0...60_000))
                set(jump, clock)
                session.publisher.publish(60)
                try session.publisher.settle()
                try wait(for: "all are handled after a jump of \(jump) s", within: .seconds(20)) {
                    try session.handled() == session.publisher.asked
                }
            }
        }
        var row = try session.finish("clock set by an hour and a day, back and forth")
        row.runs = Self.jumps.count * (isLong ? 10 : 1)
        if row.letters > 0 { row.broken.append("\(row.letters) honest messages were dead-lettered") }
        for word in ["paced", "disconnected"] where session.log.contains(" \(word)") {
            row.broken.append("it said '\(word)': \(session.log.suffix(600))")
        }
        return row
    }

    /// Writes the offset in its place: the file is mapped.
    private func set(_ seconds: Int, _ path: String) {
        var seconds = seconds
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        _ = write(file, &seconds, MemoryLayout<Int>.size)
    }
}
