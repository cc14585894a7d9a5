package etcd

// These are time limits: of clean-ups, and of a server's first answer.
var (
	CleanUp        = &cleanUp
	ConnectTimeout = &connectTimeout
)
