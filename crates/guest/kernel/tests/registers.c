// Checks that the kernel of the laboratory keeps the vector registers of every thread and process:
// across system calls, page faults, signals, forks, changes of the memory map and other threads.
// It is the test of kernel/patches/lazy-registers.patch, and passes on any kernel.
//
//   cc -O1 -pthread -o registers registers.c && ./registers

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REGISTERS = 16, WIDTH = 32, BYTES = REGISTERS * WIDTH, THREADS = 4, ROUNDS = 1000 };

static int has_avx;
static volatile int signals;

// Fills the registers from `in`, makes a system call, writes to `touch`, and copies the registers
// to `out`: the compiler has no say in between.
#define ALL(one) one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) \
  one(8) one(9) one(10) one(11) one(12) one(13) one(14) one(15)
#define LOAD_Y(n) "vmovdqu " #n "*32(%[in]), %%ymm" #n "\n"
#define STORE_Y(n) "vmovdqu %%ymm" #n ", " #n "*32(%[out])\n"
#define LOAD_X(n) "movdqu " #n "*32(%[in]), %%xmm" #n "\n"
#define STORE_X(n) "movdqu %%xmm" #n ", " #n "*32(%[out])\n"
#define NAME(n) "xmm" #n,
#define HOLD(load, store)                                                                      \
  __asm__ volatile(ALL(load) "syscall\n" "movb $1, (%[touch])\n" ALL(store)                    \
    : "+a"(number)                                                                             \
    : [in] "r"(in), [out] "r"(out), [touch] "r"(touch), "D"(a), "S"(b), "d"(c)                 \
    : ALL(NAME) "rcx", "r11", "memory")

static long hold(const unsigned char *in, unsigned char *out, char *touch, long number, long a,
                 long b, long c) {
  if (has_avx)
    HOLD(LOAD_Y, STORE_Y);
  else
    HOLD(LOAD_X, STORE_X);
  return number;
}

static void fill(unsigned char *bytes, uint64_t seed) {
  for (int at = 0; at < BYTES; at++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    bytes[at] = seed >> 56;
  }
}

static void compare(const unsigned char *in, const unsigned char *out, const char *what) {
  int width = has_avx ? WIDTH : WIDTH / 2;
  for (int n = 0; n < REGISTERS; n++) {
    if (memcmp(in + n * WIDTH, out + n * WIDTH, width) != 0) {
      printf("registers: xmm%d was lost: %s\n", n, what);
      fflush(stdout);
      _exit(1);
    }
  }
}

static void handler(int number) {
  unsigned char own[BYTES], seen[BYTES];
  char touch;
  fill(own, 1000 + number);
  hold(own, seen, &touch, SYS_getppid, 0, 0, 0);
  compare(own, seen, "in a handler");
  signals++;
}

static void work(uint64_t seed, const char *who) {
  unsigned char own[BYTES], seen[BYTES];
  char stack;
  for (int round = 0; round < ROUNDS; round++) {
    char *page = &stack;
    struct timespec pause = {0, 1000};
    fill(own, seed + (uint64_t)round * 77);
    switch (round % 6) {
    case 0:
      hold(own, seen, page, SYS_sched_yield, 0, 0, 0);
      break;
    case 1: // a system call that sleeps, so that others run
      hold(own, seen, page, SYS_nanosleep, (long)&pause, 0, 0);
      break;
    case 2: // a page fault, and one for the change of a shared page
      page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      hold(own, seen, page, SYS_getppid, 0, 0, 0);
      compare(own, seen, "in a page fault");
      hold(own, seen, &stack, SYS_munmap, (long)page, 4096, 0);
      break;
    case 3: // a signal whose handler uses the registers
      hold(own, seen, page, SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
      break;
    case 4:
      page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *page = 1;
      hold(own, seen, &stack, SYS_mprotect, (long)page, 4096, PROT_READ);
      munmap(page, 4096);
      break;
    case 5:
      if (round % 96 == 5) { // the child has them, and what it does is not seen here
        long child = hold(own, seen, page, SYS_fork, 0, 0, 0);
        if (child == 0) {
          compare(own, seen, "in a child");
          fill(own, seed * 31);
          hold(own, seen, page, SYS_sched_yield, 0, 0, 0);
          compare(own, seen, "later in a child");
          _exit(0);
        }
        compare(own, seen, "by a fork");
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
          _exit(1);
      }
      hold(own, seen, page, SYS_sched_yield, 0, 0, 0);
      break;
    }
    compare(own, seen, who);
  }
}

static void *thread(void *number) {
  work(1 + (uint64_t)(uintptr_t)number, "in a thread");
  return NULL;
}

// A child that shares the memory until it executes a program.
static void execute(const char *self) {
  unsigned char own[BYTES], seen[BYTES];
  char touch;
  for (int round = 0; round < 20; round++) {
    pid_t child = vfork();
    if (child == 0) {
      execl(self, self, "child", NULL);
      _exit(1);
    }
    fill(own, 5000 + round);
    hold(own, seen, &touch, SYS_sched_yield, 0, 0, 0);
    compare(own, seen, "after vfork");
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) {
      puts("registers: a program that was executed failed");
      exit(1);
    }
  }
}

int main(int count, char **arguments) {
  (void)arguments;
  __builtin_cpu_init();
  has_avx = __builtin_cpu_supports("avx") != 0;
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGALRM, &action, NULL);
  if (count > 1) {
    unsigned char own[BYTES], seen[BYTES];
    char touch;
    fill(own, 9);
    hold(own, seen, &touch, SYS_sched_yield, 0, 0, 0);
    compare(own, seen, "in a program that was executed");
    return 0;
  }
  // Threads begin and end while others run.
  pthread_t threads[THREADS];
  struct itimerval often = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (int round = 0; round < 3; round++) {
    for (uintptr_t n = 0; n < THREADS; n++)
      if (pthread_create(&threads[n], NULL, thread, (void *)(n + 10 * round)) != 0)
        return 1;
    work(99 + round, "in the first thread");
    for (int n = 0; n < THREADS; n++)
      pthread_join(threads[n], NULL);
  }
  setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
  execute("/proc/self/exe");
  printf("registers: kept through %s signals, %s\n", signals > 1000 ? "many" : "few",
         has_avx ? "avx" : "sse");
  return signals > 1000 ? 0 : 1;
}
