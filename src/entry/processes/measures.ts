import type { Metrics } from '../../platform/health/metrics.js';
import { LIMIT_MS } from '../../platform/health/readiness.js';
import { atMost } from '../../platform/time/clock.js';
import type { RunningPart } from './running-part.js';

/** A process whose database hangs says that it is not ready only when its checks have had their time: it has a second more. */
export const ANSWER_MS = LIMIT_MS + 1_000;

/** What all processes of a start measure, for whichever of them is asked: one look at a time, which all share that ask meanwhile. */
export class Measures {
  readonly #waiting = new Map<number, { readonly from: RunningPart; readonly answered: (text: string) => void }>();
  #last = 0;
  #looking: Promise<readonly string[]> | undefined;

  /** @param own of the process that has started the others */
  constructor(
    private readonly parts: readonly RunningPart[],
    private readonly own: Metrics,
    private readonly answerMs = ANSWER_MS,
  ) {
    own.registry.setDefaultLabels({ process: 'main' });
    const restarts = own.counter({
      name: 'svc_process_restarts_total',
      help: 'How often a process of this start has ended by itself and was begun anew.',
      labelNames: ['of'],
      collect: () => {
        restarts.reset();
        for (const { name, restarts: count } of parts) restarts.inc({ of: name }, count);
      },
    });
  }

  /** Puts itself on what the processes say. */
  follow(): void {
    for (const part of this.parts)
      part.listen((message) => {
        if (message.kind === 'gather') void this.gather().then((texts) => part.send({ kind: 'gathered', texts }));
        else if (message.kind === 'measured') this.#answered(part, message);
      });
  }

  /** Who does not answer in time is left out. */
  gather(): Promise<readonly string[]> {
    return (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  async #look(): Promise<readonly string[]> {
    const asked = this.parts.filter((part) => part.isReady).map((part) => this.#ask(part));
    const texts = await Promise.all([this.own.registry.metrics(), ...asked]);
    return texts.filter((text) => text !== '');
  }

  async #ask(part: RunningPart): Promise<string> {
    const id = ++this.#last;
    let text = '';
    const answered = new Promise<void>((resolve) => {
      this.#waiting.set(id, {
        from: part,
        answered: (told) => {
          text = told;
          resolve();
        },
      });
    });
    part.send({ kind: 'measure', id });
    await atMost(this.answerMs, answered);
    this.#waiting.delete(id);
    return text;
  }

  #answered(part: RunningPart, { id, text }: { readonly id: number; readonly text: string }): void {
    const waiting = this.#waiting.get(id);
    if (waiting?.from === part) waiting.answered(text);
  }
}
