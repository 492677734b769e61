import type { Exit, Member } from './fleet.js';
import type { Recorder } from './recorder.js';
import type { Violation } from './violations.js';

/** The bar is five seconds; the rest is for a machine that does everything at once. */
const STOP_MS = 6_000;

/** What a process's end says against it. A process that was paused could not hurry. */
export function judge(member: Member, { how, ready, stopMs, lastLines }: Exit, recorder: Recorder, limitMs = STOP_MS): Violation[] {
  const at = recorder.now();
  const paused = recorder.history.faults.some((f) => f.pause === true && (f.replica ?? member.name) === member.name && f.to > at - limitMs);
  if (stopMs !== undefined && stopMs > limitMs && !paused) {
    return [
      { property: 'orderly stop', message: `${member.name} took ${Math.round(stopMs)} ms from SIGTERM to its end`, entries: [lastLines] },
    ];
  }
  if (!ready || how === 'SIGKILL' || how === '0' || stopMs !== undefined) return [];
  return [{ property: 'stays up', message: `${member.name} ended with ${how} at ${at}`, entries: [lastLines] }];
}

/** Every process is there, alive and without armed failpoints. */
export async function heal(members: readonly Member[]): Promise<void> {
  for (const member of members) {
    await member.ready().catch(() => undefined);
    if (member.armed !== '') await member.stop();
    member.start();
  }
  await Promise.all(members.map((m) => m.ready()));
}
