import { spawn, type ChildProcess } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface Outcome {
  readonly passed: number;
  readonly failed: readonly { readonly name: string; readonly message: string }[];
  /** Why there is nothing to count: a file that cannot be loaded, a set-up that fails, a run that never ends. */
  readonly broken?: string;
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Without its guard a test may wait for what never comes. */
const TEST_LIMIT_MS = 60_000;
const RUN_LIMIT_MS = 600_000;

export function projectOf(file: string): 'unit' | 'db' | 'e2e' {
  return file.endsWith('.db-spec.ts') ? 'db' : file.endsWith('.e2e-spec.ts') ? 'e2e' : 'unit';
}

interface How {
  /** Parts of the names of the tests to run; all of them when there are none. */
  readonly names?: readonly string[];
  /** Processes beside Jest's own; without them the tests run in that. */
  readonly workers?: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs test files of one project in a copy of the checkout. */
export async function run(dir: string, files: readonly string[], { names = [], workers, env = {} }: How = {}): Promise<Outcome> {
  const report = join(dir, 'guards-report.json');
  const args = ['--selectProjects', projectOf(files[0]!), '--json', `--outputFile=${report}`, '--forceExit', '--watchman=false'];
  args.push(
    `--testTimeout=${TEST_LIMIT_MS}`,
    workers === undefined ? '--runInBand' : `--maxWorkers=${workers}`,
    '--runTestsByPath',
    ...files,
  );
  if (names.length > 0) args.push('-t', names.map(escaped).join('|'));
  await rm(report, { force: true });
  const { log, late } = await started(dir, args, env);
  const text = await readFile(report, 'utf8').catch(() => undefined);
  await rm(report, { force: true });
  if (late) return { passed: 0, failed: [], broken: `it did not end within ${RUN_LIMIT_MS / 1000} s` };
  if (text === undefined) return { passed: 0, failed: [], broken: `it could not be run:\n${log.slice(-2_000)}` };
  return outcome(JSON.parse(text) as Report);
}

function outcome({ numPassedTests: passed, testResults }: Report): Outcome {
  const failed = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) => ({ name: fullName, message: failureMessages.join('\n') }));
  const unloaded = testResults.find(({ assertionResults }) => assertionResults.length === 0);
  if (unloaded !== undefined) return { passed, failed, broken: `a file could not be loaded:\n${unloaded.message.slice(0, 2_000)}` };
  if (passed + failed.length === 0) return { passed, failed, broken: 'no test has run' };
  return { passed, failed };
}

const running = new Set<ChildProcess>();
let stopped = false;

/** Ends what runs; what would be started from now on ends at once. */
export function stopRuns(): void {
  stopped = true;
  for (const child of running) end(child);
}

function end({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

function started(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ log: string; late: boolean }> {
  const jest = join(cwd, 'node_modules/jest/bin/jest.js');
  if (stopped) return Promise.resolve({ log: 'stopped', late: false });
  const child = spawn(process.execPath, [jest, ...args], {
    cwd,
    // What Node compiles it keeps by the place of a file: it goes with the copy.
    env: { ...process.env, NODE_COMPILE_CACHE: join(cwd, '.compiled'), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  running.add(child);
  let log = '';
  let late = false;
  child.stderr.setEncoding('utf8').on('data', (data: string) => (log += data));
  const limit = setTimeout(() => {
    late = true;
    end(child);
  }, RUN_LIMIT_MS);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => {
      clearTimeout(limit);
      running.delete(child);
      // What a test has left behind goes with it: it may have this end of the pipe, for which the whole run would wait.
      end(child);
      child.stderr.destroy();
      resolve({ log, late });
    });
  });
}

const escaped = (name: string): string => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
