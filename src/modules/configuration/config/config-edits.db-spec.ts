import { chmod, lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setsVariable, type ConfigProcess } from '../../../../test/support/config-process.js';
import { CITY_TOML, ConfigFixture, refusal, variablesOf } from '../../../../test/support/config-fixture.js';
import { HoldingGate } from '../../../../test/support/gate.js';
import { eventually } from '../../../../test/support/sse.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { hashOf } from './edit-plan.js';
import { Answering } from '../../../platform/disk/answering.js';
import { sleep } from '../../../platform/time/clock.js';
import { DEEP } from '../../../../test/support/depth.js';

/** Edits beside an editor on disk; more of them until both have won. */
const ROUNDS = DEEP ? 120 : 12;
const EDITS = DEEP ? 50 : 16;

const CALLER = { actor: 'test', keyId: undefined, scope: 'write', cities: undefined } as const;

let fixture: ConfigFixture;
let city: CityScope;
let a: ConfigProcess;
let b: ConfigProcess;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  ({ a, b, city } = fixture);
});
afterEach(() => fixture.close());

describe('one edit', () => {
  it('changes file and revision together, and keeps comments', async () => {
    const answer = await a.setVariable(city, 'ONE');
    expect(answer).toMatchObject({ status: 200, body: { done: 'city.toml' }, revision: 2 });
    expect(await fixture.read()).toContain('start_command = "agent"   # by hand');
    expect(await fixture.read()).toContain('[workspace] # ours');
    expect(variablesOf(await fixture.read())).toEqual(['ONE']);
    expect(await b.reads.current(city)).toMatchObject({ revision: 2, index: answer.index });
    expect(await fixture.variables()).toEqual(['ONE']);
    await fixture.expectTidy();
  });

  it('keeps links and modes', async () => {
    await fixture.write('real/desk.toml', CITY_TOML);
    await chmod(fixture.at('real/desk.toml'), 0o640);
    await rm(fixture.at('city.toml'));
    await symlink('real/desk.toml', fixture.at('city.toml'));
    await a.setVariable(city, 'ONE');
    expect(await readlink(fixture.at('city.toml'))).toBe('real/desk.toml');
    expect(variablesOf(await fixture.read('real/desk.toml'))).toEqual(['ONE']);
    expect((await lstat(fixture.at('real/desk.toml'))).mode & 0o777).toBe(0o640);
    await fixture.expectTidy();
  });

  it('writes nothing through a link that leads out of the city', async () => {
    await writeFile(path.join(fixture.root, 'outside.toml'), CITY_TOML);
    await rm(fixture.at('city.toml'));
    await symlink('../outside.toml', fixture.at('city.toml'));
    await expect(a.setVariable(city, 'ONE')).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(await readFile(path.join(fixture.root, 'outside.toml'), 'utf8')).toBe(CITY_TOML);
    await mkdir(path.join(fixture.root, 'elsewhere'));
    await rm(fixture.at('city.toml'));
    await fixture.write('city.toml', CITY_TOML);
    await symlink('../elsewhere', fixture.at('agents'));
    const edit = a.edits.run({ city, caller: CALLER }, async (draft) => {
      await draft.write('agents/new/agent.toml', 'description = "x"\n');
      return { body: {} };
    });
    await expect(edit).rejects.toMatchObject({ problem: expect.stringMatching(/wrong_state|conflict/) });
    expect(await readdir(path.join(fixture.root, 'elsewhere'))).toEqual([]);
    await fixture.expectTidy();
  });

  // Guard: where a write goes is looked at once more when it is made.
  it('does not follow a link that leads out since the file was read', async () => {
    const outside = path.join(fixture.root, 'outside.toml');
    await writeFile(outside, CITY_TOML);
    a.failpoints.arm('config.before_write', async () => {
      await rm(fixture.at('city.toml'));
      await symlink('../outside.toml', fixture.at('city.toml'));
    });
    await expect(a.setVariable(city, 'ONE')).rejects.toMatchObject({ problem: 'conflict' });
    expect(await readFile(outside, 'utf8')).toBe(CITY_TOML);
    expect(await readlink(fixture.at('city.toml'))).toBe('../outside.toml');
  });

  it('can change a file that begins with a byte order mark', async () => {
    await fixture.write('city.toml', `\ufeff${CITY_TOML}`);
    await a.setVariable(city, 'ONE');
    expect(variablesOf((await fixture.read()).replace('\ufeff', ''))).toEqual(['ONE']);
    expect((await fixture.read()).startsWith('\ufeff')).toBe(true);
  });

  it('is refused as a whole when the result cannot be used', async () => {
    const edit = a.change(city, (document) => {
      document.named_session = [{ name: 'desk', template: 'scout', mode: 'sometimes' }];
    });
    await expect(edit).rejects.toMatchObject({ problem: 'validation_failed', detail: expect.stringContaining('mode') });
    expect(await fixture.read()).toBe(CITY_TOML);
    expect((await b.reads.current(city)).revision).toBe(1);
    await fixture.expectTidy();
  });

  it('says that the files were broken before it came', async () => {
    await fixture.write('city.toml', CITY_TOML.replace('name = "scout"', 'name = "scout"\nscope = "moon"'));
    const before = await fixture.read();
    await expect(a.setVariable(city, 'ONE')).rejects.toMatchObject({ problem: 'wrong_state', detail: expect.stringContaining('scope') });
    await fixture.write('city.toml', '[workspace\n');
    await expect(a.setVariable(city, 'ONE')).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(before).toContain('moon');
    expect(await fixture.read()).toBe('[workspace\n');
    await fixture.expectTidy();
  });

  // Guard: no edit begins on a disk that does not answer.
  it('begins nothing on a disk that does not answer', async () => {
    a.composer.answering = new Answering();
    a.composer.answering.answers = () => Promise.resolve(false);
    let looked = false;
    const edit = a.change(city, () => void (looked = true));
    await expect(edit).rejects.toMatchObject({ problem: 'unavailable', detail: expect.stringContaining('does not answer') });
    expect(looked).toBe(false);
    await fixture.expectTidy();
  });

  it('asks for the revision that the caller has seen', async () => {
    await a.setVariable(city, 'ONE', { expected: 1 });
    await expect(b.setVariable(city, 'TWO', { expected: 1 })).rejects.toMatchObject({ problem: 'revision_mismatch' });
    await b.setVariable(city, 'TWO', { expected: '*' });
    expect(await fixture.variables()).toEqual(['ONE', 'TWO']);
    await fixture.expectTidy();
  });

  it('asks for it once more when it is committed', async () => {
    await fixture.write('city.toml', CITY_TOML.replace('"agent"', '"other"'));
    const gate = new HoldingGate();
    b.failpoints.arm('tx.before_commit', gate.action(1));
    const reload = b.reloads.reload(city, 'files', 'test');
    await eventually(() => gate.held === 1);
    a.failpoints.arm('config.after_write', async () => {
      gate.release();
      await reload;
    });
    await expect(a.setVariable(city, 'ONE', { expected: 1 })).rejects.toMatchObject({ problem: 'revision_mismatch' });
    expect(await b.reads.current(city)).toMatchObject({ revision: 2 });
    expect(variablesOf(await fixture.read())).toEqual([]);
    await fixture.expectTidy();
  });

  it('happens once under a key, and an edit that failed can be tried again under it', async () => {
    const key = { scope: 'alpha', operation: 'test', key: 'k', body: { x: 1 } };
    a.failpoints.arm('config.after_write', () => {
      throw new Error('a broken disk');
    });
    await expect(a.setVariable(city, 'ONE', { key })).rejects.toThrow('a broken disk');
    expect(await fixture.read()).toBe(CITY_TOML);
    a.failpoints.disarm();
    expect(await a.setVariable(city, 'ONE', { key, status: 201 })).toMatchObject({ status: 201, revision: 2 });
    expect(await b.setVariable(city, 'TWO', { key, status: 201 })).toEqual({ status: 201, body: { done: 'city.toml' } });
    expect(await fixture.variables()).toEqual(['ONE']);
    await fixture.expectTidy();
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
    expect(variablesOf(await fixture.read())).toEqual(['ONE']);
    expect(await fixture.variables()).toEqual(['ONE']);
    await fixture.expectTidy();
  });

  it('changes several files, makes new ones and takes folders away, all or nothing', async () => {
    await fixture.write('agents/old/agent.toml', 'description = "old"\n');
    await fixture.write('agents/old/prompt.md', 'Work.\n');
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
      expect(await fixture.read()).toBe(CITY_TOML);
      expect((await readdir(fixture.at('agents'))).filter((name) => name !== 'new')).toEqual(['old']);
      expect(await fixture.read('agents/old/agent.toml')).toBe('description = "old"\n');
      await expect(stat(fixture.at('agents/new/agent.toml'))).rejects.toThrow('ENOENT');
      await fixture.expectTidy();
    }
    await both();
    expect((await b.reads.current(city)).config.agents.map((agent) => agent.name)).toEqual(expect.arrayContaining(['scout', 'new']));
    expect(await readdir(fixture.at('agents'))).toEqual(['new']);
    await fixture.expectTidy();
  });
});

