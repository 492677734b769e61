import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'smol-toml';
import type { EditOrder } from '../../../test/support/config-edit.js';
import { ConfigProcess, registerCity, setsVariable } from '../../../test/support/config-process.js';
import { adminAt, cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { HoldingGate } from '../../../test/support/gate.js';
import { eventually } from '../../../test/support/sse.js';
import { ProblemError } from '../../contract/problems.js';
import type { CityScope } from '../cities/city-scope.js';
import { describeIssue } from '../composition/issue.js';
import { undoPlan } from './edit-files.js';
import { hashOf } from './edit-plan.js';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));
const CITY_TOML = `# How this city runs.
[workspace] # ours
start_command = "agent"   # by hand

[[agent]]
name = "scout"
prompt_template = "scout.md"
`;

let database: TestDatabase;
let root: string;
let city: CityScope;
let a: ConfigProcess;
let b: ConfigProcess;

beforeEach(async () => {
  database = await cloneDatabase();
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-edits-')));
  await mkdir(path.join(root, 'alpha'));
  a = new ConfigProcess(database.url, root);
  b = new ConfigProcess(database.url, root);
  await write('city.toml', CITY_TOML);
  await write('scout.md', 'Look around.\n');
  city = await registerCity(a.db, 'alpha', path.join(root, 'alpha'));
  const { ledger: _, ...first } = await a.reloads.reload(city, 'start', 'test');
  if ('errors' in first) throw new Error(first.errors.map(describeIssue).join('; '));
  expect(first).toMatchObject({ revision: 1, changed: true });
}, 30_000);
afterEach(async () => {
  a.failpoints.disarm();
  b.failpoints.disarm();
  await a.close();
  await b.close();
  await database.drop();
  await rm(root, { recursive: true, force: true });
});

const at = (file: string): string => path.join(root, 'alpha', file);
const read = (file = 'city.toml'): Promise<string> => readFile(at(file), 'utf8');
async function write(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(at(file)), { recursive: true });
  await writeFile(at(file), text);
}
const sql = <R extends Record<string, unknown>>(text: string): Promise<R[]> => adminAt<R>(database.url, text);
/** What the process that held an edit would have to wait for, had it died half a minute ago. */
const expire = (): Promise<unknown> => sql(`update config_edits set expires_at = now() - interval '1 second'`);
const variablesOf = (text: string): string[] => Object.keys(((parse(text).workspace ?? {}) as { env?: object }).env ?? {});
const variables = async (): Promise<string[]> => Object.keys((await b.reads.current(city)).config.workspace.env ?? {});
const refusal = (error: unknown): { problem?: string; detail?: string } => {
  if (!(error instanceof ProblemError)) throw error;
  return { problem: error.problem, detail: error.detail };
};
/** Nothing of an edit is left beside what it was to change. */
async function expectTidy(): Promise<void> {
  const names = await readdir(path.join(root, 'alpha'), { recursive: true });
  expect(names.filter((name) => name.includes('.svc-') || name.includes('removed/'))).toEqual([]);
  expect(await sql('select id from config_edits')).toEqual([]);
}

