package main

import (
	"context"
	"errors"
	"flag"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/language"
	"example.com/zklock/zklock"
)

var revokeSays = language.Say("asks the holder to release the lock, and shows whether it did\n"+
	"zklock run -revocable then ends its command; a program that uses the library decides itself, as does one with a revocable\n"+
	"mutex of Curator's. Other libraries do not read requests. The exit status is 75 if the node of the holder stays.\n"+
	"This never deletes a node. If you delete a holder's node by hand, the next one is in at once, while the old one works on\n"+
	"until it notices. If you delete a waiter's node, the waiter queues again at the end, or fails: that depends on its library.",
	"请持有者释放锁，并显示它是否照做\n"+
		"zklock run -revocable 会结束它的命令；使用本库的程序自己决定，用 Curator 可撤销互斥锁的也一样。其他库不读取请求。持有者的节点还在，退出状态就是 75。\n"+
		"本命令从不删除节点。如果手工删除持有者的节点，下一个马上进来，而旧的持有者在察觉之前还在工作。\n"+
		"如果手工删除等待者的节点，它会重新排到队尾，或者失败：取决于它用的库。")

func (c *call) revokeFlags(fs *flag.FlagSet) {
	fs.Int64Var(&c.token, "token", 0, c.say("ask the contender with this `token`, and not the holder", "请令牌为 `token` 的竞争者，而不是持有者"))
	fs.DurationVar(&c.wait, "wait", patience, c.say("how `long` to wait until it has gone", "等它离开的时间 `long`"))
}

func (c *call) revoke(ctx context.Context) int {
	conn, status := c.open(ctx)
	if status != 0 {
		return status
	}
	defer conn.Close()
	m, err := zklock.New(conn, c.path)
	if err != nil {
		return c.usage(err)
	}
	queue, _, err := c.queue(ctx, conn)
	if err != nil {
		return c.fail(exitUnavailable, err)
	}
	i := slices.IndexFunc(queue, func(p contender) bool {
		return c.token == 0 && p.Holds || c.token != 0 && p.Token>>passBits == c.token>>passBits
	})
	switch {
	case i < 0 && c.token == 0:
		c.print("nobody holds %s", "没有人持有 %s", c.path)
		return 0
	case i < 0:
		return c.fail(exitFailure, language.Errorf("nobody has the token %d", "没有令牌为 %d 的竞争者", c.token))
	}
	p := queue[i]
	if !p.kind.asked {
		return c.fail(exitFailure, language.Errorf("%s (%v) does not read requests, and was not asked", "%s（%v）不读取请求，没有请它", shown(p.Data), p.kind.library))
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := m.Revoke(asking, zklock.Participant{Node: p.Node, Token: p.Token}); err != nil {
		return c.fail(exitUnavailable, err)
	}
	c.print("asked %s, %s, token %d, to release %s", "已请 %s（%s，令牌 %d）释放 %s", shown(p.Owner), shown(p.Data), p.Token, c.path)
	asked := time.Now()
	ctx, cancel = context.WithTimeout(ctx, c.wait)
	defer cancel()
	err = within(ctx, conn, func() error {
		for {
			there, _, events, err := conn.ExistsW(p.Node)
			if err != nil || !there {
				return err
			}
			if ev := <-events; ev.Err != nil && !errors.Is(ev.Err, zk.ErrSessionExpired) {
				return ev.Err
			}
		}
	})
	took := time.Since(asked).Round(time.Millisecond)
	switch {
	case err == nil:
		c.print("it has gone, after %v", "它已离开，用时 %v", took)
		return 0
	case ctx.Err() != nil:
		return c.fail(exitHeld, language.Errorf("it is still there, %v after the request", "请求之后 %v，它还在", took))
	}
	return c.fail(exitUnavailable, err)
}
