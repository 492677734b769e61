import type { BeadView } from './history-work.js';
import type { Violations } from './violations.js';
import type { Replay, WorkEvent } from './work-replay.js';

/** Every closing of a convoy is told once, to whom it names as well, and a convoy whose last open member closes does not stay open. */
export class ConvoyCheck {
  /** Closings that the bead's event has told, and not yet the convoy's own. */
  readonly #closing = new Map<string, WorkEvent>();
  readonly #created = new Map<string, number>();
  readonly #closings = new Map<string, number>();
  readonly #notices = new Map<string, number>();
  /** Convoys that are complete since a member closed. */
  readonly #complete = new Map<string, WorkEvent>();

  constructor(
    private readonly city: string,
    private readonly replay: Replay,
    private readonly violations: Violations,
  ) {}

  /** After `replay` has applied the event. */
  apply(event: WorkEvent): void {
    const { type, subject, payload } = event;
    if (type === 'convoy.created') this.#created.set(subject, (this.#created.get(subject) ?? 0) + 1);
    if (type === 'convoy.closed' && !this.#closing.delete(subject)) this.#once(`${subject}: told as closed without closing`, event);
    if (type === 'mail.sent') {
      const id = /^Convoy (\S+) closed: /.exec(payload.message?.subject ?? '')?.[1];
      if (id !== undefined) this.#notices.set(id, (this.#notices.get(id) ?? 0) + 1);
    }
    if (!type.startsWith('bead.') || payload.bead === undefined) return;
    if (type === 'bead.closed') this.#closed(event, payload.bead);
    for (const id of [...this.#complete.keys()]) {
      const convoy = this.replay.beads.get(id);
      if (convoy?.status === 'open' && this.#isComplete(convoy)) continue;
      this.#complete.delete(id);
    }
  }

  #closed(event: WorkEvent, bead: BeadView): void {
    if (bead.issue_type === 'convoy') {
      if (this.#closing.has(bead.id)) this.#once(`${bead.id}: closed again before its closing was told`, event);
      this.#closing.set(bead.id, event);
      if (bead.metadata?.['convoy.notify'] !== undefined) this.#closings.set(bead.id, (this.#closings.get(bead.id) ?? 0) + 1);
    }
    for (const convoy of this.replay.beads.values()) {
      if (convoy.status !== 'open' || convoy.issue_type !== 'convoy' || convoy.labels?.includes('owned') === true) continue;
      if (this.#members(convoy).includes(bead) && this.#isComplete(convoy)) this.#complete.set(convoy.id, event);
    }
  }

  #members(convoy: BeadView): BeadView[] {
    const tracked = new Set((convoy.dependencies ?? []).filter((d) => d.type === 'tracks').map((d) => d.depends_on_id));
    return [...this.replay.beads.values()].filter((bead) => tracked.has(bead.id) || bead.parent === convoy.id);
  }

  #isComplete(convoy: BeadView): boolean {
    return this.#members(convoy).every((member) => member.status === 'closed');
  }

  end(): void {
    for (const [id, event] of this.#closing) this.#once(`${id}: its closing was never told`, event);
    for (const [id, event] of this.#complete) this.#once(`${id}: open, although its last open member has closed`, event);
    const convoys = [...this.replay.states.values()].filter((e) => e.type === 'bead.created' && e.payload.bead!.issue_type === 'convoy');
    for (const event of convoys) {
      const { id } = event.payload.bead!;
      if (this.#created.get(id) !== 1) this.#once(`${id}: told ${this.#created.get(id) ?? 0} times as a new convoy`, event);
      const [closings, notices] = [this.#closings.get(id) ?? 0, this.#notices.get(id) ?? 0];
      if (closings !== notices) this.#once(`${id}: closed ${closings} times, and ${notices} notices sent`, event);
    }
    if ([...this.#created.keys()].some((id) => !convoys.some((event) => event.subject === id)))
      this.#once('told as a new convoy, but never created');
  }

  #once(message: string, ...entries: unknown[]): void {
    this.violations.add('convoy once', `${this.city}: ${message}`, ...entries);
  }
}
