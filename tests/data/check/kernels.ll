; SPDX-License-Identifier: MIT
; Made from kernels.cl; see README.md.
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

@reduce.s = internal unnamed_addr addrspace(3) global [256 x float] undef, align 4
@gemm.as = internal unnamed_addr addrspace(3) global [16 x [17 x float]] undef, align 4
@gemm.bs = internal unnamed_addr addrspace(3) global [16 x [17 x float]] undef, align 4
@hist.b = internal addrspace(3) global [256 x i32] undef, align 4

define protected amdgpu_kernel void @saxpy(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, float noundef %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %6 = shl i32 %5, 8
  %7 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %8 = add i32 %6, %7
  %9 = icmp slt i32 %8, %3
  br i1 %9, label %10, label %17

10:
  %11 = sext i32 %8 to i64
  %12 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %11
  %13 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %11
  %14 = load float, ptr addrspace(1) %13, align 4
  %15 = load float, ptr addrspace(1) %12, align 4
  %16 = tail call float @llvm.fmuladd.f32(float %2, float %14, float %15)
  store float %16, ptr addrspace(1) %12, align 4
  br label %17

17:
  ret void
}

define protected amdgpu_kernel void @reduce(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #1 {
  %4 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 8
  %6 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %7 = add i32 %5, %6
  %8 = icmp slt i32 %7, %2
  br i1 %8, label %13, label %9

9:
  %10 = phi float [ 0.000000e+00, %3 ], [ %19, %13 ]
  %11 = getelementptr inbounds nuw float, ptr addrspace(3) @reduce.s, i32 %6
  store float %10, ptr addrspace(3) %11, align 4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %12 = icmp samesign ult i32 %6, 128
  br i1 %12, label %22, label %27

13:
  %14 = phi i32 [ %20, %13 ], [ %7, %3 ]
  %15 = phi float [ %19, %13 ], [ 0.000000e+00, %3 ]
  %16 = sext i32 %14 to i64
  %17 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %16
  %18 = load float, ptr addrspace(1) %17, align 4
  %19 = fadd float %15, %18
  %20 = add nsw i32 %14, 4096
  %21 = icmp slt i32 %20, %2
  br i1 %21, label %13, label %9

22:
  %23 = getelementptr inbounds nuw i8, ptr addrspace(3) %11, i32 512
  %24 = load float, ptr addrspace(3) %23, align 4
  %25 = load float, ptr addrspace(3) %11, align 4
  %26 = fadd float %24, %25
  store float %26, ptr addrspace(3) %11, align 4
  br label %27

27:
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %28 = icmp samesign ult i32 %6, 64
  br i1 %28, label %29, label %34

29:
  %30 = getelementptr inbounds nuw i8, ptr addrspace(3) %11, i32 256
  %31 = load float, ptr addrspace(3) %30, align 4
  %32 = load float, ptr addrspace(3) %11, align 4
  %33 = fadd float %31, %32
  store float %33, ptr addrspace(3) %11, align 4
  br label %34

34:
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %35 = icmp samesign ult i32 %6, 32
  br i1 %35, label %36, label %41

36:
  %37 = getelementptr inbounds nuw i8, ptr addrspace(3) %11, i32 128
  %38 = load float, ptr addrspace(3) %37, align 4
  %39 = load float, ptr addrspace(3) %11, align 4
  %40 = fadd float %38, %39
  store float %40, ptr addrspace(3) %11, align 4
  br label %41

41:
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %42 = icmp samesign ult i32 %6, 16
  br i1 %42, label %43, label %48

43:
  %44 = getelementptr inbounds nuw i8, ptr addrspace(3) %11, i32 64
  %45 = load float, ptr addrspace(3) %44, align 4
  %46 = load float, ptr addrspace(3) %11, align 4
  %47 = fadd float %45, %46
  store float %47, ptr addrspace(3) %11, align 4
  br label %48

48:
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %49 = icmp samesign ult i32 %6, 8
  br i1 %49, label %50, label %55

50:
  %51 = getelementptr inbounds nuw i8, ptr addrspace(3) %11, i32 32
  %52 = load float, ptr addrspace(3) %51, align 4
  %53 = load float, ptr addrspace(3) %11, align 4
  %54 = fadd float %52, %53
  store float %54, ptr addrspace(3) %11, align 4
  br label %55

55:
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %56 = icmp samesign ult i32 %6, 4
  br i1 %56, label %57, label %62

57:
  %58 = getelementptr inbounds nuw i8, ptr addrspace(3) %11, i32 16
  %59 = load float, ptr addrspace(3) %58, align 4
  %60 = load float, ptr addrspace(3) %11, align 4
  %61 = fadd float %59, %60
  store float %61, ptr addrspace(3) %11, align 4
  br label %62

62:
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %63 = icmp samesign ult i32 %6, 2
  br i1 %63, label %64, label %69

64:
  %65 = getelementptr inbounds nuw i8, ptr addrspace(3) %11, i32 8
  %66 = load float, ptr addrspace(3) %65, align 4
  %67 = load float, ptr addrspace(3) %11, align 4
  %68 = fadd float %66, %67
  store float %68, ptr addrspace(3) %11, align 4
  br label %69

69:
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %70 = icmp eq i32 %6, 0
  br i1 %70, label %71, label %76

71:
  %72 = load <2 x float>, ptr addrspace(3) %11, align 4
  %73 = extractelement <2 x float> %72, i64 0
  %74 = extractelement <2 x float> %72, i64 1
  %75 = fadd float %74, %73
  store float %75, ptr addrspace(3) %11, align 4
  br label %76

76:
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %77 = icmp eq i32 %6, 0
  br i1 %77, label %78, label %82

78:
  %79 = zext i32 %4 to i64
  %80 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %79
  %81 = load float, ptr addrspace(3) @reduce.s, align 4
  store float %81, ptr addrspace(1) %80, align 4
  br label %82

82:
  ret void
}

define protected amdgpu_kernel void @gemm(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef readonly align 4 captures(none) %1, ptr addrspace(1) noundef writeonly align 4 captures(none) %2, i32 noundef %3, i32 noundef %4, i32 noundef %5) local_unnamed_addr #2 {
  %7 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %8 = and i32 %7, 15
  %9 = lshr i32 %7, 4
  %10 = tail call i32 @llvm.amdgcn.workgroup.id.y()
  %11 = shl i32 %10, 4
  %12 = add i32 %11, %9
  %13 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %14 = shl i32 %13, 4
  %15 = or disjoint i32 %14, %8
  %16 = icmp sgt i32 %5, 0
  br i1 %16, label %17, label %57

17:
  %18 = icmp slt i32 %12, %3
  %19 = mul nsw i32 %5, %12
  %20 = add i32 %19, %8
  %21 = getelementptr inbounds nuw [17 x float], ptr addrspace(3) @gemm.as, i32 %9
  %22 = getelementptr inbounds nuw float, ptr addrspace(3) %21, i32 %8
  %23 = icmp slt i32 %15, %4
  %24 = getelementptr inbounds nuw [17 x float], ptr addrspace(3) @gemm.bs, i32 %9
  %25 = getelementptr inbounds nuw float, ptr addrspace(3) %24, i32 %8
  %26 = getelementptr inbounds nuw float, ptr addrspace(3) @gemm.bs, i32 %8
  %27 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 4
  %28 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 68
  %29 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 8
  %30 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 136
  %31 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 12
  %32 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 204
  %33 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 16
  %34 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 272
  %35 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 20
  %36 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 340
  %37 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 24
  %38 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 408
  %39 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 28
  %40 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 476
  %41 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 32
  %42 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 544
  %43 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 36
  %44 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 612
  %45 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 40
  %46 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 680
  %47 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 44
  %48 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 748
  %49 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 48
  %50 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 816
  %51 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 52
  %52 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 884
  %53 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 56
  %54 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 952
  %55 = getelementptr inbounds nuw i8, ptr addrspace(3) %21, i32 60
  %56 = getelementptr inbounds nuw i8, ptr addrspace(3) %26, i32 1020
  br label %62

57:
  %58 = phi float [ 0.000000e+00, %6 ], [ %133, %84 ]
  %59 = icmp slt i32 %12, %3
  %60 = icmp slt i32 %15, %4
  %61 = select i1 %59, i1 %60, i1 false
  br i1 %61, label %136, label %141

