import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type LoggedEvent, type WorkFixture } from '../../../../../test/support/work.js';
import { BeginningDialect } from '../../../../platform/database/beginning.js';
import { Db } from '../../../../platform/database/database.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { WorkRepository } from '../../../work/work/work.repository.js';
import { WorkService } from '../../../work/work/work.service.js';
import { Work } from '../../../work/work/work.js';
import { launches, recipeOf } from '../testing/launches.js';

const fixtures: WorkFixture[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const fixture of fixtures.splice(0)) await fixture.close();
});

const NUMBERS = Array.from({ length: 40 }, (_, n) => n);
/** A chain of scopes, each behind a gate that is open once the first step is done. */
const CHAIN = `formula = "f"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "a"
title = "A"
[[steps]]
id = "z"
title = "Z"
needs = ["s39"]
${NUMBERS.map(
  (n) => `[[steps]]
id = "s${n}"
title = "S"
needs = ["${n === 0 ? 'a' : `s${n - 1}`}"]
metadata = { "gc.kind" = "scope" }
[[compose.gate]]
before = "s${n}"
condition = "steps.complete >= 1"
`,
).join('')}`;

interface Told {
  readonly events: readonly unknown[];
  readonly beads: readonly unknown[];
  readonly statements: number;
}

/** What is told, left behind and asked when the first step of the chain is done. */
async function told(): Promise<Told> {
  const fixture = await workFixture();
  fixtures.push(fixture);
  let statements = 0;
  const counted = new Db({ dialect: new BeginningDialect({ pool: fixture.pool }), log: () => void statements++ });
  const work = new WorkService(new Transactions(counted, fixture.failpoints), fixture.eventLog, new WorkRepository());
  const runs = launches(fixture, work);
  await runs.launch({ recipe: recipeOf(CHAIN), target: 'polecat' });
  const head = (await fixture.events()).at(-1)!.seq;
  const { rows } = await sql<{ id: string }>`select id from beads where ref = 'f.a'`.execute(fixture.db);
  statements = 0;
  await work.run(fixture.city, 'agent', (w) => w.close(rows[0]!.id));
  const asked = statements;
  const { rows: beads } = await sql`
    select id, ref, status, open_blockers, revision, metadata, bead_is_ready(b) as ready from beads b order by created_at, length(id), id`.execute(
    fixture.db,
  );
  return { events: (await fixture.events(head)).map(withoutTimes), beads, statements: asked };
}

const withoutTimes = (event: LoggedEvent): unknown =>
  JSON.parse(JSON.stringify(event, (name, value: unknown) => (/_at$|^ts$/.test(name) ? undefined : value)));

describe('steps that end one after the other', () => {
  // Guard: all writers of the city wait for it.
  it('end in few statements, and tell the same as each by itself', async () => {
    const together = await told();
    expect(together.events).toHaveLength(2 * (1 + 2 * NUMBERS.length) + 1);
    expect(together.statements).toBeLessThan(25);
    jest.spyOn(Work.prototype, 'closeEach').mockImplementation(async function (this: Work, closings) {
      for (const { id, metadata } of closings) await this.update(id, { status: 'closed', metadata });
    });
    const alone = await told();
    expect(together.events).toEqual(alone.events);
    expect(together.beads).toEqual(alone.beads);
  });
});
