LIB := build/libtensor.so
build/libtensor.so: FORCE
	go build -trimpath -buildmode=c-shared -ldflags '-s -w -extldflags "-Wl,-soname,libtensor.so.0 -Wl,--version-script=$(CURDIR)/capi/tensor.map"' -o $@ ./capi
FORCE:
