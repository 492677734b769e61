import pg from 'pg';
import type { ScriptResult, ScriptRun } from './pgbench.js';
import { quantile } from './stats.js';

type Step =
  | { readonly set: string; readonly upto: number }
  | { readonly name: string; readonly text: string; readonly variables: readonly string[] };

/** Runs a pgbench script (`\set x random(1, n)` and one statement a line) over node-postgres. */
export async function driveScript(run: ScriptRun): Promise<ScriptResult> {
  const steps = parse(run.script);
  const latencies: number[] = [];
  const clients = await Promise.all(
    Array.from({ length: run.clients }, async () => {
      const client = new pg.Client({ connectionString: run.url });
      await client.connect();
      return client;
    }),
  );
  const started = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      const values = new Map<string, number>();
      while (performance.now() - started < run.seconds * 1000) {
        const began = performance.now();
        for (const step of steps) {
          if ('set' in step) values.set(step.set, 1 + Math.floor(Math.random() * step.upto));
          else await client.query({ name: step.name, text: step.text, values: step.variables.map((name) => values.get(name)) });
        }
        latencies.push(performance.now() - began);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(clients.map((client) => client.end()));
  return { tps: latencies.length / seconds, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

function parse(script: string): Step[] {
  return script
    .trim()
    .split('\n')
    .map((line, i) => {
      const set = /^\\set (\w+) random\(1, (\d+)\)$/.exec(line);
      if (set !== null) return { set: set[1]!, upto: Math.min(Number(set[2]), Number.MAX_SAFE_INTEGER) };
      const variables: string[] = [];
      const text = line.replace(/(?<!:):(\w+)/g, (_all, name: string) => {
        if (!variables.includes(name)) variables.push(name);
        return `$${variables.indexOf(name) + 1}`;
      });
      return { name: `step-${i}`, text, variables };
    });
}
