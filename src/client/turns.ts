import type { Schemas } from './calls.js';
import type { Frame } from './frames.js';
import { objectOf } from './frames.js';

export type Message = Schemas['SessionStructuredMessage'];
export type Question = Schemas['PendingInteraction'];

/** A frame of a session's structured stream; what is new to this client is left out. */
export type SessionFrame = { readonly id?: string } & (
  | { readonly event: 'structured'; readonly data: Schemas['SessionStreamStructuredMessageEvent'] }
  | { readonly event: 'activity'; readonly data: Schemas['SessionActivityEvent'] }
  | { readonly event: 'pending'; readonly data: Question }
  | { readonly event: 'pending_cleared'; readonly data: Schemas['SessionPendingClearedEvent'] }
  | { readonly event: 'heartbeat' }
);

const KNOWN = new Set(['structured', 'activity', 'pending', 'pending_cleared']);

/** @throws ProtocolError when a known frame cannot be read */
export function sessionFrame({ event, data, id }: Frame): SessionFrame | undefined {
  if (event === 'heartbeat') return { event };
  if (event === undefined || !KNOWN.has(event)) return undefined;
  return { ...(id === undefined ? {} : { id }), event, data: objectOf(data, event, id) } as SessionFrame;
}

/** What an assistant has said in an entry, thoughts and tools left out. */
export function saidOf({ blocks }: Message): string {
  return blocks.map((block) => (block.type === 'text' ? ((block as { text?: string }).text ?? '') : '')).join('');
}

/** What of a session's frames is the turn of one message. */
export class TurnOf {
  readonly #said = new Map<string, string>();
  #begun = false;
  #over = false;

  constructor(private readonly messageId: string) {}

  get begun(): boolean {
    return this.#begun;
  }

  get over(): boolean {
    return this.#over;
  }

  get text(): string {
    return [...this.#said.values()].filter((text) => text !== '').join('\n');
  }

  /** A turn ends where the session is idle again, or where the next one begins. */
  take(frame: SessionFrame): void {
    if (this.#over) return;
    if (frame.event === 'structured') for (const message of frame.data.structured_messages) this.#take(message);
    else if (frame.event === 'activity' && frame.data.activity === 'idle') this.#over = this.#begun;
  }

  #take(message: Message): void {
    const { id, role, status } = message;
    if (id === this.messageId) this.#begun = true;
    else if (!this.#begun || this.#over) return;
    else if (role === 'user') this.#over = true;
    else if (status === 'superseded') this.#said.delete(id);
    else if (role === 'assistant') this.#said.set(id, saidOf(message));
  }
}