describe('one edit', () => {
  it('changes file and revision together, and keeps comments', async () => {
    const answer = await a.setVariable(city, 'ONE');
    expect(answer).toMatchObject({ status: 200, body: { done: 'city.toml' }, revision: 2 });
    expect(await read()).toContain('start_command = "agent"   # by hand');
    expect(await read()).toContain('[workspace] # ours');
    expect(variablesOf(await read())).toEqual(['ONE']);
    expect(await b.reads.current(city)).toMatchObject({ revision: 2, index: answer.index });
    expect(await variables()).toEqual(['ONE']);
    await expectTidy();
  });

  it('keeps links and modes', async () => {
    await write('real/desk.toml', CITY_TOML);
    await chmod(at('real/desk.toml'), 0o640);
    await rm(at('city.toml'));
    await symlink('real/desk.toml', at('city.toml'));
    await a.setVariable(city, 'ONE');
    expect(await readlink(at('city.toml'))).toBe('real/desk.toml');
    expect(variablesOf(await read('real/desk.toml'))).toEqual(['ONE']);
    expect((await lstat(at('real/desk.toml'))).mode & 0o777).toBe(0o640);
    await expectTidy();
  });

  it('writes nothing through a link that leads out of the city', async () => {
    await writeFile(path.join(root, 'outside.toml'), CITY_TOML);
    await rm(at('city.toml'));
    await symlink('../outside.toml', at('city.toml'));
    await expect(a.setVariable(city, 'ONE')).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(await readFile(path.join(root, 'outside.toml'), 'utf8')).toBe(CITY_TOML);
    await mkdir(path.join(root, 'elsewhere'));
    await rm(at('city.toml'));
    await write('city.toml', CITY_TOML);
    await symlink('../elsewhere', at('agents'));
    const edit = a.edits.run({ city, caller: CALLER }, async (draft) => {
      await draft.write('agents/new/agent.toml', 'description = "x"\n');
      return { body: {} };
    });
    await expect(edit).rejects.toMatchObject({ problem: expect.stringMatching(/wrong_state|conflict/) });
    expect(await readdir(path.join(root, 'elsewhere'))).toEqual([]);
    await expectTidy();
  });

  it('can change a file that begins with a byte order mark', async () => {
    await write('city.toml', `\ufeff${CITY_TOML}`);
    await a.setVariable(city, 'ONE');
    expect(variablesOf((await read()).replace('\ufeff', ''))).toEqual(['ONE']);
    expect((await read()).startsWith('\ufeff')).toBe(true);
  });

  it('is refused as a whole when the result cannot be used', async () => {
    const edit = a.change(city, (document) => {
      document.named_session = [{ name: 'desk', template: 'scout', mode: 'sometimes' }];
    });
    await expect(edit).rejects.toMatchObject({ problem: 'validation_failed', detail: expect.stringContaining('mode') });
    expect(await read()).toBe(CITY_TOML);
    expect((await b.reads.current(city)).revision).toBe(1);
    await expectTidy();
  });

  it('says that the files were broken before it came', async () => {
    await write('city.toml', CITY_TOML.replace('name = "scout"', 'name = "scout"\nscope = "moon"'));
    const before = await read();
    await expect(a.setVariable(city, 'ONE')).rejects.toMatchObject({ problem: 'wrong_state', detail: expect.stringContaining('scope') });
    await write('city.toml', '[workspace\n');
    await expect(a.setVariable(city, 'ONE')).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(before).toContain('moon');
    expect(await read()).toBe('[workspace\n');
    await expectTidy();
  });

  it('asks for the revision that the caller has seen', async () => {
    await a.setVariable(city, 'ONE', { expected: 1 });
    await expect(b.setVariable(city, 'TWO', { expected: 1 })).rejects.toMatchObject({ problem: 'revision_mismatch' });
    await b.setVariable(city, 'TWO', { expected: '*' });
    expect(await variables()).toEqual(['ONE', 'TWO']);
    await expectTidy();
  });

  it('happens once under a key, and an edit that failed can be tried again under it', async () => {
    const key = { scope: 'alpha', operation: 'test', key: 'k', body: { x: 1 } };
    a.failpoints.arm('config.after_write', () => {
      throw new Error('a broken disk');
    });
    await expect(a.setVariable(city, 'ONE', { key })).rejects.toThrow('a broken disk');
    expect(await read()).toBe(CITY_TOML);
    a.failpoints.disarm();
    expect(await a.setVariable(city, 'ONE', { key, status: 201 })).toMatchObject({ status: 201, revision: 2 });
    expect(await b.setVariable(city, 'TWO', { key, status: 201 })).toEqual({ status: 201, body: { done: 'city.toml' } });
    expect(await variables()).toEqual(['ONE']);
    await expectTidy();
  });

  it('answers what it did when only the answer of the commit was lost', async () => {
    const key = { scope: 'alpha', operation: 'test', key: 'k', body: {} };
    let writes = 0;
    a.failpoints.arm('config.after_write', () => void writes++);
    a.failpoints.arm('tx.after_commit', () => {
      if (writes === 1) {
        writes++;
        throw new Error('the connection broke');
      }
    });
    expect(await a.setVariable(city, 'ONE', { key })).toMatchObject({ status: 200, body: { done: 'city.toml' } });
    expect(variablesOf(await read())).toEqual(['ONE']);
    expect(await variables()).toEqual(['ONE']);
    await expectTidy();
  });

  it('changes several files, makes new ones and takes folders away, all or nothing', async () => {
    await write('agents/old/agent.toml', 'description = "old"\n');
    await write('agents/old/prompt.md', 'Work.\n');
    await a.reloads.reload(city, 'reload', 'test');
    const both = (): Promise<unknown> =>
      a.edits.run({ city, caller: CALLER }, async (draft) => {
        await draft.edit('city.toml', setsVariable('ONE'));
        await draft.write('agents/new/agent.toml', 'description = "new"\nprompt_template = "//scout.md"\n');
        draft.remove('agents/old');
        return { body: {} };
      });
    for (const place of ['config.before_write', 'config.between_files', 'config.after_write', 'tx.before_commit']) {
      let armed = place !== 'tx.before_commit';
      a.failpoints.arm('config.after_write', () => void (armed = true));
      a.failpoints.arm(place, () => {
        if (!armed) return;
        a.failpoints.disarm(place);
        throw new Error('no');
      });
      await expect(both()).rejects.toThrow('no');
      a.failpoints.disarm();
      expect(await read()).toBe(CITY_TOML);
      expect((await readdir(at('agents'))).filter((name) => name !== 'new')).toEqual(['old']);
      expect(await read('agents/old/agent.toml')).toBe('description = "old"\n');
      await expect(stat(at('agents/new/agent.toml'))).rejects.toThrow('ENOENT');
      await expectTidy();
    }
    await both();
    expect((await b.reads.current(city)).config.agents.map((agent) => agent.name)).toEqual(expect.arrayContaining(['scout', 'new']));
    expect(await readdir(at('agents'))).toEqual(['new']);
    await expectTidy();
  });
});

