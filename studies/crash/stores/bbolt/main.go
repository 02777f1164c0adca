// bbolt: Update is its promise.
package main

import (
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	ledger "stores/common/go"
)

type store struct {
	db *bolt.DB
}

var bucket = []byte("kept")

func (s *store) Open(folder string, mode ledger.Mode) {
	options := *bolt.DefaultOptions
	options.NoSync = mode.Sleeps
	db, err := bolt.Open(filepath.Join(folder, "kept.bolt"), 0o666, &options)
	ledger.Must(err, "Open")
	s.db = db
	ledger.Must(db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	}), "CreateBucket")
}

func (s *store) Commit(puts []ledger.Put) {
	ledger.Must(s.db.Update(func(tx *bolt.Tx) error {
		for _, put := range puts {
			if err := tx.Bucket(bucket).Put([]byte(put.Key), put.Value); err != nil {
				return err
			}
		}
		return nil
	}), "Update")
}

func (s *store) Get(key string) []byte {
	var found []byte
	ledger.Must(s.db.View(func(tx *bolt.Tx) error {
		if value := tx.Bucket(bucket).Get([]byte(key)); value != nil {
			found = append([]byte{}, value...)
		}
		return nil
	}), "View")
	return found
}

func (s *store) Verify() {
	ledger.Must(s.db.View(func(tx *bolt.Tx) error {
		var first error
		for err := range tx.Check() {
			if first == nil {
				first = err
			}
		}
		return first
	}), "Check")
}

func (s *store) Close() { ledger.Must(s.db.Close(), "Close") }

func main() {
	modes := []ledger.Mode{{Name: "sync"}, {Name: "nosync", Sleeps: true}}
	ledger.Main("bbolt", "go.etcd.io/bbolt", modes, &store{})
}
