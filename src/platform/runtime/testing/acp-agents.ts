import { expect } from '@jest/globals';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { AcpRuntime } from '../acp/acp-runtime.js';
import { loopbackCommand } from '../loopback-command.js';
import { StartError, type PromptError, type RunningAgent, type StartSpec } from '../port.js';
import { findProcesses } from '../process-table.js';
import { PATH, uniqueMarkers } from './scripted-agent.js';

/** Steps of the stop ladder that do not take long. */
export const QUICK = { inputMs: 300, termMs: 300, confirmMs: 60_000 };
export const runtime = new AcpRuntime({ limits: { ...QUICK, inputMs: 60_000 } });
export const never = new AbortController().signal;
export const accepted = (): void => undefined;
const running: RunningAgent[] = [];

/** Ends all that were started, and removes their directories. */
export async function endAll(): Promise<void> {
  await Promise.all(running.splice(0).map((agent) => agent.stop({ hard: true })));
  await removeFolders();
}

export async function loopback(args: readonly string[] = [], over: Partial<StartSpec> = {}): Promise<StartSpec> {
  const cwd = await folder('svc-loopback-');
  const { command, args: own } = loopbackCommand();
  const env = { PATH, ...uniqueMarkers(), SVC_CITY_RUNTIME_DIR: cwd };
  return { command, args: [...own, ...args], cwd, env, timeoutMs: 30_000, ...over };
}

export async function start(spec: StartSpec, signal = never): Promise<RunningAgent> {
  const agent = await runtime.start(spec, signal);
  running.push(agent);
  return agent;
}

export async function failureOf(spec: StartSpec, signal = never, adapter = runtime): Promise<StartError> {
  const error = await adapter.start(spec, signal).then(
    () => new StartError('aborted', 'it started'),
    (thrown: unknown) => thrown as StartError,
  );
  expect(error).toBeInstanceOf(StartError);
  if (error.failure !== 'unconfirmed_dead') expect(await findProcesses({ deployment: spec.env.SVC_DEPLOYMENT! })).toEqual([]);
  return error;
}

export const failed = (error: unknown): [string, string] => [(error as PromptError).cause_, (error as PromptError).message];
