// SPDX-License-Identifier: MIT
// Source of kernels.ll; see README.md.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define K __attribute__((amdgpu_flat_work_group_size(1,256))) kernel
typedef unsigned uint;
uint __attribute__((const)) __builtin_amdgcn_workitem_id_x(void);
#define TID __builtin_amdgcn_workitem_id_x()
#define WG __builtin_amdgcn_workgroup_id_x()
#define WGY __builtin_amdgcn_workgroup_id_y()
#define BAR __builtin_amdgcn_fence(__ATOMIC_RELEASE,"workgroup");__builtin_amdgcn_s_barrier();__builtin_amdgcn_fence(__ATOMIC_ACQUIRE,"workgroup")
K void saxpy(global float*x, global float*y, float a, int n){ int i=WG*256+TID; if(i<n) y[i]=a*x[i]+y[i]; }
K void reduce(global const float*x, global float*y, int n){ local float s[256]; float v=0; for(int i=WG*256+TID;i<n;i+=4096) v+=x[i]; s[TID]=v; BAR; for(int k=128;k>0;k>>=1){ if(TID<k) s[TID]+=s[TID+k]; BAR;} if(TID==0) y[WG]=s[0]; }
K void gemm(global const float*a, global const float*b, global float*c, int m,int n,int k){ local float as[16][17], bs[16][17]; int tx=TID&15, ty=TID>>4; int row=WGY*16+ty, col=WG*16+tx; float acc=0; for(int t=0;t<k;t+=16){ as[ty][tx]=row<m&&t+tx<k?a[row*k+t+tx]:0.f; bs[ty][tx]=col<n&&t+ty<k?b[(t+ty)*n+col]:0.f; BAR; for(int i=0;i<16;++i) acc+=as[ty][i]*bs[i][tx]; BAR;} if(row<m&&col<n) c[row*n+col]=acc; }
K void softmax(global float*x, int n){ global float*r=x+(long)WG*n; float m=-1e30f; for(int i=0;i<n;++i) m=__builtin_fmaxf(m,r[i]); float s=0; for(int i=0;i<n;++i){ float e=__builtin_amdgcn_exp2f(r[i]-m); r[i]=e; s+=e;} float q=__builtin_amdgcn_rcpf(s); for(int i=TID;i<n;i+=256) r[i]*=q; }
K void divs(global int*x, global int*y, global float*f){ int i=WG*256+TID; x[i]=x[i]/y[i]; y[i]=x[i]%7; f[i]=f[i]/f[i+1]; }
K void halfs(global half*x, global half*y, int n){ int i=WG*256+TID; half a=x[i], b=y[i]; half c=a*b+(half)1.5; if (c>b) c=c-a; x[i]=c; y[i]=(half)((float)c*2.0f); }
K void hist(global const uint*x, global uint*h, int n){ local uint b[256]; b[TID]=0; BAR; for(int i=TID;i<n;i+=256) __opencl_atomic_fetch_add((local atomic_uint*)&b[x[i]&255],1u,__ATOMIC_RELAXED,__OPENCL_MEMORY_SCOPE_WORK_GROUP); BAR; __opencl_atomic_fetch_add((global atomic_uint*)&h[TID],b[TID],__ATOMIC_RELAXED,__OPENCL_MEMORY_SCOPE_DEVICE); }
K void bytes(global const uchar*x, global ushort*y, global short*z, int n){ int i=WG*256+TID; int v=x[i]+y[i]-z[i]; for(int k=0;k<n;++k) v=v*3+x[i+k]; y[i]=(ushort)v; z[i]=(short)(v>>3); }
K void lanes(global int*x){ int v=x[TID]; v+=__builtin_amdgcn_ds_bpermute(((TID+1)&31)*4,v); v+=__builtin_amdgcn_readfirstlane(v); v+=__builtin_amdgcn_update_dpp(v,v,0x111,0xf,0xf,0); x[TID]=v; }
K void wide(global float4*x, global float4*y, global double*d, int n){ int i=WG*256+TID; float4 a=0; for(int k=0;k<n;++k){ float4 b=x[i+k*n]; a+=b*y[k]; } y[i]=a; }
K void spill(global float*x, int n){ float v[64]; for(int i=0;i<64;++i) v[i]=x[i*n+TID]; for(int k=0;k<n;++k) for(int i=0;i<64;++i) v[i]=v[(i+1)&63]*v[i]+k; int j=n&63; float s=v[j]; for(int i=0;i<64;++i) s+=v[i]; x[TID]=s; }
