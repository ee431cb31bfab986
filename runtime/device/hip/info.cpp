// SPDX-License-Identifier: MIT
// What the driver says of a device, and the ways in.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>

#include "runtime/device/hip/hip_device.hpp"
#include "runtime/device/hip/scopes.hpp"

namespace wavejit::device::hip {
namespace {

bool is_target_id(std::string_view text) {
  return text.starts_with("gfx") && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == ':' || c == '+' || c == '-';
         });
}

Result<std::string> arch_name(const Library& library, int ordinal) {
  const Api& api = library.api;
  const bool r0600 = api.hipGetDevicePropertiesR0600 != nullptr;
  const char* call = r0600 ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties";
  std::vector<char> properties(properties_room, '\0');
  const Status s = r0600 ? api.hipGetDevicePropertiesR0600(properties.data(), ordinal)
                         : api.hipGetDeviceProperties(properties.data(), ordinal);
  if (s != status::success) return driver_failure(api, call, s);
  const char* name = properties.data() + (r0600 ? arch_name_offset_r0600 : arch_name_offset_5);
  std::string text(name, strnlen(name, arch_name_bytes));
  if (is_target_id(text)) return text;
  return fail(ErrorCode::driver,
              fmt::format("{} of {} (HIP_VERSION {}) does not give an architecture name where HIP 5, 6 and 7 "
                          "have one; this driver's struct layout is not known",
                          call, library.path, library.version));
}

/// "uuid@pci": cards of a batch may share a UUID of X's, and a container may hide the bus.
Result<std::string> unique_name(const Api& api, int ordinal) {
  char pci[64] = {};
  if (const Status s = api.hipDeviceGetPCIBusId(pci, sizeof pci - 1, ordinal); s != status::success)
    return driver_failure(api, "hipDeviceGetPCIBusId", s);
  Uuid uuid{};
  if (api.hipDeviceGetUuid == nullptr || api.hipDeviceGetUuid(&uuid, ordinal) != status::success) {
    (void)api.hipGetLastError();
    return std::string(pci);
  }
  const std::span<const char> bytes(uuid.bytes);
  std::string text;
  // AMD's driver puts sixteen hexadecimal digits there as text.
  if (std::ranges::all_of(bytes, [](unsigned char c) { return std::isalnum(c) != 0; })) {
    text.assign(bytes.begin(), bytes.end());
  } else {
    for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format("{}@{}", text, pci);
}

Result<unsigned> attribute(const Api& api, Attribute which, int ordinal) {
  int value = 0;
  if (const Status s = api.hipDeviceGetAttribute(&value, which, ordinal); s != status::success)
    return driver_failure(api, "hipDeviceGetAttribute", s);
  return static_cast<unsigned>(std::max(value, 0));
}

}  // namespace

Result<Info> read_info(const Library& library, int ordinal) {
  const Api& api = library.api;
  Info info;
  info.kind = Kind::hip;
  info.ordinal = ordinal;
  info.driver_version = library.version;
  info.driver = fmt::format("{} ({})", library.path, library.why);
  info.driver_warning = library.warning;
  auto arch = arch_name(library, ordinal);
  if (!arch) return std::unexpected(std::move(arch.error()));
  info.target = arch->substr(0, arch->find(':'));
  info.target_id = *std::move(arch);
  auto unique = unique_name(api, ordinal);
  if (!unique) return std::unexpected(std::move(unique.error()));
  info.unique = *std::move(unique);
  char name[256] = {};
  if (const Status s = api.hipDeviceGetName(name, sizeof name - 1, ordinal); s != status::success)
    return driver_failure(api, "hipDeviceGetName", s);
  info.name = name;
  std::size_t bytes = 0;
  if (const Status s = api.hipDeviceTotalMem(&bytes, ordinal); s != status::success)
    return driver_failure(api, "hipDeviceTotalMem", s);
  info.memory_bytes = bytes;
  struct Field {
    Attribute which;
    unsigned value = 0;
  };
  std::array<Field, 4> fields{{{multiprocessors}, {wave_size}, {clock_khz}, {lds_per_block}}};
  for (Field& field : fields) {
    const auto value = attribute(api, field.which, ordinal);
    if (!value) return std::unexpected(value.error());
    field.value = *value;
  }
  info.compute_units = fields[0].value;
  info.wave_size = fields[1].value;
  info.clock_khz = fields[2].value;
  info.lds_bytes = fields[3].value;
  return info;
}

Result<int> count_devices(const OpenOptions& options) {
  const auto library = load_library(options);
  if (!library) return std::unexpected(library.error());
  return (*library)->devices;
}

Result<Driver> driver(const OpenOptions& options) {
  const auto library = load_library(options);
  if (!library) return std::unexpected(library.error());
  const Library& l = **library;
  return Driver{
      .path = l.path, .why = l.why, .warning = l.warning, .version = l.version, .devices = l.devices};
}

Result<std::shared_ptr<Device>> open_device(int ordinal, const OpenOptions& options) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, std::weak_ptr<HipDevice>> opened;
  auto library = load_library(options);
  if (!library) return std::unexpected(std::move(library.error()));
  if (ordinal < 0 || ordinal >= (*library)->devices) {
    return fail(ErrorCode::no_device,
                fmt::format("there is no HIP device {}; the driver has {}", ordinal, (*library)->devices));
  }
  const std::scoped_lock lock(mutex);
  std::weak_ptr<HipDevice>& slot = opened[{(*library)->path, ordinal}];
  if (auto device = slot.lock()) return device;
  auto info = read_info(**library, ordinal);
  if (!info) return std::unexpected(std::move(info.error()));
  std::shared_ptr<HipDevice> device(new HipDevice(*std::move(library), *std::move(info)), DestroyWhereMade{});
  slot = device;
  return device;
}

}  // namespace wavejit::device::hip
