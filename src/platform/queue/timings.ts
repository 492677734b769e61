/** The queue room's times and limits. Provided once an application; a test gives shorter ones. */
export class QueueTimings {
  /** No request and no commit ever waits longer than this for the queue. */
  readonly addMs: number = 1_000;
  readonly sampleMs: number = 500;
  readonly connectMs: number = 2_000;
  readonly commandMs: number = 1_000;
  /** An orderly close that takes longer (jobs in hand, a server that hangs) is given up and the connection cut. */
  readonly closeProducerMs: number = 1_000;
  readonly closeConsumerMs: number = 2_000;
  /** How long a close waits for an opening under way. */
  readonly openingMs: number = 1_000;
  /** How long a consumer waits after a failed fetch; BullMQ's own default is 15 s. */
  readonly retryMs: number = 1_000;
  /** Pauses before a lost or failed connection is tried again: doubled from the first to the longest. */
  readonly reconnectMs: number = 200;
  readonly reconnectMaxMs: number = 2_000;
  readonly reopenMs: number = 250;
  readonly reopenMaxMs: number = 5_000;

  constructor(overrides: Partial<QueueTimings> = {}) {
    Object.assign(this, overrides);
    Object.freeze(this);
  }
}
