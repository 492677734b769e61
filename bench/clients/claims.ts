import { Logger, run, runMigrations } from 'graphile-worker';
import { ClaimCommitter } from '../../src/modules/work/hooks/claim-committer.js';
import { ClaimsRepository } from '../../src/modules/work/hooks/claims.repository.js';
import { createPool } from '../../src/platform/database/database.js';
import { MovedStreams } from '../../src/platform/event-log/moved.js';
import { Failpoints } from '../../src/platform/failpoints/failpoints.js';
import { Metrics } from '../../src/platform/health/metrics.js';
import { withClient } from '../lib/database.js';
import { serve } from '../lib/rpc.js';

/** Workers that take what there is to do, without HTTP: the service's own rooms, and the peer's. */

interface Taking {
  readonly url: string;
  readonly workers: number;
  /** How many to take. */
  readonly take: number;
}

export interface Taken {
  readonly perSecond: number;
}

/** It logs every job, and nobody reads that here. */
const SILENT = new Logger(() => () => undefined);

let slot = 0;

/** Every claim is a worker of the pool's that has nothing yet: a claim, its event, the lease and the fence. */
async function ours({ url, workers, take, city }: Taking & { city: string }): Promise<Taken> {
  const pool = createPool(url);
  const committer = new ClaimCommitter(new ClaimsRepository(pool), new MovedStreams(), new Failpoints(), new Metrics());
  let left = take;
  const started = performance.now();
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const decided = await committer.claim(city, { agent: `polecat-${++slot}`, names: [], lease_ms: 600_000, stamps: {} });
      if (decided?.outcome !== 'claimed') throw new Error(`a claim was ${decided?.outcome}`);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  const perSecond = take / ((performance.now() - started) / 1000);
  await pool.end();
  return { perSecond };
}

const ADD_JOBS = `
  select count(*) from graphile_worker.add_jobs(array(
    select ('report', json_build_object('n', g), null, null, null, null, null, null)::graphile_worker.job_spec from generate_series(1, $1::int) g))`;

async function prepare({ url, jobs }: { url: string; jobs: number }): Promise<void> {
  await runMigrations({ connectionString: url });
  await withClient(url, async (client) => {
    await client.query(ADD_JOBS, [jobs]);
  });
  await withClient(url, (client) => client.query('vacuum analyze graphile_worker._private_jobs'));
}

/** Its jobs do nothing; a job is taken and completed, which is what its workers do. */
async function peer({ url, workers, take }: Taking): Promise<Taken> {
  let done = 0;
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const started = performance.now();
  const report = (): void => {
    if (++done === take) finish();
  };
  const runner = await run({
    connectionString: url,
    concurrency: workers,
    maxPoolSize: workers,
    noHandleSignals: true,
    taskList: { report },
    logger: SILENT,
  });
  await finished;
  const perSecond = take / ((performance.now() - started) / 1000);
  await runner.stop();
  return { perSecond };
}

serve({ ours, prepare, peer });