62:
  %63 = phi i32 [ 0, %17 ], [ %134, %84 ]
  %64 = phi float [ 0.000000e+00, %17 ], [ %133, %84 ]
  %65 = or disjoint i32 %63, %8
  %66 = icmp slt i32 %65, %5
  %67 = select i1 %18, i1 %66, i1 false
  br i1 %67, label %68, label %73

68:
  %69 = add i32 %20, %63
  %70 = sext i32 %69 to i64
  %71 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %70
  %72 = load float, ptr addrspace(1) %71, align 4
  br label %73

73:
  %74 = phi float [ %72, %68 ], [ 0.000000e+00, %62 ]
  store float %74, ptr addrspace(3) %22, align 4
  br i1 %23, label %75, label %84

75:
  %76 = add nuw nsw i32 %63, %9
  %77 = icmp slt i32 %76, %5
  br i1 %77, label %78, label %84

78:
  %79 = mul nsw i32 %76, %4
  %80 = add nsw i32 %79, %15
  %81 = sext i32 %80 to i64
  %82 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %81
  %83 = load float, ptr addrspace(1) %82, align 4
  br label %84

84:
  %85 = phi float [ %83, %78 ], [ 0.000000e+00, %75 ], [ 0.000000e+00, %73 ]
  store float %85, ptr addrspace(3) %25, align 4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %86 = load float, ptr addrspace(3) %21, align 4
  %87 = load float, ptr addrspace(3) %26, align 4
  %88 = tail call float @llvm.fmuladd.f32(float %86, float %87, float %64)
  %89 = load float, ptr addrspace(3) %27, align 4
  %90 = load float, ptr addrspace(3) %28, align 4
  %91 = tail call float @llvm.fmuladd.f32(float %89, float %90, float %88)
  %92 = load float, ptr addrspace(3) %29, align 4
  %93 = load float, ptr addrspace(3) %30, align 4
  %94 = tail call float @llvm.fmuladd.f32(float %92, float %93, float %91)
  %95 = load float, ptr addrspace(3) %31, align 4
  %96 = load float, ptr addrspace(3) %32, align 4
  %97 = tail call float @llvm.fmuladd.f32(float %95, float %96, float %94)
  %98 = load float, ptr addrspace(3) %33, align 4
  %99 = load float, ptr addrspace(3) %34, align 4
  %100 = tail call float @llvm.fmuladd.f32(float %98, float %99, float %97)
  %101 = load float, ptr addrspace(3) %35, align 4
  %102 = load float, ptr addrspace(3) %36, align 4
  %103 = tail call float @llvm.fmuladd.f32(float %101, float %102, float %100)
  %104 = load float, ptr addrspace(3) %37, align 4
  %105 = load float, ptr addrspace(3) %38, align 4
  %106 = tail call float @llvm.fmuladd.f32(float %104, float %105, float %103)
  %107 = load float, ptr addrspace(3) %39, align 4
  %108 = load float, ptr addrspace(3) %40, align 4
  %109 = tail call float @llvm.fmuladd.f32(float %107, float %108, float %106)
  %110 = load float, ptr addrspace(3) %41, align 4
  %111 = load float, ptr addrspace(3) %42, align 4
  %112 = tail call float @llvm.fmuladd.f32(float %110, float %111, float %109)
  %113 = load float, ptr addrspace(3) %43, align 4
  %114 = load float, ptr addrspace(3) %44, align 4
  %115 = tail call float @llvm.fmuladd.f32(float %113, float %114, float %112)
  %116 = load float, ptr addrspace(3) %45, align 4
  %117 = load float, ptr addrspace(3) %46, align 4
  %118 = tail call float @llvm.fmuladd.f32(float %116, float %117, float %115)
  %119 = load float, ptr addrspace(3) %47, align 4
  %120 = load float, ptr addrspace(3) %48, align 4
  %121 = tail call float @llvm.fmuladd.f32(float %119, float %120, float %118)
  %122 = load float, ptr addrspace(3) %49, align 4
  %123 = load float, ptr addrspace(3) %50, align 4
  %124 = tail call float @llvm.fmuladd.f32(float %122, float %123, float %121)
  %125 = load float, ptr addrspace(3) %51, align 4
  %126 = load float, ptr addrspace(3) %52, align 4
  %127 = tail call float @llvm.fmuladd.f32(float %125, float %126, float %124)
  %128 = load float, ptr addrspace(3) %53, align 4
  %129 = load float, ptr addrspace(3) %54, align 4
  %130 = tail call float @llvm.fmuladd.f32(float %128, float %129, float %127)
  %131 = load float, ptr addrspace(3) %55, align 4
  %132 = load float, ptr addrspace(3) %56, align 4
  %133 = tail call float @llvm.fmuladd.f32(float %131, float %132, float %130)
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %134 = add nuw nsw i32 %63, 16
  %135 = icmp slt i32 %134, %5
  br i1 %135, label %62, label %57

136:
  %137 = mul nsw i32 %4, %12
  %138 = add nsw i32 %137, %15
  %139 = sext i32 %138 to i64
  %140 = getelementptr inbounds float, ptr addrspace(1) %2, i64 %139
  store float %58, ptr addrspace(1) %140, align 4
  br label %141

141:
  ret void
}

define protected amdgpu_kernel void @softmax(ptr addrspace(1) noundef align 4 captures(none) %0, i32 noundef %1) local_unnamed_addr #3 {
  %3 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %4 = zext i32 %3 to i64
  %5 = sext i32 %1 to i64
  %6 = mul nsw i64 %5, %4
  %7 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %6
  %8 = icmp sgt i32 %1, 0
  br i1 %8, label %9, label %18

9:
  %10 = phi float [ %15, %9 ], [ 0xC6293E5940000000, %2 ]
  %11 = phi i32 [ %16, %9 ], [ 0, %2 ]
  %12 = zext nneg i32 %11 to i64
  %13 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %12
  %14 = load float, ptr addrspace(1) %13, align 4
  %15 = tail call float @llvm.maxnum.f32(float %10, float %14)
  %16 = add nuw nsw i32 %11, 1
  %17 = icmp eq i32 %16, %1
  br i1 %17, label %23, label %9

18:
  %19 = phi float [ 0.000000e+00, %2 ], [ %31, %23 ]
  %20 = tail call float @llvm.amdgcn.rcp.f32(float %19)
  %21 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %22 = icmp slt i32 %21, %1
  br i1 %22, label %34, label %42

23:
  %24 = phi i32 [ %32, %23 ], [ 0, %9 ]
  %25 = phi float [ %31, %23 ], [ 0.000000e+00, %9 ]
  %26 = zext nneg i32 %24 to i64
  %27 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %26
  %28 = load float, ptr addrspace(1) %27, align 4
  %29 = fsub float %28, %15
  %30 = tail call float @llvm.amdgcn.exp2.f32(float %29)
  store float %30, ptr addrspace(1) %27, align 4
  %31 = fadd float %25, %30
  %32 = add nuw nsw i32 %24, 1
  %33 = icmp eq i32 %32, %1
  br i1 %33, label %18, label %23

34:
  %35 = phi i32 [ %40, %34 ], [ %21, %18 ]
  %36 = zext nneg i32 %35 to i64
  %37 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %36
  %38 = load float, ptr addrspace(1) %37, align 4
  %39 = fmul float %20, %38
  store float %39, ptr addrspace(1) %37, align 4
  %40 = add nuw nsw i32 %35, 256
  %41 = icmp slt i32 %40, %1
  br i1 %41, label %34, label %42

42:
  ret void
}

define protected amdgpu_kernel void @divs(ptr addrspace(1) noundef align 4 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, ptr addrspace(1) noundef align 4 captures(none) %2) local_unnamed_addr #0 {
  %4 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 8
  %6 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %7 = add i32 %5, %6
  %8 = sext i32 %7 to i64
  %9 = getelementptr inbounds i32, ptr addrspace(1) %0, i64 %8
  %10 = load i32, ptr addrspace(1) %9, align 4
  %11 = getelementptr inbounds i32, ptr addrspace(1) %1, i64 %8
  %12 = load i32, ptr addrspace(1) %11, align 4
  %13 = sdiv i32 %10, %12
  store i32 %13, ptr addrspace(1) %9, align 4
  %14 = srem i32 %13, 7
  store i32 %14, ptr addrspace(1) %11, align 4
  %15 = getelementptr inbounds float, ptr addrspace(1) %2, i64 %8
  %16 = load <2 x float>, ptr addrspace(1) %15, align 4
  %17 = extractelement <2 x float> %16, i64 0
  %18 = extractelement <2 x float> %16, i64 1
  %19 = fdiv float %17, %18
  store float %19, ptr addrspace(1) %15, align 4
  ret void
}

