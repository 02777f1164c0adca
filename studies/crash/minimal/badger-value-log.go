// badger without SyncWrites: a table, which is synced, points to values in the value log, which is not.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/dgraph-io/badger/v4"
)

// Exit codes of a check, as `drivelab crash` reads them.
const (
	lost    = 1
	corrupt = 2
	usage   = 64
)

const folder = "data"

// Beyond the threshold, hence in the value log; the other one is kept beside its key.
var large, small = bytes.Repeat([]byte("l"), 2048), []byte("s")

func end(code int, format string, values ...any) {
	fmt.Printf(format+"\n", values...)
	os.Exit(code)
}

func must(err error) {
	if err != nil {
		end(corrupt, "%v", err)
	}
}

func open() *badger.DB {
	// Sizes that fit a small guest.
	options := badger.DefaultOptions(folder).WithSyncWrites(false).WithLogger(nil).
		WithMemTableSize(256 << 10).WithValueLogFileSize(1 << 20).WithValueThreshold(1 << 10)
	db, err := badger.Open(options)
	must(err)
	return db
}

func put(db *badger.DB, number int, key string, value []byte) {
	must(db.Update(func(txn *badger.Txn) error { return txn.Set([]byte(key), value) }))
	fmt.Println(number)
}

// holds tells whether a key is there; it ends the program where its value is not.
func holds(db *badger.DB, key string, value []byte) (there bool) {
	must(db.View(func(txn *badger.Txn) error {
		item, err := txn.Get([]byte(key))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		must(err)
		there = true
		found, err := item.ValueCopy(nil)
		if !bytes.Equal(found, value) {
			end(corrupt, "%s is there with %d of %d bytes, and the error is %v", key, len(found), len(value), err)
		}
		return err
	}))
	return there
}

func main() {
	switch verb := append(os.Args, "")[1]; verb {
	case "create":
		must(os.Mkdir(folder, 0o777))
		must(open().Close())
	case "insert":
		db := open()
		put(db, 1, "large", large)
		put(db, 2, "small", small)
		must(db.Close())
	case "check":
		db := open()
		hasLarge, hasSmall := holds(db, "large", large), holds(db, "small", small)
		if hasSmall && !hasLarge {
			end(corrupt, "the second transaction is there, and the first is not")
		}
		if !hasLarge || !hasSmall {
			end(lost, "the newest transactions are missing")
		}
	default:
		end(usage, "usage: badger-value-log create|insert|check")
	}
}
