#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zoo_lock.h>

static zkr_lock_mutex_t mutex;
static volatile int connected, acquired;

static void session(zhandle_t *zh, int type, int state, const char *path, void *ctx) {
	if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
		connected = 1;
}

static void changed(int released, void *data) {
	if (!released)
		acquired = 1;
}

int main(int argc, char **argv) { /* SERVERS SECONDS PATH */
	char line[64];
	zoo_set_debug_level(0);
	zhandle_t *zh = zookeeper_init(argv[1], session, 1000 * atoi(argv[2]), NULL, NULL, 0);
	while (!connected)
		usleep(1000);
	zkr_lock_init_cb(&mutex, zh, argv[3], &ZOO_OPEN_ACL_UNSAFE, changed, NULL);
	puts("connected");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		int failed = 0;
		if (!strcmp(line, "lock\n")) {
			acquired = 0;
			failed = zkr_lock_lock(&mutex);
			while (!failed && !acquired)
				usleep(1000);
		} else if (!strcmp(line, "unlock\n"))
			failed = zkr_lock_unlock(&mutex);
		else
			failed = zookeeper_close(zh);
		puts(failed ? "failed" : "done");
		fflush(stdout);
	}
	return 0;
}
