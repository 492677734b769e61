import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import { SessionCommands } from '../../sessions/sessions/session-commands.service.js';
import { WorkService, type Done } from '../../work/work/work.service.js';
import { RunEndings } from './run-endings.service.js';
import { isIn, runNotFound, workflowNotFound } from './run-reads.service.js';
import { RunsRepository } from './runs.repository.js';
import type { RunCancelOutputBody, WorkflowDeleteQuery, WorkflowDeleteResponse } from './runs.schemas.js';

const CANCELED = 'run canceled via POST /runs/{id}/cancel';
const DELETED = 'workflow closed via DELETE /workflow/{id}';

/** What people end of runs. */
@Injectable()
export class RunChangesService {
  constructor(
    private readonly repository: RunsRepository,
    private readonly endings: RunEndings,
    private readonly sessions: SessionChangesService,
    private readonly commands: SessionCommands,
    private readonly work: WorkService,
  ) {}

  /**
   * Closes what is open of a run, and asks the sessions that are at it to stop, in one transaction. `again` says that it was
   * canceled before, and nothing has changed.
   *
   * @throws ProblemError run_not_found; wrong_state for a run that has ended otherwise
   */
  async cancel(city: CityScope, id: string, { actor }: Principal): Promise<Done<RunCancelOutputBody & { again: boolean }>> {
    return this.sessions.withWork(city, actor, async (changes, work) => {
      const run = await this.repository.find(work.tx, city.streamId, id);
      if (run === undefined) throw runNotFound(id);
      if (run.outcome === 'canceled') return { run_id: id, status: 'canceled', closed: 0, again: true };
      if (run.outcome !== null) throw problem('wrong_state', `run ${id} is already terminal; nothing to cancel`);
      // Sessions before the numbers of beads, which what comes after the run may take.
      const working: SessionRow[] = [];
      for (const pk of await this.repository.workingSessions(work.tx, city.streamId, run)) {
        const session = await changes.lock(pk);
        if (session?.live === true) working.push(session);
      }
      const closed = await this.endings.end(work, run, { outcome: 'canceled', reason: CANCELED });
      for (const session of working) await this.commands.interrupt(changes, session);
      return { run_id: id, status: 'canceled', closed, again: false };
    });
  }

  /**
   * Ends a run that goes on, as skipped; with `delete` its beads go, and the run with them. Where many others depend on these, some of those lose their
   * edges first, in steps between which others may write: whoever is stopped there asks again.
   *
   * @throws ProblemError workflow_not_found, invalid_request
   */
  async remove(city: CityScope, id: string, query: WorkflowDeleteQuery, { actor }: Principal): Promise<Done<WorkflowDeleteResponse>> {
    for (let closed = 0, begun = false; ; begun = true) {
      const { value, index } = await this.work.run(city, actor, async (work) => {
        const run = await this.repository.find(work.tx, city.streamId, id);
        // Who removes it meanwhile does what is wanted here.
        if (run === undefined && begun) return { few: true, body: { workflow_id: id, closed, deleted: 0, partial: false } };
        if (run === undefined || !isIn(run, city, query)) throw workflowNotFound(id);
        const now = closed + (await this.endings.end(work, run, { outcome: 'skipped', reason: DELETED }));
        const beads = query.delete ? [id, ...(await this.repository.members(work.tx, city.streamId, id, { open: false }))] : [];
        const few = beads.length === 0 || (await work.bereaveSome(beads));
        if (few && beads.length > 0) {
          await work.removeAll(beads);
          await this.repository.remove(work.tx, city.streamId, id);
        }
        return { few, body: { workflow_id: id, closed: now, deleted: beads.length, partial: false } };
      });
      if (value.few) return { value: value.body, index };
      closed = value.body.closed;
    }
  }
}
