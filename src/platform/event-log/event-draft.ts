import type { NewEvent } from './event.js';

/** Events that a transaction has stored with `EventLog.draft` and not yet appended. */
export class EventDraft {
  constructor(
    readonly id: string,
    readonly events: readonly NewEvent[],
  ) {}
}

/** Splits into drafts and runs of events between them, in order. */
export function partsOf(all: readonly (NewEvent | EventDraft)[]): (NewEvent[] | EventDraft)[] {
  const parts: (NewEvent[] | EventDraft)[] = [];
  for (const one of all) {
    const last = parts.at(-1);
    if (one instanceof EventDraft) parts.push(one);
    else if (Array.isArray(last)) last.push(one);
    else parts.push([one]);
  }
  return parts;
}

export function eventsIn(all: readonly (NewEvent | EventDraft)[]): NewEvent[] {
  return all.flatMap((one) => (one instanceof EventDraft ? one.events : one));
}
