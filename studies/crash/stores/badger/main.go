// badger: a commit with SyncWrites is its promise.
package main

import (
	"errors"

	"github.com/dgraph-io/badger/v4"

	ledger "stores/common/go"
)

type store struct {
	db *badger.DB
}

func (s *store) Open(folder string, mode ledger.Mode) {
	options := badger.DefaultOptions(folder).WithSyncWrites(!mode.Sleeps).WithLogger(nil)
	// Files that end while power is cut, and that fit a small guest.
	options = options.WithMemTableSize(256 << 10).WithValueLogFileSize(1 << 20).
		WithValueThreshold(1 << 10).WithBlockCacheSize(1 << 20).WithNumCompactors(2)
	db, err := badger.Open(options)
	ledger.Must(err, "Open")
	s.db = db
}

func (s *store) Commit(puts []ledger.Put) {
	ledger.Must(s.db.Update(func(txn *badger.Txn) error {
		for _, put := range puts {
			if err := txn.Set([]byte(put.Key), put.Value); err != nil {
				return err
			}
		}
		return nil
	}), "Update")
}

func (s *store) Get(key string) []byte {
	var found []byte
	ledger.Must(s.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get([]byte(key))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		found, err = item.ValueCopy(nil)
		return err
	}), "View")
	return found
}

func (s *store) Verify() { ledger.Must(s.db.VerifyChecksum(), "VerifyChecksum") }

func (s *store) Close() { ledger.Must(s.db.Close(), "Close") }

func main() {
	modes := []ledger.Mode{{Name: "sync"}, {Name: "nosync", Sleeps: true}}
	ledger.Main("badger", "github.com/dgraph-io/badger/v4", modes, &store{})
}
