// Drives a robot of `flexjoint serve` with a controller written by `flexjoint export-c`.  POSIX sockets.
//
//     flexjoint export-c kuka_lwr --controller motor_pd --gains 1000,50 --no-limits --name law -o law
//     make -C law law.o
//     g++ -std=c++17 -O2 -Ilaw controller.cpp law/law.o -o controller -lm
//     flexjoint serve kuka_lwr --udp 127.0.0.1:5005 --duration 10 &
//     ./controller 5005 10000 0.3

#include "law.hpp"

#include <arpa/inet.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t motors = sizeof(law_component::Output{}.tau) / sizeof(double);
constexpr std::size_t joints = sizeof(law_component::Input{}.reference) / sizeof(double);  // order 0: positions
constexpr std::uint32_t greeting = 0xFFFFFFFF;
constexpr std::size_t head = 12, state_size = head + 8 * (1 + 3 * joints + 2 * motors) + 4;

std::uint32_t crc32(const unsigned char *data, std::size_t size)
{
    std::uint32_t crc = 0xFFFFFFFF;
    for (std::size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = (crc >> 1) ^ (0xEDB88320 & (0 - (crc & 1)));
    }
    return ~crc;
}

// Numbers are little-endian on the wire; this program runs on little-endian machines.
std::vector<unsigned char> command(std::uint32_t sequence, const double *tau)
{
    std::vector<unsigned char> data(head + 8 * motors + 4);
    const std::uint16_t count = motors, zero = 0;
    std::memcpy(&data[0], "FJC1", 4);
    std::memcpy(&data[4], &count, 2);
    std::memcpy(&data[6], &zero, 2);
    std::memcpy(&data[8], &sequence, 4);
    std::memcpy(&data[head], tau, 8 * motors);
    const std::uint32_t check = crc32(data.data(), data.size() - 4);
    std::memcpy(&data[data.size() - 4], &check, 4);
    return data;
}

bool is_state(const unsigned char *data, std::size_t size)
{
    std::uint32_t check;
    if (size != state_size || std::memcmp(data, "FJS1", 4) != 0)
        return false;
    std::memcpy(&check, data + size - 4, 4);
    return check == crc32(data, size - 4);
}

}  // namespace

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "usage: controller PORT PERIODS POSITION\n");
        return 2;
    }
    const long periods = std::atol(argv[2]);
    sockaddr_in robot{};
    robot.sin_family = AF_INET;
    robot.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
    robot.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int channel = socket(AF_INET, SOCK_DGRAM, 0);
    const timeval patience{2, 0};
    setsockopt(channel, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connect(channel, reinterpret_cast<const sockaddr *>(&robot), sizeof robot);

    law_component::Component law;
    law_component::Input input{};
    for (double &x : input.reference)
        x = std::atof(argv[3]);
    const double nothing[motors] = {};
    const auto hello = command(greeting, nothing);
    if (send(channel, hello.data(), hello.size(), 0) < 0)
        return 1;

    long answered = 0, flagged = 0;
    unsigned char data[2048];
    for (std::uint32_t last = greeting; answered < periods;) {
        const ssize_t size = recv(channel, data, sizeof data, 0);
        if (size < 0)
            break;  // nothing for two seconds
        std::uint32_t sequence;
        if (!is_state(data, static_cast<std::size_t>(size)))
            continue;
        std::memcpy(&sequence, data + 8, 4);
        std::vector<unsigned char> answer;
        if (sequence != last) {
            const unsigned char *place = data + head;
            std::memcpy(&input.t, place, 8);
            std::memcpy(input.theta, place + 8 * (1 + 2 * joints), 8 * motors);
            std::memcpy(input.theta_v, place + 8 * (1 + 2 * joints + motors), 8 * motors);
            const auto output = law.step(input);
            flagged += law.flags() != 0;
            answer = command(sequence, output.tau);
            last = sequence;
            answered++;
        } else {
            answer = command(sequence, law.state().tau_before);  // the state came again: so does its answer
        }
        send(channel, answer.data(), answer.size(), 0);
    }
    close(channel);
    std::printf("%ld states answered, %ld with flags\n", answered, flagged);
    return answered < periods;
}
