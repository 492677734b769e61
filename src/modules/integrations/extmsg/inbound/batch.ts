import { MOST_TOLD } from '../deliveries/notice.js';
import type { Found } from './found.js';
import type { InboundResult } from './inbound.schemas.js';
import { answer, routed, unrouted, type Intake, type Taking } from './intake.js';

/**
 * What has become of a message. `again`: one of the same batch comes under the same key, or the batch is full; it is decided with the next.
 * `busy`: somebody has its conversation locked, `blocked`: its city's events. `alone`: more is to be done than belongs into a batch. `failed`:
 * it is not known.
 */
export type Outcome =
  | { readonly answer: InboundResult; readonly taken: boolean }
  | { readonly failed: unknown }
  | 'again'
  | 'busy'
  | 'blocked'
  | 'alone';

/** What is decided together: each finds its conversation as those before it leave it. */
export class Batch {
  readonly takings = new Map<number, Taking>();
  readonly #heads = new Map<number, number>();
  readonly #addressed = new Map<number, string>();
  readonly #keys = new Set<string>();
  #told = 0;
  #full = false;

  /** Nothing more is taken here: otherwise one might be told before another of its conversation that had no room. */
  get isFull(): boolean {
    return this.#full;
  }

  /** What it comes to; of one that is to be taken, if it is not. */
  decide(nth: number, intake: Intake, { at: found, ...looked }: Found): Outcome {
    const { message, onceKey } = intake;
    const { known, binding, group, running, overdue } = looked;
    if (!running || found === undefined) return looked.busy ? 'busy' : 'alone';
    if (known !== undefined) return { taken: false, answer: answer(found, message, known, binding, { Duplicate: true }) };
    if (overdue || (binding === undefined && group === undefined)) return 'alone';
    if (this.#full) return 'again';
    const once = `${found.pk} ${onceKey}`;
    if (onceKey !== '' && this.#keys.has(once)) return 'again';
    const at = { ...found, head: this.#heads.get(found.pk) ?? found.head };
    const last = this.#addressed.get(found.pk) ?? group?.last_addressed_handle ?? '';
    const { taking, decision } = routed(intake, at, {
      ...looked,
      ...(group === undefined ? {} : { group: { ...group, last_addressed_handle: last } }),
    });
    if (taking === undefined) return { taken: false, answer: unrouted(message, decision) };
    const told = taking.deliveries.reduce((sum, { body }) => sum + body.length, 0);
    // Characters that one transaction tells members, or what a single message does. Twice what a batch holds where that is known.
    if (this.takings.size > 0 && this.#told + told > MOST_TOLD) {
      this.#full = true;
      return 'again';
    }
    this.#told += told;
    this.takings.set(nth, taking);
    this.#heads.set(at.pk, at.head + 1);
    this.#keys.add(once);
    if (taking.addressed !== undefined) this.#addressed.set(at.pk, taking.addressed.handle);
    return 'blocked';
  }

  /** What one that comes after all that is taken here will find of its conversation. */
  after(found: Found): Found {
    const { at, group } = found;
    if (at === undefined) return found;
    const last_addressed_handle = this.#addressed.get(at.pk) ?? group?.last_addressed_handle ?? '';
    return {
      ...found,
      at: { ...at, head: this.#heads.get(at.pk) ?? at.head },
      ...(group === undefined ? {} : { group: { ...group, last_addressed_handle } }),
    };
  }
}
