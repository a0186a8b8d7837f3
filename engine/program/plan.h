// The format of a plan, which is the executable form of an exported program: engine/program writes
// it, capi/program.c and capi/program_run.c read it. It consists of words, which are 64-bit
// integers, and of text, to which words refer by the offsets of NUL-terminated strings.
#ifndef LIBTENSOR_PROGRAM_PLAN_H
#define LIBTENSOR_PROGRAM_PLAN_H

// An argument: its kind, and what follows it. A list has its length first.
enum {
  LT_ARG_NONE,
  LT_ARG_VALUE,     // the number of a value of the run
  LT_ARG_INT,       // the integer
  LT_ARG_FLOAT,     // its bits
  LT_ARG_BOOL,      // 0 or 1
  LT_ARG_COMPLEX,   // the bits of both parts
  LT_ARG_STRING,    // the offset of the string; also for devices
  LT_ARG_DTYPE,     // tensor_dtype
  LT_ARG_LAYOUT,    // tensor_layout
  LT_ARG_FORMAT,    // tensor_memory_format
  LT_ARG_TENSORS,   // numbers of values, -1 for none
  LT_ARG_INTS,      // integers
  LT_ARG_FLOATS,    // bits of floats
  LT_ARG_BOOLS,     // 0 or 1
  LT_ARG_STRINGS,   // offsets of strings
  LT_ARG_SYM_INTS,  // arguments
  LT_ARG_SYM_FLOATS,
  LT_ARG_SYM_BOOLS
};

// A step: its kind, the offset of its name, and the values that are freed after it (a list); then
enum {
  LT_STEP_CALL,   // the name of an operator, a list of (keyword or -1, argument), a list of results
  LT_STEP_SYM,    // a code, a list of arguments, the value or -1
  LT_STEP_COND,   // a predicate, two lists of the values that the graphs use, two blocks, a list of
                  // values
  LT_STEP_WHILE,  // a list of arguments, as many values that are carried, two blocks, as many
                  // values
  LT_STEP_SCAN,   // a list of arguments that are carried, one of tensors, as many values as both, a
                  // block, a list of values
  LT_STEP_ASSOCIATIVE,  // a list of tensors, twice as many values (the left and right operands), a
                        // block, a list of values
  LT_STEP_FUNCTIONAL,  // as LT_STEP_CALL; arguments that the operator writes to are copied, and the
                       // copies are its last results
  LT_STEP_CHECK  // a value, the name of the operator that has returned it, a dtype, the offset of
                 // the shape as text, and a list of the codes of dimensions, each a list
};
// A block: the range of its values, the number of steps, the steps, a list of arguments.

// Arithmetic on the numbers of a program.
enum {
  LT_SYM_ADD,
  LT_SYM_SUB,
  LT_SYM_MUL,
  LT_SYM_FLOORDIV,
  LT_SYM_MOD,
  LT_SYM_TRUEDIV,
  LT_SYM_POW,
  LT_SYM_EQ,
  LT_SYM_NE,
  LT_SYM_LT,
  LT_SYM_LE,
  LT_SYM_GT,
  LT_SYM_GE,
  LT_SYM_AND,
  LT_SYM_OR,
  LT_SYM_XOR,
  LT_SYM_LSHIFT,
  LT_SYM_RSHIFT,
  LT_SYM_MAX,
  LT_SYM_MIN,
  LT_SYM_SUM,
  LT_SYM_NEG,
  LT_SYM_POS,
  LT_SYM_NOT,
  LT_SYM_INT,
  LT_SYM_FLOAT,
  LT_SYM_SQRT,
  LT_SYM_LOG2,
  LT_SYM_FLOOR,
  LT_SYM_CEIL,
  LT_SYM_TRUNC,
  LT_SYM_ROUND,
  LT_SYM_ROUND_TO,  // a number, and the number of decimal digits
  LT_SYM_ITE,
  LT_SYM_SIZE,
  LT_SYM_STRIDE,
  LT_SYM_NUMEL,
  LT_SYM_OFFSET,
  LT_SYM_ITEM,
  LT_SYM_ASSERT,       // a condition and a message
  LT_SYM_CONSTRAIN,    // a number, its least and largest value or none
  LT_SYM_ASSERT_META,  // a tensor, sizes, strides, dtype, and others that are not checked
  LT_SYM_ASSERT_TENSOR,
  LT_SYM_SET_GRAD,        // whether the steps that follow record gradients
  LT_SYM_CLONE,           // a tensor, whose copy has its strides and storage offset
  LT_SYM_ENTER_AUTOCAST,  // a type of device, a dtype or none, whether it is enabled, and caches
  LT_SYM_LEAVE_AUTOCAST,  // a type of device, and the result of LT_SYM_ENTER_AUTOCAST
  LT_SYM_VMAP_BEGIN,      // a size and the mode of random numbers; the result is a level
  LT_SYM_VMAP_END,        // a level
  LT_SYM_VMAP_WRAP,       // a tensor, its batch dimension, and a level
  LT_SYM_VMAP_UNWRAP      // a tensor, the batch dimension of the result, and a level
};

// The code of a dimension: numbers on a stack.
enum { LT_DIM_NUMBER, LT_DIM_SYMBOL, LT_DIM_OPERATOR };

#endif
