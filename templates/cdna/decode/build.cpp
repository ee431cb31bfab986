// SPDX-License-Identifier: MIT
// A CDNA decode kernel from its parts: set-up (setup.cpp), the loop along K (loop.cpp), sums and stores
// (epilogue.cpp), and behind its end what is rarely run (exact.cpp).
#include <fmt/format.h>

#include "templates/cdna/decode/decode.hpp"
#include "templates/cdna/decode/emitter.hpp"
#include "templates/cdna/launch.hpp"

namespace wavejit::templates::cdna::decode {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

void Emitter::run() {
  entry_state();
  ir::Kernel& k = b_.kernel();
  k.lds.push_back({"activations, then sums", 0, t_.lds_bytes, c_.lds_buffers, t_.buffer_bytes});
  load_arguments();
  find_place();
  lane_ids();
  weight_places();
  descriptors();
  activation_places();
  unpack_.setup(b_, operand_dwords());
  for (unsigned j = 0; j < t_.tiles_n; ++j) acc_.push_back(b_.vgpr(fmt::format("acc{}", j), t_.used));
  clear(acc_);
  output_places();
  loop();
  b_.block("finite", "sums that are not finite are computed again");
  leave_when_not_finite();
  if (c_.waves > 1) {
    sum_waves();
  } else {
    std::vector<Operand> sums;
    for (const Operand& acc : acc_)
      for (unsigned v = 0; v < t_.used; ++v) sums.push_back(acc.slice(v));
    store(sums);
  }
  const std::uint32_t end = b_.block("end", "");
  b_.emit(s_endpgm, {}, {});
  for (const auto& [block, index] : exits_) k.blocks[block].insts[index].mi.src[0] = isa::label(end);
  again_exactly();
}

ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target) {
  ir::Kernel k;
  k.target = &target;
  k.name =
      fmt::format("{}_decode_{}{}{}_n{}_k{}_g{}_t{}x{}x{}_w{}", name(problem.op), name(problem.activation),
                  problem.zero_points != ZeroPoints::symmetric ? "_z" : "", problem.bias ? "_bias" : "",
                  problem.n, problem.k, problem.group, config.bm, config.bn, config.bk, config.waves);
  k.args = arguments(problem, config, 0);
  k.kernarg_size = kernarg_size(k.args);
  k.workgroup_size = config.waves * target.wave_size;
  k.vgpr_budget =
      std::min<unsigned>(target.addressable_vgprs, config.waves_per_simd == 0
                                                       ? target.addressable_vgprs
                                                       : target::vgpr_budget(target, config.waves_per_simd));
  k.header = {
      "weights unpacked under a constant exponent, not rounded; scales multiply sums over a group in f32; "
      "sums that are not finite again from dequantised weights"};
  Emitter(k, problem, config).run();
  return k;
}

}  // namespace wavejit::templates::cdna::decode
