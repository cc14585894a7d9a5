package main

import (
	"flag"

	"example.com/zklock/internal/language"
)

var runSays = language.Say("runs a command while it holds the lock; the command is dead before the next holder can be in\n"+
	"The command gets SIGTERM shortly before the lock may be lost (-grace), and SIGKILL when it may be. Two guard processes see\n"+
	"to that if zklock itself is killed or stopped. All processes of the command's group go with it; one that calls setsid\n"+
	"escapes. ZKLOCK_TOKEN, ZKLOCK_NODE and ZKLOCK_PATH are in the command's environment.\n"+
	"The exit status is that of the command, 128 + n after signal n, 127 or 126 if it is not found or cannot be run, 75 if the\n"+
	"lock is held (-try, -wait), 69 if no server answers, 71 if no process can be started, 64 if the arguments are wrong.\n"+
	"TERM, INT, HUP, QUIT, USR1, USR2 and WINCH are passed on; a second TERM or INT kills. A signal ends the wait for the lock.",
	"持有锁的期间运行一条命令；下一个持有者进来之前，这条命令一定已经结束\n"+
		"锁快要失去时（-grace），命令收到 SIGTERM；锁可能失去时，收到 SIGKILL。zklock 自己被杀死或停住时，由两个守护进程来做这件事。\n"+
		"命令所在进程组的所有进程随它一起结束；调用了 setsid 的会逃脱。命令的环境里有 ZKLOCK_TOKEN、ZKLOCK_NODE 和 ZKLOCK_PATH。\n"+
		"退出状态就是命令的；被信号 n 结束为 128 + n；找不到命令为 127，不能执行为 126；锁被占用（-try、-wait）为 75；没有服务器应答为 69；\n"+
		"不能启动进程为 71；参数有误为 64。TERM、INT、HUP、QUIT、USR1、USR2、WINCH 转给命令；第二个 TERM 或 INT 直接杀死。等锁时，信号结束等待。")

func (c *call) runFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.try, "try", false, c.say("do not wait if the lock is held", "锁被占用就不等"))
	fs.DurationVar(&c.wait, "wait", 0, c.say("how `long` to wait for the lock; 0: as long as it takes", "等锁的时间 `long`；0 表示一直等"))
	fs.IntVar(&c.held, "E", exitHeld, c.say("the exit `status` if the lock is held", "锁被占用时的退出状态 `status`"))
	fs.DurationVar(&c.grace, "grace", 0, c.say("how `long` before the lock may be lost the command gets SIGTERM, below a fifth of the session timeout; 0: a sixth",
		"锁可能失去之前多久 `long` 给命令发 SIGTERM：小于会话超时的五分之一；0 表示六分之一"))
	fs.StringVar(&c.name, "name", "", c.say("the `owner` that the queue shows; otherwise the command", "队列里显示的所有者 `owner`；不给时是命令本身"))
	fs.StringVar(&c.data, "data", "", c.say("the `text` that the queue shows; otherwise host:pid", "队列里显示的说明 `text`；不给时是 host:pid"))
	fs.BoolVar(&c.revocable, "revocable", false, c.say("a request to release the lock ends the command with SIGTERM", "有人请求释放锁时，用 SIGTERM 结束命令"))
}
