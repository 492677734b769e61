import { afterEach, describe, expect, it } from '@jest/globals';
import { execa } from 'execa';
import { existsSync } from 'node:fs';
import { mkdtemp, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { eventually } from '../../../../test/support/sse.js';
import type { PromptError, RunningAgent, StartError, StartSpec } from '../port.js';
import { findProcesses } from '../process-table.js';
import { PATH, readEvents, uniqueMarkers } from '../testing/scripted-agent.js';
import { AcpRuntime } from './acp-runtime.js';

/**
 * Agents of others, as they are published, from npm into a folder that is kept for the next run: too large and too slow for
 * every run, hence `npm run test:deep` only. What starts without an account has to behave as the adapter expects.
 */
const AGENTS = [
  { name: '@google/gemini-cli', version: '0.61.0', bin: 'gemini', args: ['--acp'], key: 'GEMINI_API_KEY', mode: 'plan' },
  { name: '@zed-industries/codex-acp', version: '0.16.0', bin: 'codex-acp', args: [], key: 'OPENAI_API_KEY', mode: 'auto' },
];
const INSTALL_MS = 280_000;
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|CERT|VERIFY|network/;
/** Why it failed is told on stderr also when the test command itself was told to be silent. */
const QUIETLY = ['--no-audit', '--no-fund', '--ignore-scripts', '--fetch-retries=1', '--loglevel=error'];

/** The program; undefined when the registry cannot be reached. Kept for the next run. */
async function installed({ name, version, bin }: (typeof AGENTS)[number]): Promise<string | undefined> {
  const kept = join(tmpdir(), `svc-acp-${bin}-${version}`);
  const program = join(kept, 'node_modules', '.bin', bin);
  if (existsSync(program)) return program;
  const dir = await mkdtemp(`${kept}-`);
  const args = ['install', '--prefix', dir, ...QUIETLY, `${name}@${version}`];
  const { failed, stderr, timedOut } = await execa('npm', args, { cwd: dir, reject: false, timeout: INSTALL_MS });
  if (failed) {
    if (timedOut || NO_REGISTRY.test(stderr)) return undefined;
    throw new Error(`${name} cannot be installed: ${stderr}`);
  }
  await rename(dir, kept).catch(() => undefined);
  return program;
}

const found = await Promise.all(AGENTS.map(async (agent) => ({ ...agent, program: await installed(agent) })));

describe.each(found)('$name', ({ program, ...agent }) => {
  // What cannot be had is counted as skipped, not as passed.
  const tried = program === undefined ? it.skip : it;
  const runtime = new AcpRuntime();
  const never = new AbortController().signal;
  let running: RunningAgent | undefined;

  afterEach(async () => {
    await running?.stop({ hard: true });
    running = undefined;
    await removeFolders();
  });

  /** A home that has nothing: no account, no configuration. */
  async function spec(env: Record<string, string> = {}): Promise<StartSpec> {
    const home = await folder('svc-home-');
    const path = `${dirname(process.execPath)}:${PATH}`;
    return {
      command: program!,
      args: agent.args,
      cwd: home,
      timeoutMs: 120_000,
      env: { PATH: path, HOME: home, ...uniqueMarkers(), ...env },
    };
  }

  const failureOf = async (given: StartSpec): Promise<string> => {
    const failure = await runtime.start(given, never).then(
      (started) => {
        running = started;
        return 'started';
      },
      (error: unknown) => (error as StartError).failure,
    );
    if (failure !== 'started') expect(await findProcesses({ deployment: given.env.SVC_DEPLOYMENT! })).toEqual([]);
    return failure;
  };

  const WITH_KEY = { [agent.key]: 'not-a-key' };

  tried(
    'wants an account, and nothing of it is left',
    async () => {
      expect(await failureOf(await spec())).toBe('auth_required');
    },
    200_000,
  );

  tried(
    'does not know a conversation that never was',
    async () => {
      expect(await failureOf({ ...(await spec(WITH_KEY)), resume: '01a20230-92f5-7621-b711-a07b2a4cdb85' })).toBe('resume_rejected');
    },
    200_000,
  );

  tried(
    'starts, says what it can do, takes an option and a prompt, is cancelled and ended',
    async () => {
      const given = await spec(WITH_KEY);
      running = await runtime.start(given, never);
      const reader = readEvents(running);
      expect(running.sessionKey).toBeTruthy();
      expect(running.capabilities).toMatchObject({ resume: true, agent: { version: agent.version } });
      expect(await running.setOption('permission_mode', agent.mode)).toBe(true);
      expect(running.capabilities.options.find(({ key }) => key === 'permission_mode')!.current).toBe(agent.mode);
      await eventually(() => reader.of('options').length > 0);
      // No model can be reached with this key: how the turn ends is the agent's business, that it ends is ours.
      await new Promise<void>((resolve, reject) => {
        const turn = running!.prompt('hello', () => {
          void running!.cancel();
          turn.then(() => resolve(), resolve);
        });
        turn.catch((error: PromptError) => (error.cause_ === 'died' || error.cause_ === 'protocol' ? reject(error) : resolve()));
      });
      expect(await running.stop()).toMatchObject({ cause: 'stopped' });
      await reader.done;
      expect(await findProcesses({ deployment: given.env.SVC_DEPLOYMENT! })).toEqual([]);
    },
    250_000,
  );
});
