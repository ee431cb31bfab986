// SPDX-License-Identifier: MIT
// `wavejit run FILE --args`, `wavejit verify` and `wavejit mutate`: any code object, no family behind it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "generator/lower/lower.hpp"
#include "tests/tools/cli.hpp"

using namespace wavejit::test;
using nlohmann::json;

namespace {

// gfx1151: out[i] = in[i] + add, one dword a lane. Arguments: in, out, add.
const char* const add_kernel = R"(
	.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
	.amdhsa_code_object_version 5
	.text
	.globl	add_all
	.p2align 8
	.type	add_all,@function
add_all:
	s_load_b128 s[4:7], s[0:1], 0x0
	s_load_b32 s8, s[0:1], 0x10
	v_lshlrev_b32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_b32 v2, v1, s[4:5]
	s_waitcnt vmcnt(0)
	v_add_nc_u32 v2, s8, v2
	global_store_b32 v1, v2, s[6:7]
	s_endpgm
.Lend:
	.size	add_all, .Lend-add_all
	.rodata
	.p2align 6
	.amdhsa_kernel add_all
		.amdhsa_kernarg_size 20
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_count 2
		.amdhsa_next_free_vgpr 3
		.amdhsa_next_free_sgpr 9
		.amdhsa_wavefront_size32 1
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx1151
amdhsa.kernels:
  - .name: add_all
    .symbol: add_all.kd
    .kernarg_segment_size: 20
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 9
    .vgpr_count: 3
    .max_flat_workgroup_size: 32
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: add, .offset: 16, .size: 4, .value_kind: by_value}
...
	.end_amdgpu_metadata
)";

std::string dwords(std::uint32_t first, std::uint32_t step) {
  std::string bytes;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t value = first + i * step;
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

json launch() {
  return {{"block", {32}},
          {"args",
           {{{"name", "in"}, {"file", "in.bin"}},
            {{"name", "out"},
             {"bytes", 128},
             {"undefined", true},
             {"output", "out.bin"},
             {"expect", {{"file", "want.bin"}, {"dtype", "u32"}}}},
            {{"name", "add"}, {"value", 7}}}}};
}

void lay_out(const Folder& folder, const json& args) {
  write_text(folder.file("add.s"), add_kernel);
  write_text(folder.file("in.bin"), dwords(100, 3));
  write_text(folder.file("want.bin"), dwords(107, 3));
  write_text(folder.file("args.json"), args.dump());
}

}  // namespace

TEST_CASE("any code object runs with the arguments of a launch file", "[cli][run_any]") {
  const Folder folder;
  lay_out(folder, launch());
  const Ran ran = folder.wavejit("run add.s --args args.json --json");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const json j = ran.json();
  CHECK(j.at("kernel") == "add_all");
  CHECK(j.at("ok") == true);
  CHECK(j.at("wave_instructions") == 9);
  CHECK(j.at("compared").at(0).at("wrong") == 0);
  CHECK(read_text(folder.file("out.bin")) == dwords(107, 3));
}

TEST_CASE("a fault in assembly text names file and line; the run counts distinct faults", "[cli][run_any]") {
  const Folder folder;
  json small = launch();
  small["args"][1] = {{"name", "out"}, {"bytes", 124}, {"undefined", true}};
  lay_out(folder, small);
  const std::string text = add_kernel;
  const auto line =
      1 +
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("global_store")), '\n');
  const std::string place = "add.s:" + std::to_string(line);
  const Ran ran = folder.wavejit("run add.s --args args.json --json");
  REQUIRE(ran.code == 1);
  CHECK(ran.json().at("distinct_faults") == 1);
  CHECK(ran.json().at("faults").at(0).at("source") == place);
  const Ran plain = folder.wavejit("run add.s --args args.json");
  CHECK(plain.out.find(place) != std::string::npos);
  CHECK(plain.out.find("1 distinct faults") != std::string::npos);
  // The check can be switched off by the name that the list gives.
  CHECK(folder.wavejit("run --list-checks").out.find("out_of_bounds") != std::string::npos);
  CHECK(folder.wavejit("run add.s --args args.json --without-check out_of_bounds").code == 0);
  CHECK(folder.wavejit("run add.s --args args.json --without-check bounds").code == 2);
}

