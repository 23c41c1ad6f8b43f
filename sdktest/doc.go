// Package sdktest holds tests that let the providers' own Go clients talk to the
// servers of kernel/model/fake, so that those are known to speak the real
// formats. It is a module of its own to keep the clients out of rax's.
//
//	cd sdktest && go test ./...
package sdktest
