import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ConfigProcess } from '../../../../test/support/config-process.js';
import { ConfigFixture, refusal } from '../../../../test/support/config-fixture.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { EditAnswer } from './config-edits.service.js';
import { undoPlan, withFolders } from './edit-files.js';

const CALLER = { actor: 'test', keyId: undefined, scope: 'write', cities: undefined } as const;

let fixture: ConfigFixture;
let city: CityScope;
let a: ConfigProcess;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  ({ a, city } = fixture);
});
afterEach(() => fixture.close());

async function everything(): Promise<string[]> {
  return (await readdir(fixture.city.path, { recursive: true })).sort();
}

describe('a failed edit', () => {
  function addsAgent(): Promise<EditAnswer<unknown>> {
    return a.edits.run({ city, caller: CALLER }, async (draft) => {
      await draft.write('agents/fresh/deep/notes.md', 'x');
      await draft.write('agents/fresh/agent.toml', 'description = "x"\n');
      await draft.write('agents/fresh/prompt.md', 'Work.\n');
      return { body: {} };
    });
  }

  // Guard: an empty folder in agents/ is an agent without a prompt, and no edit of the city would succeed any more.
  it.each(['config.before_write', 'config.between_files', 'config.after_write'])(
    'at %s leaves no folders, and the next edit succeeds',
    async (failpoint) => {
      const before = await everything();
      a.failpoints.arm(failpoint, () => {
        throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      });
      await addsAgent().catch(() => undefined);
      a.failpoints.disarm();
      expect(await everything()).toEqual(before);
      await fixture.expectTidy();
      expect(await a.setVariable(city, 'NEXT')).toMatchObject({ status: 200 });
      expect(await addsAgent()).toMatchObject({ status: 200 });
    },
  );

  it('leaves folders alone that were there, or that hold what somebody else has put there', async () => {
    await mkdir(fixture.at('agents'));
    a.failpoints.arm('config.after_write', async () => {
      await fixture.write('agents/fresh/deep/theirs.md', 'y');
      throw new Error('stop');
    });
    await addsAgent().catch(() => undefined);
    expect((await everything()).filter((name) => name.startsWith('agents'))).toEqual([
      'agents',
      'agents/fresh',
      'agents/fresh/deep',
      'agents/fresh/deep/theirs.md',
    ]);
    await fixture.expectTidy();
  });
});

describe('taking back', () => {
  // Guard: a pipe is not opened as a file is; opening one for reading waits for a writer.
  it('does not wait for a pipe in the place of a file', async () => {
    await rm(fixture.at('city.toml'));
    execFileSync('mkfifo', [fixture.at('city.toml')]);
    const plan = { id: 'e1', writes: [{ path: 'city.toml', before: 'old', after: 'new' }], removals: [] };
    await undoPlan(city.path, await withFolders(city.path, plan));
    expect(await everything()).toContain('city.toml');
  });

  it('says why when the disk does not let it', async () => {
    const plan = { id: 'gone', writes: [{ path: 'desk/a', before: null, after: 'new' }], removals: ['agents/old'] };
    await fixture.write('.gc/cache/removed/gone/agents/old/prompt.md', 'Work.\n');
    // A file in the way of the folder that has to be put back.
    await fixture.write('agents', 'in the way');
    await fixture.sql(`insert into config_edits (stream_id, id, owner, expires_at, dir, plan)
      values (${city.streamId}, 'gone', 'dead', now() - interval '1 minute', '${city.path}', '${JSON.stringify(plan)}')`);
    const failed = await a.setVariable(city, 'NEXT').catch((error: unknown) => error);
    expect(refusal(failed).problem).toBe('dependency_missing');
    await rm(fixture.at('agents'));
    await mkdir(fixture.at('agents'));
    await fixture.expire();
    expect(await a.setVariable(city, 'NEXT')).toMatchObject({ status: 200 });
  });
});
