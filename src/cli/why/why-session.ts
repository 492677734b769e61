import { ask, type Api, type Schemas } from '../api.js';
import { questionsOf } from '../sessions/questions.js';
import { respondCommand } from '../sessions/answers.js';
import { ENDS, type Rest } from '../sessions/rest.js';
import { startLine } from '../sessions/starts.js';
import { stateOf, type Session } from '../sessions/view.js';
import { harmlessLine } from '../harmless.js';
import { noWorker } from './no-worker.js';
import { reason, type Reason, type Why } from './reasons.js';

export async function whySession(api: Api, city: string, session: Session): Promise<Why> {
  return { kind: 'session', id: session.id, state: stateOf(session), reasons: await sessionReasons(api, city, session) };
}

/** What a rest waits for, and what ends it. */
export function ofRest(rest: Rest, name: string): Reason {
  const detail = rest.detail === undefined ? '' : `: ${harmlessLine(rest.detail)}`;
  const tried = rest.attempt === undefined ? '' : `, attempt ${rest.attempt}${rest.attempts === undefined ? '' : ` of ${rest.attempts}`}`;
  return reason(
    `it rests, ${rest.reason}${tried}${detail}`,
    rest.ended_by.flatMap((what) => ENDS[what](name) ?? []),
    rest.until,
  );
}

/** Turns that were ended for the stop of a worker end with these, and so long before the process at the most. */
const CUT_OFF: readonly unknown[] = ['cancelled', 'lost'];
const STOP_MS = 30_000;

/** What a session was at when its worker stopped is not gone on with, and its question is cancelled: nothing else says so later. */
async function cutOff(api: Api, city: string, id: string): Promise<Reason[]> {
  const turn = await newest(api, city, 'session.turn.ended', id);
  const { stop_reason: how } = (turn?.payload ?? {}) as { readonly stop_reason?: string };
  if (turn === undefined || !CUT_OFF.includes(how)) return [];
  const stop = await newest(api, city, 'session.stopped', id);
  const { reason: why } = (stop?.payload ?? {}) as { readonly reason?: string };
  if (stop === undefined || why !== 'handover' || stop.seq < turn.seq) return [];
  // Somebody may have stopped the turn, long before.
  if (Date.parse(stop.ts) - Date.parse(turn.ts) > STOP_MS) return [];
  return [reason('its last turn was cut off when its worker stopped: send again', [`svc session send ${id} …`])];
}

async function newest(api: Api, cityName: string, type: string, subject: string): Promise<Schemas['WireEvent'] | undefined> {
  const params = { path: { cityName }, query: { type, subject, limit: 1 } };
  return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/events', { params, signal }))).data.items[0];
}

/** What has stopped a session that has slept since. It need not be so any more. */
const STOPPED: Readonly<Record<string, string>> = {
  suspended: 'when its city, its rig or its agent was suspended',
  'city-stop': 'when its city was stopped',
  'config-drift': 'for a changed configuration',
  handover: 'when its worker stopped',
  idle: 'when it had nothing to do',
  'idle-timeout': 'when it had nothing to do',
};

/** How its last process has ended, where its state does not say so. */
function hasEnded({ state, reason: why }: Session): string {
  if (why === undefined) return '';
  if (state !== 'asleep') return ` (${why})`;
  const stopped = STOPPED[why];
  return stopped === undefined ? `: the last one has ended (${why})` : `: it was stopped ${stopped}`;
}

/** What a session waits for; nothing when it is at work. */
export async function sessionReasons(api: Api, city: string, session: Session): Promise<Reason[]> {
  const { id, state, rest, starting, circuit, running, activity, active_bead: bead } = session;
  const path = { cityName: city, id };
  const reasons: Reason[] = state === 'closed' ? [] : await noWorker(api);
  const questions = running ? await questionsOf(api, path) : [];
  for (const question of questions)
    reasons.push(reason(`it asks: ${harmlessLine(question.prompt ?? question.kind)}`, [respondCommand(id, question)]));
  if (rest !== undefined) reasons.push(ofRest(rest, id));
  if (starting !== undefined) reasons.push(reason(`it starts: ${startLine(starting)}`, ['its process is ready'], starting.until));
  if (circuit?.open_until !== undefined && rest === undefined)
    reasons.push(
      reason(`its circuit is open after ${circuit.restarts} ends without a finished turn`, [`svc session reset ${id}`], circuit.open_until),
    );
  const { data } = await ask(api, (signal) =>
    api.http.GET('/v0/city/{cityName}/session/{id}/messages', {
      params: { path, query: { status: ['queued', 'in_flight'], limit: 100 } },
      signal,
    }),
  );
  const queued = data.items.length;
  if (state === 'closed') return [reason('it is closed: nothing starts it again', ['svc session create'])];
  if (reasons.length === 0 && activity === 'in-turn')
    reasons.push(
      reason(`a turn is under way${bead === undefined ? '' : ` on ${bead}`}`, ['the end of the turn', `svc session stop ${id}`]),
    );
  else if (reasons.length === 0 && running)
    reasons.push(reason(`it is idle${bead === undefined ? '' : ` and has ${bead}`}`, [`svc session send ${id} …`]));
  else if (reasons.length === 0 && (state === 'start-pending' || state === 'creating'))
    reasons.push(reason('it waits for a runner with room', ['a place at a runner: see `svc runner list` and `svc city status`']));
  else if (reasons.length === 0)
    reasons.push(reason(`it has no process${hasEnded(session)}`, [`svc session send ${id} …`, `svc session wake ${id}`]));
  if (queued > 0)
    reasons.push(reason(`${queued} ${queued === 1 ? 'message waits' : 'messages wait'} in its queue`, [`see svc session messages ${id}`]));
  if (activity !== 'in-turn') reasons.push(...(await cutOff(api, city, id)));
  return reasons;
}
