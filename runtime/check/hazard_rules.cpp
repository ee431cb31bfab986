// SPDX-License-Identifier: MIT
#include "runtime/check/hazard_rules.hpp"

#include <algorithm>

namespace wavejit::check {
namespace {

using target::Hazards;
using File = Side::File;
using Need = std::array<std::uint8_t, 4>;

constexpr role::Bits any_role = static_cast<role::Bits>(0xFFFF & ~(role::keep | role::implied | role::flag));
constexpr role::Bits any_data = static_cast<role::Bits>(any_role | role::keep);
constexpr trait::Bits any_vector = trait::valu | trait::vmem | trait::lds;

constexpr Need always(std::uint8_t n) { return {n, n, n, n}; }

constexpr Side writes(trait::Bits any, trait::Bits none, File file) {
  return {.any = any, .none = none, .reads = 0, .writes = true, .file = file};
}
constexpr Side reads(trait::Bits any, trait::Bits none, role::Bits roles, File file) {
  return {.any = any, .none = none, .reads = roles, .writes = false, .file = file};
}
constexpr Side touches(trait::Bits any, trait::Bits none, role::Bits roles, File file) {
  return {.any = any, .none = none, .reads = roles, .writes = true, .file = file};
}
constexpr Side just(trait::Bits any, trait::Bits none = 0) {
  return {.any = any, .none = none, .reads = 0, .writes = false, .file = File::any};
}

constexpr Rule slots(Side first, Side second, std::uint8_t need, std::string_view what,
                     Meeting meeting = Meeting::overlap) {
  return {.kind = Kind::wait_states,
          .flag = &Hazards::gfx9_wait_states,
          .clock = Clock::slots,
          .meeting = meeting,
          .first = first,
          .second = second,
          .need = always(need),
          .need_late = always(need),
          .same_opcode_c_is_free = false,
          .what = what};
}

/// A rule that the ISA manual does not have.
constexpr Rule from(Source source, Rule rule) {
  rule.source = source;
  return rule;
}

constexpr Rule mfma(Side first, Side second, Need need, Need late, std::string_view what,
                    Meeting meeting = Meeting::overlap) {
  Rule rule = slots(first, second, 0, what, meeting);
  rule.kind = Kind::matrix_hazard;
  rule.need = need;
  rule.need_late = late;
  return rule;
}

constexpr Rule dot(Side second) {
  Rule rule = slots(writes(trait::dot, 0, File::vector), second, 3, "the result of a dot product is used");
  rule.same_opcode_c_is_free = true;
  return rule;
}

constexpr trait::Bits xdl_not = trait::f32_matrix;
constexpr Side xdl_result = writes(trait::mfma, xdl_not, File::vector);
constexpr Side xdl_c = reads(trait::mfma, xdl_not, role::matrix_c, File::vector);
constexpr Side sgemm_result = writes(trait::f32_matrix, 0, File::vector);
constexpr Side matrix_a_or_b = reads(trait::mfma, 0, role::matrix_a | role::matrix_b, File::vector);
constexpr Side matrix_c = reads(trait::mfma, 0, role::matrix_c, File::vector);
constexpr trait::Bits memory = trait::vmem | trait::lds;
constexpr Side valu_use = touches(trait::valu, trait::mfma, any_data, File::vector);
constexpr Side memory_read = reads(memory, 0, any_data, File::vector);
constexpr Side memory_write = writes(memory, 0, File::vector);

constexpr std::array rules{
    // hardware.md §2.3, §5.1: RDNA.
    Rule{.kind = Kind::matrix_hazard,
         .flag = &Hazards::wmma_d_to_ab,
         .clock = Clock::valu,
         .meeting = Meeting::overlap,
         .first = writes(trait::wmma, 0, File::vector),
         .second = reads(trait::wmma, 0, role::matrix_a | role::matrix_b, File::vector),
         .need = always(1),
         .need_late = always(1),
         .what = "the result of a WMMA is read as A or B of the next"},
    Rule{.kind = Kind::trans_use,
         .flag = &Hazards::trans_use,
         .clock = Clock::trans_gap,
         .meeting = Meeting::overlap,
         .first = writes(trait::trans, 0, File::vector),
         .second = reads(trait::valu, 0, any_data, File::vector),
         .need = always(1),
         .need_late = always(1),
         .what = "the result of a transcendental instruction is read by VALU",
         .source = Source::llvm},
    Rule{.kind = Kind::cmpx_permlane,
         .flag = &Hazards::vcmpx_permlane,
         .clock = Clock::real_valu,
         .meeting = Meeting::always,
         .first = just(trait::cmpx),
         .second = just(trait::permlane),
         .need = always(1),
         .need_late = always(1),
         .what = "v_cmpx sets EXEC for v_permlane",
         .source = Source::llvm},
    // hardware.md §5.3: gfx940 and gfx950.
    slots(writes(trait::valu, 0, File::scalar), reads(trait::valu, 0, role::data, File::scalar), 2,
          "an SGPR that VALU wrote is read by VALU"),
    // The manual asks for none here ("as carry-in"), LLVM for two.
    from(Source::llvm,
         slots(writes(trait::valu, 0, File::scalar), reads(trait::valu, 0, role::mask, File::scalar), 2,
               "an SGPR that VALU wrote is read by VALU as carry or mask")),
    slots(writes(trait::valu, 0, File::scalar), reads(trait::vmem, 0, role::base, File::scalar), 5,
          "an SGPR that VALU wrote is read by vector memory"),
    slots(writes(trait::valu, 0, File::scalar), reads(trait::lane_select, 0, role::lane, File::scalar), 4,
          "an SGPR that VALU wrote selects the lane"),
    slots(writes(trait::valu, 0, File::vector), reads(trait::lane_read, 0, any_data, File::vector), 1,
          "a VGPR that VALU wrote is read by v_readlane or v_readfirstlane"),
    slots(writes(trait::valu, 0, File::vector), reads(trait::dpp, 0, role::by_dpp, File::vector), 2,
          "a VGPR that VALU wrote is read with DPP"),
    // The second source, and the old value of lanes that DPP leaves alone, do not cross lanes.
    from(Source::llvm, slots(writes(trait::valu, 0, File::vector),
                             reads(trait::dpp, 0, role::data | role::keep, File::vector), 2,
                             "a VGPR that VALU wrote is used by DPP, but not across lanes")),
    slots(writes(trait::valu, 0, File::exec), just(trait::dpp), 5, "VALU wrote EXEC before a DPP instruction",
          Meeting::always),
    // rocRoller, AMD's generator, has this row for gfx950, too.
    from(Source::llvm,
         slots(writes(trait::valu, 0, File::vector), touches(trait::permlane_swap, 0, any_data, File::vector),
               2, "a VGPR that VALU wrote is exchanged by v_permlane_swap")),
    slots(just(trait::cmpx), just(trait::lane_read | trait::writelane), 4,
          "v_cmpx sets EXEC for a lane instruction", Meeting::always),
    from(Source::llvm, slots(just(trait::cmpx), just(trait::permlane | trait::permlane_swap), 4,
                             "v_cmpx sets EXEC for v_permlane", Meeting::always)),
    slots(writes(trait::cmpx, 0, File::exec), reads(trait::valu, 0, role::data | role::mask, File::exec), 2,
          "EXEC that v_cmpx wrote is read as data"),
    slots(writes(trait::valu, 0, File::vcc), just(trait::div_fmas), 4, "VALU wrote VCC before v_div_fmas",
          Meeting::always),
    slots(writes(trait::valu, 0, File::vcc), reads(trait::valu, 0, role::flag, File::any), 5,
          "VCC that VALU wrote is read as vccz"),
    slots(writes(trait::valu, 0, File::exec), reads(trait::valu, 0, role::flag, File::any), 5,
          "EXEC that VALU wrote is read as execz"),
    slots(writes(trait::trans, 0, File::vector), reads(trait::valu, trait::trans, any_data, File::vector), 1,
          "the result of a transcendental instruction is read by VALU"),
    slots(writes(trait::high_half, 0, File::vector), reads(trait::valu, 0, any_data, File::vector), 1,
          "a result that op_sel put into the high half is read by VALU"),
    dot(touches(any_vector, 0, any_data, File::vector)),
    slots(reads(trait::wide_store, 0, role::store_data, File::vector), writes(trait::valu, 0, File::vector),
          2, "VALU overwrites the data of a store of more than 64 bits"),
    slots(reads(trait::wide_store, 0, role::store_data, File::vector),
          writes(trait::vmem | trait::lds, 0, File::vector), 1,
          "a load overwrites the data of a store of more than 64 bits"),
    // The manual exempts an SGPR offset; measured on MI350X (LLVM pull request 197267).
    from(Source::measured,
         slots(reads(trait::scalar_offset_store, 0, role::store_data, File::vector),
               writes(trait::valu, 0, File::vector), 1,
               "VALU overwrites the data of a store of more than 64 bits with an SGPR offset")),
    slots(writes(trait::salu, 0, File::m0), just(trait::to_lds | trait::sendmsg, trait::buffer_to_lds), 1,
          "SALU wrote M0 before an instruction that reads it", Meeting::always),
    // The manual names global and scratch loads to LDS and a buffer store from it, not this one.
    from(Source::llvm, slots(writes(trait::salu, 0, File::m0), just(trait::buffer_to_lds), 1,
                             "SALU wrote M0 before a buffer load to LDS", Meeting::always)),
    slots(just(trait::setreg), just(trait::setreg | trait::getreg), 2,
          "s_setreg before another access to the mode", Meeting::always),
    slots(just(trait::cmpx), just(trait::mfma), 4, "v_cmpx sets EXEC for an MFMA", Meeting::always),
    slots(writes(trait::valu, trait::mfma, File::vector),
          reads(trait::mfma, 0, role::matrix_a | role::matrix_b | role::matrix_c, File::vector), 2,
          "a VGPR that VALU wrote is read by an MFMA"),
    // hardware.md §2.5: by passes 2, 4, 8, 16 of the first.
    mfma(xdl_result, matrix_c, {2, 0, 0, 0}, {2, 0, 0, 0}, "the result of an MFMA is C of the next",
         Meeting::same),
    mfma(xdl_result, matrix_c, {3, 5, 9, 17}, {4, 6, 10, 18},
         "a part of an MFMA's result is in C of the next", Meeting::different),
    mfma(xdl_result, matrix_a_or_b, {5, 7, 11, 19}, {5, 8, 12, 20},
         "the result of an MFMA is A or B of the next"),
    mfma(xdl_result, valu_use, {5, 7, 11, 19}, {5, 8, 12, 20},
         "the result of an MFMA is used or overwritten"),
    mfma(xdl_result, memory_read, {5, 7, 11, 19}, {5, 8, 12, 20}, "the result of an MFMA is stored"),
    from(Source::llvm, mfma(xdl_result, memory_write, {5, 7, 11, 19}, {5, 8, 12, 20},
                            "the result of an MFMA is overwritten by a load")),
    mfma(xdl_c, writes(trait::valu, trait::mfma, File::vector), {1, 3, 7, 15}, {1, 3, 7, 15},
         "C of an MFMA is overwritten"),
    from(Source::llvm,
         mfma(xdl_c, memory_write, {1, 3, 7, 15}, {1, 3, 7, 15}, "C of an MFMA is overwritten by a load")),
    mfma(sgemm_result, matrix_c, {2, 4, 8, 16}, {2, 4, 8, 16},
         "a part of an f32 MFMA's result is in C of the next", Meeting::different),
    mfma(sgemm_result, matrix_a_or_b, {4, 6, 10, 18}, {4, 6, 10, 18},
         "the result of an f32 MFMA is A or B of the next"),
    mfma(sgemm_result, valu_use, {4, 6, 10, 18}, {4, 6, 10, 18},
         "the result of an f32 MFMA is used or overwritten"),
    mfma(sgemm_result, memory_read, {4, 6, 10, 18}, {4, 6, 10, 18}, "the result of an f32 MFMA is stored"),
    from(Source::llvm, mfma(sgemm_result, memory_write, {4, 6, 10, 18}, {4, 6, 10, 18},
                            "the result of an f32 MFMA is overwritten by a load")),
};
static_assert(rules.size() <= 64);

}  // namespace

std::span<const Rule> hazard_rules() { return rules; }

unsigned needed_distance(const Rule& rule, const Step& first, const target::Target& target) {
  unsigned i = 3;
  if (first.passes == 2) i = 0;
  if (first.passes == 4) i = 1;
  if (first.passes == 8) i = 2;
  return (target.hazards.mfma_results_late ? rule.need_late : rule.need)[i];
}

}  // namespace wavejit::check