const CALLER = { actor: 'test', keyId: undefined, scope: 'write', cities: undefined } as const;

describe('several editors through the API', () => {
  // Guard: `config_edits` has one row a city; without it each edit is made from the files of the others' past.
  it('lose none of fifty edits over two processes', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `V${n}`);
    const gone = new Set(names);
    while (gone.size > 0) {
      await Promise.all(
        [...gone].map(async (name, n) => {
          const answer = await (n % 2 === 0 ? a : b).setVariable(city, name).catch((error: unknown) => refusal(error));
          if ('revision' in answer) gone.delete(name);
          else expect(answer).toMatchObject({ problem: 'unavailable' });
        }),
      );
    }
    expect(variablesOf(await read()).sort()).toEqual([...names].sort());
    expect((await variables()).sort()).toEqual([...names].sort());
    expect((await a.reads.current(city)).revision).toBe(51);
    expect(await sql("select count(*)::int as n from events where type = 'config.reloaded'")).toEqual([{ n: 51 }]);
    await expectTidy();
  }, 120_000);
});

describe('an editor on disk', () => {
  // Guard: the hash of the file when it is replaced.
  it('wins against an edit that was made from the file before', async () => {
    const theirs = CITY_TOML.replace('"agent"', '"their-agent"');
    for (const place of ['config.before_write'] as const) {
      a.failpoints.arm(place, () => write('city.toml', theirs));
      const outcome = await a.setVariable(city, 'ONE').then(() => undefined, refusal);
      expect(outcome).toMatchObject({ problem: 'conflict' });
      expect(outcome!.detail).toContain(hashOf(CITY_TOML));
      expect(outcome!.detail).toContain(hashOf(theirs));
      expect(await read()).toBe(theirs);
    }
    await expectTidy();
  });

  // Guard: taking back only what still holds what the edit wrote.
  it('wins against an edit that has written and is taken back', async () => {
    a.failpoints.arm('config.after_write', async () => {
      await write('city.toml', `${await read()}# theirs\n`);
      throw new Error('no');
    });
    await expect(a.setVariable(city, 'ONE')).rejects.toThrow('no');
    expect(await read()).toContain('# theirs');
    await expectTidy();
  });

  it.each([
    ['writes another file and renames it', 'rename'],
    ['writes into the file', 'in place'],
  ])(
    'that %s at any moment loses nothing',
    async (_name, how) => {
      const marks: string[] = [];
      let over = false;
      const editor = (async () => {
        for (let n = 0; !over || n === 0; n++) {
          const mark = `# mark ${n}.`;
          const text = `${await read().catch(() => '')}`;
          // An editor that finds half a file does not save.
          if (!text.includes('[workspace]')) continue;
          const next = `${text}${mark}\n`;
          if (how === 'rename') {
            await writeFile(at('.theirs'), next);
            await rename(at('.theirs'), at('city.toml'));
          } else await writeFile(at('city.toml'), next);
          marks.push(mark);
          const seen = await eventually(async () => {
            const now = await read().catch(() => '');
            return now.includes('[workspace]') ? now : undefined;
          });
          expect(seen).toContain(mark);
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 12));
        }
      })();
      const outcomes = { done: 0, conflict: 0 };
      for (let n = 0; n < 120; n++) {
        const outcome = await a.setVariable(city, `V${n % 5}`, {}).then(() => 'done' as const, refusal);
        if (outcome === 'done') outcomes.done++;
        else {
          expect(['conflict', 'wrong_state', 'validation_failed']).toContain(outcome.problem);
          outcomes.conflict++;
        }
        await a.change(city, (document) => void delete (document.workspace as { env?: object } | undefined)?.env).catch(() => undefined);
      }
      over = true;
      await editor;
      expect(outcomes.done).toBeGreaterThan(0);
      expect(outcomes.conflict).toBeGreaterThan(0);
      const text = await read();
      expect(marks.filter((mark) => !text.includes(mark))).toEqual([]);
      await expectTidy();
    },
    120_000,
  );
});

