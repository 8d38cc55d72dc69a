// simdjson, as the limit of what a parser can do: the document tree, and on demand the fields that a receiver reads.

#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

using namespace simdjson;

struct Fields {
    std::string_view bucket, object, scope, scopeID;
};

// Any of the three ids is the scope's; a payload of the measured files has at most one.
static std::string_view *field(Fields &fields, std::string_view key) {
    if (key == "bi") return &fields.bucket;
    if (key == "oi") return &fields.object;
    if (key == "st") return &fields.scope;
    if (key == "su" || key == "sg" || key == "sth") return &fields.scopeID;
    return nullptr;
}

// `parse` is what is timed; `read` takes the fields out, for the check.
struct Dom {
    dom::parser parser;

    size_t parse(const padded_string &payload) { return dom::object(parser.parse(payload)).size(); }

    Fields read(const padded_string &payload) {
        Fields fields;
        for (auto member : dom::object(parser.parse(payload))) {
            if (auto *text = field(fields, member.key)) *text = member.value;
        }
        return fields;
    }
};

// One walk over the members; what is not asked for is skipped and only roughly checked.
struct OnDemand {
    ondemand::parser parser;

    // Without a caller that reads, it would parse nothing.
    size_t parse(const padded_string &payload) {
        auto fields = read(payload);
        return fields.bucket.size() + fields.object.size() + fields.scopeID.size();
    }

    Fields read(const padded_string &payload) {
        Fields fields;
        auto document = parser.iterate(payload);
        for (auto member : document.get_object()) {
            std::string_view key = member.unescaped_key();
            if (auto *text = field(fields, key)) *text = member.value().get_string();
        }
        return fields;
    }
};

static std::vector<padded_string> lines(const char *name) {
    std::ifstream file(name);
    if (!file) throw std::runtime_error(std::string("cannot read ") + name);
    std::vector<padded_string> result;
    for (std::string line; std::getline(file, line);) result.emplace_back(line);
    return result;
}

template <typename Parser> static void pass(Parser &parser, const std::vector<padded_string> &payloads, size_t count) {
    static volatile size_t sink;
    size_t parsed = 0;
    for (size_t number = 0; number < count; number++) parsed += parser.parse(payloads[number]);
    sink = parsed;
}

template <typename Parser> static void time(const std::vector<padded_string> &payloads, size_t messages) {
    Parser parser;
    std::chrono::nanoseconds sum;
    // The second time counts.
    for (int round = 0; round < 2; round++) {
        sum = {};
        for (size_t left = messages; left > 0;) {
            size_t count = std::min(left, payloads.size());
            auto start = std::chrono::steady_clock::now();
            pass(parser, payloads, count);
            sum += std::chrono::steady_clock::now() - start;
            left -= count;
        }
    }
    std::printf("{\"messages\":%zu,\"nanoseconds\":%lld,\"handled\":%zu,\"read\":0}\n", messages, (long long)sum.count(),
                messages);
}

template <typename Parser> static void check(const std::vector<padded_string> &payloads) {
    Parser parser;
    auto shown = [](std::string_view text) { return text.empty() ? std::string("-") : std::string(text); };
    for (auto &payload : payloads) {
        auto fields = parser.read(payload);
        std::string scope = shown(fields.scope);
        if (!fields.scopeID.empty()) scope += ":" + std::string(fields.scopeID);
        std::printf("-\t%s\t%s\t-\t%s\t-\n", shown(fields.bucket).c_str(), shown(fields.object).c_str(), scope.c_str());
    }
}

template <typename Parser> static int run(int count, char **arguments) {
    auto payloads = lines(arguments[3]);
    if (std::strcmp(arguments[2], "check") == 0) check<Parser>(payloads);
    else if (std::strcmp(arguments[2], "time") == 0 && count == 6) time<Parser>(payloads, std::stoul(arguments[5]));
    else return 64;
    return 0;
}

int main(int count, char **arguments) {
    if (count < 5) {
        std::fputs("usage: simdjson dom|on-demand check FILE ROUTES | time FILE ROUTES MESSAGES\n", stderr);
        return 64;
    }
    try {
        return std::strcmp(arguments[1], "dom") == 0 ? run<Dom>(count, arguments) : run<OnDemand>(count, arguments);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "simdjson: %s\n", error.what());
        return 1;
    }
}
