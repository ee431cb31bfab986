// SPDX-License-Identifier: MIT
// Code objects: loading under the device's lock, launching without one, unloading later.
#include <fmt/format.h>

#include "runtime/device/common/code_object_target.hpp"
#include "runtime/device/common/kernel_facts.hpp"
#include "runtime/device/hip/hip_device.hpp"
#include "runtime/device/hip/scopes.hpp"

namespace wavejit::device::hip {

/// What the driver holds for us. A retired one is linked into a list by `next`, so retiring allocates
/// nothing.
struct HipDevice::Loaded {
  ModuleHandle module = nullptr;
  FunctionHandle function = nullptr;
  std::string kernel;
  KernelFacts facts;
  /// Kept while the module lives: HIP does not promise to copy the image.
  std::vector<std::byte> image;
  std::atomic<bool> captured = false;  ///< a graph may hold the function
  Loaded* next = nullptr;
};

class HipDevice::LoadedModule final : public Module {
 public:
  LoadedModule(std::shared_ptr<HipDevice> device, std::unique_ptr<Loaded> loaded)
      : device_(std::move(device)), loaded_(std::move(loaded)) {}
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule() override { device_->retire(loaded_.release()); }

  [[nodiscard]] std::string_view kernel() const override { return loaded_->kernel; }
  [[nodiscard]] std::uint64_t code_bytes() const override { return loaded_->image.size(); }
  [[nodiscard]] const HipDevice* device() const { return device_.get(); }
  [[nodiscard]] Loaded& loaded() const { return *loaded_; }

