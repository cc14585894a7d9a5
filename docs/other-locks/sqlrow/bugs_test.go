// The bug of article B's lock in a table.
package sqlrow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/internal/bugs"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

// B2. Article B, the lock in a table with a unique key:
//
//	insert into myLock(method_name,desc) values ('分布式','分布式锁');
//	delete from myLock where method_name = 分布式
//
// The row has no owner, and delete checks nothing: a client that failed to lock and unlocks in a finally, as the
// articles do, deletes the holder's row. And a row has no expiry: if the holder crashes, the row stays, as the article
// itself says.
type rowLock struct {
	db     *database.DB
	method string
	client string
	script *bugs.Script
}

func (l *rowLock) lock() bool {
	_, err := l.db.Exec(l.script.Context(), "insert into myLock(method_name, desc) values (?, 'lock')", l.method)
	answer := i18n.Text("ok")
	if database.IsDuplicate(err) {
		answer = i18n.Text("not unique")
	} else {
		require.NoError(l.script, err)
	}
	l.script.Say(l.client, "insert into myLock: %s", answer)
	return err == nil
}

func (l *rowLock) unlock() {
	n := testenv.Must(l.db.Exec(l.script.Context(), "delete from myLock where method_name = ?", l.method))(l.script)
	l.script.Say(l.client, "delete from myLock: %d row", n)
}

// The cure on a database, a row with an owner and an expiry, passes two cases of TestBasic: Unlock by a
// contender that does not hold it, and a holder whose session expires.
func TestBugB2_AnybodyMayDeleteTheRowAndItHasNoExpiry(t *testing.T) {
	bugs.Example("B2").HappensOff(t, i18n.Text("database"), func(s *bugs.Script) {
		db := databasetest.Open(s, database.Embedded, database.FewConns)
		testenv.Must(db.Exec(s.Context(), `create table myLock(id integer primary key autoincrement,
			method_name varchar(64) not null unique, desc varchar(1024) not null)`))(s)
		a, b, c := &rowLock{db, "order", "A", s}, &rowLock{db, "order", "B", s}, &rowLock{db, "order", "C", s}

		require.True(s, a.lock())
		s.Note("A", "holds the lock")
		require.False(s, b.lock())
		b.unlock() // finally
		require.True(s, c.lock())
		s.Note("C", "holds the lock")
		s.TwoHolders("A", "C")

		s.Note("C", "crashes")
		require.False(s, b.lock())
		s.Note("S", "nothing ever deletes the row")
	})
}
