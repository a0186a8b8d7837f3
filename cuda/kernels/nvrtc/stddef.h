// NVRTC knows the functions of this header.
#pragma once
