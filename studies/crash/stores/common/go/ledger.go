// Package ledger is what every store of the crash table keeps, as in ../c/ledger.c: numbered
// transactions, whose bytes follow from their numbers, so that a check knows what must be there.
package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Exit codes of a check, as `drivelab crash` reads them.
const (
	lost    = 1
	corrupt = 2
	usage   = 64
)

// Transactions after which the writer closes the store and opens it again, as services do.
const session = 75

const (
	pause    = 20 * time.Millisecond
	slots    = 8
	valueMax = 3072
)

// Mode is a way to use a store.
type Mode struct {
	Name string
	// Sleeps is set where nothing waits for the drive: virtual time passes only where the writer
	// sleeps.
	Sleeps bool
}

// Put is a key and its value.
type Put struct {
	Key   string
	Value []byte
}

// Store has atomic transactions, none of which survives without those before it.
type Store interface {
	Open(folder string, mode Mode)
	// Commit returns when the transaction is as durable as the mode makes it.
	Commit(puts []Put)
	// Get returns nil where there is no value.
	Get(key string) []byte
	Verify()
	Close()
}

// Must ends the program where an error occurred: the store is unusable or damaged.
func Must(err error, what string) {
	if err != nil {
		end(corrupt, "%s: %v", what, err)
	}
}

func end(code int, format string, values ...any) {
	fmt.Println(strings.ReplaceAll(fmt.Sprintf(format, values...), "\n", " "))
	os.Exit(code)
}

// xorshift64*: the same bytes for the same number, none of them compressible.
func valueOf(n int) []byte {
	state := uint64(n+1) * 0x9E3779B97F4A7C15
	draw := func() uint64 {
		state ^= state >> 12
		state ^= state << 25
		state ^= state >> 27
		return state * 0x2545F4914F6CDD1D
	}
	size := 64 + int((draw()>>32)%(valueMax-64))
	var value []byte
	for len(value) < size {
		value = binary.LittleEndian.AppendUint64(value, draw())
	}
	return value[:size]
}

func record(n int) string { return fmt.Sprintf("record-%06d", n) }

func slot(n int) string { return fmt.Sprintf("slot-%d", n%slots) }

func commit(store Store, n int) {
	value := valueOf(n)
	store.Commit([]Put{
		{record(n), value}, {slot(n), value}, {"newest", []byte(strconv.Itoa(n))},
	})
}

func insert(store Store, mode Mode, folder string, count int) {
	store.Open(folder, mode)
	for n := 1; n <= count; n++ {
		commit(store, n)
		_, err := fmt.Println(n)
		Must(err, "print")
		if mode.Sleeps {
			time.Sleep(pause)
		}
		if n%session == 0 && n < count {
			store.Close()
			store.Open(folder, mode)
		}
	}
	store.Close()
}

func acknowledged() int {
	text, err := os.ReadFile("/acknowledged")
	Must(err, "/acknowledged")
	newest := 0
	for _, line := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(line); err == nil {
			newest = n
		}
	}
	return newest
}

func holds(store Store, key string, n int) bool {
	return bytes.Equal(store.Get(key), valueOf(n))
}

func check(store Store, mode Mode, folder string, count int) {
	promised := acknowledged()
	store.Open(folder, mode)
	newest := 0
	for n := 1; n <= count; n++ {
		if store.Get(record(n)) == nil {
			continue
		}
		if !holds(store, record(n), n) {
			end(corrupt, "record %d is there with other bytes", n)
		}
		if newest != n-1 {
			end(corrupt, "record %d is missing, and %d is there", newest+1, n)
		}
		newest = n
	}
	for n := max(1, newest-slots+1); n <= newest; n++ {
		if !holds(store, slot(n), n) {
			end(corrupt, "slot %d does not hold transaction %d", n%slots, n)
		}
	}
	if noted := string(store.Get("newest")); noted != strconv.Itoa(newest) && newest+len(noted) > 0 {
		end(corrupt, "transaction %d is the newest, and %s is noted", newest, noted)
	}
	if newest < promised {
		end(lost, "%d was acknowledged, and %d is the newest", promised, newest)
	}
	store.Verify()
	// A store that can only be read is not whole.
	commit(store, newest+1)
	store.Close()
	store.Open(folder, mode)
	if !holds(store, record(newest+1), newest+1) {
		end(corrupt, "a new transaction is not kept")
	}
	store.Close()
}

func version(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return "of unknown version"
}

// Main is the one program: VERB MODE FOLDER COUNT.
func Main(name, module string, modes []Mode, store Store) {
	defer func() {
		if reason := recover(); reason != nil {
			end(corrupt, "the library panicked: %v", reason)
		}
	}()
	words := os.Args[1:]
	if len(words) == 1 && words[0] == "version" {
		fmt.Println(name, version(module))
		return
	}
	for _, mode := range modes {
		if len(words) != 4 || words[1] != mode.Name {
			continue
		}
		count, err := strconv.Atoi(words[3])
		Must(err, "COUNT")
		switch words[0] {
		case "create":
			Must(os.Mkdir(words[2], 0o777), "mkdir")
			store.Open(words[2], mode)
			store.Close()
			return
		case "insert":
			insert(store, mode, words[2], count)
			return
		case "check":
			check(store, mode, words[2], count)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: create|insert|check MODE FOLDER COUNT")
	os.Exit(usage)
}