 private:
  std::shared_ptr<HipDevice> device_;
  std::unique_ptr<Loaded> loaded_;
};

HipDevice::HipDevice(std::shared_ptr<const Library> library, Info info)
    : library_(std::move(library)), api_(library_->api), info_(std::move(info)) {}

HipDevice::~HipDevice() {
  unload_retired();
  // What is left was captured, or a capture is going on: its module stays with the driver, and its image
  // here, to the end of the process. In a list, so that leak checkers see that it is meant.
  static std::atomic<Loaded*> kept = nullptr;
  for (auto& left : waiting_) {
    Loaded* loaded = left.release();
    loaded->next = kept.load(std::memory_order_relaxed);
    while (!kept.compare_exchange_weak(loaded->next, loaded, std::memory_order_release)) {
    }
  }
}

void HipDevice::retire(Loaded* loaded) noexcept {
  if (made_.crossed()) {
    delete loaded;  // the copy of the image; the module is the parent's
    return;
  }
  loaded->next = retired_.load(std::memory_order_relaxed);
  while (!retired_.compare_exchange_weak(loaded->next, loaded, std::memory_order_release)) {
  }
}

/// Under load_mutex_ (or with nobody else left).
std::size_t HipDevice::unload_retired() {
  for (Loaded* list = retired_.exchange(nullptr, std::memory_order_acquire); list != nullptr;) {
    Loaded* next = list->next;
    waiting_.emplace_back(list);
    list = next;
  }
  if (waiting_.empty() || capturing()) return waiting_.size();
  const OrdinalScope ordinal(api_, info_.ordinal);
  if (ordinal.result() != status::success) {
    (void)api_.hipGetLastError();
    return waiting_.size();
  }
  const RelaxedScope relaxed(api_);
  std::erase_if(waiting_, [this](const std::unique_ptr<Loaded>& loaded) {
    if (loaded->captured) return false;
    const Status s = api_.hipModuleUnload(loaded->module);
    if (s != status::success) (void)api_.hipGetLastError();
    // A capture's refusal is tried again; any other failure will not get better.
    return s < status::capture_unsupported || s > status::capture_last;
  });
  return waiting_.size();
}

std::size_t HipDevice::collect() {
  if (made_.crossed()) return 0;
  const std::scoped_lock lock(load_mutex_);
  return unload_retired();
}

Result<std::unique_ptr<HipDevice::Loaded>> HipDevice::load_locked(std::span<const std::byte> code_object,
                                                                  std::string_view kernel) {
  auto facts = read_kernel(code_object, kernel);
  if (!facts) return std::unexpected(std::move(facts.error()));
  auto loaded = std::make_unique<Loaded>();
  loaded->kernel = kernel;
  loaded->facts = *facts;
  loaded->image.assign(code_object.begin(), code_object.end());

  const OrdinalScope ordinal(api_, info_.ordinal);
  if (ordinal.result() != status::success) return driver_failure(api_, "hipSetDevice", ordinal.result());
  const RelaxedScope relaxed(api_);
  if (const Status s = api_.hipModuleLoadData(&loaded->module, loaded->image.data()); s != status::success)
    return driver_failure(api_, "hipModuleLoadData", s, ErrorCode::load_failed);
  if (const Status s = api_.hipModuleGetFunction(&loaded->function, loaded->module, loaded->kernel.c_str());
      s != status::success) {
    auto error = driver_error(api_, "hipModuleGetFunction", s, ErrorCode::load_failed);
    if (api_.hipModuleUnload(loaded->module) != status::success) (void)api_.hipGetLastError();
    return std::unexpected(std::move(error));
  }
  return loaded;
}

Result<std::shared_ptr<const Module>> HipDevice::load(std::span<const std::byte> code_object,
                                                      std::string_view kernel) {
  if (auto ok = alive(); !ok) return std::unexpected(std::move(ok.error()));
  if (auto ok = check_target(code_object, info_.target_id); !ok)
    return std::unexpected(std::move(ok.error()));
  const std::scoped_lock lock(load_mutex_);
  if (auto ok = outside_capture("loading a code object"); !ok) return std::unexpected(std::move(ok.error()));
  unload_retired();
  auto loaded = load_locked(code_object, kernel);
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  return std::make_shared<LoadedModule>(shared_from_this(), *std::move(loaded));
}

Result<CaptureState> HipDevice::capture_state(Stream stream) {
  if (auto ok = alive(); !ok) return std::unexpected(std::move(ok.error()));
  const OrdinalScope ordinal(api_, info_.ordinal);
  int state = capture_none;
  if (const Status s = api_.hipStreamIsCapturing(stream, &state); s != status::success)
    return driver_failure(api_, "hipStreamIsCapturing", s, ErrorCode::invalid_argument);
  if (state == capture_none) return CaptureState::none;
  seen_.note(stream);
  return state == capture_is_active ? CaptureState::active : CaptureState::invalidated;
}

Result<void> HipDevice::launch(const Module& module, const Geometry& geometry,
                               std::span<const std::byte> kernarg, Stream stream) {
  if (auto ok = alive(); !ok) return ok;
  const auto* ours = dynamic_cast<const LoadedModule*>(&module);
  if (ours == nullptr || ours->device() != this) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("kernel '{}' was not loaded on HIP device {}", module.kernel(), info_.ordinal));
  }
  Loaded& loaded = ours->loaded();
  if (auto ok = check_geometry(geometry, loaded.facts, kernarg.size(), info_.lds_bytes); !ok) return ok;
  const OrdinalScope ordinal(api_, info_.ordinal);
  if (ordinal.result() != status::success) return driver_failure(api_, "hipSetDevice", ordinal.result());
  const auto state = capture_state(stream);
  if (!state) return std::unexpected(state.error());
  if (*state != CaptureState::none) loaded.captured.store(true, std::memory_order_relaxed);

  std::size_t bytes = kernarg.size();
  std::array<void*, 5> extra{launch_param_buffer_pointer, const_cast<std::byte*>(kernarg.data()),
                             launch_param_buffer_size, &bytes, launch_param_end};
  const auto& [gx, gy, gz] = geometry.grid;
  const auto& [bx, by, bz] = geometry.block;
  const Status s = api_.hipModuleLaunchKernel(loaded.function, gx, gy, gz, bx, by, bz,
                                              geometry.dynamic_lds_bytes, stream, nullptr, extra.data());
  if (s != status::success) return driver_failure(api_, "hipModuleLaunchKernel", s, ErrorCode::launch_failed);
  return {};
}

}  // namespace wavejit::device::hip
