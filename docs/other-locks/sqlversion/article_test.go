// Article B's SQL statements, word for word, on MariaDB.
package sqlversion_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/internal/testenv"
)

// Article B's statements, word for word.
const (
	createOptimistic = "CREATE TABLE `optimistic_lock` (\n" +
		"	`id` BIGINT NOT NULL AUTO_INCREMENT,\n" +
		"	`resource` int NOT NULL COMMENT '锁定的资源',\n" +
		"	`version` int NOT NULL COMMENT '版本信息',\n" +
		"	`created_at` datetime COMMENT '创建时间',\n" +
		"	`updated_at` datetime COMMENT '更新时间',\n" +
		"	`deleted_at` datetime COMMENT '删除时间', \n" +
		"	PRIMARY KEY (`id`),\n" +
		"	UNIQUE KEY `uiq_idx_resource` (`resource`) \n" +
		") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='数据库分布式锁表';"
	insertOptimistic = "INSERT INTO optimistic_lock(resource, version, created_at, updated_at) VALUES(20, 1, CURTIME(), CURTIME());"
	step1            = "SELECT resource FROM optimistic_lock WHERE id = 1"
	step3            = "UPDATE optimistic_lock SET resource = resource -1 WHERE id = 1"

	createRow = "CREATE TABLE `fbsLock`(\n" +
		"`id` int(11) not null auto_increment comment '主键',\n" +
		"`method_name` varchar(64) not null default '' comment '锁定的方法名',\n" +
		"`desc` varchar(1024) not null default '备注信息',\n" +
		"`update_time` timestamp not null default current_timestamp on update current_timestamp comment '更新时间',\n" +
		"primary key (`id`),\n" +
		"unique key `uidx_method_name` (`method_name`) using btree\n" +
		" )engine=InnoDB default charset=utf8 comment='锁定中的方法"
	insertRow = "insert into myLock(method_name,desc) values ('分布式','分布式锁');"
	deleteRow = "delete from myLock where method_name = 分布式"
)

// A session is one connection to MariaDB, in a database of the test's own.
type session struct {
	t    *testing.T
	conn *sql.Conn
}

