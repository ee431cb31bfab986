// SPDX-License-Identifier: MIT
// A device that loads code objects and launches their kernels. Two kinds: `hip` (a GPU, through
// libamdhip64 loaded at run time) and `sim` (built in). Both take the very same code objects.
//
// Thread safety: every member function may be called from any thread. Modules are loaded under one lock
// per device, never held while anything is compiled. `launch` and `capture_state` take no lock that a load
// holds, allocate nothing on the host heap, and never synchronise. A HIP device sets its ordinal before a
// driver call and puts the caller's back.
//
// Fork: in a child that was forked since a device was opened, every call on it fails with no_device at once
// (common/ fork.hpp), and its end does nothing. A simulated device may be opened anew there; a HIP device may
// not once this library has used HIP in the parent.
//
// Lifetime: a Module is shared. When its last owner lets go, its unloading is *deferred*: the driver's
// unload runs in the next collect() (or load(), or the device's end) during which no stream is known to be
// capturing, never in a destructor on the caller's stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"

namespace wavejit::device {

enum class Kind : std::uint8_t { hip, sim };
std::string_view name(Kind kind);

struct Info {
  Kind kind = Kind::sim;
  int ordinal = 0;
  std::string name;            ///< marketing name as the driver gives it
  std::string target;          ///< processor: "gfx1151"
  std::string target_id;       ///< processor with features, as gcnArchName: "gfx942:sramecc+:xnack-"
  std::string unique;          ///< UUID or PCI address: tells equal cards apart
  unsigned compute_units = 0;  ///< as the driver counts them (RDNA drivers count WGPs or CUs: see hip/)
  unsigned wave_size = 0;
  unsigned clock_khz = 0;  ///< 0 = unknown
  std::uint64_t memory_bytes = 0;
  std::uint64_t lds_bytes = 0;  ///< of one workgroup
  int driver_version = 0;       ///< HIP_VERSION of the loaded library; 0 for sim
  std::string driver;           ///< hip: the library's path and why it is the one; else empty
  std::string driver_warning;   ///< hip: that others are mapped beside it; usually empty
};

/// hipStream_t, or a stream of the simulator; nullptr is the default stream of the device.
using Stream = void*;
/// hipEvent_t, or an event of the simulator.
using Event = void*;
/// Device memory. The simulator's addresses are not host addresses.
using Address = std::uint64_t;

struct Geometry {
  std::array<std::uint32_t, 3> grid{1, 1, 1};    ///< workgroups
  std::array<std::uint32_t, 3> block{32, 1, 1};  ///< work-items of a workgroup
  std::uint32_t dynamic_lds_bytes = 0;
};

/// A loaded code object and one kernel of it.
class Module {
 public:
  virtual ~Module() = default;
  [[nodiscard]] virtual std::string_view kernel() const = 0;
  [[nodiscard]] virtual std::uint64_t code_bytes() const = 0;
};

enum class CaptureState : std::uint8_t { none, active, invalidated };

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const Info& info() const = 0;

  /// Loads and finds the kernel. The code object's own target is compared with the device's first.
  /// Errors: wrong_architecture, load_failed, out_of_memory, capture_active (some stream of this device, or
  /// of this thread in the driver's global capture mode, is being captured), invalid_code_object.
  virtual Result<std::shared_ptr<const Module>> load(std::span<const std::byte> code_object,
                                                     std::string_view kernel) = 0;
  /// Enqueues. `kernarg` is copied by the driver before this returns; it holds the kernel's explicit
  /// arguments (hidden ones are filled in if it ends before them). Legal inside a stream capture.
  /// Errors: launch_failed, out_of_memory, capture_active (the capture is invalid, or the default stream
  /// is blocked by one), invalid_argument (geometry or kernarg that the kernel cannot have, no such stream,
  /// a module of another device).
  virtual Result<void> launch(const Module& module, const Geometry& geometry,
                              std::span<const std::byte> kernarg, Stream stream) = 0;
  virtual Result<CaptureState> capture_state(Stream stream) = 0;
  /// Runs deferred unloads unless something is being captured. Returns how many are left: those that queued
  /// work or graphs need (on hip: that were ever launched into a capture), or all during one.
  virtual std::size_t collect() = 0;

  // For self-tests, tuning and examples; a server brings its own memory and streams.
  virtual Result<Address> allocate(std::uint64_t bytes) = 0;
  virtual Result<void> release(Address address) = 0;
  virtual Result<void> copy_in(Address to, std::span<const std::byte> from) = 0;  ///< synchronous
  virtual Result<void> copy_out(std::span<std::byte> to, Address from) = 0;       ///< synchronous
  virtual Result<void> fill(Address to, std::uint64_t bytes, std::uint8_t value) = 0;
  virtual Result<Stream> create_stream() = 0;
  virtual Result<void> destroy_stream(Stream stream) = 0;
  /// Waits; the faults of a simulated kernel come out here as ErrorCode::simulation, and those of a GPU as
  /// launch_failed.
  virtual Result<void> synchronise(Stream stream) = 0;
  virtual Result<Event> create_event() = 0;
  virtual Result<void> destroy_event(Event event) = 0;
  virtual Result<void> record(Event event, Stream stream) = 0;
  /// Waits for `stop`. On sim: the modelled or host time that sim/ documents.
  virtual Result<double> milliseconds_between(Event start, Event stop) = 0;
};

struct OpenOptions {
  /// hip: the library to use; "" = WAVEJIT_HIP_LIBRARY, else one that the process has mapped already, by
  /// whatever path, else libamdhip64.so.{7,6,5} as the loader finds it.
  std::string hip_library;
  /// sim: the target to be ("gfx1151", "gfx942:sramecc+:xnack-"); "" = gfx1151.
  std::string sim_target;
  bool environment = true;  ///< false: WAVEJIT_HIP_LIBRARY is not read
};

/// How many devices there are; hip without a driver or a GPU: no_device with the reason.
Result<int> count(Kind kind, const OpenOptions& options = {});

/// The HIP runtime that open() uses.
struct Driver {
  std::string path;     ///< its file
  std::string why;      ///< "already loaded by this process", …
  std::string warning;  ///< that others are mapped beside it, or empty
  int version = 0;      ///< HIP_VERSION
  int devices = 0;
};
/// Errors: as of count(Kind::hip).
Result<Driver> hip_driver(const OpenOptions& options = {});
/// hip: two opens of one ordinal share a device while it lives. sim: each is a device of its own, ordinals 0
/// to 15. Errors: no_device, unknown_target (sim), driver.
Result<std::shared_ptr<Device>> open(Kind kind, int ordinal, const OpenOptions& options = {});
/// "hip", "sim", "hip:1", "sim:gfx942" or "" / "auto": the first GPU. Nothing is simulated unasked: without a
/// GPU "auto" is no_device, with the reason and the word that asks for the simulator.
Result<std::shared_ptr<Device>> open(std::string_view description, const OpenOptions& options = {});

}  // namespace wavejit::device
