// SPDX-License-Identifier: MIT
// LDS, kernel arguments and buffer descriptors where they are provably constant.
#include <catch2/catch.hpp>

#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;
using check::Kind;
using test::bare_report;
using test::kinds;
using test::nothing;
using test::only;
using test::report;

TEST_CASE("LDS accesses at a constant address stay within the workgroup's LDS", "[check][memory]") {
  const std::string address = "v_mov_b32 v1, 0\n";
  const auto at = [&](std::string_view access, unsigned bytes) {
    return kinds(report(address + std::string(access), {.lds_bytes = bytes}));
  };
  CHECK(at("ds_store_b32 v1, v0 offset:1020\n", 1024) == nothing);
  CHECK(at("ds_store_b32 v1, v0 offset:1024\n", 1024) == only(Kind::lds_range));
  CHECK(at("ds_load_b128 v[4:7], v1 offset:1008\n", 1024) == nothing);
  CHECK(at("ds_load_b128 v[4:7], v1 offset:1012\n", 1024) == only(Kind::lds_range));
  CHECK(at("ds_load_u16 v4, v1 offset:1022\n", 1024) == nothing);
  CHECK(at("ds_load_u16_d16 v4, v1 offset:1022\n", 1024) == nothing);
  CHECK(at("ds_store_b8 v1, v0 offset:1023\n", 1024) == nothing);
  CHECK(at("ds_store_b16 v1, v0 offset:1023\n", 1024) == only(Kind::lds_range));
  // Two addresses: element 255 of 4 or 8 bytes, or every 64th.
  CHECK(at("ds_load_2addr_b32 v[4:5], v1 offset1:255\n", 1024) == nothing);
  CHECK(at("ds_load_2addr_b32 v[4:5], v1 offset1:255\n", 1020) == only(Kind::lds_range));
  CHECK(at("ds_store_2addr_b64 v1, v[0:1], v[0:1] offset0:127\n", 1024) == nothing);
  CHECK(at("ds_store_2addr_b64 v1, v[0:1], v[0:1] offset0:128\n", 1024) == only(Kind::lds_range));
  CHECK(at("ds_load_2addr_stride64_b32 v[4:5], v1 offset1:4\n", 1028) == nothing);
  CHECK(at("ds_load_2addr_stride64_b32 v[4:5], v1 offset1:4\n", 1024) == only(Kind::lds_range));
}

TEST_CASE("an LDS address that is not constant is not judged", "[check][memory]") {
  CHECK(kinds(report("ds_store_b32 v0, v0 offset:65532\n", {.lds_bytes = 64})) == nothing);
  // Constants add up, but not over a join that may bring another.
  CHECK(kinds(report("s_mov_b32 s4, 60\nv_mov_b32 v1, s4\nv_add_nc_u32 v1, 4, v1\nds_store_b32 v1, v0\n",
                     {.lds_bytes = 64})) == only(Kind::lds_range));
  CHECK(kinds(report("v_mov_b32 v1, 64\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 .Lx\nv_mov_b32 v1, 0\n.Lx:\n"
                     "ds_store_b32 v1, v0\n",
                     {.lds_bytes = 64})) == nothing);
}

TEST_CASE("LDS that the launch adds", "[check][memory]") {
  const std::string body = "v_mov_b32 v1, 0x200\nds_store_b32 v1, v0\n";
  check::Options options = test::snippet();
  CHECK(kinds(report(body, {.lds_bytes = 0}, options)) == nothing);  // unknown
  options.dynamic_lds_bytes = 512;
  CHECK(kinds(report(body, {.lds_bytes = 0}, options)) == only(Kind::lds_range));
  options.dynamic_lds_bytes = 516;
  CHECK(kinds(report(body, {.lds_bytes = 0}, options)) == nothing);
}

