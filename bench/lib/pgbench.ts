import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from './context.js';
import { Child } from './child.js';
import { findProgram } from './machine.js';
import { quantile } from './stats.js';

export interface ScriptRun {
  readonly url: string;
  /** A pgbench script of `\set` lines and one statement a line. */
  readonly script: string;
  readonly clients: number;
  readonly seconds: number;
}

export interface ScriptResult {
  readonly tps: number;
  readonly p50: number;
  readonly p99: number;
}

const PGBENCH = findProgram('pgbench');

/** Runs a script from `clients` connections, prepared statements on. Without pgbench our own driver does, at lower ceilings. */
export async function runScript(context: Context, run: ScriptRun): Promise<ScriptResult> {
  if (PGBENCH !== undefined) return runPgbench(PGBENCH, context.tempDir, run);
  const driver = await Child.program('clients/writer.ts', { core: undefined, tempDir: context.tempDir });
  try {
    return await driver.call<ScriptResult>('script', run);
  } finally {
    await driver.stop();
  }
}

async function runPgbench(program: string, tempDir: string, run: ScriptRun): Promise<ScriptResult> {
  const dir = await mkdtemp(join(tempDir, 'pgbench-'));
  try {
    const file = join(dir, 'script.sql');
    await writeFile(file, run.script);
    const args = ['-n', '-M', 'prepared', '-c', `${run.clients}`, '-j', '1', '-T', `${Math.ceil(run.seconds)}`, '-f', file];
    const output = await capture(program, [...args, '-l', '--log-prefix', join(dir, 'log'), run.url]);
    if (/aborted/.test(output)) throw new Error(`pgbench gave up: ${output}`);
    const latencies: number[] = [];
    for (const name of await readdir(dir)) {
      if (!name.startsWith('log')) continue;
      for (const line of (await readFile(join(dir, name), 'utf8')).split('\n'))
        if (line !== '') latencies.push(Number(line.split(' ')[2]) / 1000);
    }
    return { tps: Number(/tps = ([\d.]+)/.exec(output)?.[1]), p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function capture(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(output) : reject(new Error(`${program}: ${output}`))));
  });
}
