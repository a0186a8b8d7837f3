// LT_EACH(macro, (a, b), (c, d)) is macro(a, b), macro(c, d), of up to 28 pairs.
#ifndef LIBTENSOR_CAPI_EACH_H
#define LIBTENSOR_CAPI_EACH_H

#define LT_UNPACK(...) __VA_ARGS__
#define LT_LARGER(a, b) ((a) > (b) ? (a) : (b))

// The number of arguments.
#define LT_COUNT(...)                                                                            \
  LT_COUNT_(__VA_ARGS__, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, \
            10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define LT_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, \
                  a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, n, ...)                        \
  n

#define LT_EACH(macro, ...) LT_EACH_(LT_COUNT(__VA_ARGS__), macro, __VA_ARGS__)
#define LT_EACH_(n, ...) LT_EACH__(n, __VA_ARGS__)
#define LT_EACH__(n, ...) LT_EACH_##n(__VA_ARGS__)
#define LT_EACH_1(m, x) m x
#define LT_EACH_2(m, x, ...) m x, LT_EACH_1(m, __VA_ARGS__)
#define LT_EACH_3(m, x, ...) m x, LT_EACH_2(m, __VA_ARGS__)
#define LT_EACH_4(m, x, ...) m x, LT_EACH_3(m, __VA_ARGS__)
#define LT_EACH_5(m, x, ...) m x, LT_EACH_4(m, __VA_ARGS__)
#define LT_EACH_6(m, x, ...) m x, LT_EACH_5(m, __VA_ARGS__)
#define LT_EACH_7(m, x, ...) m x, LT_EACH_6(m, __VA_ARGS__)
#define LT_EACH_8(m, x, ...) m x, LT_EACH_7(m, __VA_ARGS__)
#define LT_EACH_9(m, x, ...) m x, LT_EACH_8(m, __VA_ARGS__)
#define LT_EACH_10(m, x, ...) m x, LT_EACH_9(m, __VA_ARGS__)
#define LT_EACH_11(m, x, ...) m x, LT_EACH_10(m, __VA_ARGS__)
#define LT_EACH_12(m, x, ...) m x, LT_EACH_11(m, __VA_ARGS__)
#define LT_EACH_13(m, x, ...) m x, LT_EACH_12(m, __VA_ARGS__)
#define LT_EACH_14(m, x, ...) m x, LT_EACH_13(m, __VA_ARGS__)
#define LT_EACH_15(m, x, ...) m x, LT_EACH_14(m, __VA_ARGS__)
#define LT_EACH_16(m, x, ...) m x, LT_EACH_15(m, __VA_ARGS__)
#define LT_EACH_17(m, x, ...) m x, LT_EACH_16(m, __VA_ARGS__)
#define LT_EACH_18(m, x, ...) m x, LT_EACH_17(m, __VA_ARGS__)
#define LT_EACH_19(m, x, ...) m x, LT_EACH_18(m, __VA_ARGS__)
#define LT_EACH_20(m, x, ...) m x, LT_EACH_19(m, __VA_ARGS__)
#define LT_EACH_21(m, x, ...) m x, LT_EACH_20(m, __VA_ARGS__)
#define LT_EACH_22(m, x, ...) m x, LT_EACH_21(m, __VA_ARGS__)
#define LT_EACH_23(m, x, ...) m x, LT_EACH_22(m, __VA_ARGS__)
#define LT_EACH_24(m, x, ...) m x, LT_EACH_23(m, __VA_ARGS__)
#define LT_EACH_25(m, x, ...) m x, LT_EACH_24(m, __VA_ARGS__)
#define LT_EACH_26(m, x, ...) m x, LT_EACH_25(m, __VA_ARGS__)
#define LT_EACH_27(m, x, ...) m x, LT_EACH_26(m, __VA_ARGS__)
#define LT_EACH_28(m, x, ...) m x, LT_EACH_27(m, __VA_ARGS__)

#endif
