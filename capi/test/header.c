// The header compiles alone, pedantically, in C11 and C++17, and may be included twice.
#include "../../include/tensor.h"
#include "../../include/tensor.h"

int main(void) { return tensor_version() == TENSOR_VERSION ? 0 : 1; }