describe('several editors through the API', () => {
  // Guard: `config_edits` has one row a city; without it each edit is made from the files of the others' past.
  it('lose none of many edits over two processes', async () => {
    const names = Array.from({ length: EDITS }, (_, n) => `V${n}`);
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
    expect(variablesOf(await fixture.read()).sort()).toEqual([...names].sort());
    expect((await fixture.variables()).sort()).toEqual([...names].sort());
    expect((await a.reads.current(city)).revision).toBe(EDITS + 1);
    expect(await fixture.sql("select count(*)::int as n from events where type = 'config.reloaded'")).toEqual([{ n: EDITS + 1 }]);
    await fixture.expectTidy();
  });
});

// Guard: what is not there is not taken for what was never written.
it('an edit that fails while the folder of its city is not there is taken back once it is', async () => {
  const away = `${city.path}-away`;
  a.failpoints.arm('config.after_write', async () => {
    a.failpoints.disarm();
    await rename(city.path, away);
    // As where a volume was, once a session has started there, and somebody has left something.
    await mkdir(path.join(city.path, '.gc/worktrees'), { recursive: true });
    await writeFile(path.join(city.path, 'README'), 'The disk with the city is mounted here.');
    throw new Error('no');
  });
  await expect(a.setVariable(city, 'ONE')).rejects.toThrow('no');
  await rm(city.path, { recursive: true });
  await rename(away, city.path);
  expect(await fixture.read()).not.toBe(CITY_TOML);
  await fixture.expire();
  expect(await a.recovery.recover()).toBe(true);
  expect(await fixture.read()).toBe(CITY_TOML);
  await fixture.expectTidy();
});

