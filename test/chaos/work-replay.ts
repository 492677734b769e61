import { isDeepStrictEqual } from 'node:util';
import type { BeadView, MessageView } from './history-work.js';
import type { LogRow } from './history.js';
import type { Violations } from './violations.js';

export interface WorkEvent {
  readonly seq: number;
  readonly ts: string;
  readonly type: string;
  readonly actor: string;
  readonly subject: string;
  readonly payload: {
    readonly bead?: BeadView;
    readonly message?: MessageView;
    readonly attempted_claimant?: string;
    readonly bead_id?: string;
  };
}

export type Archived = 'archived' | 'deleted';
export interface Letter {
  message: MessageView;
  archived?: Archived;
  /** Every state that it has been in. */
  readonly was: Set<string>;
}

const FINE = new Set(['bead.created', 'bead.updated', 'bead.closed', 'bead.deleted']);
const WORK = /^(bead|convoy|mail|molecule)\./;

/** Events about work, as far as the log can be read at all. */
export function workEvents(rows: readonly (LogRow | undefined)[]): WorkEvent[] {
  return rows.filter((row) => row !== undefined && WORK.test(row.type)).map((row) => JSON.parse(row!.text) as WorkEvent);
}

/** What whoever follows a city's events from the first one knows of its work; every event has to be a step from what was. */
export class Replay {
  readonly beads = new Map<string, BeadView>();
  readonly letters = new Map<string, Letter>();
  /** Every state of every bead that an event has shown, by `id@revision`, with its event. */
  readonly states = new Map<string, WorkEvent>();
  readonly #gone = new Set<string>();

  constructor(
    private readonly city: string,
    private readonly violations: Violations,
  ) {}

  apply(event: WorkEvent): void {
    if (FINE.has(event.type)) this.#bead(event);
    else if (event.type.startsWith('mail.')) this.#letter(event);
  }

  #bead(event: WorkEvent): void {
    const { type, subject, payload } = event;
    const { bead } = payload;
    if (bead?.id !== subject) return this.#once(`an event without its bead`, event);
    const before = this.beads.get(subject);
    const where = `${subject} of ${this.city} at ${event.seq}`;
    if (this.#gone.has(subject)) this.#once(`${where}: ${type} after it was removed`, event);
    if ((type === 'bead.created') !== (before === undefined))
      this.#once(`${where}: ${type} of what is ${before ? '' : 'not '}there`, event);
    if (before !== undefined && type !== 'bead.deleted') this.#step(where, event, before, bead);
    if (type === 'bead.deleted') {
      if (before !== undefined && !same(before, bead)) this.#once(`${where}: removed as it never was`, event, before);
      this.beads.delete(subject);
      this.#gone.add(subject);
      return;
    }
    this.beads.set(subject, bead);
    this.states.set(`${subject}@${bead.revision}`, event);
  }

  #step(where: string, event: WorkEvent, before: BeadView, after: BeadView): void {
    if (after.revision <= before.revision) this.#once(`${where}: revision ${after.revision} after ${before.revision}`, event, before);
    else if (same(bare(before), bare(after))) this.#once(`${where}: an event without a change`, event, before);
    const closes = before.status !== 'closed' && after.status === 'closed';
    if (closes !== (event.type === 'bead.closed')) this.#once(`${where}: ${event.type} from ${before.status} to ${after.status}`, event);
    for (const [key, value] of Object.entries(before.metadata ?? {})) {
      if (key.startsWith('chaos.') && after.metadata?.[key] === undefined)
        this.violations.add('no lost update', `${where}: ${key}=${value} is gone, and nobody took it away`, event, before);
    }
  }

  #letter(event: WorkEvent): void {
    const { type, subject, payload } = event;
    const letter = this.letters.get(subject);
    const where = `${subject} of ${this.city} at ${event.seq}`;
    const told = (message: string): void => this.violations.add('mail told', `${where}: ${message}`, event, letter?.message);
    if (type === 'mail.sent' || type === 'mail.replied') {
      if (letter !== undefined) told('sent again');
      if (payload.message?.id !== subject) return told('sent without its message');
      this.letters.set(subject, { message: payload.message, was: new Set([stateOf(payload.message.read)]) });
      return;
    }
    if (letter === undefined) return told(`${type} of what is not there`);
    if (letter.archived !== undefined) told(`${type} after it was ${letter.archived}`);
    if (type === 'mail.archived' || type === 'mail.deleted') letter.archived = type === 'mail.archived' ? 'archived' : 'deleted';
    else {
      const read = type === 'mail.marked_read';
      if (letter.message.read === read) told(`${type} without a change`);
      letter.message = { ...letter.message, read };
      letter.was.add(stateOf(read));
    }
  }

  #once(message: string, ...entries: unknown[]): void {
    this.violations.add('work once', message, ...entries);
  }
}

export function stateOf(read: boolean): string {
  return read ? 'read' : 'unread';
}

/** Without what every change changes. */
function bare(bead: BeadView): object {
  return { ...bead, revision: 0, updated_at: '' };
}

export function same(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

const BLOCKING = new Set(['blocks', 'waits-for', 'conditional-blocks']);

/** How many of its dependencies keep a bead from being ready. */
export function openBlockers(bead: BeadView, beads: ReadonlyMap<string, BeadView>): number {
  return (bead.dependencies ?? []).filter((d) => BLOCKING.has(d.type) && beads.get(d.depends_on_id)?.status !== 'closed').length;
}
