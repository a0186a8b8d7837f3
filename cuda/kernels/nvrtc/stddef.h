// NVRTC provides the functions of this header.
#pragma once
