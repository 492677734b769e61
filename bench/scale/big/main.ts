import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '../../lib/context.js';
import { BenchPostgres } from '../../lib/database.js';
import type { Line } from '../../lib/report.js';
import { fill, type Amount } from './fill.js';
import { requests, sideOf, streams } from './measure.js';
import { retention } from './retention.js';

const SMALL: Amount = { name: 'small', cities: 300, events: 50_000, beads: 2_000, entries: 1_000, parts: 0 };
const BIG: Amount = { name: 'big', cities: 3_000, events: 50_000_000, beads: 2_000_000, entries: 1_000_000, parts: 6 };
const QUICK: Amount = { ...BIG, events: 5_000_000, beads: 200_000, entries: 100_000 };

/** For filling only: what breaks off is made anew. */
const FILLING = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  commit_delay: '0',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  autovacuum: 'off',
};
/** As little of it fits as of a large database on a server, and the rest is what the kernel keeps. */
const MEASURING = { shared_buffers: '1GB', commit_delay: '0' };

export interface BigOptions {
  readonly quick: boolean;
  /** A folder whose databases stay for the next time; without it one that is removed. */
  readonly data: string | undefined;
  readonly cases: string;
}

/** How long answers take in a large database, against those in a small one beside it. */
export async function big({ quick, data, cases }: BigOptions, tempDir: string, say: (text: string) => void): Promise<Line[]> {
  const dir = data ?? (await mkdtemp(join(tmpdir(), 'svc-big-')));
  const amounts = [SMALL, quick ? QUICK : BIG];
  try {
    const filling = await BenchPostgres.at(dir, FILLING);
    try {
      for (const amount of amounts) if (await filling.named(amount.name, amount.cities)) await fill(filling, amount, say);
    } finally {
      await filling.end();
    }
    const postgres = await BenchPostgres.at(dir, MEASURING);
    const context = new Context(3, 1, tempDir, postgres, say);
    try {
      const side = async (name: string): ReturnType<typeof sideOf> => {
        const url = postgres.url(name);
        return sideOf(await context.service(url), url);
      };
      const sides = { small: await side('small'), big: await side('big') };
      const lines = await requests(context, sides, new RegExp(cases));
      if (new RegExp(cases).test('stream')) lines.push(...(await streams(context, sides)));
      if (new RegExp(cases).test('retention')) lines.push(...(await retention(context, sides.big)));
      return lines;
    } finally {
      await context.stopAll();
      await postgres.end();
    }
  } finally {
    if (data === undefined) await rm(dir, { recursive: true, force: true });
  }
}
