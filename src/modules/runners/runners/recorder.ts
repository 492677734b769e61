import { retrying } from '../../../platform/database/retrying.js';
import { shortId } from '../../../platform/runtime/limits.js';
import type { RuntimeEvent, TurnUsage } from '../../../platform/runtime/port.js';
import { BEGINS, type EntryWrite, type LogWrite } from '../../sessions/transcripts/entries.js';
import { Allowance } from './allowance.js';
import { boundedEntry } from './bounded-entry.js';

/** Where a recorder writes. */
export interface RecorderLog {
  append(write: LogWrite): Promise<{ readonly head: number } | 'fenced'>;
}

export interface RecorderFacts {
  readonly sessionPk: number;
  readonly generation: number;
  readonly epoch: number;
  /** Writes go with others for up to so many milliseconds when one has just been done. */
  readonly joinMs: number;
  /** Whether this process may still write. */
  readonly held: () => boolean;
  /** Called once, when it turns out that it may not. */
  readonly fenced: () => void;
  /** What could not be stored and never will be. */
  readonly lost: (error: unknown) => void;
  /** For what is said between turns. */
  readonly allowance?: Allowance;
}

type TextEvent = Extract<RuntimeEvent, { type: 'text' }>;
type EntryEvent = Extract<RuntimeEvent, { type: 'entry' }>;

/** A message longer than this goes on in another entry, so that sending its last part again stays cheap. */
const TEXT_BYTES = 16 * 1024;
const MAX_ENTRIES = 64;
const MAX_BYTES = 256 * 1024;
/** Of what is said between turns, while the allowance is used up. */
const MAX_ENTRIES_BETWEEN = 32;
const MAX_BYTES_BETWEEN = 128 * 1024;
const MAX_RETRY_MS = 1_000;

interface OpenText {
  readonly id: string;
  readonly kind: 'message' | 'thought';
  readonly model: string | undefined;
  readonly messageId: string | undefined;
  readonly turn: number;
  text: string;
  bytes: number;
}

interface Pending {
  readonly entry: EntryWrite;
  readonly bytes: number;
}

/**
 * Turns what a process says into entries of its session's log. Text is joined into one entry a message; an entry that
 * changes while a write is on its way goes once with the next. What waits is bounded: `room` tells when to read on.
 *
 * What is said between turns is recorded like the rest. Nobody waits for it and nothing ends it, so it has an allowance: once that is
 * used up, writes come slower, and what does not fit into the next one is left out. A note says how much that was.
 */
export class Recorder {
  /** The turn that entries belong to; 0 between turns. */
  turn = 0;
  readonly #allowance: Allowance;
  readonly #leftOut = { gaps: 0, bytes: 0 };
  #pending = new Map<string, Pending>();
  #bytes = 0;
  #head: Pick<LogWrite, 'model' | 'contextUsed' | 'contextWindow'> | undefined;
  #open: OpenText | undefined;
  #count = 0;
  /** The last message, and the last thought, whose text was told, where the agent gives them ids. */
  readonly #said = { message: undefined as string | undefined, thought: undefined as string | undefined };
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wroteAt = -Infinity;
  #over = false;
  readonly #waiters: (() => void)[] = [];

  constructor(
    private readonly log: RecorderLog,
    private readonly facts: RecorderFacts,
  ) {
    this.#allowance = facts.allowance ?? new Allowance();
  }

  beginTurn(turn: number): void {
    this.closeText();
    this.turn = turn;
  }

  /** All that was said in the turn is stored. */
  async endTurn(): Promise<void> {
    this.closeText();
    await this.flush();
    this.turn = 0;
  }