describe('a process that is killed', () => {
  /** Makes an edit in a process of its own, which dies at the failpoint. */
  async function killedAt(failpoint: string, order: Partial<EditOrder> = {}): Promise<void> {
    const full: EditOrder = { databaseUrl: database.url, citiesRoot: root, city, variable: 'CHILD', ...order };
    const child = spawn(process.execPath, ['--import', `${PROJECT}scripts/typescript.mjs`, `${PROJECT}test/support/config-edit.ts`], {
      env: { PATH: process.env.PATH, SVC_TEST_EDIT: JSON.stringify(full), SVC_TEST_FAILPOINTS: `${failpoint}=kill` },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    expect(signal).toBe('SIGKILL');
  }

  const extra = { creates: 'notes/new.txt', removes: 'agents/old' };
  beforeEach(async () => {
    await write('agents/old/agent.toml', 'description = "old"\n');
    await write('agents/old/prompt.md', 'Work.\n');
    await a.reloads.reload(city, 'reload', 'test');
  });
  async function expectBefore(): Promise<void> {
    expect(await read()).toBe(CITY_TOML);
    expect(await read('agents/old/agent.toml')).toBe('description = "old"\n');
    await expect(stat(at('notes/new.txt'))).rejects.toThrow('ENOENT');
  }

  // Guard: the plan in the row, stored before the first file is touched.
  it.each(['config.before_write', 'config.between_files', 'config.after_write'])(
    'at %s leaves nothing once another process has come across it',
    async (failpoint) => {
      await killedAt(failpoint, extra);
      expect(await sql('select plan is null as none from config_edits')).toEqual([{ none: false }]);
      if (failpoint !== 'config.before_write') expect(await read()).not.toBe(CITY_TOML);
      // What is half done does not become a revision.
      const reload = b.reloads.reload(city, 'files', 'test').then(
        () => 'reloaded',
        (error: unknown) => refusal(error).problem,
      );
      await expire();
      if (failpoint === 'config.between_files') expect(await a.setVariable(city, 'NEXT')).toMatchObject({ status: 200 });
      else {
        expect(await b.edits.recover()).toBe(true);
        await expectBefore();
        expect(await variables()).toEqual([]);
      }
      expect(['reloaded', 'unavailable']).toContain(await reload);
      expect(await variables()).toEqual(failpoint === 'config.between_files' ? ['NEXT'] : []);
      expect(await read()).not.toContain('CHILD');
      expect(await sql(`select 1 from config_revisions where config like '%CHILD%'`)).toEqual([]);
      await expectTidy();
    },
    60_000,
  );

  it('after the commit leaves everything', async () => {
    await killedAt('config.after_commit', extra);
    expect(await b.edits.recover()).toBe(false);
    expect(variablesOf(await read())).toEqual(['CHILD']);
    expect(await variables()).toEqual(['CHILD']);
    expect(await read('notes/new.txt')).toBe('# new\n');
    await expect(stat(at('agents/old'))).rejects.toThrow('ENOENT');
  }, 60_000);
});

describe('an edit that hangs', () => {
  // Guard: the row is only ended by the one that holds it, and files without a commit are taken back.
  it.each(['config.before_write', 'config.after_write'])('at %s and wakes when others have gone on changes nothing', async (place) => {
    const gate = new HoldingGate();
    a.failpoints.arm(place, gate.action(1));
    const slow = a.setVariable(city, 'SLOW').then(() => undefined, refusal);
    await eventually(() => gate.held === 1);
    await expire();
    expect(await b.edits.recover(city.streamId)).toBe(true);
    gate.release();
    expect(await slow).toMatchObject({ problem: 'unavailable' });
    expect(await read()).toBe(CITY_TOML);
    await b.setVariable(city, 'NEXT');
    expect(await variables()).toEqual(['NEXT']);
    await expectTidy();
  });

  // Guard: a reload is believed only when nobody has edited since it began.
  it('is not seen half done by a reload', async () => {
    const gate = new HoldingGate();
    a.failpoints.arm('config.after_write', gate.action(1));
    const slow = a.setVariable(city, 'SLOW');
    await eventually(() => gate.held === 1);
    const reload = b.reloads.reload(city, 'files', 'test');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await b.reads.current(city)).revision).toBe(1);
    gate.release();
    await slow;
    expect(await reload).toMatchObject({ revision: 2, changed: false });
    expect(await sql(`select cause from config_revisions order by revision`)).toEqual([{ cause: 'start' }, { cause: 'api' }]);
  });

  it('makes another one wait, not fail', async () => {
    const gate = new HoldingGate();
    a.failpoints.arm('config.before_write', gate.action(1));
    const first = a.setVariable(city, 'ONE');
    await eventually(() => gate.held === 1);
    const second = b.setVariable(city, 'TWO');
    gate.release();
    await Promise.all([first, second]);
    expect(await variables()).toEqual(['ONE', 'TWO']);
  });
});

