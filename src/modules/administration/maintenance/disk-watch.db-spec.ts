import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { putSession } from '../../../../test/support/session-examples.js';
import { MaintenanceFixture } from './testing/maintenance-fixture.js';

let kept: MaintenanceFixture;
beforeEach(async () => (kept = await MaintenanceFixture.open()));
afterEach(() => kept.close());

const ON = '[maintenance.dolt]\nenabled = true\ninterval = "2h"\n';

describe('a disk that fills up', () => {
  const MB = 1024 * 1024;
  const look = async (free: number): Promise<void> => {
    kept.a.disk.freeAt = () => Promise.resolve(free);
    await kept.fixture.sql(`update maintenance_cities set look_at = now()`);
    await kept.a.watch.look();
  };

  it('is told when it has become fuller, and not again', async () => {
    await kept.write(ON);
    for (const free of [3 * MB, 1.5 * MB, 1.4 * MB, 0.5 * MB, 0.4 * MB, 5 * MB, 1.5 * MB]) await look(free);
    const data_dir = kept.city.path;
    const warn = { warn_bytes: 2 * MB, floor_bytes: MB, data_dir };
    expect((await kept.told()).map(({ type, payload }) => ({ type, payload }))).toEqual([
      { type: 'gc.store.disk_warn', payload: { free_bytes: 1.5 * MB, ...warn } },
      { type: 'gc.store.disk_critical', payload: { free_bytes: 0.5 * MB, floor_bytes: MB, data_dir } },
      { type: 'gc.store.disk_warn', payload: { free_bytes: 1.5 * MB, ...warn } },
    ]);
    expect((await kept.told())[0]).toMatchObject({ actor: 'supervisor', subject: data_dir });
  });

  it('keeps nobody waiting when it does not answer', async () => {
    await kept.write(ON);
    kept.a.disk.answerMs = 1;
    kept.a.disk.freeAt = () => new Promise(() => undefined);
    expect(await kept.a.watch.look()).toBe(1);
    expect((await kept.row())[0]!.disk).toBe('ok');
  });

  it('is looked at by one worker', async () => {
    await kept.write(ON);
    const looked = await Promise.all([kept.a, kept.b, kept.a].map(({ watch }) => watch.look()));
    expect(looked.reduce((sum, n) => sum + n)).toBe(1);
  });

  it('has a cycle do nothing, and say so, once it is nearly full', async () => {
    await kept.write(`[maintenance]\nclosed_session_ttl = "30d"\n${ON}`);
    await putSession(kept.fixture.database.url, 'alpha', { id: 'al-1', agent: 'scout', token: false, state: 'closed' });
    await kept.fixture.sql(`update sessions set closed_at = now() - interval '31 days'`);
    kept.a.disk.freeAt = () => Promise.resolve(1);
    await kept.a.cycles.schedule(20);
    expect(await kept.carryOut()).toMatchObject({ stage: 'done', skipped: 'disk_critical', error: null });
    expect(await kept.fixture.sql('select id from sessions')).toEqual([{ id: 'al-1' }]);
    expect((await kept.told()).map(({ type }) => type)).toEqual(['gc.store.disk_critical', 'gc.store.maintenance.done']);
  });
});