TEST_CASE("a wrong result and a fault are told from a refused launch", "[cli][run_any]") {
  const Folder folder;
  json wrong = launch();
  wrong["args"][2]["value"] = 8;
  lay_out(folder, wrong);
  CHECK(folder.wavejit("run add.s --args args.json").code == 1);

  json small = launch();
  small["args"][1] = {{"name", "out"}, {"bytes", 124}, {"undefined", true}};
  lay_out(folder, small);
  const Ran fault = folder.wavejit("run add.s --args args.json");
  CHECK(fault.code == 1);
  CHECK(fault.out.find("past the last byte of") != std::string::npos);

  json missing = launch();
  missing["args"].erase(2);
  lay_out(folder, missing);
  const Ran refused = folder.wavejit("run add.s --args args.json");
  CHECK(refused.code == 2);
  CHECK(refused.err.find("args is 2 entries, but must be 3") != std::string::npos);

  json kind = launch();
  kind["args"][2] = {{"name", "add"}, {"bytes", 4}, {"fill", 0}};
  lay_out(folder, kind);
  CHECK(folder.wavejit("run add.s --args args.json").code == 2);

  write_text(folder.file("args.json"), "{ not json");
  CHECK(folder.wavejit("run add.s --args args.json").code == 2);
}

TEST_CASE("a check of the simulator can be switched off by name", "[cli][run_any]") {
  const Folder folder;
  lay_out(folder, launch());
  const std::string text = read_text(folder.file("add.s"));
  const std::size_t wait = text.find("\ts_waitcnt vmcnt(0)\n");
  REQUIRE(wait != std::string::npos);
  write_text(folder.file("add.s"), std::string(text).erase(wait, 20));
  CHECK(folder.wavejit("run add.s --args args.json").code == 1);
  CHECK(folder.wavejit("run add.s --args args.json --without-check in_flight").code == 0);
  CHECK(folder.wavejit("run add.s --args args.json --without-check no_such_check").code == 2);
}

TEST_CASE("verify finds a dropped wait without running anything", "[cli][verify]") {
  const Folder folder;
  lay_out(folder, launch());
  const Ran clean = folder.wavejit("verify add.s");
  INFO(clean.out << clean.err);
  CHECK(clean.code == 0);
  std::string text = read_text(folder.file("add.s"));
  text.erase(text.find("\ts_waitcnt vmcnt(0)\n"), 20);
  write_text(folder.file("add.s"), text);
  const Ran broken = folder.wavejit("verify add.s --json");
  CHECK(broken.code == 1);
  CHECK(broken.json().at(0).at("findings").at(0).at("kind") == "read-in-flight");
}

TEST_CASE("verify holds a .s to the strict set, an object to the ISA manual unless asked", "[cli][verify]") {
  const Folder folder;
  const Ran emitted =
      folder.wavejit("emit --op kquant --type q4_k --target gfx942 --n 64 --k 512 --m 1 -o k.s");
  INFO(emitted.err);
  REQUIRE(emitted.code == 0);
  // A load behind another one, whose address it overwrites: nothing but LLVM's compiler minds, where XNACK
  // is.
  std::string text = read_text(folder.file("k.s"));
  const std::size_t end = text.find("\ts_endpgm");
  REQUIRE(end != std::string::npos);
  text.insert(end,
              "\tv_mov_b32 v0, 0\n\tv_mov_b32 v1, 0\n\ts_nop 4\n\tglobal_load_dword v2, v[0:1], off\n"
              "\tglobal_load_dword v0, v[0:1], off\n\ts_waitcnt vmcnt(0)\n");
  write_text(folder.file("k.s"), text);
  const wavejit::target::Target& gfx942 = *wavejit::target::find("gfx942");
  const auto assembled = wavejit::lower::assemble(text, gfx942);
  REQUIRE(assembled);
  const auto object = wavejit::lower::link(*assembled);
  REQUIRE(object);
  write_text(folder.file("k.co"), std::string(object->begin(), object->end()));
  CHECK(folder.wavejit("verify k.s --target gfx942").code == 1);
  CHECK(folder.wavejit("verify k.co --strict").code == 1);
  const Ran open = folder.wavejit("verify k.co --json");
  CHECK(open.code == 0);
  const json finding = open.json().at(0).at("findings").at(0);
  CHECK(finding.at("kind") == "replayed-clause");
  CHECK(finding.at("source") == "llvm");
  CHECK(finding.at("severity") == "warning");
  const json cut = folder.wavejit("verify k.co --strict --json --limit 0").json();
  CHECK(cut.at(0).at("findings").empty());
  CHECK(cut.at(0).at("dropped") == 1);
  CHECK(cut.at(0).at("ok") == false);
}

TEST_CASE("mutate prints a score and explains survivors", "[cli][mutate]") {
  const Folder folder;
  const Ran ran =
      folder.wavejit("mutate --n 72 --k 128 --group 32 --m 130 --tile 128,64,32 --every 11 --json");
  INFO(ran.out << ran.err);
  CHECK(ran.code == 0);
  const json j = ran.json();
  CHECK(j.at("mutants").get<int>() > 15);
  CHECK(j.at("score").get<double>() >= 0.98);
  for (const json& s : j.at("survivors")) CHECK_FALSE(s.at("explanation").get<std::string>().empty());
}