define protected amdgpu_kernel void @halfs(ptr addrspace(1) noundef align 2 captures(none) %0, ptr addrspace(1) noundef align 2 captures(none) %1, i32 noundef %2) local_unnamed_addr #0 {
  %4 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 8
  %6 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %7 = add i32 %5, %6
  %8 = sext i32 %7 to i64
  %9 = getelementptr inbounds half, ptr addrspace(1) %0, i64 %8
  %10 = load half, ptr addrspace(1) %9, align 2
  %11 = getelementptr inbounds half, ptr addrspace(1) %1, i64 %8
  %12 = load half, ptr addrspace(1) %11, align 2
  %13 = tail call half @llvm.fmuladd.f16(half %10, half %12, half 0xH3E00)
  %14 = fcmp ogt half %13, %12
  %15 = fsub half %13, %10
  %16 = select i1 %14, half %15, half %13
  store half %16, ptr addrspace(1) %9, align 2
  %17 = fmul half %16, 0xH4000
  store half %17, ptr addrspace(1) %11, align 2
  ret void
}

define protected amdgpu_kernel void @hist(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #1 {
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %5 = getelementptr inbounds nuw i32, ptr addrspace(3) @hist.b, i32 %4
  store i32 0, ptr addrspace(3) %5, align 4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %6 = icmp slt i32 %4, %2
  br i1 %6, label %7, label %17

7:
  %8 = phi i32 [ %15, %7 ], [ %4, %3 ]
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %9
  %11 = load i32, ptr addrspace(1) %10, align 4
  %12 = and i32 %11, 255
  %13 = getelementptr inbounds nuw i32, ptr addrspace(3) @hist.b, i32 %12
  %14 = atomicrmw add ptr addrspace(3) %13, i32 1 syncscope("workgroup-one-as") monotonic, align 4
  %15 = add nuw nsw i32 %8, 256
  %16 = icmp slt i32 %15, %2
  br i1 %16, label %7, label %17

17:
  %18 = zext nneg i32 %4 to i64
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %19 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %18
  %20 = load i32, ptr addrspace(3) %5, align 4
  %21 = atomicrmw add ptr addrspace(1) %19, i32 %20 syncscope("agent-one-as") monotonic, align 4
  ret void
}

define protected amdgpu_kernel void @bytes(ptr addrspace(1) noundef readonly align 1 captures(none) %0, ptr addrspace(1) noundef align 2 captures(none) %1, ptr addrspace(1) noundef align 2 captures(none) %2, i32 noundef %3) local_unnamed_addr #3 {
  %5 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %6 = shl i32 %5, 8
  %7 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %8 = add i32 %6, %7
  %9 = sext i32 %8 to i64
  %10 = getelementptr inbounds i8, ptr addrspace(1) %0, i64 %9
  %11 = load i8, ptr addrspace(1) %10, align 1
  %12 = zext i8 %11 to i32
  %13 = getelementptr inbounds i16, ptr addrspace(1) %1, i64 %9
  %14 = load i16, ptr addrspace(1) %13, align 2
  %15 = zext i16 %14 to i32
  %16 = add nuw nsw i32 %15, %12
  %17 = getelementptr inbounds i16, ptr addrspace(1) %2, i64 %9
  %18 = load i16, ptr addrspace(1) %17, align 2
  %19 = sext i16 %18 to i32
  %20 = sub nsw i32 %16, %19
  %21 = icmp sgt i32 %3, 0
  br i1 %21, label %22, label %34

22:
  %23 = phi i32 [ %32, %22 ], [ 0, %4 ]
  %24 = phi i32 [ %31, %22 ], [ %20, %4 ]
  %25 = mul nsw i32 %24, 3
  %26 = add nsw i32 %23, %8
  %27 = sext i32 %26 to i64
  %28 = getelementptr inbounds i8, ptr addrspace(1) %0, i64 %27
  %29 = load i8, ptr addrspace(1) %28, align 1
  %30 = zext i8 %29 to i32
  %31 = add nsw i32 %25, %30
  %32 = add nuw nsw i32 %23, 1
  %33 = icmp eq i32 %32, %3
  br i1 %33, label %34, label %22

34:
  %35 = phi i32 [ %20, %4 ], [ %31, %22 ]
  %36 = trunc i32 %35 to i16
  store i16 %36, ptr addrspace(1) %13, align 2
  %37 = lshr i32 %35, 3
  %38 = trunc i32 %37 to i16
  store i16 %38, ptr addrspace(1) %17, align 2
  ret void
}

define protected amdgpu_kernel void @lanes(ptr addrspace(1) noundef align 4 captures(none) %0) local_unnamed_addr #4 {
  %2 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %3
  %5 = load i32, ptr addrspace(1) %4, align 4
  %6 = shl nuw nsw i32 %2, 2
  %7 = add nuw nsw i32 %6, 4
  %8 = and i32 %7, 124
  %9 = tail call i32 @llvm.amdgcn.ds.bpermute(i32 %8, i32 %5)
  %10 = add nsw i32 %9, %5
  %11 = tail call i32 @llvm.amdgcn.readfirstlane.i32(i32 %10)
  %12 = add nsw i32 %10, %11
  %13 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 %12, i32 %12, i32 273, i32 15, i32 15, i1 false)
  %14 = add nsw i32 %12, %13
  store i32 %14, ptr addrspace(1) %4, align 4
  ret void
}

define protected amdgpu_kernel void @wide(ptr addrspace(1) noundef readonly align 16 captures(none) %0, ptr addrspace(1) noundef align 16 captures(none) %1, ptr addrspace(1) noundef readnone align 8 captures(none) %2, i32 noundef %3) local_unnamed_addr #3 {
  %5 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %6 = shl i32 %5, 8
  %7 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %8 = add i32 %6, %7
  %9 = icmp sgt i32 %3, 0
  br i1 %9, label %10, label %24

10:
  %11 = phi <4 x float> [ %21, %10 ], [ zeroinitializer, %4 ]
  %12 = phi i32 [ %22, %10 ], [ 0, %4 ]
  %13 = mul nuw nsw i32 %12, %3
  %14 = add nsw i32 %13, %8
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds <4 x float>, ptr addrspace(1) %0, i64 %15
  %17 = load <4 x float>, ptr addrspace(1) %16, align 16
  %18 = zext nneg i32 %12 to i64
  %19 = getelementptr inbounds nuw <4 x float>, ptr addrspace(1) %1, i64 %18
  %20 = load <4 x float>, ptr addrspace(1) %19, align 16
  %21 = tail call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %17, <4 x float> %20, <4 x float> %11)
  %22 = add nuw nsw i32 %12, 1
  %23 = icmp eq i32 %22, %3
  br i1 %23, label %24, label %10

24:
  %25 = phi <4 x float> [ zeroinitializer, %4 ], [ %21, %10 ]
  %26 = sext i32 %8 to i64
  %27 = getelementptr inbounds <4 x float>, ptr addrspace(1) %1, i64 %26
  store <4 x float> %25, ptr addrspace(1) %27, align 16
  ret void
}

