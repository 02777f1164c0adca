// Orders that several workers save: `service WORKERS ORDERS`. Each worker saves its orders, each as a
// file that it writes under another name, syncs and renames.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

func save(name, text string) error {
	file, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	if _, err := file.WriteString(text); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

func main() {
	workers, _ := strconv.Atoi(os.Args[1])
	orders, _ := strconv.Atoi(os.Args[2])
	var group sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for order := 0; order < orders; order++ {
				name := fmt.Sprintf("order-%d-%d", worker, order)
				if err := save(name, fmt.Sprintf("order %d of worker %d\n", order, worker)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		}(worker)
	}
	group.Wait()
}
