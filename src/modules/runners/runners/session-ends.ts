import type { Exit } from '../../../platform/runtime/port.js';
import { printable } from '../../../platform/runtime/printable.js';
import { maskedLines } from '../../files/composition/mask.js';
import type { LaunchPlan } from '../../sessions/launch/launch.js';
import type { BreakerSettings } from '../../sessions/session-store/settings.js';
import { afterExit, afterFailedStart, EXIT_SETTINGS, type Decision } from './after-exit.js';
import { withBreaker } from './circuit-breaker.js';
import type { Ended } from './session-exits.js';
import { workerOperation } from './worker-operation.js';

/** Why a runner itself ends a process. */
export type OwnEnd = 'handover' | 'handover now' | 'stuck' | 'broken' | 'unprompted' | 'rate_limited' | 'auth_required';

export interface ProcessEnd {
  readonly exit: Exit;
  readonly own: OwnEnd | undefined;
  /** In which words it has refused its first prompt. */
  readonly refusal?: string | undefined;
  /** When it was first asked to stop; undefined where it has ended by itself. */
  readonly stoppedFrom: Date | undefined;
  readonly diedInTurn: boolean;
  readonly restarts: LaunchPlan['restarts'];
  readonly breaker: BreakerSettings | undefined;
}

/** Starts that say nothing of what was started. */
const BLAMELESS: ReadonlySet<string> = new Set(['aborted', 'busy', 'auth_required']);

/**
 * What becomes of a session whose process could not be started.
 *
 * @param putOffMs how long the start before it was put off
 */
export function failedStart(
  failure: Parameters<typeof afterFailedStart>[1],
  breaker: BreakerSettings | undefined,
  putOffMs = 0,
): Ended['decide'] {
  return (row, facts) => {
    const fruitless = row.stop_request === null && !BLAMELESS.has(failure);
    const decision = afterFailedStart(row, failure, { ...facts, productive: false }, EXIT_SETTINGS, putOffMs);
    return withBreaker(row, decision, { fruitless, now: facts.now }, breaker);
  };
}

/** What becomes of a session whose process is confirmed dead. */
export function processEnded({ exit, own, refusal, stoppedFrom, diedInTurn, restarts, breaker }: ProcessEnd): Ended {
  const cause = own === 'rate_limited' || own === 'auth_required' ? own : stoppedFrom === undefined ? exit.cause : 'stopped';
  const crashed = cause === 'crashed' || own === 'broken' || own === 'unprompted';
  const stderrTail = maskedLines(exit.stderrTail);
  const said =
    own === 'unprompted'
      ? `it refuses its first prompt: ${maskedLines(refusal ?? '')}`
      : `exited with ${exit.signal ?? exit.code ?? 'nothing'}`;
  return {
    decide: (row, facts): Decision => {
      const handed = row.stop_request === null && (own === 'handover' || own === 'handover now');
      const decision = afterExit(
        handed ? { ...row, stop_request: 'handover', stop_reason: null } : row,
        { cause: crashed ? 'crashed' : cause },
        { ...facts, inTurn: facts.inTurn || diedInTurn, productive: facts.turns > 0 },
        { ...EXIT_SETTINGS, ...restarts },
      );
      const itself = row.stop_request === null && !handed && (crashed || cause === 'clean');
      const stalled = row.stop_request === 'kill' && row.stop_reason === 'stalled';
      const fruitless = facts.turns === 0 && (itself || stalled);
      return withBreaker(row, decision, { fruitless, now: facts.now }, breaker);
    },
    ...(cause === 'clean' ? { message: 'ended by itself with 0' } : {}),
    ...(crashed ? { how: 'crashed', message: tail(said, stderrTail), stderrTail } : {}),
    ...(stoppedFrom === undefined
      ? {}
      : {
          also: (changes, row) => {
            const operation = row.stop_request === 'kill' ? 'kill' : 'stop';
            changes.emit(workerOperation(changes, row, { operation, startedAt: stoppedFrom }));
          },
        }),
  };
}

/** A message with the end of what a process wrote to its error output. */
export function tail(message: string, stderr: string): string {
  const last = printable(stderr).trim().slice(-800);
  return last === '' ? message : `${message}:\n${last}`;
}