func sessions(t *testing.T, n int) (all []session) {
	db := databasetest.OpenOn(t, database.FewConns, database.MariaDB) // the article's statements are for MySQL
	own := fmt.Sprintf("zklock_article_%d", time.Now().UnixNano())
	testenv.Must(db.Exec(t.Context(), "CREATE DATABASE "+own))(t)
	t.Cleanup(func() { db.DB.Exec("DROP DATABASE " + own) })
	for range n {
		conn := testenv.Must(db.Conn(t.Context()))(t)
		t.Cleanup(func() { conn.Close() })
		s := session{t, conn}
		require.NoError(t, s.exec("USE "+own))
		require.NoError(t, s.exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"), "MySQL's default")
		t.Cleanup(func() { conn.Raw(func(any) error { return driver.ErrBadConn }) })
		all = append(all, s)
	}
	return all
}

func (s session) exec(statement string) error {
	_, err := s.conn.ExecContext(s.t.Context(), statement)
	return err
}

func (s session) number(query string) (n int) {
	require.NoError(s.t, s.conn.QueryRowContext(s.t.Context(), query).Scan(&n), query)
	return n
}

// Codes of MariaDB's errors.
const duplicateKey, syntaxError, unknownTable, unknownColumn, lockTimeout = 1062, 1064, 1146, 1054, 1205

// requireRefused asserts that a statement fails with a code.
func (s session) requireRefused(code int, statement string) {
	s.t.Helper()
	err := s.exec(statement)
	require.Equal(s.t, fmt.Sprint(code), database.Code(err), "%s: %v", statement, err)
}

// The article says that two clients that buy at once leave 19 of 20. Its statement subtracts on the server, and leaves
// 18, which is right. Its mistake is another thing: the last piece is sold twice, and the stock is −1.
func TestTheArticlesUpdateLosesNothingAndSellsTooMuch(t *testing.T) {
	e := exhibit.New(t, "O10")
	both := sessions(t, 2)
	a, b := both[0], both[1]
	require.NoError(t, a.exec(createOptimistic))
	require.NoError(t, a.exec(insertOptimistic))
	buyAtOnce := func() {
		e.Arrow("A->>S: %s: %d", step1, a.number(step1))
		e.Arrow("B->>S: %s: %d", step1, b.number(step1))
		for i, s := range both {
			require.NoError(t, s.exec(step3))
			e.Arrow("%c->>S: %s: ok", 'A'+i, step3)
		}
	}
	buyAtOnce()
	require.Equal(t, 18, a.number(step1), "no sale is lost")
	require.NoError(t, a.exec("UPDATE optimistic_lock SET resource = 1 WHERE id = 1"))
	buyAtOnce()
	require.Equal(t, -1, a.number(step1), "the last piece is sold twice")
}

// UNIQUE KEY on the stock: two products cannot have the same number of pieces.
func TestTwoProductsCannotHaveTheSameStock(t *testing.T) {
	s := sessions(t, 1)[0]
	require.NoError(t, s.exec(createOptimistic))
	require.NoError(t, s.exec(insertOptimistic))
	s.requireRefused(duplicateKey, insertOptimistic)
	require.NoError(t, s.exec("INSERT INTO optimistic_lock(resource, version) VALUES(21, 1)"))
	s.requireRefused(duplicateKey, "UPDATE optimistic_lock SET resource = resource -1 WHERE id = 3 OR resource = 21")
}

// The statements of the article's first lock: none of them runs.
func TestTheArticlesRowStatementsAreRefused(t *testing.T) {
	s := sessions(t, 1)[0]
	s.requireRefused(syntaxError, createRow) // the last quotation mark is missing
	require.NoError(t, s.exec(createRow+"'"))
	s.requireRefused(syntaxError, insertRow) // desc is a reserved word
	s.requireRefused(unknownTable, "insert into myLock(method_name) values ('分布式');")
	require.NoError(t, s.exec("RENAME TABLE fbsLock TO myLock"))
	s.requireRefused(syntaxError, insertRow)
	require.NoError(t, s.exec("insert into myLock(method_name,`desc`) values ('分布式','分布式锁');"))
	s.requireRefused(unknownColumn, deleteRow) // the name is not quoted, so it is a column's
	require.NoError(t, s.exec("delete from myLock where method_name = '分布式'"))
	require.Zero(t, s.number("SELECT count(*) FROM myLock"))
}

// "表锁": without an index, or with id>0, InnoDB locks each row that it reads and
// the gaps between them, and the table only with the intention to lock rows.
func TestWhatIsCalledATableLockIsALockOnEveryRow(t *testing.T) {
	for condition, rows := range map[string]int{"description='lock'": 4, "id>0": 4, "id = 1": 1} {
		t.Run(condition, func(t *testing.T) {
			both := sessions(t, 2)
			s, other := both[0], both[1]
			require.NoError(t, s.exec("CREATE TABLE database_lock (id int PRIMARY KEY, description varchar(64)) ENGINE=InnoDB"))
			require.NoError(t, s.exec("INSERT INTO database_lock VALUES (1, 'lock'), (2, 'a'), (3, 'b')"))
			require.NoError(t, s.exec("SET AUTOCOMMIT = 0"))
			require.NoError(t, s.exec("SELECT * FROM database_lock WHERE "+condition+" FOR UPDATE;"))
			own := " FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = CONNECTION_ID()"
			locked := func() bool { return s.number("SELECT coalesce(max(trx_rows_locked), 0)"+own) == rows }
			// That table is renewed once nobody has read it for 100 ms.
			require.Eventually(t, locked, 2*time.Minute, 250*time.Millisecond, "%d rows, and the end of the index", rows)
			require.NoError(t, other.exec("SET SESSION innodb_lock_wait_timeout = 0"))
			if rows > 1 {
				other.requireRefused(lockTimeout, "UPDATE database_lock SET description = '' WHERE id = 3")
			} else {
				require.NoError(t, other.exec("UPDATE database_lock SET description = '' WHERE id = 3"))
			}
			require.NoError(t, other.exec("SET AUTOCOMMIT = 0"))
			require.NoError(t, other.exec("SELECT * FROM database_lock WHERE id = 99 FOR UPDATE"), "the table itself is not locked")
			require.NoError(t, s.exec("ROLLBACK"))
		})
	}
}
