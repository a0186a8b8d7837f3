// The state of each thread: the current device, and the current stream of each device.
#include "current.h"

static _Thread_local struct {
  int device;
  unsigned short streams[LT_DEVICES];
} chosen;

int lt_current_device(void) { return chosen.device; }
void lt_set_current_device(int device) { chosen.device = device; }
int lt_current_stream(int device) { return chosen.streams[device]; }
void lt_set_current_stream(int device, int stream) {
  chosen.streams[device] = (unsigned short)stream;
}

CUresult lt_cuda_enter(CUcontext context, int device, lt_entered *entered) {
  *entered = (lt_entered){.stream = chosen.streams[device], .call = "cuCtxGetCurrent"};
  CUcontext former;
  CUresult failed = cuCtxGetCurrent(&former);
  if (failed != CUDA_SUCCESS || former == context) return failed;
  entered->call = "cuCtxSetCurrent";
  failed = cuCtxSetCurrent(context);
  if (failed == CUDA_SUCCESS) entered->former = former;
  return failed;
}

void lt_cuda_leave(CUcontext former) { cuCtxSetCurrent(former); }
