//go:build docker

package chaos_test

const clientEnv = "ZKLOCK_CHAOS_CLIENT"

func beClient() int { return 0 }
