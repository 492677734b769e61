import { describe, expect, it } from '@jest/globals';
import { Metrics } from '../health/metrics.js';
import { ProcessClock } from './process-clock.js';

function compared(
  ...answers: readonly (readonly [theirs: number, asked: number, answered: number])[]
): Promise<{ ahead: number; told: string[] }> {
  const metrics = new Metrics();
  const told: string[] = [];
  const tell = (_facts: object, text: string): void => void told.push(text);
  const log = { warn: tell, info: tell };
  const clock = new ProcessClock(metrics, log);
  for (const [theirs, asked, answered] of answers) clock.compare(new Date(theirs), asked, answered);
  return metrics.text().then((text) => ({ ahead: Number(/^svc_clock_ahead_seconds (.*)$/m.exec(text)![1]), told }));
}

describe('the clock of a process', () => {
  it.each([
    ['as the database says', [60_000, 59_990, 60_010], 0],
    ['ahead', [60_000, 120_000, 120_010], 60],
    ['behind', [60_000, 29_990, 30_000], -30],
    ['not known to be apart, where the answer took long', [60_000, 40_000, 70_000], 0],
  ] as const)('is %s', async (_how, answer, ahead) => {
    expect((await compared(answer)).ahead).toBe(ahead);
  });

  it('is told once when it goes wrong, and once when it is right again', async () => {
    const wrong = [60_000, 120_000, 120_010] as const;
    const right = [60_000, 60_000, 60_010] as const;
    expect((await compared(right, wrong, wrong, right, right)).told).toEqual([
      expect.stringMatching('not that of the database'),
      expect.stringMatching('again'),
    ]);
  });
});
