# The refusing proxy.
archives += proxy
proxy_sources := \
	proxy/confine.c \
	proxy/head.c \
	proxy/listener.c \
	proxy/server.c

programs += net-proxy
net-proxy_sources := proxy/main.c
net-proxy_archives := proxy common
net-proxy_libraries := jansson libseccomp

unit_tests += test_proxy
test_proxy_sources := tests/unit/test_proxy.c
test_proxy_archives := proxy common
test_proxy_libraries := libseccomp

fuzz_targets += fuzz_head
fuzz_head_sources := tests/fuzz/fuzz_head.c
fuzz_head_archives := proxy common

tests += proxy:tests/proxy/test_proxy.py
benches += tests/proxy/bench.py
