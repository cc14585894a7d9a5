#!/bin/sh
# Builds recipe.c here, as ./recipe, with the lock of Debian's source package zookeeper and with Debian's client in C. It installs nothing.
set -eu
program=$(dirname "$0")/recipe.c
. /etc/os-release
mkdir -p apt/lists/partial apt/archives/partial
for type in deb deb-src; do
	echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $VERSION_CODENAME main"
done >apt/sources.list
here() { apt-get -q -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt" "$@"; }
here update
here source --download-only zookeeper
here download libzookeeper-mt-dev
tar -xzf zookeeper_3.8.0.orig.tar.gz
dpkg -x libzookeeper-mt-dev_3.8.0-*.deb client
lock=$(echo */zookeeper-recipes/zookeeper-recipes-lock/src/main/c)
gcc -w -DTHREADED -Iclient/usr/include/zookeeper -I"$lock/include" "$program" "$lock/src/zoo_lock.c" client/usr/lib/*/libzookeeper_mt.a -lpthread -lm -o recipe