define protected amdgpu_kernel void @spill(ptr addrspace(1) noundef align 4 captures(none) %0, i32 noundef %1) local_unnamed_addr #3 {
  %3 = alloca [64 x float], align 4, addrspace(5)
  call void @llvm.lifetime.start.p5(ptr addrspace(5) %3) #11
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %5 = zext nneg i32 %4 to i64
  %6 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %5
  %7 = load float, ptr addrspace(1) %6, align 4
  store float %7, ptr addrspace(5) %3, align 4
  %8 = add i32 %1, %4
  %9 = zext i32 %8 to i64
  %10 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %9
  %11 = load float, ptr addrspace(1) %10, align 4
  %12 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 4
  store float %11, ptr addrspace(5) %12, align 4
  %13 = shl nsw i32 %1, 1
  %14 = add i32 %13, %4
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %15
  %17 = load float, ptr addrspace(1) %16, align 4
  %18 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 8
  store float %17, ptr addrspace(5) %18, align 4
  %19 = mul nsw i32 %1, 3
  %20 = add i32 %19, %4
  %21 = zext i32 %20 to i64
  %22 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %21
  %23 = load float, ptr addrspace(1) %22, align 4
  %24 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 12
  store float %23, ptr addrspace(5) %24, align 4
  %25 = shl nsw i32 %1, 2
  %26 = add i32 %25, %4
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %27
  %29 = load float, ptr addrspace(1) %28, align 4
  %30 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 16
  store float %29, ptr addrspace(5) %30, align 4
  %31 = mul nsw i32 %1, 5
  %32 = add i32 %31, %4
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %33
  %35 = load float, ptr addrspace(1) %34, align 4
  %36 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 20
  store float %35, ptr addrspace(5) %36, align 4
  %37 = mul nsw i32 %1, 6
  %38 = add i32 %37, %4
  %39 = zext i32 %38 to i64
  %40 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %39
  %41 = load float, ptr addrspace(1) %40, align 4
  %42 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 24
  store float %41, ptr addrspace(5) %42, align 4
  %43 = mul nsw i32 %1, 7
  %44 = add i32 %43, %4
  %45 = zext i32 %44 to i64
  %46 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %45
  %47 = load float, ptr addrspace(1) %46, align 4
  %48 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 28
  store float %47, ptr addrspace(5) %48, align 4
  %49 = shl nsw i32 %1, 3
  %50 = add i32 %49, %4
  %51 = zext i32 %50 to i64
  %52 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %51
  %53 = load float, ptr addrspace(1) %52, align 4
  %54 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 32
  store float %53, ptr addrspace(5) %54, align 4
  %55 = mul nsw i32 %1, 9
  %56 = add i32 %55, %4
  %57 = zext i32 %56 to i64
  %58 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %57
  %59 = load float, ptr addrspace(1) %58, align 4
  %60 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 36
  store float %59, ptr addrspace(5) %60, align 4
  %61 = mul nsw i32 %1, 10
  %62 = add i32 %61, %4
  %63 = zext i32 %62 to i64
  %64 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %63
  %65 = load float, ptr addrspace(1) %64, align 4
  %66 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 40
  store float %65, ptr addrspace(5) %66, align 4
  %67 = mul nsw i32 %1, 11
  %68 = add i32 %67, %4
  %69 = zext i32 %68 to i64
  %70 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %69
  %71 = load float, ptr addrspace(1) %70, align 4
  %72 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 44
  store float %71, ptr addrspace(5) %72, align 4
  %73 = mul nsw i32 %1, 12
  %74 = add i32 %73, %4
  %75 = zext i32 %74 to i64
  %76 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %75
  %77 = load float, ptr addrspace(1) %76, align 4
  %78 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 48
  store float %77, ptr addrspace(5) %78, align 4
  %79 = mul nsw i32 %1, 13
  %80 = add i32 %79, %4
  %81 = zext i32 %80 to i64
  %82 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %81
  %83 = load float, ptr addrspace(1) %82, align 4
  %84 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 52
  store float %83, ptr addrspace(5) %84, align 4
  %85 = mul nsw i32 %1, 14
  %86 = add i32 %85, %4
  %87 = zext i32 %86 to i64
  %88 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %87
  %89 = load float, ptr addrspace(1) %88, align 4
  %90 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 56
  store float %89, ptr addrspace(5) %90, align 4
  %91 = mul nsw i32 %1, 15
  %92 = add i32 %91, %4
  %93 = zext i32 %92 to i64
  %94 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %93
  %95 = load float, ptr addrspace(1) %94, align 4
  %96 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 60
  store float %95, ptr addrspace(5) %96, align 4
  %97 = shl nsw i32 %1, 4
  %98 = add i32 %97, %4
  %99 = zext i32 %98 to i64
  %100 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %99
  %101 = load float, ptr addrspace(1) %100, align 4
  %102 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 64
  store float %101, ptr addrspace(5) %102, align 4
  %103 = mul nsw i32 %1, 17
  %104 = add i32 %103, %4
  %105 = zext i32 %104 to i64
  %106 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %105
  %107 = load float, ptr addrspace(1) %106, align 4
  %108 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 68
  store float %107, ptr addrspace(5) %108, align 4
  %109 = mul nsw i32 %1, 18
  %110 = add i32 %109, %4
  %111 = zext i32 %110 to i64
  %112 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %111
  %113 = load float, ptr addrspace(1) %112, align 4
  %114 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 72
  store float %113, ptr addrspace(5) %114, align 4
  %115 = mul nsw i32 %1, 19
  %116 = add i32 %115, %4
  %117 = zext i32 %116 to i64
  %118 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %117
  %119 = load float, ptr addrspace(1) %118, align 4
  %120 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 76
  store float %119, ptr addrspace(5) %120, align 4
  %121 = mul nsw i32 %1, 20
  %122 = add i32 %121, %4
  %123 = zext i32 %122 to i64
  %124 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %123
  %125 = load float, ptr addrspace(1) %124, align 4
  %126 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 80
  store float %125, ptr addrspace(5) %126, align 4
  %127 = mul nsw i32 %1, 21
  %128 = add i32 %127, %4
  %129 = zext i32 %128 to i64
  %130 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %129
  %131 = load float, ptr addrspace(1) %130, align 4
  %132 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 84
  store float %131, ptr addrspace(5) %132, align 4
  %133 = mul nsw i32 %1, 22
  %134 = add i32 %133, %4
  %135 = zext i32 %134 to i64
  %136 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %135
  %137 = load float, ptr addrspace(1) %136, align 4
  %138 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 88
  store float %137, ptr addrspace(5) %138, align 4
  %139 = mul nsw i32 %1, 23
  %140 = add i32 %139, %4
  %141 = zext i32 %140 to i64
  %142 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %141
  %143 = load float, ptr addrspace(1) %142, align 4
  %144 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 92
  store float %143, ptr addrspace(5) %144, align 4
  %145 = mul nsw i32 %1, 24
  %146 = add i32 %145, %4
  %147 = zext i32 %146 to i64
  %148 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %147
  %149 = load float, ptr addrspace(1) %148, align 4
  %150 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 96
  store float %149, ptr addrspace(5) %150, align 4
  %151 = mul nsw i32 %1, 25
  %152 = add i32 %151, %4
  %153 = zext i32 %152 to i64
  %154 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %153
  %155 = load float, ptr addrspace(1) %154, align 4
  %156 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 100
  store float %155, ptr addrspace(5) %156, align 4
  %157 = mul nsw i32 %1, 26
  %158 = add i32 %157, %4
  %159 = zext i32 %158 to i64
  %160 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %159
  %161 = load float, ptr addrspace(1) %160, align 4
  %162 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 104
  store float %161, ptr addrspace(5) %162, align 4
  %163 = mul nsw i32 %1, 27
  %164 = add i32 %163, %4
  %165 = zext i32 %164 to i64
  %166 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %165
  %167 = load float, ptr addrspace(1) %166, align 4
  %168 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 108
  store float %167, ptr addrspace(5) %168, align 4
  %169 = mul nsw i32 %1, 28
  %170 = add i32 %169, %4
  %171 = zext i32 %170 to i64
  %172 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %171
  %173 = load float, ptr addrspace(1) %172, align 4
  %174 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 112
  store float %173, ptr addrspace(5) %174, align 4
  %175 = mul nsw i32 %1, 29
  %176 = add i32 %175, %4
  %177 = zext i32 %176 to i64
  %178 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %177
  %179 = load float, ptr addrspace(1) %178, align 4
  %180 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 116
  store float %179, ptr addrspace(5) %180, align 4
  %181 = mul nsw i32 %1, 30
  %182 = add i32 %181, %4
  %183 = zext i32 %182 to i64
  %184 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %183
  %185 = load float, ptr addrspace(1) %184, align 4
  %186 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 120
  store float %185, ptr addrspace(5) %186, align 4
  %187 = mul nsw i32 %1, 31
  %188 = add i32 %187, %4
  %189 = zext i32 %188 to i64
  %190 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %189
  %191 = load float, ptr addrspace(1) %190, align 4
  %192 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 124
  store float %191, ptr addrspace(5) %192, align 4
  %193 = shl nsw i32 %1, 5
  %194 = add i32 %193, %4
  %195 = zext i32 %194 to i64
  %196 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %195
  %197 = load float, ptr addrspace(1) %196, align 4
  %198 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 128
  store float %197, ptr addrspace(5) %198, align 4
  %199 = mul nsw i32 %1, 33
  %200 = add i32 %199, %4
  %201 = zext i32 %200 to i64
  %202 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %201
  %203 = load float, ptr addrspace(1) %202, align 4
  %204 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 132
  store float %203, ptr addrspace(5) %204, align 4
  %205 = mul nsw i32 %1, 34
  %206 = add i32 %205, %4
  %207 = zext i32 %206 to i64
  %208 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %207
  %209 = load float, ptr addrspace(1) %208, align 4
  %210 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 136
  store float %209, ptr addrspace(5) %210, align 4
  %211 = mul nsw i32 %1, 35
  %212 = add i32 %211, %4
  %213 = zext i32 %212 to i64
  %214 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %213
  %215 = load float, ptr addrspace(1) %214, align 4
  %216 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 140
  store float %215, ptr addrspace(5) %216, align 4
  %217 = mul nsw i32 %1, 36
  %218 = add i32 %217, %4
  %219 = zext i32 %218 to i64
  %220 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %219
  %221 = load float, ptr addrspace(1) %220, align 4
  %222 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 144
  store float %221, ptr addrspace(5) %222, align 4
  %223 = mul nsw i32 %1, 37
  %224 = add i32 %223, %4
  %225 = zext i32 %224 to i64
  %226 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %225
  %227 = load float, ptr addrspace(1) %226, align 4
  %228 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 148
  store float %227, ptr addrspace(5) %228, align 4
  %229 = mul nsw i32 %1, 38
  %230 = add i32 %229, %4
  %231 = zext i32 %230 to i64
  %232 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %231
  %233 = load float, ptr addrspace(1) %232, align 4
  %234 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 152
  store float %233, ptr addrspace(5) %234, align 4
  %235 = mul nsw i32 %1, 39
  %236 = add i32 %235, %4
  %237 = zext i32 %236 to i64
  %238 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %237
  %239 = load float, ptr addrspace(1) %238, align 4
  %240 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 156
  store float %239, ptr addrspace(5) %240, align 4
  %241 = mul nsw i32 %1, 40
  %242 = add i32 %241, %4
  %243 = zext i32 %242 to i64
  %244 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %243
  %245 = load float, ptr addrspace(1) %244, align 4
  %246 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 160
  store float %245, ptr addrspace(5) %246, align 4
  %247 = mul nsw i32 %1, 41
  %248 = add i32 %247, %4
  %249 = zext i32 %248 to i64
  %250 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %249
  %251 = load float, ptr addrspace(1) %250, align 4
  %252 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 164
  store float %251, ptr addrspace(5) %252, align 4
  %253 = mul nsw i32 %1, 42
  %254 = add i32 %253, %4
  %255 = zext i32 %254 to i64
  %256 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %255
  %257 = load float, ptr addrspace(1) %256, align 4
  %258 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 168
  store float %257, ptr addrspace(5) %258, align 4
  %259 = mul nsw i32 %1, 43
  %260 = add i32 %259, %4
  %261 = zext i32 %260 to i64
  %262 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %261
  %263 = load float, ptr addrspace(1) %262, align 4
  %264 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 172
  store float %263, ptr addrspace(5) %264, align 4
  %265 = mul nsw i32 %1, 44
  %266 = add i32 %265, %4
  %267 = zext i32 %266 to i64
  %268 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %267
  %269 = load float, ptr addrspace(1) %268, align 4
  %270 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 176
  store float %269, ptr addrspace(5) %270, align 4
  %271 = mul nsw i32 %1, 45
  %272 = add i32 %271, %4
  %273 = zext i32 %272 to i64
  %274 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %273
  %275 = load float, ptr addrspace(1) %274, align 4
  %276 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 180
  store float %275, ptr addrspace(5) %276, align 4
  %277 = mul nsw i32 %1, 46
  %278 = add i32 %277, %4
  %279 = zext i32 %278 to i64
  %280 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %279
  %281 = load float, ptr addrspace(1) %280, align 4
  %282 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 184
  store float %281, ptr addrspace(5) %282, align 4
  %283 = mul nsw i32 %1, 47
  %284 = add i32 %283, %4
  %285 = zext i32 %284 to i64
  %286 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %285
  %287 = load float, ptr addrspace(1) %286, align 4
  %288 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 188
  store float %287, ptr addrspace(5) %288, align 4
  %289 = mul nsw i32 %1, 48
  %290 = add i32 %289, %4
  %291 = zext i32 %290 to i64
  %292 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %291
  %293 = load float, ptr addrspace(1) %292, align 4
  %294 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 192
  store float %293, ptr addrspace(5) %294, align 4
  %295 = mul nsw i32 %1, 49
  %296 = add i32 %295, %4
  %297 = zext i32 %296 to i64
  %298 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %297
  %299 = load float, ptr addrspace(1) %298, align 4
  %300 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 196
  store float %299, ptr addrspace(5) %300, align 4
  %301 = mul nsw i32 %1, 50
  %302 = add i32 %301, %4
  %303 = zext i32 %302 to i64
  %304 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %303
  %305 = load float, ptr addrspace(1) %304, align 4
  %306 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 200
  store float %305, ptr addrspace(5) %306, align 4
  %307 = mul nsw i32 %1, 51
  %308 = add i32 %307, %4
  %309 = zext i32 %308 to i64
  %310 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %309
  %311 = load float, ptr addrspace(1) %310, align 4
  %312 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 204
  store float %311, ptr addrspace(5) %312, align 4
  %313 = mul nsw i32 %1, 52
  %314 = add i32 %313, %4
  %315 = zext i32 %314 to i64
  %316 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %315
  %317 = load float, ptr addrspace(1) %316, align 4
  %318 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 208
  store float %317, ptr addrspace(5) %318, align 4
  %319 = mul nsw i32 %1, 53
  %320 = add i32 %319, %4
  %321 = zext i32 %320 to i64
  %322 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %321
  %323 = load float, ptr addrspace(1) %322, align 4
  %324 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 212
  store float %323, ptr addrspace(5) %324, align 4
  %325 = mul nsw i32 %1, 54
  %326 = add i32 %325, %4
  %327 = zext i32 %326 to i64
  %328 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %327
  %329 = load float, ptr addrspace(1) %328, align 4
  %330 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 216
  store float %329, ptr addrspace(5) %330, align 4
  %331 = mul nsw i32 %1, 55
  %332 = add i32 %331, %4
  %333 = zext i32 %332 to i64
  %334 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %333
  %335 = load float, ptr addrspace(1) %334, align 4
  %336 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 220
  store float %335, ptr addrspace(5) %336, align 4
  %337 = mul nsw i32 %1, 56
  %338 = add i32 %337, %4
  %339 = zext i32 %338 to i64
  %340 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %339
  %341 = load float, ptr addrspace(1) %340, align 4
  %342 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 224
  store float %341, ptr addrspace(5) %342, align 4
  %343 = mul nsw i32 %1, 57
  %344 = add i32 %343, %4
  %345 = zext i32 %344 to i64
  %346 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %345
  %347 = load float, ptr addrspace(1) %346, align 4
  %348 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 228
  store float %347, ptr addrspace(5) %348, align 4
  %349 = mul nsw i32 %1, 58
  %350 = add i32 %349, %4
  %351 = zext i32 %350 to i64
  %352 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %351
  %353 = load float, ptr addrspace(1) %352, align 4
  %354 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 232
  store float %353, ptr addrspace(5) %354, align 4
  %355 = mul nsw i32 %1, 59
  %356 = add i32 %355, %4
  %357 = zext i32 %356 to i64
  %358 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %357
  %359 = load float, ptr addrspace(1) %358, align 4
  %360 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 236
  store float %359, ptr addrspace(5) %360, align 4
  %361 = mul nsw i32 %1, 60
  %362 = add i32 %361, %4
  %363 = zext i32 %362 to i64
  %364 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %363
  %365 = load float, ptr addrspace(1) %364, align 4
  %366 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 240
  store float %365, ptr addrspace(5) %366, align 4
  %367 = mul nsw i32 %1, 61
  %368 = add i32 %367, %4
  %369 = zext i32 %368 to i64
  %370 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %369
  %371 = load float, ptr addrspace(1) %370, align 4
  %372 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 244
  store float %371, ptr addrspace(5) %372, align 4
  %373 = mul nsw i32 %1, 62
  %374 = add i32 %373, %4
  %375 = zext i32 %374 to i64
  %376 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %375
  %377 = load float, ptr addrspace(1) %376, align 4
  %378 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 248
  store float %377, ptr addrspace(5) %378, align 4
  %379 = mul nsw i32 %1, 63
  %380 = add i32 %379, %4
  %381 = zext i32 %380 to i64
  %382 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %381
  %383 = load float, ptr addrspace(1) %382, align 4
  %384 = getelementptr inbounds nuw i8, ptr addrspace(5) %3, i32 252
  store float %383, ptr addrspace(5) %384, align 4
  %385 = icmp sgt i32 %1, 0
  br i1 %385, label %386, label %520

