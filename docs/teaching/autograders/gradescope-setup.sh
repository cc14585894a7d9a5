#!/usr/bin/env bash
# setup.sh of a Gradescope autograder. The archive that you upload has this file as
# setup.sh, gradescope-run as run_autograder, and your clone of zklock as zklock.
#
# Gradescope 评分程序的 setup.sh。要上传的压缩包里有三样东西：
# 本文件改名为 setup.sh，gradescope-run 改名为 run_autograder，
# 你的 zklock 克隆放在文件夹 zklock 里。
set -euo pipefail
cd /autograder/source/zklock
version=$(sed -n 's/^go //p' go.mod)
curl -fsSL "https://go.dev/dl/go$version.linux-$(dpkg --print-architecture).tar.gz" | tar -C /usr/local -xz
export PATH=/usr/local/go/bin:$PATH
# The image has what every grade needs, so that no student's time goes into it, and
# nothing is fetched while an attempt is graded.
go build ./...
go test -c -o /dev/null ./docs/exercises
