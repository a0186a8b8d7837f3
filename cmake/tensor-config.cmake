# find_package(tensor) defines the imported target tensor::tensor.
get_filename_component(_tensor_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET tensor::tensor)
  add_library(tensor::tensor SHARED IMPORTED)
  set_target_properties(tensor::tensor PROPERTIES
    IMPORTED_LOCATION "${_tensor_prefix}/lib/libtensor.so"
    IMPORTED_SONAME "libtensor.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_tensor_prefix}/include")
endif()

unset(_tensor_prefix)
set(tensor_FOUND TRUE)
