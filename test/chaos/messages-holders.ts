import { grouped } from './history-parts.js';
import type { DeliveryEnd, MessagesHistory } from './messages-history.js';
import { CONVERSATIONS, isGrouped } from './messages-city.js';
import { toldOf } from './messages-told.js';

const GROUPED = new Set(CONVERSATIONS.filter(isGrouped).map(({ id }) => id));

interface Held {
  readonly seq: number;
  readonly holder: string;
}

/** Who had which conversation when, and who may have left it. */
export class Holders {
  readonly #held: ReadonlyMap<string, readonly Held[]>;
  readonly #steady: ReadonlySet<string>;
  readonly #asks: MessagesHistory['asks'];
  /** The events of what came from outside, by conversation and sequence. */
  readonly #came = new Map<string, { readonly seq: number; readonly target: string }>();

  constructor(history: MessagesHistory) {
    const held = toldOf(history, 'extmsg.bound').map(({ seq, payload }) => ({
      ...{ seq, conversation: payload.conversation_id, holder: payload.session_id || payload.agent_name || '' },
    }));
    this.#held = grouped(held, ({ conversation }) => conversation);
    this.#steady = new Set(history.steady.map(({ conversation, selector }) => `${conversation} ${selector}`));
    this.#asks = history.asks.filter(({ outcome }) => outcome !== 'refused');
    for (const { seq, payload } of toldOf(history, 'extmsg.inbound'))
      this.#came.set(`${payload.conversation_id} ${payload.sequence}`, {
        ...{ seq, target: payload.target_session || payload.target_agent || '' },
      });
  }

  /**
   * It was for who had the conversation, and may be for who had it later: then it may come after what the later one was told already. `others`:
   * what tells of the same entry.
   */
  mayBeHandedOver({ conversation, sequence, selector, direction }: DeliveryEnd, others: readonly DeliveryEnd[]): boolean {
    const came = this.#came.get(`${conversation} ${sequence}`);
    if (direction !== 'inbound' || came === undefined) return false;
    const held = this.#held.get(conversation) ?? [];
    if (held.findLast(({ seq }) => seq < came.seq)?.holder !== came.target) return false;
    const later = held.filter(({ seq }) => seq > came.seq);
    if (selector !== came.target)
      return later.some(({ holder }) => holder === selector) && !others.some((one) => one.selector === came.target);
    // Whom it was for may have it again, and was told more only where a handle has made him a member in between.
    const lost = later.findIndex(({ holder }) => holder !== selector);
    return GROUPED.has(conversation) && lost >= 0 && later.slice(lost).some(({ holder }) => holder === selector);
  }

  /** Somebody else may have got the conversation or the handle by which it was a member, or it was closed. */
  mayHaveLeft({ conversation, selector }: DeliveryEnd): boolean {
    if (this.#steady.has(`${conversation} ${selector}`)) return false;
    return this.#asks.some((ask) => {
      if (ask.kind === 'close') return ask.session === selector;
      if (ask.conversation !== conversation) return false;
      return ask.kind === 'unbind' || ((ask.kind === 'bind' || ask.kind === 'participant') && ask.session !== selector);
    });
  }
}
