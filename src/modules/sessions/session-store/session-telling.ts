import { SessionUpdated } from '../../../contract/events/sessions.events.js';
import type { SessionResponse } from '../../../contract/sessions.schemas.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import type { EndingEvent, SessionChanges, SessionCity } from './session-changes.js';
import type { SessionRow } from './session-row.js';

/** Who knows what a session looks like to whoever asks for it. */
export interface SessionTelling {
  /** Sessions as they are in the transaction, by their ids, in one statement; those that are gone are left out. */
  tell(tx: Tx, city: SessionCity, ids: readonly string[]): Promise<ReadonlyMap<string, SessionResponse>>;
  /** Members of its answer that a change of its row has made others. */
  changed(before: SessionRow, after: SessionRow): readonly string[];
}

/** Options and metadata are as long as a city's files and its callers make them; a usual session takes less than 1 KiB. */
const LONGEST = 16 * 1024;

/**
 * The events of a transaction as they are appended. Those about a session carry it as it is at the end of the transaction, which holds
 * its row: so the last event in the log has its last state. A change that somebody sees and that no event names has one here.
 * Left out of that: what time alone changes, the bead that it works on (events of beads tell it), and the model and the context that an
 * agent names during a turn, which the end of the turn tells.
 */
export async function withSessions(changes: SessionChanges, telling: SessionTelling): Promise<readonly NewEvent[]> {
  const named = new Set(changes.events().flatMap((one) => ('make' in one ? [] : (sessionOf(one) ?? []))));
  const events = [...changes.events(), ...unnamed(changes, telling, named)];
  const wanted = [...new Set(events.flatMap((one) => sessionOf(one) ?? []))];
  if (wanted.length === 0) return events as NewEvent[];
  const told = await telling.tell(changes.tx, changes.city, wanted);
  const made: NewEvent[] = [];
  for (const one of events) {
    const session = told.get(sessionOf(one) ?? '');
    if ('make' in one) {
      const event = await one.make(session!);
      if (event !== undefined) made.push(event);
    } else if (session === undefined || Buffer.byteLength(JSON.stringify(session)) > LONGEST) made.push(one);
    else made.push({ ...one, payload: { ...(one.payload as object), session } });
  }
  return made;
}

/** The session that an event is about. */
function sessionOf(one: NewEvent | EndingEvent): string | undefined {
  if ('make' in one) return one.id;
  return one.type.startsWith('session.') ? one.subject : undefined;
}

function unnamed(changes: SessionChanges, telling: SessionTelling, named: ReadonlySet<string>): NewEvent[] {
  return [...changes.patched.values()].flatMap(({ before, after }) => {
    const members = named.has(after.id) ? [] : telling.changed(before, after);
    return members.length === 0
      ? []
      : [event(SessionUpdated, { ...changes.facts(after), message: `${members.join(', ')} changed`, payload: {} })];
  });
}
