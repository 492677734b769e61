import { Injectable, type OnModuleInit } from '@nestjs/common';
import { MailSendingService } from '../../../work/mail/mail-sending.service.js';
import type { Work } from '../../../work/work/work.js';
import { RunEndings } from '../run-endings.service.js';
import { GatesRepository, type ArmedGate } from './gates.repository.js';

/** What has become of what a gate waits for. */
export type Verdict = { readonly open: true; readonly reason: string } | { readonly open: false; readonly reason: string } | undefined;

/** How many gates one transaction decides because runs have ended or a message is sent: any number may wait for one, and for what ends with it. */
const AT_ONCE = 20;
/** After this it leaves the rest to others: what follows from one gate may be much, and the city's other writers wait. */
const LONGEST_MS = 500;

/** Decides a gate by its facts alone; undefined while it stays as it is. */
function verdictOn({ control: { type, id }, late, heard, awaited_exists: exists, awaited_outcome: outcome }: ArmedGate): Verdict {
  // Also where its time has run out since.
  if (heard) return mailed(id);
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

const mailed = (sender: string): NonNullable<Verdict> => ({ open: true, reason: `a message from ${sender} has come` });

const beadsOf = (gates: readonly ArmedGate[]): string[] => gates.map(({ bead_id: id }) => id);

/** What a transaction has decided because of what has ended, or come, in it. */
interface Decided {
  readonly since: number;
  gates: number;
}

/** Opens gates, or fails them, in the transaction of whatever decides them. A person opens a gate by closing its bead. */
@Injectable()
export class GateOpening implements OnModuleInit {
  readonly #decided = new WeakMap<Work, Decided>();
  /** A test sets another one. */
  longestMs = LONGEST_MS;

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
    const { streamId } = work.city;
    return untilLate(await this.repository.armed(work.tx, streamId, ids), isLate, async (gate) => {
      const verdict = verdictOn(gate);
      if (verdict !== undefined) return this.#close(work, gate, verdict);
      await this.repository.postpone(work.tx, streamId, gate.bead_id);
      return false;
    });
  }

  /** As `look`, opens gates that have heard of their message. */
  async lookHeard(work: Work, ids: readonly string[], isLate: () => boolean): Promise<number> {
    const { streamId } = work.city;
    return untilLate(await this.repository.heard(work.tx, streamId, ids), isLate, async (gate) => {
      await this.repository.forgetHeard(work.tx, streamId, beadsOf([gate]));
      return this.#close(work, gate, mailed(gate.control.id));
    });
  }

  async #mailed(work: Work, senders: readonly string[]): Promise<void> {
    const { streamId } = work.city;
    const gates = await this.repository.awaiting(work.tx, streamId, 'mail', senders, AT_ONCE + 1);
    if (gates.length === 0) return;
    // Before any is opened: what is waited for only then waits for another message.
    await this.repository.hear(work.tx, streamId, senders);
    const done = await this.#decide(work, gates, ({ control: { id } }) => mailed(id));
    await this.repository.forgetHeard(work.tx, streamId, beadsOf(done));
  }

  async #ended(work: Work, run: string): Promise<void> {
    const gates = await this.repository.awaiting(work.tx, work.city.streamId, 'run', [run], AT_ONCE + 1);
    const done = await this.#decide(work, gates, verdictOn);
    if (done.length < gates.length) await this.repository.hurry(work.tx, work.city.streamId, run);
  }

  /**
   * Answers those that it is done with. It leaves to workers what is more than one transaction decides, and what fails: whoever sends a message, or ends a run,
   * has nothing to do with it.
   */
  async #decide(work: Work, gates: readonly ArmedGate[], verdictOf: (gate: ArmedGate) => Verdict): Promise<ArmedGate[]> {
    const decided = this.#decided.get(work) ?? { since: performance.now(), gates: 0 };
    this.#decided.set(work, decided);
    const done: ArmedGate[] = [];
    for (const gate of gates) {
      const verdict = verdictOf(gate);
      if (verdict !== undefined) {
        if (decided.gates >= AT_ONCE || (decided.gates > 0 && performance.now() - decided.since > this.longestMs)) break;
        decided.gates++;
        if (!(await work.succeeds(() => this.#close(work, gate, verdict)))) continue;
      }
      done.push(gate);
    }
    return done;
  }

  /** Answers whether it did: the gate before it may have ended the run of both. */
  async #close(work: Work, { bead_id: id }: ArmedGate, { open, reason }: NonNullable<Verdict>): Promise<boolean> {
    if ((await work.find(id))?.status === 'closed') return false;
    const said: Record<string, string> = open ? {} : { 'gc.outcome': 'fail', 'gc.failure_reason': reason };
    await work.update(id, { status: 'closed', metadata: { ...said, close_reason: `gate: ${reason}` } });
    return true;
  }
}

/** Decides one gate at least, and no more of them once it is late. Answers how many it has decided. */
async function untilLate(
  gates: readonly ArmedGate[],
  isLate: () => boolean,
  decide: (gate: ArmedGate) => Promise<boolean>,
): Promise<number> {
  let decided = 0;
  for (const gate of gates) {
    if (await decide(gate)) decided++;
    if (isLate()) break;
  }
  return decided;
}
