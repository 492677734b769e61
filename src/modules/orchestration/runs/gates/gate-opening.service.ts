import { Injectable, type OnModuleInit } from '@nestjs/common';
import { MailSendingService } from '../../../work/mail/mail-sending.service.js';
import type { Work } from '../../../work/work/work.js';
import { RunEndings } from '../run-endings.service.js';
import { GatesRepository, type ArmedGate } from './gates.repository.js';

/** What has become of what a gate waits for. */
export type Verdict = { readonly open: true; readonly reason: string } | { readonly open: false; readonly reason: string } | undefined;

/** How many gates of others one transaction decides because runs have ended: any number may wait for one, and for what ends with it. */
const AT_ONCE = 20;

/** Decides a gate by its facts alone; undefined while it stays as it is. */
function verdictOn({ control: { type, id }, late, awaited_exists: exists, awaited_outcome: outcome }: ArmedGate): Verdict {
  // A run has its id from the service: one that is not there, or was removed, does not come.
  if (type === 'run' && !exists) return { open: false, reason: `there is no run ${id}` };
  if (type === 'run' && outcome !== null)
    return outcome === 'pass'
      ? { open: true, reason: `run ${id} is completed` }
      : { open: false, reason: `run ${id} has ended: ${outcome}` };
  if (!late) return undefined;
  return type === 'timer'
    ? { open: true, reason: 'its time is over' }
    : { open: false, reason: `nobody has opened it in time (${type} ${id})` };
}

/** Opens gates, or fails them, in the transaction of whatever decides them. A person opens a gate by closing its bead. */
@Injectable()
export class GateOpening implements OnModuleInit {
  readonly #decided = new WeakMap<Work, number>();

  constructor(
    private readonly repository: GatesRepository,
    private readonly endings: RunEndings,
    private readonly mail: MailSendingService,
  ) {}

  onModuleInit(): void {
    this.mail.onSent((work, senders) => this.#mailed(work, senders));
    this.endings.onEnded((work, run) => this.#ended(work, run.id));
  }

  /** Looks at gates that were due, until it is late. Answers how many of them are no more what their runs wait for. */
  async look(work: Work, ids: readonly string[], isLate: () => boolean): Promise<number> {
    let decided = 0;
    for (const gate of await this.repository.armed(work.tx, work.city.streamId, ids)) {
      const verdict = verdictOn(gate);
      if (verdict === undefined) await this.repository.postpone(work.tx, work.city.streamId, gate.bead_id);
      else if (await this.#close(work, gate, verdict)) decided++;
      if (isLate()) break;
    }
    return decided;
  }

  async #mailed(work: Work, senders: readonly string[]): Promise<void> {
    for (const gate of await this.repository.awaiting(work.tx, work.city.streamId, 'mail', senders))
      await this.#close(work, gate, { open: true, reason: `a message from ${gate.control.id} has come` });
  }

  async #ended(work: Work, run: string): Promise<void> {
    for (const gate of await this.repository.awaiting(work.tx, work.city.streamId, 'run', [run])) {
      const verdict = verdictOn(gate);
      if (verdict === undefined) continue;
      const decided = this.#decided.get(work) ?? 0;
      if (decided >= AT_ONCE) return this.repository.hurry(work.tx, work.city.streamId, run);
      this.#decided.set(work, decided + 1);
      await this.#close(work, gate, verdict);
    }
  }

  /** Answers whether it did: the gate before it may have ended the run of both. */
  async #close(work: Work, { bead_id: id }: ArmedGate, { open, reason }: NonNullable<Verdict>): Promise<boolean> {
    if ((await work.find(id))?.status === 'closed') return false;
    const said: Record<string, string> = open ? {} : { 'gc.outcome': 'fail', 'gc.failure_reason': reason };
    await work.update(id, { status: 'closed', metadata: { ...said, close_reason: `gate: ${reason}` } });
    return true;
  }
}