386:
  %387 = phi float [ %516, %386 ], [ %383, %2 ]
  %388 = phi float [ %515, %386 ], [ %377, %2 ]
  %389 = phi float [ %514, %386 ], [ %371, %2 ]
  %390 = phi float [ %513, %386 ], [ %365, %2 ]
  %391 = phi float [ %512, %386 ], [ %359, %2 ]
  %392 = phi float [ %511, %386 ], [ %353, %2 ]
  %393 = phi float [ %510, %386 ], [ %347, %2 ]
  %394 = phi float [ %509, %386 ], [ %341, %2 ]
  %395 = phi float [ %508, %386 ], [ %335, %2 ]
  %396 = phi float [ %507, %386 ], [ %329, %2 ]
  %397 = phi float [ %506, %386 ], [ %323, %2 ]
  %398 = phi float [ %505, %386 ], [ %317, %2 ]
  %399 = phi float [ %504, %386 ], [ %311, %2 ]
  %400 = phi float [ %503, %386 ], [ %305, %2 ]
  %401 = phi float [ %502, %386 ], [ %299, %2 ]
  %402 = phi float [ %501, %386 ], [ %293, %2 ]
  %403 = phi float [ %500, %386 ], [ %287, %2 ]
  %404 = phi float [ %499, %386 ], [ %281, %2 ]
  %405 = phi float [ %498, %386 ], [ %275, %2 ]
  %406 = phi float [ %497, %386 ], [ %269, %2 ]
  %407 = phi float [ %496, %386 ], [ %263, %2 ]
  %408 = phi float [ %495, %386 ], [ %257, %2 ]
  %409 = phi float [ %494, %386 ], [ %251, %2 ]
  %410 = phi float [ %493, %386 ], [ %245, %2 ]
  %411 = phi float [ %492, %386 ], [ %239, %2 ]
  %412 = phi float [ %491, %386 ], [ %233, %2 ]
  %413 = phi float [ %490, %386 ], [ %227, %2 ]
  %414 = phi float [ %489, %386 ], [ %221, %2 ]
  %415 = phi float [ %488, %386 ], [ %215, %2 ]
  %416 = phi float [ %487, %386 ], [ %209, %2 ]
  %417 = phi float [ %486, %386 ], [ %203, %2 ]
  %418 = phi float [ %485, %386 ], [ %197, %2 ]
  %419 = phi float [ %484, %386 ], [ %191, %2 ]
  %420 = phi float [ %483, %386 ], [ %185, %2 ]
  %421 = phi float [ %482, %386 ], [ %179, %2 ]
  %422 = phi float [ %481, %386 ], [ %173, %2 ]
  %423 = phi float [ %480, %386 ], [ %167, %2 ]
  %424 = phi float [ %479, %386 ], [ %161, %2 ]
  %425 = phi float [ %478, %386 ], [ %155, %2 ]
  %426 = phi float [ %477, %386 ], [ %149, %2 ]
  %427 = phi float [ %476, %386 ], [ %143, %2 ]
  %428 = phi float [ %475, %386 ], [ %137, %2 ]
  %429 = phi float [ %474, %386 ], [ %131, %2 ]
  %430 = phi float [ %473, %386 ], [ %125, %2 ]
  %431 = phi float [ %472, %386 ], [ %119, %2 ]
  %432 = phi float [ %471, %386 ], [ %113, %2 ]
  %433 = phi float [ %470, %386 ], [ %107, %2 ]
  %434 = phi float [ %469, %386 ], [ %101, %2 ]
  %435 = phi float [ %468, %386 ], [ %95, %2 ]
  %436 = phi float [ %467, %386 ], [ %89, %2 ]
  %437 = phi float [ %466, %386 ], [ %83, %2 ]
  %438 = phi float [ %465, %386 ], [ %77, %2 ]
  %439 = phi float [ %464, %386 ], [ %71, %2 ]
  %440 = phi float [ %463, %386 ], [ %65, %2 ]
  %441 = phi float [ %462, %386 ], [ %59, %2 ]
  %442 = phi float [ %461, %386 ], [ %53, %2 ]
  %443 = phi float [ %460, %386 ], [ %47, %2 ]
  %444 = phi float [ %459, %386 ], [ %41, %2 ]
  %445 = phi float [ %458, %386 ], [ %35, %2 ]
  %446 = phi float [ %457, %386 ], [ %29, %2 ]
  %447 = phi float [ %456, %386 ], [ %23, %2 ]
  %448 = phi float [ %455, %386 ], [ %17, %2 ]
  %449 = phi float [ %454, %386 ], [ %11, %2 ]
  %450 = phi float [ %453, %386 ], [ %7, %2 ]
  %451 = phi i32 [ %517, %386 ], [ 0, %2 ]
  %452 = uitofp nneg i32 %451 to float
  %453 = tail call float @llvm.fmuladd.f32(float %449, float %450, float %452)
  %454 = tail call float @llvm.fmuladd.f32(float %448, float %449, float %452)
  %455 = tail call float @llvm.fmuladd.f32(float %447, float %448, float %452)
  %456 = tail call float @llvm.fmuladd.f32(float %446, float %447, float %452)
  %457 = tail call float @llvm.fmuladd.f32(float %445, float %446, float %452)
  %458 = tail call float @llvm.fmuladd.f32(float %444, float %445, float %452)
  %459 = tail call float @llvm.fmuladd.f32(float %443, float %444, float %452)
  %460 = tail call float @llvm.fmuladd.f32(float %442, float %443, float %452)
  %461 = tail call float @llvm.fmuladd.f32(float %441, float %442, float %452)
  %462 = tail call float @llvm.fmuladd.f32(float %440, float %441, float %452)
  %463 = tail call float @llvm.fmuladd.f32(float %439, float %440, float %452)
  %464 = tail call float @llvm.fmuladd.f32(float %438, float %439, float %452)
  %465 = tail call float @llvm.fmuladd.f32(float %437, float %438, float %452)
  %466 = tail call float @llvm.fmuladd.f32(float %436, float %437, float %452)
  %467 = tail call float @llvm.fmuladd.f32(float %435, float %436, float %452)
  %468 = tail call float @llvm.fmuladd.f32(float %434, float %435, float %452)
  %469 = tail call float @llvm.fmuladd.f32(float %433, float %434, float %452)
  %470 = tail call float @llvm.fmuladd.f32(float %432, float %433, float %452)
  %471 = tail call float @llvm.fmuladd.f32(float %431, float %432, float %452)
  %472 = tail call float @llvm.fmuladd.f32(float %430, float %431, float %452)
  %473 = tail call float @llvm.fmuladd.f32(float %429, float %430, float %452)
  %474 = tail call float @llvm.fmuladd.f32(float %428, float %429, float %452)
  %475 = tail call float @llvm.fmuladd.f32(float %427, float %428, float %452)
  %476 = tail call float @llvm.fmuladd.f32(float %426, float %427, float %452)
  %477 = tail call float @llvm.fmuladd.f32(float %425, float %426, float %452)
  %478 = tail call float @llvm.fmuladd.f32(float %424, float %425, float %452)
  %479 = tail call float @llvm.fmuladd.f32(float %423, float %424, float %452)
  %480 = tail call float @llvm.fmuladd.f32(float %422, float %423, float %452)
  %481 = tail call float @llvm.fmuladd.f32(float %421, float %422, float %452)
  %482 = tail call float @llvm.fmuladd.f32(float %420, float %421, float %452)
  %483 = tail call float @llvm.fmuladd.f32(float %419, float %420, float %452)
  %484 = tail call float @llvm.fmuladd.f32(float %418, float %419, float %452)
  %485 = tail call float @llvm.fmuladd.f32(float %417, float %418, float %452)
  %486 = tail call float @llvm.fmuladd.f32(float %416, float %417, float %452)
  %487 = tail call float @llvm.fmuladd.f32(float %415, float %416, float %452)
  %488 = tail call float @llvm.fmuladd.f32(float %414, float %415, float %452)
  %489 = tail call float @llvm.fmuladd.f32(float %413, float %414, float %452)
  %490 = tail call float @llvm.fmuladd.f32(float %412, float %413, float %452)
  %491 = tail call float @llvm.fmuladd.f32(float %411, float %412, float %452)
  %492 = tail call float @llvm.fmuladd.f32(float %410, float %411, float %452)
  %493 = tail call float @llvm.fmuladd.f32(float %409, float %410, float %452)
  %494 = tail call float @llvm.fmuladd.f32(float %408, float %409, float %452)
  %495 = tail call float @llvm.fmuladd.f32(float %407, float %408, float %452)
  %496 = tail call float @llvm.fmuladd.f32(float %406, float %407, float %452)
  %497 = tail call float @llvm.fmuladd.f32(float %405, float %406, float %452)
  %498 = tail call float @llvm.fmuladd.f32(float %404, float %405, float %452)
  %499 = tail call float @llvm.fmuladd.f32(float %403, float %404, float %452)
  %500 = tail call float @llvm.fmuladd.f32(float %402, float %403, float %452)
  %501 = tail call float @llvm.fmuladd.f32(float %401, float %402, float %452)
  %502 = tail call float @llvm.fmuladd.f32(float %400, float %401, float %452)
  %503 = tail call float @llvm.fmuladd.f32(float %399, float %400, float %452)
  %504 = tail call float @llvm.fmuladd.f32(float %398, float %399, float %452)
  %505 = tail call float @llvm.fmuladd.f32(float %397, float %398, float %452)
  %506 = tail call float @llvm.fmuladd.f32(float %396, float %397, float %452)
  %507 = tail call float @llvm.fmuladd.f32(float %395, float %396, float %452)
  %508 = tail call float @llvm.fmuladd.f32(float %394, float %395, float %452)
  %509 = tail call float @llvm.fmuladd.f32(float %393, float %394, float %452)
  %510 = tail call float @llvm.fmuladd.f32(float %392, float %393, float %452)
  %511 = tail call float @llvm.fmuladd.f32(float %391, float %392, float %452)
  %512 = tail call float @llvm.fmuladd.f32(float %390, float %391, float %452)
  %513 = tail call float @llvm.fmuladd.f32(float %389, float %390, float %452)
  %514 = tail call float @llvm.fmuladd.f32(float %388, float %389, float %452)
  %515 = tail call float @llvm.fmuladd.f32(float %387, float %388, float %452)
  %516 = tail call float @llvm.fmuladd.f32(float %453, float %387, float %452)
  %517 = add nuw nsw i32 %451, 1
  %518 = icmp eq i32 %517, %1
  br i1 %518, label %519, label %386

