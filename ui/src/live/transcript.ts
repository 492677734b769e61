import type { Schemas } from '../api/types.js';
import type { Frame } from './messages.js';

export type Message = Schemas['SessionStructuredMessage'];
export type Question = Schemas['PendingInteraction'];
type StructuredFrame = Schemas['SessionStreamStructuredMessageEvent'];

export interface Conversation {
  readonly messages: readonly Message[];
  readonly activity: string;
  readonly questions: readonly Question[];
  readonly begun: boolean;
  /** Where older entries go on; undefined when there are none. */
  readonly before: string | undefined;
}

const MOST = 2_000;
/** Of what somebody pages back to, in entries, and beside `MOST`. */
const MOST_PAGED = 20_000;
const EMPTY: Conversation = { messages: [], activity: '', questions: [], begun: false, before: undefined };

/** What a session has said, and asks, as its stream tells it: an entry that has changed comes again, whole. */
export class Transcript {
  #messages = new Map<string, Message>();
  #questions = new Map<string, Question>();
  #activity = '';
  #begun = false;
  #before: string | undefined;
  /** The place from which on all is here: what stands before it comes when somebody pages back to it. */
  #first = 0;
  #last = 0;
  /** How many entries somebody has paged back to, and may be reading. */
  #paged = 0;
  /** How many pages are on their way. */
  #held = 0;
  #snapshot = EMPTY;
  #scheduled = false;
  readonly #listeners = new Set<() => void>();

  constructor(private readonly schedule: (flush: () => void) => void) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly snapshot = (): Conversation => this.#snapshot;

  apply({ event, data }: Frame): void {
    if (event === 'structured') this.#structured(data as StructuredFrame);
    else if (event === 'activity') this.#activity = (data as { activity: string }).activity;
    else if (event === 'pending') this.#questions.set((data as Question).request_id, data as Question);
    else if (event === 'pending_cleared') this.#questions.delete((data as { request_id: string }).request_id);
    else return;
    this.changed();
  }

  /** Older entries, in their order, before the one they were `asked` for by. Where that one has gone meanwhile, others would be missing in between. */
  prepend(asked: string | undefined, messages: readonly Message[], before: string | undefined): void {
    if (asked !== this.#before) return;
    this.#first = messages[0]?.place ?? this.#first;
    const older = new Map<string, Message>();
    let last = 0;
    for (const message of messages) {
      last = message.place ?? last;
      if (isShown(message)) older.set(message.id, { ...message, place: last });
    }
    // What a release told that tells no places stands after all that is older.
    for (const [id, message] of this.#messages) older.set(id, { ...message, place: Math.max(message.place ?? 0, last) });
    this.#last = Math.max(this.#last, last);
    this.#paged = Math.min(MOST_PAGED, this.#paged + older.size - this.#messages.size);
    this.#messages = older;
    this.#before = before;
    this.changed();
  }

  /** While an older page is on its way nothing goes: it would have no place any more. Gives what says that it has come. */
  hold(): () => void {
    this.#held++;
    return () => {
      this.#held--;
      this.#trim();
      this.changed();
    };
  }

  /** Whoever has paged back reads at the end again: what he left goes now, and not with the next page that is read. */
  atEnd(): void {
    if (this.#paged === 0) return;
    this.#paged = 0;
    this.#trim();
    this.changed();
  }

  #structured({ operation, structured_messages, pagination }: StructuredFrame): void {
    if (operation !== 'upsert') {
      const kept = operation === 'snapshot' ? this.#olderThan(structured_messages) : [];
      this.#messages = new Map(kept);
      this.#begun = true;
      // Those that are open come after it: another answer may be the one that counts, after a backup.
      this.#questions.clear();
      if (kept.length === 0) {
        this.#paged = 0;
        this.#first = structured_messages[0]?.place ?? 0;
        this.#last = 0;
        this.#before = pagination?.has_older_messages === true ? pagination.truncated_before_message : undefined;
      }
    }
    this.#put(structured_messages);
    this.#trim();
  }

  #trim(): void {
    for (const id of this.#messages.keys()) {
      if (this.#held > 0 || this.#messages.size <= MOST + this.#paged) break;
      this.#messages.delete(id);
      const first = this.#messages.values().next().value!;
      this.#before = first.id;
      this.#first = first.place ?? 0;
    }
  }

  /** Entries come in the order of their changes, and stand in that of their places. */
  #put(messages: readonly Message[]): void {
    let moved = false;
    for (const message of messages) {
      const known = this.#messages.get(message.id);
      // A release before this one tells no places: there an entry stands where it came first, also once another release has changed it.
      const place = known?.place ?? message.place ?? this.#last;
      if (!isShown(message)) this.#messages.delete(message.id);
      else if (known !== undefined || this.#before === undefined || place >= this.#first) {
        this.#messages.set(message.id, { ...message, place });
        moved ||= known === undefined && place < this.#last;
        this.#last = Math.max(this.#last, place);
      }
    }
    if (moved) this.#messages = new Map([...this.#messages].sort(([, a], [, b]) => (a.place ?? 0) - (b.place ?? 0)));
  }

  /**
   * What is there before entries that are told anew, as when another page joins: somebody may have paged back to it. Nothing where entries
   * are missing in between.
   */
  #olderThan(told: readonly Message[]): [string, Message][] {
    const first = told.find(isShown)?.id;
    const known = [...this.#messages];
    const met = known.findIndex(([id]) => id === first);
    return met < 0 ? [] : known.slice(0, met);
  }

  changed(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.schedule(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    this.#snapshot = {
      messages: [...this.#messages.values()],
      activity: this.#activity,
      questions: [...this.#questions.values()],
      begun: this.#begun,
      before: this.#before,
    };
    for (const listener of this.#listeners) listener();
  }
}

const isShown = ({ status, blocks }: Message): boolean => status !== 'superseded' && blocks.length > 0;
