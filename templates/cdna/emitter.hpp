// SPDX-License-Identifier: MIT
// Private to the CDNA family: the state while one matrix kernel is written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/ir/builder.hpp"
#include "templates/cdna/dequant.hpp"
#include "templates/cdna/launch.hpp"
#include "templates/cdna/limits.hpp"
#include "templates/cdna/scale_layout.hpp"
#include "templates/cdna/tile.hpp"
#include "templates/descriptors.hpp"
#include "templates/round.hpp"

namespace wavejit::templates::cdna {

class Emitter : private ScaleLayout {
 public:
  Emitter(ir::Kernel& kernel, const Problem& problem, const Config& config);
  void run();
  [[nodiscard]] std::string dequantisation() const { return dequant_.describe(*b_.kernel().target); }

 private:
  struct Load {
    isa::Operand offset, data;
  };

  void entry_state();
  [[nodiscard]] int argument(std::string_view name) const;
  void load_arguments();
  void find_place();
  [[nodiscard]] isa::Operand product_row(const std::string& name, const isa::Operand& row, std::int64_t rows);
  void make_descriptors();
  void lane_ids();
  void global_addresses();
  void lds_addresses();
  void clear_accumulators();
  void products();
  isa::Operand induction(const std::string& name, std::int64_t step);
  isa::Operand group_index(const isa::Operand& k_activations);
  isa::Operand group_offset(const isa::Operand& k_activations, std::int64_t distance);
  void scale_addresses(unsigned j, const isa::Operand& column);
  void scale_descriptors(const isa::Operand& group0);
  void load(isa::Opcode op, const isa::Operand& data, const isa::Operand& offset, const isa::Operand& uniform,
            unsigned immediate, const isa::Operand& descriptor, std::string_view tensor);
  void global_loads();
  void load_to_lds(unsigned block, unsigned pass, const isa::Operand& start, const isa::Operand& uniform);
  isa::Operand lds_start(const isa::Operand& k_activations);
  void fill_lds();
  void far_addresses();
  void multiply();
  void multiply_substep(unsigned block, unsigned substep, const std::vector<isa::Operand>& terms);
  void epilogue();
  [[nodiscard]] std::int64_t iterations() const;

  // Epilogue.
  struct OutputPlace {
    isa::Operand descriptor, column, offset, columns_left, full_exec;
    isa::Operand bias_offset;  ///< VGPR: bytes of the lane's first column in the bias
  };
  OutputPlace output_place();
  std::vector<isa::Operand> column_values(unsigned i, unsigned unit) const;
  std::vector<isa::Operand> bias_run(const OutputPlace& place, const isa::Operand& descriptor,
                                     unsigned column);
  void add_bias(const OutputPlace& place);
  void store_unit(const OutputPlace& place, unsigned i, unsigned unit);
  void guard(const OutputPlace& place, unsigned column);
  [[nodiscard]] bool partial() const { return c_.split_k > 1; }
  /// With split-K the reduction adds it.
  [[nodiscard]] bool has_bias() const { return p_.bias && !partial(); }
  [[nodiscard]] unsigned column_run() const { return t_.side == 32 ? 16 : 8; }

  ir::Builder b_;
  const Problem& p_;
  const Config& c_;
  Tile t_;
  Slices slices_;
  Dequantiser dequant_;
  PairRounder output_rounder_;

  std::vector<isa::Operand> pointers_;
  isa::Operand m_;
  Place place_;
  isa::Operand last_column_;  ///< of the tile, where some lie past N; else none
  isa::Operand n0_;           ///< first column of the tile in its product
  isa::Operand activation_desc_, weight_desc_, scale_desc_, zero_desc_;
  isa::Operand tid_, lane_row_, lane_group_, wave_m_, wave_n_;
  std::vector<Load> a_loads_;                      ///< per pass; blocks by immediate
  std::vector<std::vector<isa::Operand>> a_data_;  ///< [block][pass]; none with lds_dma
  std::vector<isa::Operand> w_offsets_;            ///< per tile of columns
  std::vector<std::vector<isa::Operand>> w_data_;  ///< [block][tile of columns]
  std::vector<Load> s_loads_, z_loads_;            ///< per tile of columns
  std::vector<isa::Operand> zero_bits_;            ///< packed zero points: per tile of columns
  isa::Operand lds_write_;              ///< VGPR: the work-item's slot; with lds_dma SGPR: the wave's first
  std::vector<isa::Operand> lds_read_;  ///< per substep
  /// The same 64 KiB further each, as far as a buffer reaches: an immediate offset has 16 bits.
  std::vector<isa::Operand> lds_write_far_, lds_read_far_;  ///< [window - 1], [(window - 1) * 4 + substep]
  std::vector<isa::Operand> acc_;                           ///< [tiles_n][tiles_m]
  std::vector<ir::Induction> inductions_;
  std::vector<std::pair<std::size_t, std::size_t>> exits_;  ///< (block, instruction) of branches to the end
  std::vector<std::pair<std::size_t, std::size_t>> skips_;  ///< … past the loop
};

/// The matrix kernel (stage 0) before the passes.
ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target);

}  // namespace wavejit::templates::cdna