519:
  store float %453, ptr addrspace(5) %3, align 4
  store float %454, ptr addrspace(5) %12, align 4
  store float %455, ptr addrspace(5) %18, align 4
  store float %456, ptr addrspace(5) %24, align 4
  store float %457, ptr addrspace(5) %30, align 4
  store float %458, ptr addrspace(5) %36, align 4
  store float %459, ptr addrspace(5) %42, align 4
  store float %460, ptr addrspace(5) %48, align 4
  store float %461, ptr addrspace(5) %54, align 4
  store float %462, ptr addrspace(5) %60, align 4
  store float %463, ptr addrspace(5) %66, align 4
  store float %464, ptr addrspace(5) %72, align 4
  store float %465, ptr addrspace(5) %78, align 4
  store float %466, ptr addrspace(5) %84, align 4
  store float %467, ptr addrspace(5) %90, align 4
  store float %468, ptr addrspace(5) %96, align 4
  store float %469, ptr addrspace(5) %102, align 4
  store float %470, ptr addrspace(5) %108, align 4
  store float %471, ptr addrspace(5) %114, align 4
  store float %472, ptr addrspace(5) %120, align 4
  store float %473, ptr addrspace(5) %126, align 4
  store float %474, ptr addrspace(5) %132, align 4
  store float %475, ptr addrspace(5) %138, align 4
  store float %476, ptr addrspace(5) %144, align 4
  store float %477, ptr addrspace(5) %150, align 4
  store float %478, ptr addrspace(5) %156, align 4
  store float %479, ptr addrspace(5) %162, align 4
  store float %480, ptr addrspace(5) %168, align 4
  store float %481, ptr addrspace(5) %174, align 4
  store float %482, ptr addrspace(5) %180, align 4
  store float %483, ptr addrspace(5) %186, align 4
  store float %484, ptr addrspace(5) %192, align 4
  store float %485, ptr addrspace(5) %198, align 4
  store float %486, ptr addrspace(5) %204, align 4
  store float %487, ptr addrspace(5) %210, align 4
  store float %488, ptr addrspace(5) %216, align 4
  store float %489, ptr addrspace(5) %222, align 4
  store float %490, ptr addrspace(5) %228, align 4
  store float %491, ptr addrspace(5) %234, align 4
  store float %492, ptr addrspace(5) %240, align 4
  store float %493, ptr addrspace(5) %246, align 4
  store float %494, ptr addrspace(5) %252, align 4
  store float %495, ptr addrspace(5) %258, align 4
  store float %496, ptr addrspace(5) %264, align 4
  store float %497, ptr addrspace(5) %270, align 4
  store float %498, ptr addrspace(5) %276, align 4
  store float %499, ptr addrspace(5) %282, align 4
  store float %500, ptr addrspace(5) %288, align 4
  store float %501, ptr addrspace(5) %294, align 4
  store float %502, ptr addrspace(5) %300, align 4
  store float %503, ptr addrspace(5) %306, align 4
  store float %504, ptr addrspace(5) %312, align 4
  store float %505, ptr addrspace(5) %318, align 4
  store float %506, ptr addrspace(5) %324, align 4
  store float %507, ptr addrspace(5) %330, align 4
  store float %508, ptr addrspace(5) %336, align 4
  store float %509, ptr addrspace(5) %342, align 4
  store float %510, ptr addrspace(5) %348, align 4
  store float %511, ptr addrspace(5) %354, align 4
  store float %512, ptr addrspace(5) %360, align 4
  store float %513, ptr addrspace(5) %366, align 4
  store float %514, ptr addrspace(5) %372, align 4
  store float %515, ptr addrspace(5) %378, align 4
  store float %516, ptr addrspace(5) %384, align 4
  br label %520