  text({ kind, text, model, messageId }: TextEvent): void {
    if (this.#leavesOut(undefined, Buffer.byteLength(text))) return;
    for (let rest = text; rest !== '';) {
      const open = this.#textOf(kind, model, messageId);
      const part = fitting(rest, TEXT_BYTES - open.bytes);
      if (part === '') {
        this.closeText();
        continue;
      }
      const bytes = Buffer.byteLength(part);
      open.text += part;
      open.bytes += bytes;
      rest = rest.slice(part.length);
      this.#put(textEntry(open, 'partial'), open.bytes);
    }
    this.#schedule();
  }

  entry({ id, kind, role, status, blocks, raw, parentToolUseId }: EntryEvent): void {
    this.closeText();
    const entryId = `${this.facts.generation}.e.${shortId(id)}`;
    const { entry, bytes } = boundedEntry({ entryId, kind, role, status, blocks, raw, parentToolUseId, turn: this.turn });
    if (this.#leavesOut(entryId, bytes)) return;
    this.#put(entry, bytes);
    this.#schedule();
  }

  usage({ model, contextUsed, contextWindow }: TurnUsage): void {
    if (model === undefined && contextUsed === undefined && contextWindow === undefined) return;
    this.#head = {
      model: model ?? this.#head?.model,
      contextUsed: contextUsed ?? this.#head?.contextUsed,
      contextWindow: contextWindow ?? this.#head?.contextWindow,
    };
    this.#schedule();
  }

  /** The current message is complete. */
  closeText(): void {
    if (this.#open === undefined) return;
    this.#put(textEntry(this.#open, 'final'), this.#open.bytes);
    this.#open = undefined;
    this.#schedule();
  }

  /** Resolves when there is room for more. */
  async room(): Promise<void> {
    while (!this.#over && (this.#pending.size >= MAX_ENTRIES || this.#bytes >= MAX_BYTES)) {
      this.#writeNow();
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  /** Resolves when everything said so far is stored, or never will be. */
  async flush(): Promise<void> {
    while (!this.#over && (this.#writing !== undefined || this.#isPending)) {
      this.#writeNow();
      await this.#writing;
    }
  }

  /** Nothing is written from here on. */
  end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#pending.clear();
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  get #isBetween(): boolean {
    return this.turn === 0;
  }

  get #isPending(): boolean {
    return this.#pending.size > 0 || this.#head !== undefined;
  }

  #textOf(kind: 'message' | 'thought', model: string | undefined, messageId: string | undefined): OpenText {
    const open = this.#open;
    const goesOn = open?.kind === kind && open.turn === this.turn && open.messageId === messageId;
    if (goesOn && (model === undefined || open.model === model)) return open;
    this.closeText();
    // Parts of one message are joined where it is read as a conversation; the same turn may have several.
    // An agent may say which with its beginning alone.
    const begins = messageId !== undefined && messageId !== this.#said[kind];
    this.#said[kind] = messageId ?? this.#said[kind];
    const id = `${this.facts.generation}.${++this.#count}${begins ? BEGINS : ''}`;
    return (this.#open = { id, kind, model, messageId, turn: this.turn, text: '', bytes: 0 });
  }

  #put(entry: EntryWrite, bytes: number): void {
    if (this.#over) return;
    this.#bytes += bytes - (this.#pending.get(entry.entryId)?.bytes ?? 0);
    this.#pending.set(entry.entryId, { entry, bytes });
  }

  /** Whether there is no place for it; a note says so then. An entry that is there already goes on when there is place again. */
  #leavesOut(entryId: string | undefined, bytes: number): boolean {
    const waits = this.#pending.get(entryId ?? this.#open?.id ?? '');
    const entries = this.#pending.size + (waits === undefined ? 1 : 0);
    const all = this.#bytes + bytes - (entryId === undefined ? 0 : (waits?.bytes ?? 0));
    const fits = entries <= MAX_ENTRIES_BETWEEN && all <= MAX_BYTES_BETWEEN;
    if (!this.#isBetween || fits || this.#allowance.waitMs === 0) {
      this.#leftOut.bytes = 0;
      return false;
    }
    if (this.#leftOut.bytes === 0) this.#leftOut.gaps++;
    this.#leftOut.bytes += bytes;
    const note = `[${Math.ceil(this.#leftOut.bytes / 1024)} KiB are left out here: more was printed between turns than is kept]`;
    const id = `${this.facts.generation}.left-out.${this.#leftOut.gaps}`;
    const blocks = [{ type: 'text', text: note }] as const;
    this.#put({ entryId: id, kind: 'system', role: 'system', status: 'final', blocks, turn: this.turn }, note.length);
    this.#schedule();
    return true;
  }

  #schedule(): void {
    if (this.#over || this.#writing !== undefined || !this.#isPending) return;
    const joined = this.#pending.size >= MAX_ENTRIES ? 0 : this.#wroteAt + this.facts.joinMs - performance.now();
    const wait = this.#isBetween ? Math.max(joined, this.#allowance.waitMs) : joined;
    if (wait <= 0) this.#writeNow();
    else this.#timer ??= setTimeout(() => this.#due(), wait);
  }

  /** Looks again: the allowance has a clock of its own. */
  #due(): void {
    this.#timer = undefined;
    this.#schedule();
  }

  #writeNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#over || this.#writing !== undefined || !this.#isPending) return;
    const { sessionPk, generation, epoch } = this.facts;
    const entries = [...this.#pending.values()].map(({ entry }) => entry);
    const write: LogWrite = { sessionPk, generation, epoch, entries, ...this.#head };
    if (this.#isBetween) this.#allowance.take(this.#bytes);
    this.#pending = new Map();
    this.#bytes = 0;
    this.#head = undefined;
    this.#wroteAt = performance.now();
    this.#writing = this.#write(write).finally(() => {
      this.#writing = undefined;
      for (const resolve of this.#waiters.splice(0)) resolve();
      this.#schedule();
    });
  }

  async #write(write: LogWrite): Promise<void> {
    const append = async (): Promise<void> => {
      if (!this.facts.held() || (await this.log.append(write)) === 'fenced') this.#fence();
    };
    await retrying(append, { mostMs: MAX_RETRY_MS }).catch((error: unknown) => this.facts.lost(error));
  }

  #fence(): void {
    if (this.#over) return;
    this.end();
    this.facts.fenced();
  }
}

function textEntry({ id, kind, text, turn, model }: OpenText, status: 'partial' | 'final'): EntryWrite {
  const block = kind === 'message' ? ({ type: 'text', text } as const) : ({ type: 'thinking', thinking: text } as const);
  return { entryId: id, kind, role: 'assistant', status, blocks: [block], turn, ...(model === undefined ? {} : { model }) };
}

/**
 * A beginning of `text` in so many bytes, without half of a character at its end. Looks at no more than it may take: the text may be
 * megabytes, and whoever cuts it comes again for each part.
 */
function fitting(text: string, bytes: number): string {
  const head = whole(text, bytes);
  return Buffer.byteLength(head) <= bytes ? head : whole(text, Math.floor(bytes / 3));
}

function whole(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, Math.max(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length));
}
