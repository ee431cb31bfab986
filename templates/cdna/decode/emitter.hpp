// SPDX-License-Identifier: MIT
// Private to the CDNA decode kernels: the state while one is written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/ir/builder.hpp"
#include "templates/cdna/decode/geometry.hpp"
#include "templates/cdna/decode/unpack.hpp"
#include "templates/cdna/dequant.hpp"
#include "templates/cdna/scale_layout.hpp"
#include "templates/cdna/schedule.hpp"
#include "templates/cdna/tile.hpp"
#include "templates/descriptors.hpp"
#include "templates/round.hpp"

namespace wavejit::templates::cdna::decode {

class Emitter : private ScaleLayout {
 public:
  Emitter(ir::Kernel& kernel, const Problem& problem, const Config& config);
  void run();

 private:
  // Set-up: setup.cpp.
  void entry_state();
  [[nodiscard]] int argument(std::string_view name) const;
  void load_arguments();
  void find_place();
  void descriptors();
  void lane_ids();
  void activation_places();
  void weight_places();
  void scale_places(const isa::Operand& column, unsigned j);
  void clear(const std::vector<isa::Operand>& registers);

  // Loop along K: loop.cpp.
  /// A place along K: 2 k, and a bit that puts offsets out of bounds where that is behind K (none where all
  /// steps are full).
  struct AlongK {
    isa::Operand k2, outside;
  };
  /// `base2` of this step.
  AlongK along_k(const isa::Operand& base2);
  isa::Operand group_offset(const isa::Operand& k2, std::int64_t distance);
  void load(isa::Opcode op, const isa::Operand& data, const isa::Operand& offset, const isa::Operand& uniform,
            std::int64_t immediate, const isa::Operand& outside, const isa::Operand& descriptor,
            std::string_view tensor);
  struct Loaded {
    std::vector<isa::Operand> weights, scales, zeros;  ///< per tile of columns
  };
  Loaded load_block(unsigned block);
  void load_activations();
  void fill_lds();
  void multiply_block(unsigned block);
  isa::Operand factors_of(const Loaded& loaded, unsigned tile);
  void add_scaled(const isa::Operand& acc, const isa::Operand& sums, const isa::Operand& factors,
                  unsigned which);
  [[nodiscard]] unsigned operand_dwords() const { return t_.depth / t_.groups / 2; }
  void loop();

  // Where a sum is not finite: exact.cpp.
  void leave_when_not_finite();
  void again_exactly();
  void exact_block(unsigned block, const Dequantiser& dequant, const isa::Operand& row_offset);
  void keep_finite();

  // Sums over waves, output: epilogue.cpp.
  void output_places();
  void sum_waves();
  void store(const std::vector<isa::Operand>& sums);
  void store_run(const std::vector<isa::Operand>& values, const isa::Operand& offset);
  isa::Operand inside_columns(const isa::Operand& offset, const isa::Operand& tile_column);
  isa::Operand load_bias(const isa::Operand& column_bytes);

  isa::Operand plus(const char* name, const isa::Operand& value, std::int64_t constant);

  ir::Builder b_;
  const Problem& p_;
  const Config& c_;
  Geometry t_;
  Unpacker unpack_;
  PairRounder rounder_;

  std::vector<isa::Operand> pointers_;
  isa::Operand m_;
  Place place_;
  isa::Operand n0_;  ///< first column of the tile in its product
  isa::Operand activation_desc_, weight_desc_, scale_desc_, zero_desc_, output_desc_, bias_desc_;
  isa::Operand tid_, lane_, lane_row_, lane_group_;
  isa::Operand wave_;                    ///< SGPR
  isa::Operand outside_;                 ///< SGPR: an offset that no descriptor covers
  isa::Operand k2_;                      ///< SGPR: 2 k of the step's start; a loop's induction
  std::vector<isa::Operand> region2_;    ///< SGPR per pass: 2 k of its region inside a step
  std::vector<isa::Operand> block2_;     ///< SGPR per block of the wave: the same
  std::vector<isa::Operand> a_offsets_;  ///< VGPR per pass
  std::vector<isa::Operand> a_data_;     ///< VGPRs per pass
  std::vector<isa::Operand> w_offsets_, s_offsets_, z_offsets_, zero_bits_;  ///< VGPR per tile of columns
  std::vector<Loaded> blocks_;
  isa::Operand lds_write_;
  isa::Operand out_lane_;               ///< VGPR: offset of the lane's element in a matrix tile
  std::vector<isa::Operand> lds_read_;  ///< per substep
  std::vector<isa::Operand> acc_;       ///< per tile of columns, `used` VGPRs each
  std::vector<isa::Operand> exact_;     ///< the same from dequantised weights, all VGPRs
  std::vector<std::pair<std::size_t, std::size_t>> exits_;  ///< (block, instruction) of branches to the end
  std::pair<std::size_t, std::size_t> to_exact_{};          ///< … of the one to again_exactly()
  std::uint32_t finish_ = 0;                                ///< block
};

}  // namespace wavejit::templates::cdna::decode
