import { describe, expect, it } from '@jest/globals';
import { Metrics } from '../../platform/health/metrics.js';
import { AppLogger, createLogger } from '../../platform/logging/logger.js';
import { LIMIT_MS } from '../../platform/health/readiness.js';
import { ANSWER_MS, Measures } from './measures.js';
import type { ToPart } from './messages.js';
import { PartTimings, RunningPart } from './running-part.js';
import { FakeProcess } from './testing/fake-process.js';

interface Pair {
  readonly part: RunningPart;
  readonly process: FakeProcess;
}

/** A process that answers with its name, once it is ready. */
function pair(name: string): Pair {
  const process = new FakeProcess();
  const log = new AppLogger(createLogger('silent'));
  const part = new RunningPart({ name, fork: () => process.asProcess, begin: { kind: 'stop' }, log, timings: new PartTimings() });
  void part.start();
  return { part, process };
}

const answers = ({ process, part }: Pair): void => {
  process.on('told', (message: ToPart) => {
    if (message.kind === 'measure') process.says({ kind: 'measured', id: message.id, text: `of ${part.name}` });
  });
};
const asked = ({ process }: Pair): number => process.told.filter(({ kind }) => kind === 'measure').length;

describe('what all processes of a start measure', () => {
  it('is asked of those that are ready, once for all who want to know', async () => {
    const [one, other, starting] = [pair('api-1'), pair('worker'), pair('api-2')];
    for (const each of [one, other, starting]) answers(each);
    for (const { process } of [one, other]) process.isReady();
    const measures = new Measures([one.part, other.part, starting.part], new Metrics());
    measures.follow();
    const told = new Promise<ToPart>((resolve) =>
      one.process.on('told', (message: ToPart) => {
        if (message.kind === 'gathered') resolve(message);
      }),
    );
    one.process.says({ kind: 'gather' });
    const [own, ...texts] = await measures.gather();
    expect(texts).toEqual(['of api-1', 'of worker']);
    expect(own).toContain('svc_process_restarts_total{of="api-2",process="main"} 0\n');
    expect(await told).toEqual({ kind: 'gathered', texts: [own, ...texts] });
    expect([one, other, starting].map(asked)).toEqual([1, 1, 0]);
  });

  // Guard: of processes whose database hangs nothing was told, and no alert said that they were not ready.
  it('is waited for until each can say that it is not ready', () => expect(ANSWER_MS).toBeGreaterThan(LIMIT_MS));

  it('is without those that do not answer, whoever answers in their place', async () => {
    const [one, silent] = [pair('api-1'), pair('api-2')];
    for (const { process } of [one, silent]) process.isReady();
    one.process.on('told', (message: ToPart) => {
      if (message.kind !== 'measure') return;
      one.process.says({ kind: 'measured', id: message.id, text: 'of api-1' });
      one.process.says({ kind: 'measured', id: message.id - 1, text: 'forged' });
    });
    const measures = new Measures([silent.part, one.part], new Metrics(), 1);
    measures.follow();
    expect((await measures.gather()).slice(1)).toEqual(['of api-1']);
  });
});
