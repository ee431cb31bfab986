// SPDX-License-Identifier: MIT
// GGUF files on disk: one, several parts of one, parts that do not belong together, things that are no files.
#include "runtime/gguf/file.hpp"

#include <stdlib.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/runtime/gguf/writer.hpp"

using namespace wavejit;
using namespace wavejit::gguf;
using namespace wavejit::gguf::test;

namespace {

class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "wavejit-gguf-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

/// Part `no` of `count` with one f32 tensor of four elements, all bytes `fill`.
std::string part(std::uint16_t no, std::uint16_t count, const std::string& name, char fill,
                 std::int32_t tensors = 2) {
  Pieces p;
  p.entries = {entry("split.no", 2, raw(no)), entry("split.count", 2, raw(count)),
               entry("split.tensors.count", 5, raw(tensors))};
  p.tensors = {tensor(name, {4}, 0, 0)};
  p.data = std::string(16, fill);
  return p.bytes();
}

void refused(const std::filesystem::path& path, const std::string& what) {
  const auto file = File::open(path);
  REQUIRE_FALSE(file);
  INFO(file.error().message);
  CHECK(file.error().message.find(what) != std::string::npos);
}

}  // namespace

TEST_CASE("a GGUF file is mapped, its tensors read where they lie", "[gguf]") {
  const Folder folder;
  Pieces p = good_pieces();
  p.data[32] = 'u';
  folder.write("m.gguf", p.bytes());
  const auto file = File::open(folder / "m.gguf");
  REQUIRE(file);
  CHECK(file->tensors().size() == 4);
  const auto up = file->find("up");
  REQUIRE(up);
  CHECK(up->bytes().size() == 288);
  CHECK(std::to_integer<char>(up->bytes()[0]) == 'u');
  CHECK_FALSE(file->find("absent"));
  CHECK(file->header().find("general.architecture")->text() == "tiny");
}

TEST_CASE("a header without its data opens when asked for so, and gives no bytes", "[gguf]") {
  const Folder folder;
  Pieces p = good_pieces();
  p.data.clear();
  folder.write("m.gguf", p.bytes());
  CHECK_FALSE(File::open(folder / "m.gguf"));
  const auto file = File::open(folder / "m.gguf", Data::may_be_absent);
  REQUIRE(file);
  CHECK(file->find("down")->bytes().empty());
}

TEST_CASE("any part of a split GGUF opens them all", "[gguf]") {
  const Folder folder;
  folder.write("m-00001-of-00002.gguf", part(0, 2, "first", 'a'));
  folder.write("m-00002-of-00002.gguf", part(1, 2, "second", 'b'));
  for (const char* name : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}) {
    const auto file = File::open(folder / name);
    INFO((file ? "" : file.error().message));
    REQUIRE(file);
    REQUIRE(file->parts().size() == 2);
    CHECK(file->header().find("split.no")->unsigned_integer() == 0U);
    CHECK(std::to_integer<char>(file->find("first")->bytes()[0]) == 'a');
    CHECK(std::to_integer<char>(file->find("second")->bytes()[15]) == 'b');
  }
}

TEST_CASE("parts that do not make one model are refused", "[gguf]") {
  const Folder folder;
  const std::string first = "m-00001-of-00002.gguf", second = "m-00002-of-00002.gguf";
  folder.write(first, part(0, 2, "first", 'a'));
  refused(folder / first, second + " cannot be read");
  folder.write(second, part(0, 2, "second", 'b'));
  refused(folder / first, second + ": split.no is 0 of 2, but must be 1 of 2");
  folder.write(second, part(1, 3, "second", 'b'));
  refused(folder / first, second + ": split.no is 1 of 3");
  folder.write(second, good_pieces().bytes());
  refused(folder / first, second + ": split.no is absent");
  folder.write(second, part(1, 2, "first", 'b'));
  refused(folder / first, "tensor \"first\" is in two parts");
  folder.write(second, part(1, 2, "second", 'b'));
  folder.write(first, part(0, 2, "first", 'a', 3));
  refused(folder / first, "split.tensors.count is 3, but must be 2");
  folder.write("m.gguf", part(0, 2, "first", 'a'));
  refused(folder / "m.gguf", "the name of a part is m.gguf, but must be NAME-00001-of-00002.gguf");
  Pieces wrong;
  wrong.entries = {entry("split.count", 8, text("two"))};
  folder.write("m.gguf", wrong.bytes());
  refused(folder / "m.gguf", "split.count is of type string");
}

TEST_CASE("what is no file is refused, without waiting for it", "[gguf]") {
  const Folder folder;
  refused(folder / "absent.gguf", "absent.gguf cannot be read");
  refused(folder / "", "no regular file");
  folder.write("empty.gguf", "");
  refused(folder / "empty.gguf", "empty");
  REQUIRE(::mkfifo((folder / "pipe.gguf").c_str(), 0600) == 0);
  refused(folder / "pipe.gguf", "no regular file");
}