520:
  %521 = phi float [ %516, %519 ], [ %383, %2 ]
  %522 = phi float [ %515, %519 ], [ %377, %2 ]
  %523 = phi float [ %514, %519 ], [ %371, %2 ]
  %524 = phi float [ %513, %519 ], [ %365, %2 ]
  %525 = phi float [ %512, %519 ], [ %359, %2 ]
  %526 = phi float [ %511, %519 ], [ %353, %2 ]
  %527 = phi float [ %510, %519 ], [ %347, %2 ]
  %528 = phi float [ %509, %519 ], [ %341, %2 ]
  %529 = phi float [ %508, %519 ], [ %335, %2 ]
  %530 = phi float [ %507, %519 ], [ %329, %2 ]
  %531 = phi float [ %506, %519 ], [ %323, %2 ]
  %532 = phi float [ %505, %519 ], [ %317, %2 ]
  %533 = phi float [ %504, %519 ], [ %311, %2 ]
  %534 = phi float [ %503, %519 ], [ %305, %2 ]
  %535 = phi float [ %502, %519 ], [ %299, %2 ]
  %536 = phi float [ %501, %519 ], [ %293, %2 ]
  %537 = phi float [ %500, %519 ], [ %287, %2 ]
  %538 = phi float [ %499, %519 ], [ %281, %2 ]
  %539 = phi float [ %498, %519 ], [ %275, %2 ]
  %540 = phi float [ %497, %519 ], [ %269, %2 ]
  %541 = phi float [ %496, %519 ], [ %263, %2 ]
  %542 = phi float [ %495, %519 ], [ %257, %2 ]
  %543 = phi float [ %494, %519 ], [ %251, %2 ]
  %544 = phi float [ %493, %519 ], [ %245, %2 ]
  %545 = phi float [ %492, %519 ], [ %239, %2 ]
  %546 = phi float [ %491, %519 ], [ %233, %2 ]
  %547 = phi float [ %490, %519 ], [ %227, %2 ]
  %548 = phi float [ %489, %519 ], [ %221, %2 ]
  %549 = phi float [ %488, %519 ], [ %215, %2 ]
  %550 = phi float [ %487, %519 ], [ %209, %2 ]
  %551 = phi float [ %486, %519 ], [ %203, %2 ]
  %552 = phi float [ %485, %519 ], [ %197, %2 ]
  %553 = phi float [ %484, %519 ], [ %191, %2 ]
  %554 = phi float [ %483, %519 ], [ %185, %2 ]
  %555 = phi float [ %482, %519 ], [ %179, %2 ]
  %556 = phi float [ %481, %519 ], [ %173, %2 ]
  %557 = phi float [ %480, %519 ], [ %167, %2 ]
  %558 = phi float [ %479, %519 ], [ %161, %2 ]
  %559 = phi float [ %478, %519 ], [ %155, %2 ]
  %560 = phi float [ %477, %519 ], [ %149, %2 ]
  %561 = phi float [ %476, %519 ], [ %143, %2 ]
  %562 = phi float [ %475, %519 ], [ %137, %2 ]
  %563 = phi float [ %474, %519 ], [ %131, %2 ]
  %564 = phi float [ %473, %519 ], [ %125, %2 ]
  %565 = phi float [ %472, %519 ], [ %119, %2 ]
  %566 = phi float [ %471, %519 ], [ %113, %2 ]
  %567 = phi float [ %470, %519 ], [ %107, %2 ]
  %568 = phi float [ %469, %519 ], [ %101, %2 ]
  %569 = phi float [ %468, %519 ], [ %95, %2 ]
  %570 = phi float [ %467, %519 ], [ %89, %2 ]
  %571 = phi float [ %466, %519 ], [ %83, %2 ]
  %572 = phi float [ %465, %519 ], [ %77, %2 ]
  %573 = phi float [ %464, %519 ], [ %71, %2 ]
  %574 = phi float [ %463, %519 ], [ %65, %2 ]
  %575 = phi float [ %462, %519 ], [ %59, %2 ]
  %576 = phi float [ %461, %519 ], [ %53, %2 ]
  %577 = phi float [ %460, %519 ], [ %47, %2 ]
  %578 = phi float [ %459, %519 ], [ %41, %2 ]
  %579 = phi float [ %458, %519 ], [ %35, %2 ]
  %580 = phi float [ %457, %519 ], [ %29, %2 ]
  %581 = phi float [ %456, %519 ], [ %23, %2 ]
  %582 = phi float [ %455, %519 ], [ %17, %2 ]
  %583 = phi float [ %454, %519 ], [ %11, %2 ]
  %584 = phi float [ %453, %519 ], [ %7, %2 ]
  %585 = and i32 %1, 63
  %586 = getelementptr inbounds nuw float, ptr addrspace(5) %3, i32 %585
  %587 = load float, ptr addrspace(5) %586, align 4
  %588 = fadd float %587, %584
  %589 = fadd float %588, %583
  %590 = fadd float %589, %582
  %591 = fadd float %590, %581
  %592 = fadd float %591, %580
  %593 = fadd float %592, %579
  %594 = fadd float %593, %578
  %595 = fadd float %594, %577
  %596 = fadd float %595, %576
  %597 = fadd float %596, %575
  %598 = fadd float %597, %574
  %599 = fadd float %598, %573
  %600 = fadd float %599, %572
  %601 = fadd float %600, %571
  %602 = fadd float %601, %570
  %603 = fadd float %602, %569
  %604 = fadd float %603, %568
  %605 = fadd float %604, %567
  %606 = fadd float %605, %566
  %607 = fadd float %606, %565
  %608 = fadd float %607, %564
  %609 = fadd float %608, %563
  %610 = fadd float %609, %562
  %611 = fadd float %610, %561
  %612 = fadd float %611, %560
  %613 = fadd float %612, %559
  %614 = fadd float %613, %558
  %615 = fadd float %614, %557
  %616 = fadd float %615, %556
  %617 = fadd float %616, %555
  %618 = fadd float %617, %554
  %619 = fadd float %618, %553
  %620 = fadd float %619, %552
  %621 = fadd float %620, %551
  %622 = fadd float %621, %550
  %623 = fadd float %622, %549
  %624 = fadd float %623, %548
  %625 = fadd float %624, %547
  %626 = fadd float %625, %546
  %627 = fadd float %626, %545
  %628 = fadd float %627, %544
  %629 = fadd float %628, %543
  %630 = fadd float %629, %542
  %631 = fadd float %630, %541
  %632 = fadd float %631, %540
  %633 = fadd float %632, %539
  %634 = fadd float %633, %538
  %635 = fadd float %634, %537
  %636 = fadd float %635, %536
  %637 = fadd float %636, %535
  %638 = fadd float %637, %534
  %639 = fadd float %638, %533
  %640 = fadd float %639, %532
  %641 = fadd float %640, %531
  %642 = fadd float %641, %530
  %643 = fadd float %642, %529
  %644 = fadd float %643, %528
  %645 = fadd float %644, %527
  %646 = fadd float %645, %526
  %647 = fadd float %646, %525
  %648 = fadd float %647, %524
  %649 = fadd float %648, %523
  %650 = fadd float %649, %522
  %651 = fadd float %650, %521
  store float %651, ptr addrspace(1) %6, align 4
  call void @llvm.lifetime.end.p5(ptr addrspace(5) %3) #11
  ret void
}

