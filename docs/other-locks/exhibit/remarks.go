package exhibit

import "example.com/zklock/internal/locktest/chinese"

// twin is a remark in Chinese, "" if the table has none: then it is what a client or a
// server says, which is the same for every reader.
func twin(text string) string {
	if zh := remarks.Text(text); zh != text {
		return zh
	}
	return ""
}

// remarks are the texts of the films, format to format. An action of a client has
// the client's name and a colon before it.
var remarks = chinese.New(map[string]string{
	"%s, in virtual time": "%s，时间是虚拟的",

	"asks for the lock": "请求锁",
	"asks for the lock, and asks again after each pause":   "请求锁，拿不到就停一会儿再试",
	"holds the lock with token %d":                         "拿到锁，令牌是 %d",
	"calls Unlock":                                         "调用 Unlock",
	"has unlocked":                                         "已释放锁",
	"gets an error from Unlock: it does not hold the lock": "从 Unlock 得知自己并不持有锁",
	"%s hold the lock at once":                             "%s 同时持有锁",
	"%s is gone":                                           "%s 已被删除",
	"%s is there, and belongs to %s":                       "%s 已创建，归 %s 所有",
	"a duplicate key":                                      "键重复",
	"rows: %d":                                             "%d 行",

	"reads %d from the store, and works on":                                                    "从存储读到 %d，继续做自己的事",
	"reads %d from the store, adds one, and writes %d with token %d":                           "从存储读到 %d，加一，用令牌 %[3]d 写回 %[2]d",
	"writes %d to the store with token %d: the store refuses it, because it has seen token %d": "用令牌 %[2]d 向存储写入 %[1]d：存储已经见过令牌 %[3]d，拒绝写入",
	"other clients fill the server's memory, and the server evicts the lock's key":             "其他客户端占满了服务器的内存，服务器淘汰了锁的键",

	"is paused, as by a long garbage collection, after it has read from the store":              "读过存储之后停顿了，好比遇到一次很长的垃圾回收",
	"runs on, and does not notice that time has passed":                                         "继续运行，不知道时间已经过去",
	"has changed no row: the store has seen a token above %d":                                   "一行也没有改：存储已经见过比 %d 大的令牌",
	"has written to the store with token %d":                                                    "用令牌 %d 写入了存储",
	"A's row has expired by the database's clock, and stays until a waiter looks for such rows": "按数据库的时钟，A 的行已经过期；要等某个等待者来清理，它才会删掉",
})