TEST_CASE("kernel arguments are loaded within their size", "[check][memory]") {
  const auto at = [](std::string_view code) { return kinds(report(code, {.kernarg_bytes = 32})); };
  CHECK(at("s_load_b32 s4, s[0:1], 0x1c\n") == nothing);
  CHECK(at("s_load_b32 s4, s[0:1], 0x20\n") == only(Kind::kernarg_range));
  CHECK(at("s_load_b256 s[4:11], s[0:1], 0x0\n") == nothing);
  CHECK(at("s_load_b128 s[4:7], s[0:1], 0x14\n") == only(Kind::kernarg_range));
  CHECK(at("s_mov_b32 s4, 28\ns_load_b32 s5, s[0:1], s4\n") == nothing);
  CHECK(at("s_mov_b32 s4, 28\ns_load_b32 s5, s[0:1], s4 offset:0x4\n") == only(Kind::kernarg_range));
  // The pointer may be copied and moved.
  CHECK(at("s_mov_b64 s[4:5], s[0:1]\ns_load_b32 s6, s[4:5], 0x20\n") == only(Kind::kernarg_range));
  CHECK(at("s_add_u32 s4, s0, 16\ns_addc_u32 s5, s1, 0\ns_load_b32 s6, s[4:5], 0xc\n") == nothing);
  CHECK(at("s_add_u32 s4, s0, 16\ns_addc_u32 s5, s1, 0\ns_load_b32 s6, s[4:5], 0x10\n") ==
        only(Kind::kernarg_range));
  // Another pointer is nobody's business here.
  CHECK(at("s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_load_b32 s6, s[4:5], 0x100\n") ==
        nothing);
}

TEST_CASE("loads into the padding of the kernel arguments are noted", "[check][memory]") {
  const auto at = [](std::string_view code) { return report(code, {.kernarg_bytes = 36}); };
  CHECK(kinds(at("s_load_b128 s[4:7], s[0:1], 0x18\n")) == only(Kind::kernarg_padding));
  CHECK(at("s_load_b128 s[4:7], s[0:1], 0x18\n").count(check::Severity::warning) == 0);
  CHECK(kinds(at("s_load_b128 s[4:7], s[0:1], 0x24\n")) == only(Kind::kernarg_range));
  CHECK(kinds(at("s_load_b256 s[4:11], s[0:1], 0x14\n")) == only(Kind::kernarg_range));
}

TEST_CASE("the kernel arguments' SGPRs follow what the descriptor enables", "[check][memory]") {
  const test::Frame frame{.kernarg_bytes = 32, .directives = "\t.amdhsa_user_sgpr_dispatch_ptr 1\n"};
  CHECK(kinds(report("s_load_b32 s6, s[2:3], 0x20\n", frame)) == only(Kind::kernarg_range));
  CHECK(kinds(report("s_load_b32 s6, s[0:1], 0x20\n", frame)) == nothing);
}

TEST_CASE("a constant word 3 of a descriptor is the target's", "[check][memory]") {
  const auto with = [](std::string_view word3) {
    return "s_mov_b32 s4, 0\ns_mov_b32 s5, 0\ns_mov_b32 s6, 64\ns_mov_b32 s7, " + std::string(word3) +
           "\nbuffer_load_b32 v1, v0, s[4:7], 0 offen\n";
  };
  CHECK(kinds(report(with("0x31027000"))) == nothing);
  CHECK(kinds(report(with("0x31004000"))) == nothing);  // CK's: another format, the same rules
  CHECK(kinds(report(with("0x27000"))) == only(Kind::buffer_descriptor));  // cases.md row 40: no OOB_SELECT
  CHECK(kinds(report(with("0x31000000"))) == only(Kind::buffer_descriptor));  // format 0
  CHECK(kinds(report(with("0x71027000"))) == only(Kind::buffer_descriptor));  // type 1
  CHECK(kinds(report(with("s2"))) == nothing);                                // not known
  CHECK(kinds(bare_report("s_mov_b32 s4, 0\ns_mov_b32 s5, 0\ns_mov_b32 s6, 64\ns_mov_b32 s7, 0x31027000\n"
                          "buffer_load_dword v1, v0, s[4:7], 0 offen\n",
                          test::table("gfx942"))) == only(Kind::buffer_descriptor));
}

TEST_CASE("LDS is stored to before it is loaded, with a barrier between", "[check][memory]") {
  const std::string store = "ds_store_b32 v0, v0\ns_waitcnt lgkmcnt(0)\n";
  const std::string load = "ds_load_b32 v2, v0\n";
  const auto found = [](std::string_view body, const test::Frame& frame = {}) {
    return kinds(report(body, frame, check::Options{}));
  };
  CHECK(found(store + "s_barrier\n" + load) == nothing);
  CHECK(found(load) == only(Kind::undefined_lds));
  CHECK(found("s_barrier\n" + load) == only(Kind::undefined_lds));
  CHECK(found(store + load) == only(Kind::lds_without_barrier));
  CHECK(report(store + load, {}, check::Options{}).ok());
  CHECK(found(store + load, {.workgroup_size = 32}) == nothing);
  CHECK(found("s_barrier\n" + store + load) == only(Kind::lds_without_barrier));
  // A path around the barrier is enough.
  CHECK(found(store + "s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 .Lx\ns_barrier\n.Lx:\n" + load) ==
        only(Kind::lds_without_barrier));
}
