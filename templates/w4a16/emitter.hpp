// SPDX-License-Identifier: MIT
// Private to the W4A16 family: the state while one kernel is written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/ir/builder.hpp"
#include "templates/dequant.hpp"
#include "templates/descriptors.hpp"
#include "templates/round.hpp"
#include "templates/w4a16/tile.hpp"

namespace wavejit::templates::w4a16 {

class Emitter {
 public:
  Emitter(ir::Kernel& kernel, const Problem& problem, const Config& config);
  void run();
  [[nodiscard]] std::string dequantisation() const { return std::string(dequant_->describe()); }

 private:
  /// One global load of a work-item: address in the tile, tile row or column it belongs to, data.
  struct Load {
    isa::Operand offset, row, data;
  };
  /// Uniform byte offsets of a step's group; none where all of K is one group.
  struct GroupOffsets {
    isa::Operand scales, zeros;
  };

  void load_arguments();
  [[nodiscard]] int argument(std::string_view name) const;
  void make_descriptors();
  void global_addresses();
  void zero_point_address(unsigned p, const isa::Operand& column);
  void lds_addresses();
  void clear_accumulators();
  void global_loads();
  void fill_lds();
  void barrier();
  std::vector<isa::Operand> fragments(const std::string& name, const isa::Operand& address,
                                      unsigned first_row, unsigned count, unsigned step);
  void multiply();
  void epilogue();

  isa::Operand row_offset(const std::string& name, const isa::Operand& row, std::int64_t stride,
                          const isa::Operand& row0);
  isa::Operand column_of(unsigned first);
  isa::Operand load_address(const Load& load, const isa::Operand& left, const isa::Operand& k_offset);
  void load(isa::Opcode op, const Load& load, const isa::Operand& address, const isa::Operand& descriptor,
            std::string_view tensor);
  isa::Operand group_index(const isa::Operand& k_activations);
  GroupOffsets group_offsets(const isa::Operand& k_activations);
  isa::Operand induction(const std::string& name, std::int64_t step);
  void lds_access(ir::Instruction& inst, unsigned offset);

  // Epilogue.
  struct OutputPlace {
    isa::Operand descriptor, row, column, offset;
    isa::Operand rows_left, cols_left;  ///< none where no guard is needed
    isa::Operand bias_offset;           ///< of the lane's first column
    isa::Operand full_exec;
  };
  OutputPlace output_place();
  std::vector<isa::Operand> load_bias(const OutputPlace& place, unsigned j);
  std::vector<isa::Operand> bias_values(const std::vector<isa::Operand>& loaded);
  void add_bias(const OutputPlace& place);
  std::vector<isa::Operand> round_column(unsigned j);
  void guard_lanes(const OutputPlace& place, int columns, int rows);
  void restore_lanes(const OutputPlace& place);
  void store_column(const OutputPlace& place, unsigned j, const std::vector<isa::Operand>& packed);
  [[nodiscard]] bool wide_stores() const { return p_.n % 8 == 0 && p_.output_stride % 8 == 0; }
  /// gfx11: both halves of a wave hold the same A and B, and D's rows alternate between them. gfx12: the
  /// halves hold different K, and half h has rows 8h.. of D (hardware.md §2.1, §2.2).
  [[nodiscard]] bool replicated() const { return b_.kernel().target->wmma16.replicated_halves; }
  /// soffset of an access that has none.
  [[nodiscard]] isa::Operand no_soffset() const {
    return b_.kernel().target->soffset_is_register ? isa::null_reg() : isa::imm(0);
  }
  [[nodiscard]] bool packed_zeros() const { return p_.zero_points == ZeroPoints::packed; }

  ir::Builder b_;
  const Problem& p_;
  const Config& c_;
  Tile tile_;
  std::unique_ptr<Dequantiser> dequant_;
  PairRounder output_rounder_;

  isa::Operand m_, m0_, n0_, rows_left_, cols_left_, guard_;
  isa::Operand zero_row0_;
  RowTensor activations_, weights_, scales_, zero_points_, bias_, output_;
  isa::Operand activation_desc_, weight_desc_, scale_desc_, zero_desc_, bias_desc_;
  isa::Operand tid_, chunk_, load_row_, lds_write_, lds_read_a_, lds_read_b_;
  std::vector<Load> a_loads_, w_loads_, s_loads_, z_loads_;
  std::vector<isa::Operand> zero_bits_;  ///< per pass, like the loads
  std::vector<isa::Operand> acc_;
  std::vector<ir::Induction> inductions_;
  std::vector<std::pair<std::size_t, std::size_t>> exits_;  ///< (block, instruction) of branches to the end
};

}  // namespace wavejit::templates::w4a16
