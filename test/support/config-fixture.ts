import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from '@jest/globals';
import { parse } from 'smol-toml';
import { ProblemError } from '../../src/contract/problems.js';
import type { CityScope } from '../../src/modules/tenancy/cities/city-scope.js';
import { describeIssue } from '../../src/modules/files/composition/issue.js';
import { ConfigProcess } from './config-process.js';
import { registerCity } from './registry.js';
import { adminAt, cloneDatabase, type TestDatabase } from './database.js';

/** What the one file of the city says at first. */
export const CITY_TOML = `# How this city runs.
[workspace] # ours
start_command = "agent"   # by hand

[[agent]]
name = "scout"
prompt_template = "scout.md"
`;

/** A running city with real files, and two processes' worth of the configuration room on one cloned database. */
export class ConfigFixture {
  private constructor(
    readonly database: TestDatabase,
    /** The directory of all cities. */
    readonly root: string,
    readonly city: CityScope,
    readonly a: ConfigProcess,
    readonly b: ConfigProcess,
  ) {}

  static async open(): Promise<ConfigFixture> {
    const database = await cloneDatabase();
    const root = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-edits-')));
    const a = new ConfigProcess(database.url, root);
    const city = await registerCity(a.db, 'alpha', path.join(root, 'alpha'));
    const fixture = new ConfigFixture(database, root, city, a, new ConfigProcess(database.url, root));
    await fixture.write('city.toml', CITY_TOML);
    await fixture.write('scout.md', 'Look around.\n');
    const first = await a.reloads.reload(city, 'start', 'test');
    if ('errors' in first) throw new Error(first.errors.map(describeIssue).join('; '));
    return fixture;
  }

  async close(): Promise<void> {
    for (const one of [this.a, this.b]) {
      one.failpoints.disarm();
      await one.close();
    }
    await this.database.drop();
    await rm(this.root, { recursive: true, force: true });
  }

  at(file: string): string {
    return path.join(this.city.path, file);
  }

  read(file = 'city.toml'): Promise<string> {
    return readFile(this.at(file), 'utf8');
  }

  async write(file: string, text: string): Promise<void> {
    await mkdir(path.dirname(this.at(file)), { recursive: true });
    await writeFile(this.at(file), text);
  }

  sql<R extends Record<string, unknown>>(text: string): Promise<R[]> {
    return adminAt<R>(this.database.url, text);
  }

  /** As if the process that holds an edit had not been heard of for longer than it may. */
  async expire(): Promise<void> {
    await this.sql(`update config_edits set expires_at = now() - interval '1 second'`);
  }

  /** The names in the environment of the workspace, as the city runs it. */
  async variables(): Promise<string[]> {
    return Object.keys((await this.b.reads.current(this.city)).config.workspace.env ?? {});
  }

  /** Nothing of an edit is left beside what it was to change. */
  async expectTidy(): Promise<void> {
    const names = await readdir(this.city.path, { recursive: true });
    expect(names.filter((name) => name.includes('.svc-') || name.includes('removed/'))).toEqual([]);
    expect(await this.sql('select id from config_edits')).toEqual([]);
  }
}

/** The names in the environment of the workspace, as a text says it. */
export function variablesOf(text: string): string[] {
  return Object.keys(((parse(text).workspace ?? {}) as { env?: object }).env ?? {});
}

/** What a refused edit says. @throws whatever is no refusal */
export function refusal(error: unknown): { problem: string; detail: string } {
  if (!(error instanceof ProblemError)) throw error;
  return { problem: error.problem, detail: error.detail };
}
