package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"example.com/zklock/bench/internal/ownlock"
	"example.com/zklock/internal/language"
)

// -locks also takes folders: packages with a lock of the reader's own. They
// are not part of this program, so it builds another one that has them; see
// package ownlock.

// own holds the locks that this program was built with by their folders.
var own []contestant

// isFolder reports whether -locks names a folder.
func isFolder(name string) bool {
	return strings.HasPrefix(name, ".") || strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator)
}

// ownContestants returns the locks in the folders, by the folders' own names
// unless these are taken.
func ownContestants(folders, taken []string) ([]contestant, error) {
	count := make(map[string]int)
	for _, name := range taken {
		count[name]++
	}
	names := make([]string, len(folders))
	dirs := make([]string, len(folders))
	for i, folder := range folders {
		dir, err := filepath.Abs(folder)
		if err != nil {
			return nil, err
		}
		if slices.Contains(dirs, dir) {
			return nil, language.Errorf("-locks: %s is named twice", "-locks：%s 写了两次", folder)
		}
		names[i], dirs[i] = filepath.Base(dir), dir
		count[names[i]]++
	}
	var cs []contestant
	for i, folder := range folders {
		j := slices.IndexFunc(own, func(c contestant) bool { return c.folder == folder })
		c := contestant{folder: folder}
		if j >= 0 {
			c = own[j]
		}
		if c.name = names[i]; count[c.name] > 1 {
			c.name = filepath.ToSlash(filepath.Clean(folder))
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// missing are the locks of cfg that this program was not built with.
func (cfg config) missing() []contestant {
	return slices.DeleteFunc(slices.Clone(cfg.locks), func(c contestant) bool { return c.open != nil })
}

// runWith builds a program that has the missing locks and runs it in place of
// this one.
func runWith(ctx context.Context, missing []contestant, args []string, stdout, stderr io.Writer, l language.Language) (status int, err error) {
	dir, err := os.MkdirTemp("", "zklock-bench-")
	if err != nil {
		return exitFailure, err
	}
	defer os.RemoveAll(dir)
	var folders, tags, names []string
	for _, c := range missing {
		if err := c.server().Reach(ctx); err != nil {
			return exitFailure, language.Errorf("-%s: %w", "-%s：%v", c.flag(), err)
		}
		switch {
		case c.folder != "":
			folders = append(folders, c.folder)
		case !slices.Contains(tags, c.tag):
			tags = append(tags, c.tag)
		}
		names = append(names, c.name)
	}
	if len(tags) > 0 {
		fmt.Fprintln(stderr, language.Say("building a program that has the other locks; the first time their clients are downloaded …", "正在编译一个带有其他锁的程序；第一次要下载它们的客户端库……").In(l))
	}
	program, err := build(ctx, folders, tags, dir)
	if ctx.Err() != nil {
		err = errInterrupted
	}
	if err != nil {
		return exitFailure, language.Errorf("-locks: %w", "-locks：%v", err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it prints what is finished
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	switch status := cmd.ProcessState.ExitCode(); {
	case err == nil:
		return exitOK, nil
	case status == exitFailure || status == exitInterrupted:
		return status, nil // it has said why
	default: // Go's own for a panic is 2
		return exitFailure, language.Errorf("the benchmark crashed (%w): a goroutine of %s panicked, see above", "基准测试崩溃了（%v）：%s 的一个 goroutine 发生 panic，见上文",
			err, language.Text{En: strings.Join(names, " or of "), Zh: strings.Join(names, " 或 ")})
	}
}

// sourceFolder is where this package was compiled from.
func sourceFolder() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	if _, err := os.Stat(file); err != nil || !filepath.IsAbs(file) {
		return "", language.Errorf("a lock that is not built in needs the source of this program: use go run ./bench in a clone",
			"不是内置的锁需要本程序的源代码：请在仓库的克隆里用 go run ./bench")
	}
	return filepath.Dir(file), nil
}

// build is buildWith. In a test it can be a program that is already built.
var build = buildWith

// buildWith builds a program that has the locks in the folders, and those of the
// tags. It writes to dir alone.
func buildWith(ctx context.Context, folders, tags []string, dir string) (program string, err error) {
	source, err := sourceFolder()
	if err != nil {
		return "", err
	}
	return ownlock.Build(ctx, source, folders, tags, dir)
}
