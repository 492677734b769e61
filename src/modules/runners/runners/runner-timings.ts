import { RUNNER_LEASE_MS } from '../../../contract/runner-lease.js';

/** Times of the runners' room in milliseconds, in one place so that tests can shorten them. */
export class RunnerTimings {
  /** How long a renewal holds, by the database's clock. */
  readonly leaseMs: number = RUNNER_LEASE_MS;
  readonly renewMs: number = 2_000;
  /** Without a renewal for this long no new session is accepted. */
  readonly acceptMs: number = 7_000;
  /** Without a renewal for this long all processes are killed and nothing is recorded any more. Less than the lease. */
  readonly holdMs: number = 9_000;
  /** How often a runner looks at its own clock whether it still has its lease. */
  readonly watchMs: number = 450;
  /** How often a runner looks for work that no signal has told of. */
  readonly pollMs: number = 1_000;
  readonly sweepMs: number = 1_000;
  /** After this a wanted session may be taken by a runner that has more than its share. */
  readonly overdueMs: number = 1_500;
  /** Starts in progress at once. */
  readonly startsAtOnce: number = 16;
  /** A start that has taken this long waits for something, and keeps the processors from nothing else. */
  readonly slowStartMs: number = 10_000;
  /** How long a runner takes no sessions whose host has no process, file or memory left for one. */
  readonly shortMs: number = 5_000;
  /** From the claim to the launch plan; what follows has the city's `startup_timeout`. */
  readonly planMs: number = 60_000;
  /** Entries wait this long for others when a write has just been done. A subscriber is to see a word within 50 ms. */
  readonly joinMs: number = 25;
  /** How long a cancelled turn may go on before a message that interrupts ends the process. */
  readonly cancelMs: number = 15_000;
  /** How long a turn may go on when its runner is told to stop. */
  readonly handoverMs: number = 10_000;
  /** All of a handover, the ending of processes included. */
  readonly handoverLimitMs: number = 22_000;
  /** How long until a process that could not be confirmed dead is looked at again. */
  readonly unconfirmedMs: number = 5_000;
  /** How often a host with several runners is searched for what a lost one has left. */
  readonly leftoversMs: number = 10_000;

  constructor(overrides: Partial<RunnerTimings> = {}) {
    Object.assign(this, overrides);
  }
}
