// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/capi/convert.hpp"
#include "runtime/device/common/fork.hpp"

using wavejit::capi::bad_size;
using wavejit::capi::copy_text;
using wavejit::capi::failed;
using wavejit::capi::guarded;
using wavejit::capi::null_argument;
using wavejit::capi::to_arguments;
using wavejit::capi::to_options;
using wavejit::capi::to_problem;
using wavejit::capi::write_struct;

struct wavejit_engine {
  std::shared_ptr<wavejit::Engine> engine;
};
struct wavejit_plan {
  wavejit::Plan plan;
  std::atomic<std::size_t> references{1};
  explicit wavejit_plan(wavejit::Plan p) : plan(std::move(p)) {}
};
struct wavejit_future {
  std::shared_future<wavejit::Result<wavejit::Plan>> future;
  wavejit::device::ForkMark made{};
};

namespace {

using wavejit::ErrorCode;

wavejit_status give(wavejit::Result<wavejit::Plan> made, wavejit_plan** plan) {
  if (!made) return failed(made.error());
  *plan = new wavejit_plan(std::move(*made));
  return WAVEJIT_OK;
}

/// Calls f(engine, problem) after the checks that every function of a problem begins with; `out` is where its
/// result goes.
template <class F>
wavejit_status on_problem(wavejit_engine* engine, const wavejit_problem* problem, const char* out_name,
                          const void* out, F&& f) {
  return guarded([&]() -> wavejit_status {
    if (engine == nullptr) return null_argument("engine");
    if (problem == nullptr) return null_argument("problem");
    if (out == nullptr) return null_argument(out_name);
    const auto converted = to_problem(problem);
    return converted ? f(*engine->engine, *converted) : failed(converted.error());
  });
}

/// Calls f(device) after the checks that every device function begins with.
template <class F>
wavejit_status on_device(const wavejit_engine* engine, uint32_t index, F&& f) {
  return guarded([&]() -> wavejit_status {
    if (engine == nullptr) return null_argument("engine");
    const auto device = engine->engine->device(index);
    if (device == nullptr)
      return failed(wavejit::fail_field(ErrorCode::invalid_argument, "device", std::to_string(index),
                                        fmt::format("below {}", engine->engine->devices()))
                        .error());
    const auto done = f(*device);
    return done ? WAVEJIT_OK : failed(done.error());
  });
}

std::string describe(const wavejit::Plan& plan) {
  nlohmann::ordered_json json;
  json["problem"] = wavejit::templates::canonical(plan.problem());
  json["device"] = plan.device().info().target_id;
  json["m_first"] = plan.range().first;
  json["m_last"] = plan.range().last;
  for (const wavejit::Variant& v : plan.variants()) {
    nlohmann::ordered_json stages;
    for (const wavejit::StageKernel& s : v.stages)
      stages.push_back({{"kernel", s.kernel}, {"key", s.key}, {"from", wavejit::name(s.from)}});
    json["variants"].push_back({{"m_first", v.range.first},
                                {"m_last", v.range.last},
                                {"kernel", v.kernel},
                                {"key", v.key},
                                {"config", wavejit::templates::canonical(v.config)},
                                {"from", wavejit::name(v.from)},
                                {"workspace_bytes", v.workspace_bytes},
                                {"stages", std::move(stages)}});
  }
  return json.dump();
}

}  // namespace

