// The stores of the crash table that are written in Go; not a part of drivelab, and built by `build`.
module stores

go 1.24

require (
	github.com/dgraph-io/badger/v4 v4.8.0
	go.etcd.io/bbolt v1.4.3
)
