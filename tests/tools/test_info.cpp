// SPDX-License-Identifier: MIT
// Which HIP runtime is used when the process has one already: LD_PRELOAD plays the framework, and the
// simulated drivers of tests/fake_hip say by their HIP_VERSION (a number of ours,
// tests/fake_hip/CMakeLists.txt) which one answered.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/tools/cli.hpp"

using namespace wavejit::test;

namespace {

namespace fs = std::filesystem;

constexpr int version_6 = 60241134, version_7 = 70051831;
const std::string drivers = WAVEJIT_FAKE_HIP_FOLDER;

/// Version 7 is on the loader's path; `environment` comes on top.
nlohmann::json hip_of(const Folder& folder, const std::string& environment) {
  const Ran ran = folder.shell("env LD_LIBRARY_PATH=" + drivers + "/7 " + environment + " " +
                               std::string(WAVEJIT_COMMAND) + " info --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return ran.json().at("devices");
}

bool mentions(const nlohmann::json& text, std::string_view part) {
  return text.get<std::string>().find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A HIP runtime that is mapped already is used, by whatever name it was mapped", "[cli][hip]") {
  const Folder folder;
  fs::create_directories(folder.file("torch/lib"));
  const std::string six = drivers + "/6/libamdhip64.so.6";
  // As wheels carry it: without a version, or with a hash in its name.
  const std::string plain = folder.file("torch/lib/libamdhip64.so");
  const std::string hashed = folder.file("torch/lib/libamdhip64-3f2a.so.6");
  const std::string renamed = folder.file("torch/lib/framework.so");  // only its SONAME tells
  for (const std::string& copy : {plain, hashed, renamed}) fs::copy_file(six, copy);
  // And one whose SONAME says nothing: its name in the file's string table is overwritten.
  const std::string foreign = folder.file("torch/lib/libamdhip64-9c01.so");
  std::string bytes = read_text(six);
  for (std::size_t at = 0; (at = bytes.find(std::string("libamdhip64.so.6\0", 17), at)) != std::string::npos;)
    bytes.replace(at, 16, "libsomething.so0");
  write_text(foreign, bytes);
  for (const std::string& path : {six, plain, hashed, renamed, foreign}) {
    CAPTURE(path);
    const auto hip = hip_of(folder, "LD_PRELOAD=" + path);
    CHECK(hip.at("hip_version") == version_6);
    CHECK(hip.at("hip_devices") == 1);
    CHECK(fs::equivalent(hip.at("hip_path").get<std::string>(), path));
    CHECK(mentions(hip.at("hip_why"), "already"));
    CHECK_FALSE(hip.contains("hip_warning"));
  }
}

TEST_CASE("Without a mapped HIP runtime the loader's is used; one that is named wins over all",
          "[cli][hip]") {
  const Folder folder;
  auto hip = hip_of(folder, "");
  CHECK(hip.at("hip_version") == version_7);
  CHECK(hip.at("hip_path") == drivers + "/7/libamdhip64.so.7");
  CHECK(mentions(hip.at("hip_why"), "libamdhip64.so.7"));
  hip = hip_of(folder, "LD_PRELOAD=" + drivers + "/6/libamdhip64.so.6 WAVEJIT_HIP_LIBRARY=" + drivers +
                           "/7/libamdhip64.so.7");
  CHECK(hip.at("hip_version") == version_7);
  CHECK(mentions(hip.at("hip_why"), "WAVEJIT_HIP_LIBRARY"));
  hip = hip_of(folder, "WAVEJIT_HIP_LIBRARY=/nowhere/libamdhip64.so");
  CHECK(hip.at("hip_devices") == 0);
  CHECK(mentions(hip.at("hip_error"), "/nowhere/libamdhip64.so"));
}

TEST_CASE("Of several mapped HIP runtimes the first is used, and the others are named", "[cli][hip]") {
  const Folder folder;
  const std::string six = drivers + "/6/libamdhip64.so.6", five = drivers + "/5/libamdhip64.so.5";
  const auto hip = hip_of(folder, "LD_PRELOAD=" + six + ":" + five);
  CHECK(hip.at("hip_version") == version_6);
  CHECK(mentions(hip.at("hip_warning"), six));
  CHECK(mentions(hip.at("hip_warning"), five));
  CHECK(mentions(hip.at("hip_warning"), "WAVEJIT_HIP_LIBRARY"));
}

TEST_CASE("selftest alone falls back to the simulator by itself, and says so", "[cli]") {
  const Folder folder;
  const std::string command =
      "env WAVEJIT_HIP_LIBRARY=/nowhere/libamdhip64.so " + std::string(WAVEJIT_COMMAND) + " selftest ";
  CHECK(folder.shell(command + "--device hip").code != 0);
  // Ended as soon as it has said something: all cases on the simulator would take long.
  const Ran ran = folder.shell(command +
                               "--json 2>said & pid=$!; while [ ! -s said ] && kill -0 $pid; do sleep 0.05; "
                               "done; kill $pid; wait $pid; cat said >&2");
  CHECK(ran.out.empty());
  CHECK(ran.err.find("simulator") != std::string::npos);
  CHECK(ran.err.find("/nowhere/libamdhip64.so") != std::string::npos);
}
