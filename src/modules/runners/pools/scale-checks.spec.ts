import { tmpdir } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import type { AppConfig } from '../../../platform/config/config.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { ScaleChecks } from './scale-checks.js';

const checks = (): ScaleChecks => {
  const agentEnvironment = { PATH: '/usr/bin:/bin', OPENAI_API_KEY: 'secret', LANG: 'C' };
  return new ScaleChecks({ agentEnvironment } as unknown as AppConfig, new AppLogger(createLogger('silent')));
};
const ask = async (command: string, at = checks(), freshMs = 0): Promise<number | undefined> =>
  (await at.ask('alpha', [{ agent: 'worker', command, cwd: tmpdir(), env: { SVC_CITY: 'alpha' } }], freshMs)).get('worker');

describe('scale_check', () => {
  it.each([
    ['a number', 'echo 3', 3],
    ['more than anybody can mean', 'echo 999999999', 10_000],
    ['something else', 'echo many', 0],
    ['nothing', 'true', 0],
    ['a number below zero', 'echo -1', 0],
    ['a number and a failure', 'echo 3; exit 1', 0],
    ['no such command', 'svc-nowhere-to-be-found', 0],
    ['its city', 'test "$SVC_CITY" = alpha && echo 1', 1],
    ['no credentials', 'test -z "$OPENAI_API_KEY" && echo 1', 1],
  ])('says %s', async (_, command, expected) => expect(await ask(command)).toBe(expected));

  it('ends with everything that it has started when its time is over', async () => {
    const at = checks();
    at.limitMs = 300;
    expect(await ask('sleep 60 & sleep 60; echo 5', at)).toBe(0);
  });

  it('does not wait for what it leaves running', async () => {
    expect(await ask('echo 2; sleep 60 >/dev/null 2>&1 &')).toBe(2);
  });

  it('is not asked again while its answer is fresh', async () => {
    const at = checks();
    const first = await ask('od -An -N1 -tu1 /dev/urandom', at, 60_000);
    expect(await ask('od -An -N1 -tu1 /dev/urandom', at, 60_000)).toBe(first);
  });
});