extern "C" {

wavejit_status wavejit_engine_create(const wavejit_engine_options* options, wavejit_engine** engine) {
  return guarded([&]() -> wavejit_status {
    if (engine == nullptr) return null_argument("engine");
    const auto converted = to_options(options);
    if (!converted) return failed(converted.error());
    auto made = wavejit::Engine::create(*converted);
    if (!made) return failed(made.error());
    *engine = new wavejit_engine{std::move(*made)};
    return WAVEJIT_OK;
  });
}

void wavejit_engine_destroy(wavejit_engine* engine) { delete engine; }

wavejit_status wavejit_prepare(wavejit_engine* engine, const wavejit_problem* problem, int64_t m_first,
                               int64_t m_last, uint32_t device, wavejit_plan** plan) {
  return on_problem(engine, problem, "plan", plan, [&](wavejit::Engine& e, const auto& p) {
    return give(e.prepare(p, {m_first, m_last}, device), plan);
  });
}

wavejit_status wavejit_prepare_async(wavejit_engine* engine, const wavejit_problem* problem, int64_t m_first,
                                     int64_t m_last, uint32_t device, wavejit_future** future) {
  return on_problem(engine, problem, "future", future, [&](wavejit::Engine& e, const auto& p) {
    *future = new wavejit_future{e.prepare_async(p, {m_first, m_last}, device)};
    return WAVEJIT_OK;
  });
}

wavejit_status wavejit_future_get(wavejit_future* future, int64_t timeout_ms, wavejit_plan** plan) {
  return guarded([&]() -> wavejit_status {
    if (future == nullptr) return null_argument("future");
    if (plan == nullptr) return null_argument("plan");
    if (future->made.crossed() &&
        future->future.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return failed(future->made.check("the thread that prepares this").error());
    // Beyond years a clock's nanoseconds overflow, and nobody sees the difference.
    constexpr std::int64_t longest_ms = 1'000'000'000'000;
    if (timeout_ms >= 0 && future->future.wait_for(std::chrono::milliseconds(
                               std::min(timeout_ms, longest_ms))) != std::future_status::ready)
      return failed(ErrorCode::timed_out, fmt::format("not prepared within {} ms", timeout_ms));
    return give(future->future.get(), plan);
  });
}

void wavejit_future_destroy(wavejit_future* future) { delete future; }

wavejit_status wavejit_find(wavejit_engine* engine, const wavejit_problem* problem, int64_t m_first,
                            int64_t m_last, uint32_t device, wavejit_plan** plan) {
  return on_problem(engine, problem, "plan", plan, [&](wavejit::Engine& e, const auto& p) -> wavejit_status {
    wavejit::Plan found = e.find(p, {m_first, m_last}, device);
    if (found) return give(std::move(found), plan);
    if (auto ok = e.usable(); !ok) return failed(ok.error());
    return failed(ErrorCode::not_prepared, "nothing was prepared for this problem, range of M and device");
  });
}

size_t wavejit_collect(wavejit_engine* engine) {
  std::size_t left = 0;
  guarded([&] {
    if (engine != nullptr) left = engine->engine->collect();
    return WAVEJIT_OK;
  });
  return left;
}

size_t wavejit_counters(wavejit_engine* engine, char* text, size_t size) {
  std::size_t needed = 0;
  guarded([&] {
    needed =
        copy_text(engine == nullptr ? std::string() : engine->engine->counters().to_string(), text, size);
    return WAVEJIT_OK;
  });
  return needed;
}

wavejit_status wavejit_explain(wavejit_engine* engine, const wavejit_problem* problem, int64_t m_first,
                               int64_t m_last, uint32_t device, char* text, size_t size, size_t* needed) {
  return on_problem(engine, problem, "needed", needed, [&](wavejit::Engine& e, const auto& p) {
    const auto lines = e.explain(p, {m_first, m_last}, device);
    if (!lines) return failed(lines.error());
    std::string all;
    for (const std::string& line : *lines) all += line + "\n";
    *needed = copy_text(all, text, size);
    return WAVEJIT_OK;
  });
}

wavejit_plan* wavejit_plan_retain(wavejit_plan* plan) {
  if (plan != nullptr) plan->references.fetch_add(1, std::memory_order_relaxed);
  return plan;
}

void wavejit_plan_release(wavejit_plan* plan) {
  if (plan != nullptr && plan->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete plan;
}

wavejit_status wavejit_plan_workspace(const wavejit_plan* plan, int64_t m, uint64_t* bytes) {
  return guarded([&]() -> wavejit_status {
    if (plan == nullptr) return null_argument("plan");
    if (bytes == nullptr) return null_argument("bytes");
    const auto needed = plan->plan.workspace_bytes(m);
    if (!needed) return failed(needed.error());
    *bytes = *needed;
    return WAVEJIT_OK;
  });
}

wavejit_status wavejit_plan_launch(const wavejit_plan* plan, void* stream,
                                   const wavejit_arguments* arguments) {
  return guarded([&]() -> wavejit_status {
    if (plan == nullptr) return null_argument("plan");
    if (arguments == nullptr) return null_argument("arguments");
    const auto converted = to_arguments(arguments);
    if (!converted) return failed(converted.error());
    const auto launched = plan->plan.launch(stream, *converted);
    return launched ? WAVEJIT_OK : failed(launched.error());
  });
}

size_t wavejit_plan_describe(const wavejit_plan* plan, char* text, size_t size) {
  std::size_t needed = 0;
  guarded([&] {
    needed = copy_text(plan == nullptr ? std::string() : describe(plan->plan), text, size);
    return WAVEJIT_OK;
  });
  return needed;
}

uint32_t wavejit_device_count(const wavejit_engine* engine) {
  return engine == nullptr ? 0 : static_cast<uint32_t>(engine->engine->devices());
}

wavejit_status wavejit_device_describe(const wavejit_engine* engine, uint32_t device,
                                       wavejit_device_info* info) {
  if (info == nullptr) return null_argument("info");
  return on_device(engine, device, [&](wavejit::device::Device& d) -> wavejit::Result<void> {
    const wavejit::device::Info& in = d.info();
    wavejit_device_info out{};
    copy_text(wavejit::device::name(in.kind), out.kind, sizeof out.kind);
    copy_text(in.name, out.name, sizeof out.name);
    copy_text(in.target_id, out.target_id, sizeof out.target_id);
    out.ordinal = in.ordinal;
    out.compute_units = in.compute_units;
    out.wave_size = in.wave_size;
    out.driver_version = in.driver_version;
    out.memory_bytes = in.memory_bytes;
    if (!write_struct(info, out)) return bad_size("wavejit_device_info", info);
    return {};
  });
}

wavejit_status wavejit_device_allocate(wavejit_engine* engine, uint32_t device, uint64_t bytes,
                                       uint64_t* address) {
  if (address == nullptr) return null_argument("address");
  return on_device(engine, device, [&](wavejit::device::Device& d) -> wavejit::Result<void> {
    const auto made = d.allocate(bytes);
    if (!made) return std::unexpected(made.error());
    *address = *made;
    return {};
  });
}

wavejit_status wavejit_device_release(wavejit_engine* engine, uint32_t device, uint64_t address) {
  return on_device(engine, device, [&](wavejit::device::Device& d) { return d.release(address); });
}

wavejit_status wavejit_device_copy_in(wavejit_engine* engine, uint32_t device, uint64_t to, const void* from,
                                      uint64_t bytes) {
  if (from == nullptr) return null_argument("from");
  return on_device(engine, device, [&](wavejit::device::Device& d) {
    return d.copy_in(to, {static_cast<const std::byte*>(from), static_cast<std::size_t>(bytes)});
  });
}

wavejit_status wavejit_device_copy_out(wavejit_engine* engine, uint32_t device, void* to, uint64_t from,
                                       uint64_t bytes) {
  if (to == nullptr) return null_argument("to");
  return on_device(engine, device, [&](wavejit::device::Device& d) {
    return d.copy_out({static_cast<std::byte*>(to), static_cast<std::size_t>(bytes)}, from);
  });
}

wavejit_status wavejit_device_stream_create(wavejit_engine* engine, uint32_t device, void** stream) {
  if (stream == nullptr) return null_argument("stream");
  return on_device(engine, device, [&](wavejit::device::Device& d) -> wavejit::Result<void> {
    const auto made = d.create_stream();
    if (!made) return std::unexpected(made.error());
    *stream = *made;
    return {};
  });
}

wavejit_status wavejit_device_stream_destroy(wavejit_engine* engine, uint32_t device, void* stream) {
  return on_device(engine, device, [&](wavejit::device::Device& d) { return d.destroy_stream(stream); });
}

wavejit_status wavejit_device_synchronise(wavejit_engine* engine, uint32_t device, void* stream) {
  return on_device(engine, device, [&](wavejit::device::Device& d) { return d.synchronise(stream); });
}

}  // extern "C"
