package main

import (
	"os"
	"syscall"
)

func executable() string {
	path, _ := os.Executable()
	return path
}

func attributes() *syscall.SysProcAttr { return new(syscall.SysProcAttr) }
