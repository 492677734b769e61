import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../../../test/support/work.js';
import type { BeadRecord } from '../../../../work/work/bead-record.js';
import type { Work } from '../../../../work/work/work.js';
import type { RunRow } from '../../run-row.js';
import { launches, recipeOf, type Launches } from '../../testing/launches.js';

export const HEAD = '[requires]\nformula_compiler = ">=2.0.0"\n';
export const ITEM = `formula = "item"\n${HEAD}[[steps]]\nid = "x"\ntitle = "Weigh {{issue}}"\n[[steps]]\nid = "y"\ntitle = "Note it in {{convoy_id}}"\nneeds = ["x"]\n`;
export const SHARED = 'context = "shared", item = { single_lane = true }';
export const EXCLUSIVE = 'member_access = "exclusive"';
/** A formula without a drain. */
export const OTHER = `formula = "other"\n${HEAD}[[steps]]\nid = "z"\ntitle = "Z"\n`;
export const POOL = 'web/polecat';

/** A formula that drains its convoy, and does one step more. */
export function drain(keys = ''): string {
  const table = `{ formula = "item"${keys === '' ? '' : `, ${keys}`} }`;
  return `formula = "f"\n${HEAD}[[steps]]\nid = "all"\ntitle = "All"\ndrain = ${table}\n[[steps]]\nid = "end"\ntitle = "End of {{convoy_id}}"\nneeds = ["all"]\n`;
}

export interface StepBead {
  readonly id: string;
  readonly ref: string;
  readonly title: string;
  readonly status: string;
  readonly said: string | null;
  readonly reason: string | null;
  readonly blocked: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A city whose convoys are drained. */
export class DrainFixture {
  private constructor(
    readonly fixture: WorkFixture,
    readonly runs: Launches,
  ) {}

  static async open(): Promise<DrainFixture> {
    const fixture = await workFixture();
    return new DrainFixture(fixture, launches(fixture));
  }

  close(): Promise<void> {
    return this.fixture.close();
  }

  async work<T>(body: (work: Work) => Promise<T>): Promise<T> {
    return (await this.fixture.work.run(this.fixture.city, 'tester', body)).value;
  }

  async rows(run?: string): Promise<StepBead[]> {
    const { rows } = await sql<StepBead>`
      select id, ref, title, status, metadata ->> 'gc.outcome' as said, metadata ->> 'close_reason' as reason, open_blockers > 0 as blocked, metadata
      from beads where run_id is not null and run_id <> id and ${run === undefined ? sql`true` : sql`run_id = ${run}`}
      order by created_at, length(id), id`.execute(this.fixture.db);
    return rows;
  }

  /** How steps are, by their ids in the formula. */
  async steps(run?: string): Promise<Record<string, string>> {
    const told = ({ status, said, blocked }: StepBead): string => (status === 'closed' ? (said ?? 'done') : blocked ? 'blocked' : 'ready');
    return Object.fromEntries((await this.rows(run)).map((row) => [row.ref.slice(2), told(row)]));
  }

  async idOf(ref: string): Promise<string> {
    return (await this.rows()).find((row) => row.ref === `f.${ref}`)!.id;
  }

  async end(ref: string, metadata: Record<string, string> = {}): Promise<void> {
    const id = await this.idOf(ref);
    await this.work((work) => work.update(id, { status: 'closed', metadata }));
  }

  async open(ref: string): Promise<void> {
    const id = await this.idOf(ref);
    await this.work((work) => work.update(id, { status: 'open' }));
  }

  async units(): Promise<{ n: number; member_id: string; outcome: string | null; reason: string | null; held: boolean }[]> {
    const { rows } = await sql<{ n: number; member_id: string; outcome: string | null; reason: string | null; held: boolean }>`
      select n, member_id, outcome, reason, held from run_units order by drain_id, n`.execute(this.fixture.db);
    return rows;
  }

  find(id: string): Promise<BeadRecord> {
    return this.work((work) => work.require(id));
  }

  /** A convoy of so many beads. */
  async convoyOf(count: number): Promise<{ convoy: string; members: string[] }> {
    const members: string[] = [];
    for (let n = 1; n <= count; n++) members.push((await this.work((work) => work.create({ rig: '', title: `m${n}` }))).id);
    return { convoy: await this.convoyAround(...members), members };
  }

  convoyAround(...members: readonly string[]): Promise<string> {
    return this.work(async (work) => {
      const { id } = await work.create({ rig: '', title: 'All of it', type: 'convoy' });
      await work.putEdges(id, members, 'tracks');
      return id;
    });
  }

  launch(text: string, source: string, item = ITEM, target = 'polecat'): Promise<RunRow> {
    return this.runs.launch({ recipe: recipeOf(text, {}, { item }), target, source });
  }
}
