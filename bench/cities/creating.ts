import { quantile } from '../lib/stats.js';
import { FeedReader } from './feed.js';
import type { Program } from './program.js';

const ENDS = ['request.result.city.create', 'request.failed'];

export interface Made {
  /** Ended a second, in each hundred of them. */
  readonly rates: readonly number[];
  readonly failed: number;
  readonly p50: number;
  readonly p95: number;
}

export const cityNamed = (n: number): string => `real-${String(n).padStart(5, '0')}`;

/** Makes cities `from` to `upto` with so many clients: each asks for one, waits for its last word, and asks for the next. */
export async function create(
  program: Program,
  { from, upto, clients, say }: { from: number; upto: number; clients: number; say: (text: string) => void },
): Promise<Made> {
  const feed = new FeedReader(program, ENDS, ({ payload }) => payload?.request_id);
  await feed.opened;
  const ends: number[] = [];
  const took: number[] = [];
  let failed = 0;
  let next = from;
  const began = performance.now();
  const client = async (): Promise<void> => {
    while (next < upto) {
      const asked = performance.now();
      const answer = await program.ask('POST', '/v0/city', { dir: cityNamed(next++), provider: 'loopback' });
      if (!answer.ok) throw new Error(`a create is refused: ${answer.status} ${await answer.text()}`);
      const { request_id } = (await answer.json()) as { request_id: string };
      const told = await feed.wait(request_id);
      if (told.type === 'request.failed') {
        failed++;
        say(`${told.subject}: ${told.payload?.error_code} ${told.payload?.error_message}`);
      }
      ends.push(performance.now());
      took.push(performance.now() - asked);
      if (ends.length % 500 === 0) say(`${ends.length} are made`);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  await feed.close();
  const rates: number[] = [];
  for (let n = 0; n < ends.length; n += 100) {
    const last = Math.min(n + 100, ends.length) - 1;
    rates.push((last - n + 1) / ((ends[last]! - (n === 0 ? began : ends[n - 1]!)) / 1000));
  }
  return { rates, failed, p50: quantile(took, 0.5), p95: quantile(took, 0.95) };
}
