import { ANYBODY } from '../../../../contract/principal.js';
import { createDb, type PgPool } from '../../../../platform/database/database.js';
import type { DuePoller } from '../../../../platform/database/due-poller.js';
import { MovedStreams, type Moved } from '../../../../platform/event-log/moved.js';
import { Metrics } from '../../../../platform/health/metrics.js';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import type { WorkFixture } from '../../../../../test/support/work.js';
import type { WorkService } from '../../work/work.service.js';
import { ClaimCommitter } from '../claim-committer.js';
import { ClaimsRepository } from '../claims.repository.js';
import type { BeadClaimInputBody } from '../claims.schemas.js';
import { ClaimsService } from '../claims.service.js';
import type { HookClaimInputBody } from '../hooks.schemas.js';
import { HooksRepository } from '../hooks.repository.js';
import { HooksService } from '../hooks.service.js';
import { LeaseRepository } from '../lease.repository.js';
import { LeaseSweeper } from '../lease-sweeper.js';

/** One process's claims on a fixture's database. */
export function hookProcess(
  fixture: WorkFixture,
  { pool = fixture.pool, work = fixture.work }: { pool?: PgPool; work?: WorkService } = {},
) {
  const streams = new MovedStreams();
  const moved: Moved[] = [];
  streams.listen((m) => moved.push(...m));
  const repository = new ClaimsRepository(pool);
  const batches: number[] = [];
  const flush = repository.claim.bind(repository);
  repository.claim = (city, items, records) => {
    batches.push(items.length);
    return flush(city, items, records);
  };
  const committer = new ClaimCommitter(repository, streams, fixture.failpoints, new Metrics());
  const db = createDb(pool);
  const claims = new ClaimsService(committer, repository, work, db);
  const hooks = new HooksService(new HooksRepository(pool), committer);
  const log = new AppLogger(createLogger('silent'));
  return {
    moved,
    batches,
    claims,
    hooks,
    sweeper: new LeaseSweeper(new LeaseRepository(db), work, {} as DuePoller, log),
    claim: (id: string, body: BeadClaimInputBody) => claims.claim('alpha', id, body, ANYBODY).then((answer) => answer.value),
    next: (body: HookClaimInputBody | string) =>
      hooks.claim('alpha', typeof body === 'string' ? { agent: body } : body, ANYBODY).then((answer) => answer.value),
    hook: async (agent: string, session?: string[], limit = 100) =>
      JSON.parse((await hooks.read(fixture.city, { agent, session, limit })).value) as {
        action: string;
        agent: string;
        reason: string;
        items: { bead: { id: string }; tier: string }[];
      },
    demand: () => hooks.demand(fixture.city).then((answer) => answer.value),
  };
}

export type HookProcess = ReturnType<typeof hookProcess>;
