import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ANYBODY } from '../../../contract/principal.js';
import type { WorkService } from '../../work/work/work.service.js';
import { RunChangesService } from './run-changes.service.js';
import { launches, recipeOf, type Launches } from './testing/launches.js';

let fixture: WorkFixture;
let runs: Launches;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
});
afterEach(() => fixture.close());

const FORMULA = 'formula = "one"\n[[steps]]\nid = "a"\ntitle = "A"\n';

it('is done for whoever has begun to take a run away that another one takes away meanwhile', async () => {
  const { db, city, work } = fixture;
  const run = await runs.launch({ recipe: recipeOf(FORMULA), target: 'mayor' });
  await sql`insert into beads (stream_id, id, title) select ${city.streamId}, 'al-9' || n, 't' from generate_series(0, 9) n`.execute(db);
  await sql`insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
    select ${city.streamId}, 'al-9' || n, ${run.id}, 'related' from generate_series(0, 9) n`.execute(db);
  work.limits = { few: 3, step: 3 };
  const remove = (by: WorkService) =>
    new RunChangesService(runs.repository, runs.endings, null as never, null as never, by).remove(
      city,
      run.id,
      { delete: true } as never,
      ANYBODY,
    );
  let rounds = 0;
  const slow = Object.assign(Object.create(work) as WorkService, {
    run: async (...asked: Parameters<WorkService['run']>) => {
      if (++rounds === 2) await remove(work);
      return work.run(...asked);
    },
  });
  expect((await remove(slow)).value).toMatchObject({ workflow_id: run.id, deleted: 0, partial: false });
  await expect(remove(work)).rejects.toMatchObject({ problem: 'workflow_not_found' });
});

// Guard: all writers of the city wait for those that depend on a bead that goes.
it('takes a run away in steps that many others depend on', async () => {
  const { db, city, work } = fixture;
  const { streamId } = city;
  const run = await runs.launch({ recipe: recipeOf(FORMULA), target: 'mayor' });
  await sql`insert into beads (stream_id, id, title) select ${streamId}, 'al-9' || n, 't' from generate_series(0, 9) n`.execute(db);
  await sql`insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
    select ${streamId}, 'al-9' || n, ${run.id}, 'related' from generate_series(0, 9) n`.execute(db);
  work.limits = { few: 3, step: 3 };
  const service = new RunChangesService(runs.repository, runs.endings, null as never, null as never, work);
  const { value } = await service.remove(city, run.id, { delete: true } as never, ANYBODY);
  expect(value).toMatchObject({ workflow_id: run.id, deleted: 2, partial: false });
  expect(value.closed).toBeGreaterThan(0);
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from beads where stream_id = ${streamId} and id like 'al-9%' group by xmin order by 1`.execute(db);
  expect(rows.map(({ n }) => n)).toEqual([1, 3, 3, 3]);
  const left = await sql`select id from runs where id = ${run.id} union all select id from beads where run_id = ${run.id}
    union all select issue_id from bead_dependencies where depends_on_id = ${run.id}`.execute(db);
  expect(left.rows).toEqual([]);
});
