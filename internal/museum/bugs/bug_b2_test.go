package bugs_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum"
)

// The interpreter starts at once; compiling SQLite takes longer than all
// exhibits together.
func init() { sqlite3.RuntimeConfig = wazero.NewRuntimeConfigInterpreter() }

// B2. Article B, the lock in a table with a unique key:
//
//	insert into myLock(method_name,desc) values ('分布式','分布式锁');
//	delete from myLock where method_name = 分布式
//
// The row has no owner, and delete checks nothing: a client that failed to
// lock and unlocks in a finally, as the articles do, deletes the holder's row.
// And a row has no expiry: if the holder crashes, the row stays, as the
// article itself says.
type rowLock struct {
	db     *sql.DB
	method string
	client string
	script *museum.Script
}

func (l *rowLock) lock() bool {
	_, err := l.db.Exec("insert into myLock(method_name, desc) values (?, 'lock')", l.method)
	if err != nil && !strings.Contains(err.Error(), "UNIQUE constraint failed") {
		panic(err)
	}
	answer := language.Say("ok", "成功")
	if err != nil {
		answer = language.Say("not unique", "违反唯一约束")
	}
	l.script.Say(l.client, "insert into myLock: %s", "insert into myLock：%s", answer)
	return err == nil
}

func (l *rowLock) unlock() {
	result, err := l.db.Exec("delete from myLock where method_name = ?", l.method)
	if err != nil {
		panic(err)
	}
	n, _ := result.RowsAffected()
	l.script.Say(l.client, "delete from myLock: %d row", "delete from myLock：%d 行", n)
}

func TestBugB2_AnybodyMayDeleteTheRowAndItHasNoExpiry(t *testing.T) {
	bug := museum.Exhibit("B2")
	bug.HappensOff(t, language.Say("database", "数据库"), func(s *museum.Script) {
		db, err := sql.Open("sqlite3", ":memory:")
		require.NoError(s, err)
		defer db.Close()
		db.SetMaxOpenConns(1) // each connection would have a database of its own
		_, err = db.Exec(`create table myLock(id integer primary key autoincrement,
			method_name varchar(64) not null unique, desc varchar(1024) not null)`)
		require.NoError(s, err)
		a, b, c := &rowLock{db, "order", "A", s}, &rowLock{db, "order", "B", s}, &rowLock{db, "order", "C", s}

		require.True(s, a.lock())
		s.Note("A", "holds the lock", "持有锁")
		require.False(s, b.lock())
		b.unlock() // finally
		require.True(s, c.lock())
		s.Note("C", "holds the lock", "持有锁")
		s.TwoHolders("A", "C")

		s.Note("C", "crashes", "崩溃")
		require.False(s, b.lock())
		s.Note("S", "nothing ever deletes the row", "这一行再也不会被删除")
	})
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		a, b, c := s.Client(), s.Client(), s.Client()
		a.Lock()
		// A contender that failed to lock has no lease, so it cannot unlock.
		_, err := b.Contender().(*leaseLock).lock.TryLock(s.Context())
		require.ErrorIs(s, err, timeout.ErrHeld)
		require.Nil(s, leaseOf(b))
		c.Start()
		c.Waits()
		s.OnlyHolder(a)
		// A holder that crashes loses its node.
		a.CutOff()
		s.Pass(museum.SessionTimeout + 2*time.Second)
		c.GetsIn()
	})
}
