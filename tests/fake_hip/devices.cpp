// SPDX-License-Identifier: MIT
// Version, devices, properties and errors. Both layouts of hipDeviceProp_t are written here by the
// published offsets, not by those of the code under test.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "tests/fake_hip/state.hpp"
#include "tests/fake_hip/variant.hpp"

using namespace wavejit::fake_hip;

namespace {

bool valid(int device) { return device >= 0 && static_cast<std::size_t>(device) < state().devices.size(); }

const wavejit::device::Info& info(int device) {
  return state().devices[static_cast<std::size_t>(device)]->info();
}

void copy_text(char* to, std::size_t room, const std::string& text) {
  std::snprintf(to, room, "%s", text.c_str());
}

/// `struct_bytes` zeroed, then name and gcnArchName. Sizes and offsets: offsetof in a program compiled
/// against ROCm/HIP's headers at rocm-5.7.1 and rocm-6.2.2.
Status write_properties(void* properties, int device, std::size_t struct_bytes, std::size_t arch_offset,
                        std::size_t warp_offset) {
  if (properties == nullptr) return leave(status::invalid_value);
  if (!valid(device)) return leave(status::invalid_device);
  auto* bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, struct_bytes);
  copy_text(bytes, 256, info(device).name);
  const int warp = static_cast<int>(info(device).wave_size);
  std::memcpy(bytes + warp_offset, &warp, sizeof warp);
  copy_text(bytes + arch_offset, 256, info(device).target_id);
  return status::success;
}

}  // namespace

extern "C" {

Status hipInit(unsigned) {
  FAKE_HIP_ENTER();
  return status::success;
}

Status hipRuntimeGetVersion(int* version) {
  FAKE_HIP_ENTER();
  *version = fake_hip_version;
  return status::success;
}

Status hipGetDeviceCount(int* count) {
  FAKE_HIP_ENTER();
  *count = static_cast<int>(state().devices.size());
  return status::success;
}

Status hipGetDevice(int* ordinal) {
  FAKE_HIP_ENTER();
  *ordinal = thread().device;
  return status::success;
}

Status hipSetDevice(int ordinal) {
  FAKE_HIP_ENTER();
  if (!valid(ordinal)) return leave(status::invalid_device);
  thread().device = ordinal;
  return status::success;
}

Status hipDeviceGetName(char* name, int bytes, int device) {
  FAKE_HIP_ENTER();
  if (!valid(device)) return leave(status::invalid_device);
  copy_text(name, static_cast<std::size_t>(bytes), info(device).name);
  return status::success;
}

Status hipDeviceGetPCIBusId(char* id, int bytes, int device) {
  FAKE_HIP_ENTER();
  if (!valid(device)) return leave(status::invalid_device);
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", 3 + device);
  return status::success;
}

Status hipDeviceGetUuid(wavejit::device::hip::Uuid* uuid, int device) {
  FAKE_HIP_ENTER();
  if (!valid(device)) return leave(status::invalid_device);
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016x", 0xabc0 + device);
  std::memcpy(uuid->bytes, text.data(), 16);
  return status::success;
}

Status hipDeviceTotalMem(std::size_t* bytes, int device) {
  FAKE_HIP_ENTER();
  if (!valid(device)) return leave(status::invalid_device);
  *bytes = info(device).memory_bytes;
  return status::success;
}

Status hipDeviceGetAttribute(int* value, int attribute, int device) {
  FAKE_HIP_ENTER();
  if (!valid(device)) return leave(status::invalid_device);
  switch (attribute) {
    case 5:  // hipDeviceAttributeClockRate
      *value = 2'900'000;
      return status::success;
    case 63:  // hipDeviceAttributeMultiprocessorCount
      *value = static_cast<int>(info(device).compute_units);
      return status::success;
    case 74:  // hipDeviceAttributeMaxSharedMemoryPerBlock
      *value = static_cast<int>(info(device).lds_bytes);
      return status::success;
    case 87:  // hipDeviceAttributeWarpSize
      *value = static_cast<int>(info(device).wave_size);
      return status::success;
    default:
      return leave(status::invalid_value);
  }
}

Status hipGetDeviceProperties(void* properties, int device) {
  FAKE_HIP_ENTER();
  return write_properties(properties, device, 792, 396, 276);
}

Status hipGetDevicePropertiesR0600(void* properties, int device) {
  FAKE_HIP_ENTER();
  return write_properties(properties, device, 1472, 1160, 308);
}

Status hipGetLastError() {
  const Status last = thread().last_error;
  thread().last_error = status::success;
  return last;
}

const char* hipGetErrorName(Status code) {
  struct Name {
    Status code;
    const char* name;
  };
  static constexpr std::array<Name, 18> names{{{0, "hipSuccess"},
                                               {1, "hipErrorInvalidValue"},
                                               {2, "hipErrorOutOfMemory"},
                                               {9, "hipErrorInvalidConfiguration"},
                                               {35, "hipErrorInsufficientDriver"},
                                               {98, "hipErrorInvalidDeviceFunction"},
                                               {100, "hipErrorNoDevice"},
                                               {101, "hipErrorInvalidDevice"},
                                               {200, "hipErrorInvalidImage"},
                                               {209, "hipErrorNoBinaryForGpu"},
                                               {303, "hipErrorSharedObjectInitFailed"},
                                               {400, "hipErrorInvalidHandle"},
                                               {500, "hipErrorNotFound"},
                                               {709, "hipErrorContextIsDestroyed"},
                                               {719, "hipErrorLaunchFailure"},
                                               {900, "hipErrorStreamCaptureUnsupported"},
                                               {901, "hipErrorStreamCaptureInvalidated"},
                                               {906, "hipErrorStreamCaptureImplicit"}}};
  const auto* found = std::ranges::find(names, code, &Name::code);
  return found != names.end() ? found->name : "hipErrorUnknown";
}
}
