import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { EditOrder } from '../../../../test/support/config-edit.js';
import type { ConfigProcess } from '../../../../test/support/config-process.js';
import { CITY_TOML, ConfigFixture, refusal, variablesOf } from '../../../../test/support/config-fixture.js';
import { HoldingGate } from '../../../../test/support/gate.js';
import { eventually, sleep } from '../../../../test/support/sse.js';
import { Answering, processAnswering } from '../../../platform/disk/answering.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigEditsRepository } from './config-edits.repository.js';
import { undoPlan } from './edit-files.js';

const PROJECT = fileURLToPath(new URL('../../../../', import.meta.url));

let fixture: ConfigFixture;
let city: CityScope;
let a: ConfigProcess;
let b: ConfigProcess;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  ({ a, b, city } = fixture);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await fixture.close();
});

describe('a process that is killed', () => {
  /** Makes an edit in a process of its own, which dies at the failpoint. */
  async function killedAt(failpoint: string, order: Partial<EditOrder> = {}): Promise<void> {
    const full: EditOrder = { databaseUrl: fixture.database.url, citiesRoot: fixture.root, city, variable: 'CHILD', ...order };
    const child = spawn(process.execPath, ['--import', `${PROJECT}scripts/typescript.mjs`, `${PROJECT}test/support/config-edit.ts`], {
      env: { PATH: process.env.PATH, SVC_TEST_EDIT: JSON.stringify(full), SVC_TEST_FAILPOINTS: `${failpoint}=kill` },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    expect(signal).toBe('SIGKILL');
  }

  const extra = { creates: 'notes/new.txt', removes: 'agents/old' };
  beforeEach(async () => {
    await fixture.write('agents/old/agent.toml', 'description = "old"\n');
    await fixture.write('agents/old/prompt.md', 'Work.\n');
    await a.reloads.reload(city, 'reload', 'test');
  });
  async function expectBefore(): Promise<void> {
    expect(await fixture.read()).toBe(CITY_TOML);
    expect(await fixture.read('agents/old/agent.toml')).toBe('description = "old"\n');
    await expect(stat(fixture.at('notes/new.txt'))).rejects.toThrow('ENOENT');
  }

  // Guard: the owner's heartbeat; a process that nobody knows of is given its time.
  it('is taken for dead once it has stopped beating, long before its time is up', async () => {
    await killedAt('config.after_write', extra);
    expect(await b.recovery.recover()).toBe(false);
    await fixture.sql(`insert into processes (id, role, hostname, version, heartbeat_at)
      select owner, 'api', 'gone', '0', now() - interval '11 seconds' from config_edits`);
    expect(await b.recovery.recover()).toBe(true);
    await expectBefore();
  });

  // Guard: the plan in the row, stored before the first file is touched.
  it.each(['config.before_write', 'config.between_files', 'config.after_write'])(
    'at %s leaves nothing once another process has come across it',
    async (failpoint) => {
      await killedAt(failpoint, extra);
      expect(await fixture.sql('select plan is null as none from config_edits')).toEqual([{ none: false }]);
      if (failpoint !== 'config.before_write') expect(await fixture.read()).not.toBe(CITY_TOML);
      // What is half done does not become a revision.
      const reload = b.reloads.reload(city, 'files', 'test').then(
        () => 'reloaded',
        (error: unknown) => refusal(error).problem,
      );
      await fixture.expire();
      if (failpoint === 'config.between_files') expect(await a.setVariable(city, 'NEXT')).toMatchObject({ status: 200 });
      else {
        expect(await b.recovery.recover()).toBe(true);
        await expectBefore();
        expect(await fixture.variables()).toEqual([]);
      }
      expect(['reloaded', 'unavailable']).toContain(await reload);
      expect(await fixture.variables()).toEqual(failpoint === 'config.between_files' ? ['NEXT'] : []);
      expect(await fixture.read()).not.toContain('CHILD');
      expect(await fixture.sql(`select 1 from config_revisions where config like '%CHILD%'`)).toEqual([]);
      await fixture.expectTidy();
    },
  );

  // Guard: the disk is asked before it is written to: nobody comes back from one that is silent.
  it('on a disk that does not answer waits, and those of other cities are taken back meanwhile', async () => {
    await killedAt('config.after_write', extra);
    await fixture.expire();
    b.composer.answering = new Answering();
    b.composer.answering.answers = () => Promise.resolve(false);
    expect(await b.recovery.recover()).toBe(true);
    expect(await b.recovery.recover()).toBe(false);
    expect(await fixture.read()).not.toBe(CITY_TOML);
    b.composer.answering = processAnswering;
    await fixture.expire();
    expect(await b.recovery.recover()).toBe(true);
    await expectBefore();
    await fixture.expectTidy();
  });

  // Guard: what is not there is not taken for what was never written.
  it('waits while the folder of its city is not there, unless none is registered in it any more', async () => {
    await killedAt('config.after_write', extra);
    const away = `${city.path}-away`;
    await rename(city.path, away);
    // As it is once it could not be brought up without its folder.
    await fixture.sql('update cities set running = false');
    await fixture.expire();
    expect(await b.recovery.recover()).toBe(true);
    expect(await b.recovery.recover()).toBe(false);
    for (const made of ['.', '.gc/worktrees', 'lost+found']) {
      await mkdir(path.join(city.path, made), { recursive: true });
      await fixture.expire();
      expect(await b.recovery.recover()).toBe(true);
    }
    expect(await fixture.sql('select plan is null as none from config_edits')).toEqual([{ none: false }]);
    await rm(city.path, { recursive: true });
    await rename(away, city.path);
    await fixture.expire();
    expect(await b.recovery.recover()).toBe(true);
    await expectBefore();
    await fixture.expectTidy();

    await fixture.sql('update cities set running = true');
    await killedAt('config.after_write', extra);
    await rename(city.path, away);
    await fixture.sql(`delete from cities where dir = '${city.path}'`);
    await fixture.expire();
    expect(await b.recovery.recover()).toBe(true);
    expect(await fixture.sql('select id from config_edits')).toEqual([]);
  });

  it('after the commit leaves everything', async () => {
    await killedAt('config.after_commit', extra);
    expect(await b.recovery.recover()).toBe(false);
    expect(variablesOf(await fixture.read())).toEqual(['CHILD']);
    expect(await fixture.variables()).toEqual(['CHILD']);
    expect(await fixture.read('notes/new.txt')).toBe('# new\n');
    await expect(stat(fixture.at('agents/old'))).rejects.toThrow('ENOENT');
  });
});

describe('an edit that hangs', () => {
  // Guard: the row is only ended by the one that holds it, and files without a commit are taken back.
  it.each(['config.before_write', 'config.after_write'])('at %s and wakes when others have gone on changes nothing', async (place) => {
    const gate = new HoldingGate();
    a.failpoints.arm(place, gate.action(1));
    const slow = a.setVariable(city, 'SLOW').then(() => undefined, refusal);
    await eventually(() => gate.held === 1);
    await fixture.expire();
    expect(await b.recovery.recover(city.streamId)).toBe(true);
    gate.release();
    expect(await slow).toMatchObject({ problem: 'unavailable' });
    expect(await fixture.read()).toBe(CITY_TOML);
    await b.setVariable(city, 'NEXT');
    expect(await fixture.variables()).toEqual(['NEXT']);
    await fixture.expectTidy();
  });

  // Guard: who takes an edit over holds it under an id of their own; the one that had it waits until they are through.
  it('and wakes while another process takes it back changes nothing', async () => {
    const gate = new HoldingGate();
    a.failpoints.arm('config.after_write', gate.action(1));
    const slow = a.setVariable(city, 'SLOW').then(() => undefined, refusal);
    await eventually(() => gate.held === 1);
    await fixture.expire();
    const holds = new ConfigEditsRepository(b.db);
    const left = await b.transactions.run((tx) => holds.adopt(tx, 'b', 60, city.streamId));
    await undoPlan(city.path, left!.plan!);
    const asked = jest.spyOn(ConfigEditsRepository.prototype, 'holderOf');
    gate.release();
    let ended = false;
    void slow.then(() => (ended = true));
    await eventually(() => ended || asked.mock.calls.length > 1);
    expect(ended).toBe(false);
    expect(await fixture.sql('select id from config_edits')).toEqual([{ id: left!.id }]);
    expect(await b.transactions.run((tx) => holds.end(tx, city.streamId, left!.id))).toBe(true);
    expect(await slow).toMatchObject({ problem: 'unavailable' });
    expect([await fixture.read(), await fixture.variables()]).toEqual([CITY_TOML, []]);
    await fixture.expectTidy();
  });

  // Guard: it takes nothing back once another edit was committed, whose files may look the same.
  it.each([
    ['config.after_write', 'goes on'],
    ['config.between_files', 'fails'],
  ])('at %s and %s leaves the same edit that another process has made since', async (place, then) => {
    const gate = new HoldingGate();
    a.failpoints.arm(place, gate.action(1));
    const slow = a.setVariable(city, 'SAME').then(
      () => undefined,
      (error: unknown) => error,
    );
    await eventually(() => gate.held === 1);
    await fixture.expire();
    await b.setVariable(city, 'SAME');
    if (then === 'fails') gate.fail(new Error('stop'));
    else gate.release();
    expect(await slow).toBeInstanceOf(Error);
    expect([variablesOf(await fixture.read()), await fixture.variables()]).toEqual([['SAME'], ['SAME']]);
    await fixture.expectTidy();
  });

  // Guard: it waits until it has the files of the city again.
  it('and wakes while another process makes the same edit leaves that one', async () => {
    const [first, second] = [new HoldingGate(), new HoldingGate()];
    a.failpoints.arm('config.after_write', first.action(1));
    b.failpoints.arm('config.after_write', second.action(1));
    const slow = a.setVariable(city, 'SAME').then(() => undefined, refusal);
    await eventually(() => first.held === 1);
    await fixture.expire();
    const same = b.setVariable(city, 'SAME');
    await eventually(() => second.held === 1);
    const asked = jest.spyOn(ConfigEditsRepository.prototype, 'holderOf');
    let ended = false;
    void slow.then(() => (ended = true));
    first.release();
    await eventually(() => ended || asked.mock.calls.length > 1);
    second.release();
    expect(await same).toMatchObject({ revision: 2 });
    expect(await slow).toMatchObject({ problem: 'unavailable' });
    expect([variablesOf(await fixture.read()), await fixture.variables()]).toEqual([['SAME'], ['SAME']]);
    await fixture.expectTidy();
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
    expect(await fixture.sql(`select cause from config_revisions order by revision`)).toEqual([{ cause: 'start' }, { cause: 'api' }]);
  });

  // Guard: the attempt, which every edit raises.
  it('is not undone by a reload that began before it and ends after it', async () => {
    const gate = new HoldingGate();
    const held = gate.action();
    // The reload has composed and waits for its turn to commit.
    const others = Array.from({ length: 4 }, () => b.transactions.run(async () => held('others'), { key: city.name }));
    const asked = jest.spyOn(b.transactions, 'run');
    const reload = b.reloads.reload(city, 'files', 'test');
    await eventually(() => gate.held === 4 && asked.mock.calls.length === 1);
    await a.setVariable(city, 'ONE');
    gate.release();
    await Promise.all(others);
    expect(await reload).toMatchObject({ revision: 2, changed: false });
    expect(await fixture.variables()).toEqual(['ONE']);
  });

  it('makes another one wait, not fail', async () => {
    const gate = new HoldingGate();
    a.failpoints.arm('config.before_write', gate.action(1));
    const first = a.setVariable(city, 'ONE');
    await eventually(() => gate.held === 1);
    const second = b.setVariable(city, 'TWO');
    gate.release();
    await Promise.all([first, second]);
    expect(await fixture.variables()).toEqual(['ONE', 'TWO']);
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
    await rm(fixture.at('city.toml'));
    await fixture.write('desk/real.toml', 'x');
    await rm(fixture.at('desk/real.toml'));
    await symlink('desk/real.toml', fixture.at('city.toml'));
    if (left.target !== undefined) await fixture.write('desk/real.toml', left.target);
    if (left.old !== undefined) await fixture.write('desk/.svc-e1.old.real.toml', left.old);
    if (left.undone !== undefined) await fixture.write('desk/.svc-e1.undone.real.toml', left.undone);
    await fixture.write('desk/.svc-e1.new.real.toml', 'new');
    const plan = { id: 'e1', writes: [{ path: 'city.toml', before: CITY_TOML, after: 'new' }], removals: [] };
    for (let n = 0; n < 2; n++) {
      await undoPlan(city.path, plan);
      expect(await fixture.read('desk/real.toml').catch(() => undefined)).toBe(result);
      expect(await readlink(fixture.at('city.toml'))).toBe('desk/real.toml');
      await fixture.expectTidy();
    }
  });
});

describe('a reload', () => {
  // Guard: what was read is looked at again before it is believed.
  it('never sees half of a change: a folder that comes and goes as a whole', async () => {
    await fixture.write('.kept/agent.toml', 'description = "whole"\n');
    await fixture.write('.kept/prompt.md', 'Work.\n');
    await fixture.write('agents/first/prompt.md', 'Work.\n');
    const errors: string[] = [];
    let took = 20;
    for (let n = 0, there = false; n < 60; n++, there = !there) {
      const began = performance.now();
      const reloading = a.reloads.reload(city, 'files', 'test');
      // One change a reload, at any moment of it: whoever changes files faster than they can be read is not the subject.
      await sleep(Math.random() * took);
      await rename(fixture.at(there ? 'agents/kept' : '.kept'), fixture.at(there ? '.kept' : 'agents/kept'));
      const done = await reloading;
      took = performance.now() - began;
      if ('errors' in done) errors.push(...done.errors.map((issue) => issue.message));
    }
    expect(errors).toEqual([]);
  });
});