describe('taking back', () => {
  it.each([
    ['the file was moved aside and nothing put in its place', { old: CITY_TOML }, CITY_TOML],
    ['the new file was in place', { target: 'new', old: CITY_TOML }, CITY_TOML],
    ['it died itself while there was no file', { undone: 'new' }, CITY_TOML],
    ['somebody saved meanwhile', { target: 'theirs', old: CITY_TOML }, 'theirs'],
    ['somebody took the file away', {}, undefined],
  ])('mends what is left when %s', async (_name, left: { target?: string; old?: string; undone?: string }, result) => {
    await rm(at('city.toml'));
    await write('desk/real.toml', 'x');
    await rm(at('desk/real.toml'));
    await symlink('desk/real.toml', at('city.toml'));
    if (left.target !== undefined) await write('desk/real.toml', left.target);
    if (left.old !== undefined) await write('desk/.svc-e1.old.real.toml', left.old);
    if (left.undone !== undefined) await write('desk/.svc-e1.undone.real.toml', left.undone);
    await write('desk/.svc-e1.new.real.toml', 'new');
    const plan = { id: 'e1', writes: [{ path: 'city.toml', before: CITY_TOML, after: 'new' }], removals: [] };
    for (let n = 0; n < 2; n++) {
      await undoPlan(path.join(root, 'alpha'), plan);
      expect(await read('desk/real.toml').catch(() => undefined)).toBe(result);
      expect(await readlink(at('city.toml'))).toBe('desk/real.toml');
      await expectTidy();
    }
  });
});
