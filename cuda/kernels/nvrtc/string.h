// NVRTC provides memcpy and memset.
#pragma once
inline void memmove(void *to, const void *from, unsigned long n) {
  char *t = (char *)to;
  const char *f = (const char *)from;
  if (t <= f)
    for (unsigned long i = 0; i < n; i++) t[i] = f[i];
  else
    while (n-- > 0) t[n] = f[n];
}