declare void @llvm.lifetime.start.p5(ptr addrspace(5) captures(none)) #5

declare noundef i32 @llvm.amdgcn.workgroup.id.x() #6

declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #6

declare float @llvm.fmuladd.f32(float, float, float) #7

declare void @llvm.lifetime.end.p5(ptr addrspace(5) captures(none)) #5

declare void @llvm.amdgcn.s.barrier() #8

declare noundef i32 @llvm.amdgcn.workgroup.id.y() #6

declare float @llvm.maxnum.f32(float, float) #7

declare float @llvm.amdgcn.exp2.f32(float) #7

declare float @llvm.amdgcn.rcp.f32(float) #7

declare half @llvm.fmuladd.f16(half, half, half) #7

declare i32 @llvm.amdgcn.ds.bpermute(i32, i32) #9

declare i32 @llvm.amdgcn.readfirstlane.i32(i32) #10

declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32 immarg, i32 immarg, i32 immarg, i1 immarg) #9

declare <4 x float> @llvm.fmuladd.v4f32(<4 x float>, <4 x float>, <4 x float>) #7

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) "amdgpu-flat-work-group-size"="1,256" }
attributes #1 = { convergent nofree norecurse nounwind "amdgpu-flat-work-group-size"="1,256" }
attributes #2 = { convergent nofree norecurse nounwind "amdgpu-flat-work-group-size"="1,256" }
attributes #3 = { nofree norecurse nosync nounwind memory(argmem: readwrite) "amdgpu-flat-work-group-size"="1,256" }
attributes #4 = { convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite) "amdgpu-flat-work-group-size"="1,256" }
attributes #5 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #6 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #8 = { convergent nocallback nofree nounwind willreturn }
attributes #9 = { convergent nocallback nofree nounwind willreturn memory(none) }
attributes #10 = { convergent nocallback nocreateundeforpoison nofree nounwind willreturn memory(none) }
attributes #11 = { nounwind }

!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