describe('an editor on disk', () => {
  // Guard: the hash of the file when it is replaced.
  it('wins against an edit that was made from the file before', async () => {
    const theirs = CITY_TOML.replace('"agent"', '"their-agent"');
    for (const place of ['config.before_write'] as const) {
      a.failpoints.arm(place, () => fixture.write('city.toml', theirs));
      const outcome = await a.setVariable(city, 'ONE').then(() => undefined, refusal);
      expect(outcome).toMatchObject({ problem: 'conflict' });
      expect(outcome!.detail).toContain(hashOf(CITY_TOML));
      expect(outcome!.detail).toContain(hashOf(theirs));
      expect(await fixture.read()).toBe(theirs);
    }
    await fixture.expectTidy();
  });

  // Guard: taking back only what still holds what the edit wrote.
  it('wins against an edit that has written and is taken back', async () => {
    a.failpoints.arm('config.after_write', async () => {
      await fixture.write('city.toml', `${await fixture.read()}# theirs\n`);
      throw new Error('no');
    });
    await expect(a.setVariable(city, 'ONE')).rejects.toThrow('no');
    expect(await fixture.read()).toContain('# theirs');
    await fixture.expectTidy();
  });

  it.each([
    ['writes another file and renames it', 'rename'],
    ['writes into the file', 'in place'],
  ])('that %s at any moment loses nothing', async (_name, how) => {
    const marks: string[] = [];
    let over = false;
    /** How long an edit takes on this machine, now: an editor that saves more often than that lets none through. */
    let editMs = 8;
    const editor = (async () => {
      for (let n = 0; !over || n === 0; n++) {
        const mark = `# mark ${n}.`;
        const text = `${await fixture.read().catch(() => '')}`;
        // An editor that finds half a file does not save.
        if (!text.includes('[workspace]')) continue;
        const next = `${text}${mark}\n`;
        if (how === 'rename') {
          await writeFile(fixture.at('.theirs'), next);
          await rename(fixture.at('.theirs'), fixture.at('city.toml'));
        } else await writeFile(fixture.at('city.toml'), next);
        marks.push(mark);
        const seen = await eventually(async () => {
          const now = await fixture.read().catch(() => '');
          return now.includes('[workspace]') ? now : undefined;
        });
        expect(seen).toContain(mark);
        await sleep(Math.random() * 1.5 * editMs); // awaits nothing: any moment will do
      }
    })();
    const outcomes = { done: 0, conflict: 0 };
    try {
      for (let n = 0; n < ROUNDS || outcomes.done === 0 || outcomes.conflict === 0; n++) {
        const began = performance.now();
        const outcome = await a.setVariable(city, `V${n % 5}`, {}).then(() => 'done' as const, refusal);
        editMs = performance.now() - began;
        if (outcome === 'done') outcomes.done++;
        else {
          expect(['conflict', 'wrong_state', 'validation_failed', 'unavailable']).toContain(outcome.problem);
          outcomes.conflict++;
        }
        await a.change(city, (document) => void delete (document.workspace as { env?: object } | undefined)?.env).catch(() => undefined);
      }
    } finally {
      over = true;
      await editor;
    }
    const text = await fixture.read();
    expect(marks.filter((mark) => !text.includes(mark))).toEqual([]);
    await fixture.expectTidy();
  });
});
