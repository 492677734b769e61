/** Milliseconds. */
export interface ExecTiming {
  /** Between looks during a turn and during a start. */
  readonly pollMs: number;
  /** Between looks whether it still runs. */
  readonly idlePollMs: number;
  /** A turn has ended when nothing has changed for so long; */
  readonly quietMs: number;
  /** for longer when nothing has changed since it began, as the agent may be thinking, and while nobody can look. */
  readonly patienceMs: number;
  /** For the script to confirm that a session is gone. */
  readonly confirmMs: number;
}

export const EXEC_TIMING: ExecTiming = { pollMs: 1_000, idlePollMs: 5_000, quietMs: 5_000, patienceMs: 30_000, confirmMs: 10_000 };
