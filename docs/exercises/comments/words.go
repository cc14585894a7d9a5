package comments

// words are the comments of the stubs, each in one line, and what they are in
// Chinese. A line break in the Chinese stays.
var words = map[string]string{
	"another contender was faster": "别的竞争者抢先了一步",
	"createParents makes the node dir and those above it, if they are missing. It is written already: call it when a create says zk.ErrNoNode, and create again.": "createParents 创建节点 dir 和它上面的各级父节点，已经有的就不动。它已经写好：create 返回 zk.ErrNoNode 时，先调用它，再 create 一次。",
	"ErrNotLocked is what Unlock returns if this Lock does not hold the lock.":                                                                                    "ErrNotLocked 是没有持有锁时 Unlock 返回的错误。",
	"A Lock is one contender for the lock at a path. It is for one goroutine at a time, and can be used again after Unlock.":                                      "Lock 是锁的一个竞争者，锁由路径指定。同一时刻只供一个 goroutine 使用，Unlock 之后可以再用。",
	"New returns a contender for the lock whose queue is under path. It sends nothing.":                                                                           "New 返回一个竞争者，锁的队列在 path 之下。它不发任何请求。",
	"Lock waits until it holds the lock, for as long as that takes.":                                                                                              "Lock 一直等到拿到锁，不管要等多久。",
	"TryLock takes the lock if nobody holds it, and waits for nobody. False and no error: another contender holds the lock, and nothing of ours is left behind.":  "TryLock 在锁空闲时拿到它，从不等待。返回 false 且没有错误，表示锁由别的竞争者持有，自己什么也没有留下。",
	"Unlock releases the lock. If this Lock does not hold it, Unlock returns ErrNotLocked and deletes nothing.":                                                   "Unlock 释放锁。如果这个 Lock 没有持有锁，就返回 ErrNotLocked，什么也不删除。",

	// Exercises 1 to 3.
	"Package naive is exercise 1: a lock that is one ephemeral znode.":                                        "Package naive 是练习 1：锁就是一个临时节点。",
	"New returns a contender for the lock whose znode is path. It sends nothing.":                             "New 返回一个竞争者，锁的节点就是 path。它不发任何请求。",
	"Package herd is exercise 2: a fair queue in which everybody watches the whole queue.":                    "Package herd 是练习 2：公平队列，每个等待者都监听整个队列。",
	"Package predecessor is exercise 3: a fair queue in which each contender watches only the one before it.": "Package predecessor 是练习 3：公平队列，每个竞争者只监听自己的前一个节点。",

	// Exercise 4.
	"Package reentrant is exercise 4: the holder of the lock may lock again.":                                                                    "Package reentrant 是练习 4：持有锁的所有者可以再次加锁。",
	"ErrNotOwner is what Unlock returns if the owner does not hold the lock.":                                                                    "ErrNotOwner 是所有者没有持有锁时 Unlock 返回的错误。",
	"An Owner is the identity of a holder, as a thread is in Java.":                                                                              "Owner 是持有者的身份，相当于 Java 里的线程。",
	"NewOwner returns a new owner. Two owners are distinct even if their names are equal.":                                                       "NewOwner 返回一个新的所有者。两个所有者即使名字相同，也不是同一个。",
	"A Mutex is the lock at a path for all goroutines of a process. It is safe for concurrent use.":                                              "Mutex 是某个路径上的锁，供一个进程的所有 goroutine 共用，可以并发调用。",
	"New returns the lock whose queue is under path. It sends nothing. You may use step 3's lock: example.com/zklock/03-sequential-predecessor.": "New 返回一个锁，它的队列在 path 之下。它不发任何请求。你可以使用第 3 步的锁：example.com/zklock/03-sequential-predecessor。",
	"Lock waits until the owner holds the lock. If the owner holds it already, Lock returns at once, and the owner holds it once more.":          "Lock 一直等到所有者持有锁。如果所有者已经持有锁，Lock 立即返回，重入次数加一。",
	"TryLock is Lock, but does not wait. False and no error: another contender holds the lock, and nothing of ours is left behind.":              "TryLock 与 Lock 相同，但不等待。返回 false 且没有错误，表示锁由别的竞争者持有，自己什么也没有留下。",
	"Unlock undoes one Lock of the owner; the last Unlock releases the lock. It returns ErrNotOwner if the owner does not hold the lock.":        "Unlock 抵消所有者的一次 Lock，最后一次 Unlock 才释放锁。如果所有者没有持有锁，就返回 ErrNotOwner。",
	"Holds returns how many times the owner has locked without unlocking.":                                                                       "Holds 返回所有者的重入次数，也就是加锁之后还有几次没有释放。",

	// Exercises 5 and 6.
	"Package giveup is exercise 5: exercise 3's queue, in which a waiter can give up.":                                                            "Package giveup 是练习 5：练习 3 的队列，但等待者可以放弃等待。",
	"Lock waits until it holds the lock or ctx ends. Then it returns an error that wraps ctx.Err(), and leaves the queue.":                        "Lock 一直等到拿到锁，或者 ctx 结束。ctx 先结束，就离开队列，返回一个包装了 ctx.Err() 的错误。",
	"Package findagain is exercise 6: exercise 3's queue, in which a contender finds the node again that a create has made whose reply was lost.": "Package findagain 是练习 6：练习 3 的队列，但 create 的应答丢失时，竞争者能把已经创建的节点找回来。",

	// Exercise 7.
	"Package fence is exercise 7: a resource that checks the fencing token of each write.":                                                                                                                                                              "Package fence 是练习 7：每次写入都检查隔离令牌（fencing token）的资源。",
	"ErrStale is what Write returns if a higher token has been seen: the caller held the lock once, and does not hold it any more.":                                                                                                                     "ErrStale 是已经见过更大的令牌时 Write 返回的错误：调用者曾经持有锁，现在不再持有了。",
	"A Register is a resource with one value. It is for many goroutines at once, and several processes may have the same register open.":                                                                                                                "Register 是只存一个值的资源。许多 goroutine 可以同时使用它，几个进程也可能打开同一个 Register。",
	"New opens the register at a path: one znode has all that must outlive the process. It sends nothing; the first Write makes the node and its parents.":                                                                                              "New 打开某个路径上的 Register。进程结束之后还要留下的，都放在一个 znode 上。它不发任何请求；第一次 Write 才创建这个节点和它的各级父节点。",
	"Write stores a value for the holder of a token. If a write with a higher token has been stored before, it returns ErrStale and changes nothing. After any other error the value may have been stored or not, and the holder can call Write again.": "Write 替令牌的持有者存一个值。如果已经存过令牌更大的写入，就返回 ErrStale，什么也不改。如果返回的是其他错误，值可能已经存进去，也可能没有，持有者可以再次调用 Write。",
	"Read returns the value and the token that it was written with; before the first Write 0 and nil.":                                                                                                                                                  "Read 返回当前的值，以及写入它时所用的令牌；第一次 Write 之前，返回 0 和 nil。",

	// Exercise 8.
	"Package semaphore is exercise 8: a fair queue in which as many contenders are inside at a time as there are permits.":                                                                                                           "Package semaphore 是练习 8：公平队列，有几个许可，就最多同时进去几个竞争者。",
	"ErrNotAcquired is what Release returns if this contender is not inside.":                                                                                                                                                        "ErrNotAcquired 是竞争者不在里面时 Release 返回的错误。",
	"A Semaphore is one contender for a place inside. It is for one goroutine at a time, and can be used again after Release.":                                                                                                       "Semaphore 是一个竞争者，争的是里面的一个位置。同一时刻只供一个 goroutine 使用，Release 之后可以再用。",
	"New returns a contender for the semaphore whose queue is under path. All contenders must agree on the number of permits. It sends nothing; with less than one permit, Acquire and TryAcquire return an error and send nothing.": "New 返回一个竞争者，信号量的队列在 path 之下。所有竞争者的许可数必须一致。它不发任何请求；许可少于一个时，Acquire 和 TryAcquire 返回错误，也不发任何请求。",
	"Acquire waits until it is inside, for as long as that takes.":                                                                                                                                                                   "Acquire 一直等到进去为止，不管要等多久。",
	"TryAcquire goes inside if there is room, and waits for nobody. False and no error: there is none, and nothing of ours is left behind.":                                                                                          "TryAcquire 在有空位时进去，从不等待。返回 false 且没有错误，表示没有空位，自己什么也没有留下。",
	"Release goes out. If this contender is not inside, Release returns ErrNotAcquired and deletes nothing.":                                                                                                                         "Release 让出位置。如果这个竞争者不在里面，就返回 ErrNotAcquired，什么也不删除。",

	// Exercise 9.
	"Package rwlock is exercise 9: many readers or one writer, in the order in which they came.":                                                                  "Package rwlock 是练习 9：多个读者，或者一个写者，按到来的次序进入。",
	"ErrNotLocked is what Unlock returns if this Lock does not hold the lock for writing, and RUnlock if it does not hold it for reading.":                        "ErrNotLocked 是没有持有写锁时 Unlock 返回的错误，也是没有持有读锁时 RUnlock 返回的错误。",
	"A Lock is one contender for the lock at a path, for reading or for writing. It is for one goroutine at a time, and can be used again after it was released.": "Lock 是锁的一个竞争者，锁由路径指定；它可以请求读锁，也可以请求写锁。同一时刻只供一个 goroutine 使用，释放之后可以再用。",
	"RLock waits until it holds the lock for reading: together with other readers, and after every writer that came before.":                                      "RLock 一直等到拿到读锁：可以与其他读者一起持有，但要排在先来的每个写者之后。",
	"RUnlock releases a lock that is held for reading. If this Lock does not hold it so, RUnlock returns ErrNotLocked and deletes nothing.":                       "RUnlock 释放读锁。如果这个 Lock 没有持有读锁，就返回 ErrNotLocked，什么也不删除。",
	"Lock waits until it holds the lock for writing: alone, and after everybody that came before.":                                                                "Lock 一直等到拿到写锁：独占，并且排在先来的每个竞争者之后。",
	"Unlock releases a lock that is held for writing. If this Lock does not hold it so, Unlock returns ErrNotLocked and deletes nothing.":                         "Unlock 释放写锁。如果这个 Lock 没有持有写锁，就返回 ErrNotLocked，什么也不删除。",

	// Exercise 10.
	"Package election is exercise 10: one leader at a time, with a hand-over that nobody doubts.":                                                        "Package election 是练习 10：同一时刻只有一个领导者，交接不容置疑。",
	"ErrLost is what Lead returns, or wraps, if the leadership ended before the leader resigned.":                                                        "ErrLost：领导者还没有卸任，任期就结束了，Lead 便返回它，或者返回包装了它的错误。",
	"ErrStale is what Write returns if the term is not that of the leader.":                                                                              "ErrStale 是任期不是当前领导者的任期时 Write 返回的错误。",
	"A Candidate may lead. Only one Lead at a time may be called; Write can be called by many goroutines.":                                               "Candidate 是候选者，可以成为领导者。同一时刻只能有一个 Lead 调用；Write 可以由许多 goroutine 调用。",
	"New returns a candidate of the election whose queue is under path. It sends nothing. Timeout is the session timeout that the server has agreed to.": "New 返回一个候选者，选举的队列在 path 之下。它不发任何请求。timeout 是服务器同意的会话超时时间。",
	"Lead waits until the candidate is the leader, calls lead, and resigns when it returns. The ctx that lead is given ends with ctx, and when the leadership is lost: before another candidate leads. Term is the czxid of the leader's node.\n\nLead returns the error of lead; if the leadership was lost, one that wraps ErrLost; if ctx ends before the candidate leads, one that wraps ctx.Err().": "Lead 一直等到候选者成为领导者，然后调用 lead，等它返回就卸任。传给 lead 的 ctx 在两种情况下结束：Lead 的 ctx 结束；失去领导者的身份，这时必须赶在下一个领导者上任之前。term 是领导者那个节点的 czxid。\n\nLead 返回 lead 的错误；如果失去领导者的身份，返回包装了 ErrLost 的错误；如果还没成为领导者，ctx 就结束了，返回包装了 ctx.Err() 的错误。",
	"Write sets the data of a node that exists, in the name of a term. If that is not the term of the present leader, Write changes nothing and returns ErrStale.":                                                                                                                                                                                                                                       "Write 以某个任期的名义，改写一个已有节点的数据。如果这不是当前领导者的任期，就什么也不改，返回 ErrStale。",
	"another candidate was faster": "别的候选者抢先了一步",

	// Exercises 11 and 12.
	"Package kill is exercise 11: schedules that distinguish a right lock from a wrong one.":             "Package kill 是练习 11：能分辨锁的对错的调度。",
	"Schedules are played one after the other, on each lock, each on a stage of its own.":                "Schedules 里的调度会逐个在每个锁上排演，每次都是新的舞台。",
	"release passes on every lock of this exercise: it kills none. It shows what a schedule looks like.": "release 在这个练习的每个锁上都能通过，所以一个也杀不死。它只是示范调度怎么写。",
	"fails unless a gets in":                       "a 没有拿到锁，就失败",
	"calls Lock, and does not wait for its return": "调用 Lock，不等它返回",
	"fails unless Lock has not returned":           "Lock 已经返回，就失败",
	`The answers to exercise 12, each in one line: the number of the listing, a colon, and the link that "Copy link" in the lab has copied when the goal was reached. Listing 1 opens with: go run ./docs/lab -open -scene break-1`: "练习 12 的答案，每个占一行：代码的编号、一个冒号，以及目标达成时用实验室的“复制链接”复制的链接。\n打开第 1 段代码：go run ./docs/lab -open -scene break-1",
}
